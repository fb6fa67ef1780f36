"""Below HTTP: deadlines, silence, cut and oversized answers, redirects, and that nothing tells a key."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from leadhand.core.errors import ModelError, UsageError
from leadhand.models import load_keys, open_model, problems
from leadhand.models.http_model import HttpModel
from leadhand.models.providers import PROVIDERS
from leadhand.models.wires.chat import ChatWire
from leadhand.testing.model_contract import ask, conversation
from leadhand.testing.provider import Provider, Raw, running
from leadhand.testing.scripted import Step, say

KEY = "sk-live-0123456789-DO-NOT-TELL"
ODD_KEY = "correct_horse.battery~staple-of-9"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n"
Serve = Callable[[anyio.abc.SocketStream], Awaitable[None]]


@asynccontextmanager
async def raw_server(serve: Serve) -> AsyncIterator[str]:
    """A server that reads one request and then does what it likes."""

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive(1_000_000)
            try:
                await serve(stream)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        yield f"http://127.0.0.1:{port}/v1"
        group.cancel_scope.cancel()


async def fault_of(url: str, *, timeout_s: float = 5.0, idle_s: float = 5.0, stream: bool = False) -> ModelError:
    sign = lambda path, body: {"authorization": f"Bearer {KEY}"}  # noqa: E731
    model = HttpModel(ChatWire(), "m", url, sign, stream=stream, idle_s=idle_s)
    try:
        with anyio.fail_after(20), pytest.raises(ModelError) as caught:
            await ask(model, conversation(), timeout_s=timeout_s)
    finally:
        await model.aclose()
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.anyio
async def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await fault_of(f"http://127.0.0.1:{port}")
    assert (error.fault, error.maybe_billed) == ("connection", False)
    assert f"127.0.0.1:{port}" in str(error)


@pytest.mark.anyio
async def test_no_such_host() -> None:
    error = await fault_of("http://no-such-host.invalid")
    assert (error.fault, error.maybe_billed) == ("connection", False)


@pytest.mark.anyio
async def test_closed_before_an_answer() -> None:
    async def close(stream: anyio.abc.SocketStream) -> None:
        pass

    async with raw_server(close) as url:
        error = await fault_of(url)
    assert (error.fault, error.maybe_billed) == ("connection", True)


@pytest.mark.anyio
async def test_not_http() -> None:
    async def babble(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"220 mail ready\r\n" * 3)

    async with raw_server(babble) as url:
        error = await fault_of(url)
    assert (error.fault, error.maybe_billed) == ("malformed", True)


@pytest.mark.anyio
@pytest.mark.parametrize("type", [b"application/json", b"text/event-stream"])
async def test_cut_in_the_middle(type: bytes) -> None:
    async def cut(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD % type + b'content-length: 100\r\n\r\n{"choi')

    async with raw_server(cut) as url:
        error = await fault_of(url)
    assert (error.fault, error.maybe_billed) == ("malformed", True)


@pytest.mark.anyio
async def test_a_silent_server_meets_the_total_deadline() -> None:
    async def wait(stream: anyio.abc.SocketStream) -> None:
        await anyio.sleep(30)

    async with raw_server(wait) as url:
        error = await fault_of(url, timeout_s=0.3)
    assert (error.fault, error.maybe_billed) == ("timeout", True)


@pytest.mark.anyio
async def test_a_deadline_that_meets_a_cancellation_leaves_nothing_behind() -> None:
    """One of both is what the caller sees, and nothing of the other reaches what is awaited next."""

    async def wait(stream: anyio.abc.SocketStream) -> None:
        await anyio.sleep(30)

    async with raw_server(wait) as url:
        model = HttpModel(ChatWire(), "m", url, lambda path, body: {}, stream=False)
        seen = set()
        for outer in (0.05, 0.0999, 0.1, 0.1001, 0.2):
            with anyio.move_on_after(outer) as scope:
                with pytest.raises(ModelError, match=r"within 0\.1 s"):
                    await ask(model, conversation(), timeout_s=0.1)
                seen.add("timeout")
            if scope.cancelled_caught:
                seen.add("cancelled")
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            await anyio.lowlevel.checkpoint()
        await model.aclose()
    assert seen == {"timeout", "cancelled"}


@pytest.mark.anyio
async def test_a_stalled_stream_is_cut_by_the_idle_deadline() -> None:
    async def stall(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD % b"text/event-stream" + b"\r\n: hello\n\n")
        await anyio.sleep(30)

    async with raw_server(stall) as url:
        error = await fault_of(url, timeout_s=15, idle_s=0.3, stream=True)
    assert (error.fault, error.maybe_billed) == ("timeout", True)
    assert "silent" in str(error)


@pytest.mark.anyio
async def test_a_stream_that_drips_for_ever_meets_the_total_deadline() -> None:
    async def drip(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD % b"text/event-stream" + b"\r\n")
        while True:
            await stream.send(b": still there\n\n")
            await anyio.sleep(0.05)

    async with raw_server(drip) as url:
        error = await fault_of(url, timeout_s=0.6, idle_s=5, stream=True)
    assert (error.fault, error.maybe_billed) == ("timeout", True)


@pytest.mark.anyio
async def test_an_endless_answer_is_bounded() -> None:
    async def flood(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD % b"application/json" + b"\r\n")
        while True:
            await stream.send(b" " * 1_000_000)

    async with raw_server(flood) as url:
        error = await fault_of(url, timeout_s=15)
    assert (error.fault, error.maybe_billed) == ("malformed", True)
    assert "larger than" in str(error)


@pytest.mark.anyio
async def test_a_server_that_closes_after_a_stream_without_saying_so() -> None:
    """llama.cpp does: the next call must not go out on that connection."""
    event = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(event), event)

    async def once(stream: anyio.abc.SocketStream) -> None:
        await stream.send(HEAD % b"text/event-stream" + b"transfer-encoding: chunked\r\n\r\n" + body)
        await anyio.sleep(0.1)

    async with raw_server(once) as url:
        model = open_model("openai-chat/m", base_url=url, env={}, stream=True)
        for _ in range(3):
            assert (await ask(model, conversation())).message.text == "hi"
        await model.aclose()


@pytest.mark.anyio
async def test_a_redirect_is_not_followed() -> None:
    """It would carry the key to somebody else."""
    provider = Provider({"lead": [say("caught")]})
    async with running(provider) as elsewhere:

        async def redirect(stream: anyio.abc.SocketStream) -> None:
            await stream.send(f"HTTP/1.1 307 X\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n".encode())

        async with raw_server(redirect) as url:
            error = await fault_of(url)
    assert error.fault == "bad_request"
    assert provider.bill.lines == []


@pytest.mark.anyio
async def test_a_body_of_megabytes_is_sent_without_a_warning() -> None:
    async with running(Provider({"lead": [say("ok")]})) as url:
        model = open_model("openai-chat/m", base_url=url, env={})
        assert (await ask(model, conversation("x" * 3_000_000))).message.text == "ok"
        await model.aclose()


@pytest.mark.anyio
async def test_connections_are_kept_and_a_closed_model_opens_again() -> None:
    async with running(Provider({"lead": lambda seen: say("ok")})) as url:
        model = open_model("openai-chat/m", base_url=url, env={})
        for _ in range(3):
            await ask(model, conversation())
        await model.aclose()
        await model.aclose()
        assert (await ask(model, conversation())).message.text == "ok"
        await model.aclose()


# --- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai-chat", "openai", "anthropic", "gemini", "bedrock"])
@pytest.mark.parametrize("fault", ["invalid_key", "server", "malformed", "connection"])
async def test_the_key_is_sent_and_never_told(name: str, fault: str) -> None:
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")
    env = dict.fromkeys(names, KEY)
    steps = [say("ok"), Step(fault=fault, text=f"Incorrect API key provided: {KEY}")]  # type: ignore[arg-type]
    async with running(Provider({"lead": steps}, api_key=KEY)) as url:
        model = open_model(f"{name}/m", base_url=url, env=env)
        talk = conversation()
        assert (await ask(model, talk)).message.text == "ok"  # so it was sent
        with pytest.raises(ModelError) as caught:
            await ask(model, talk)
        text = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
        assert KEY not in text
        assert KEY not in repr(model)
        await model.aclose()
        wrong = open_model(f"{name}/m", base_url=url, env=dict.fromkeys(names, "sk-wrong-key-9876543210"))
        with pytest.raises(ModelError) as refused:
            await ask(wrong, conversation())
        assert refused.value.fault == "invalid_key"
        assert "sk-wrong" not in str(refused.value)
        await wrong.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai-chat", "openai", "anthropic", "gemini", "bedrock"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("where", ["words", "end of long words", "200", "names"])
async def test_a_key_of_any_shape_that_is_sent_back_is_taken_out(name: str, stream: bool, where: str) -> None:
    """A server of one's own may have keys that look like nothing in particular."""
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")
    error = {"message": f"no such key: {ODD_KEY}", "type": ODD_KEY, "status": ODD_KEY, "code": 401}
    match where:
        case "words":
            step: Step = Step(fault="invalid_key", text=f"no such key: {ODD_KEY}")
        case "end of long words":  # the words are cut after 400 characters: in the midst of the key
            step = Raw(status=401, body={"message": "x" * 370 + ODD_KEY, "error": {"message": "x" * 370 + ODD_KEY}})
        case "200":
            step = Raw(body={"error": error, "type": "error"})
        case _:
            ids = dict.fromkeys(("x-request-id", "request-id", "x-amzn-requestid"), f"req-{ODD_KEY}")
            step = Raw(status=500, body={"error": error}, headers=ids)
    async with running(Provider({"lead": [step]}, api_key=ODD_KEY)) as url:
        model = open_model(f"{name}/m", base_url=url, env=dict.fromkeys(names, ODD_KEY), stream=stream)
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        await model.aclose()
    text = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
    assert not any(ODD_KEY[:n] in text for n in range(10, len(ODD_KEY) + 1))


def test_what_is_missing_is_named() -> None:
    for name, remedy in (
        ("openai/x", "OPENAI_API_KEY"),
        ("openai-chat/x", "OPENAI_API_KEY"),
        ("anthropic/x", "ANTHROPIC_API_KEY"),
        ("bedrock/x", "AWS_BEARER_TOKEN_BEDROCK"),
        ("gemini/x", "GEMINI_API_KEY"),
    ):
        with pytest.raises(UsageError, match=f"set {remedy}.* or pass --base-url"):
            open_model(name, env={})
        open_model(name, base_url="http://127.0.0.1:1/v1", env={})
    for bad in ("gpt-5.6", "openai/", "/x", "nobody/x", ""):
        with pytest.raises(UsageError, match="PROVIDER/MODEL"):
            open_model(bad, env={"OPENAI_API_KEY": KEY})
    for url in ("ftp://x", "localhost:80", "http://", "http://h:99999", "http://[bad"):
        with pytest.raises(UsageError, match="URL"):
            open_model("openai-chat/x", base_url=url, env={})
    with pytest.raises(UsageError) as caught:
        open_model("openai-chat/x", base_url=f"http://me:{KEY}@host/v1", env={})
    assert KEY not in str(caught.value)
    with pytest.raises(UsageError, match="AWS_SECRET_ACCESS_KEY"):
        open_model("bedrock/x", env={"AWS_ACCESS_KEY_ID": "AKIA"})


def test_doctor_warns_only_where_no_provider_has_a_key() -> None:
    ready, others = problems({"GOOGLE_API_KEY": "x"})
    assert ready == ("gemini", "ready", "")
    assert others == ("other models", "no key for openai, openai-chat, anthropic, bedrock", "")
    ((name, state, remedy),) = problems({})
    assert (name, state) == ("models", "no key")
    for info in PROVIDERS.values():
        assert all(key in remedy for key in info.keys)


def test_keys_come_from_the_environment_over_a_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# mine\nexport A=1\nB=\"two words\"\nC='x # y'\nD=4 # four\n\nE=a=b\nF=\n")
    keys = load_keys(tmp_path, {"A": "host"})
    assert dict(keys) == {"A": "host", "B": "two words", "C": "x # y", "D": "4", "E": "a=b", "F": ""}
    assert "two words" not in repr(keys)
    assert "two words" not in f"{keys}"
    assert load_keys(tmp_path / "nowhere", {}) == {}


def test_a_broken_file_names_its_line_and_not_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"A=1\n{KEY}\n")
    with pytest.raises(UsageError, match="line 2") as caught:
        load_keys(tmp_path, {})
    assert KEY not in str(caught.value)


def test_importing_models_loads_no_adapter() -> None:
    heavy = ["aiohttp", "genai_prices", "pydantic", "openai", "anthropic", "google", "leadhand.models.adapters"]
    code = f"import sys, leadhand.models; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"
