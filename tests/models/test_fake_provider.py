"""The fake provider itself: a process of its own, its bill, who is who, quotas, strictness."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import anyio
import msgspec
import pytest

from leadhand.core.chain import Conversation
from leadhand.core.errors import ModelError, UsageError
from leadhand.core.values import Price, Usage
from leadhand.models import open_model
from leadhand.testing.model_contract import answer_calls, ask, conversation
from leadhand.testing.provider import Provider, dollars, in_process, load_scripts, read_bill, running, total
from leadhand.testing.scripted import Script, Step, bash, do, say

SCRIPTS: dict[str, Script] = {
    "lead": [do(bash("ls")), say("lead done")],
    "w1": lambda seen: say(f"w1 saw {seen.prompt}"),
}


def scripts() -> dict[str, Script]:
    return SCRIPTS


@pytest.mark.anyio
async def test_in_a_process_of_its_own_with_a_bill_that_survives(tmp_path: Path) -> None:
    bill = tmp_path / "bill.jsonl"
    usages: list[Usage] = []
    for _ in range(2):  # the second process goes on in the same file
        with in_process("test_fake_provider:SCRIPTS", bill=bill, pythonpath=str(Path(__file__).parent)) as url:
            model = open_model("openai-chat/m", base_url=url, env={})
            talk = conversation()
            reply = await ask(model, talk)
            usages.append(reply.usage)
            answer_calls(talk, reply)
            reply = await ask(model, talk)
            assert reply.message.text == "lead done"
            usages.append(reply.usage)
            assert (await ask(model, conversation("hello"), agent="w1")).message.text == "w1 saw hello"
            usages.append(read_bill(bill)[-1].usage)
            await model.aclose()
    lines = read_bill(bill)
    assert [(line.agent, line.turn) for line in lines] == [("lead", 0), ("lead", 1), ("w1", 0)] * 2
    assert total(lines) == sum(usages, Usage())
    price = Price(input=1, output=2, cache_read=0.1)
    assert dollars(lines, price) == pytest.approx(price.cost(total(lines)))


def test_the_bill_is_written_before_the_answer(tmp_path: Path) -> None:
    """A provider that is killed while it waits to answer has billed already."""
    bill = tmp_path / "bill.jsonl"
    script = tmp_path / "steps.json"
    script.write_bytes(msgspec.json.encode({"lead": [Step(text="late", delay_s=3600)]}))
    command = [sys.executable, "-m", "leadhand.testing.provider", "--script", str(script), "--bill", str(bill)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
        request = urllib.request.Request(url + "/chat/completions", body, {"content-type": "application/json"})
        with pytest.raises(OSError, match="timed out"):
            urllib.request.urlopen(request, timeout=3.0)
        process.send_signal(signal.SIGKILL)
    assert [line.agent for line in read_bill(bill)] == ["lead"]


def test_it_stops_on_a_signal() -> None:
    with in_process("test_fake_provider:scripts", pythonpath=str(Path(__file__).parent)) as url:
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/v1")


def test_scripts_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"lead": [{"text": 5}]}')
    for name in (
        "nothing",
        "no_such_module:X",
        "test_fake_provider:NOPE",
        f"{tmp_path}/bad.json",
        f"{tmp_path}/none.json",
    ):
        with pytest.raises(UsageError):
            load_scripts(name)
    command = [sys.executable, "-m", "leadhand.testing.provider", "--script", "no_such_module:X"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 2
    assert "no_such_module" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.anyio
async def test_who_is_who_without_our_header() -> None:
    """By `prompt_cache_key`, whole or its last part; a single script is everybody's."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    named: dict[str, Script] = {a: [say(f"I am {a}")] for a in ("lead", "w1", "a-b")}
    async with running(Provider(named)) as url:
        for key, agent in (
            ("w1", "w1"),
            ("run-w1", "w1"),
            ("run/w1", "w1"),
            ("x:w1", "w1"),
            ("a-b", "a-b"),
            ("zz", "lead"),
        ):
            answer = await anyio.to_thread.run_sync(post, url + "/chat/completions", {**body, "prompt_cache_key": key})
            assert answer["choices"][0]["message"]["content"] == f"I am {agent}"
    async with running(Provider({"only": [say("me")]})) as url:
        answer = await anyio.to_thread.run_sync(post, url + "/chat/completions", body)
        assert answer["choices"][0]["message"]["content"] == "me"


def post(url: str, body: object) -> dict:  # type: ignore[type-arg]
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


@pytest.mark.anyio
async def test_the_header_is_sent_only_to_servers_of_the_users_own() -> None:
    given = open_model("openai/m", base_url="http://127.0.0.1:1", env={})
    own = open_model("openai/m", env={"OPENAI_API_KEY": "k"})
    assert given._name_agent  # type: ignore[attr-defined]
    assert not own._name_agent  # type: ignore[attr-defined]


@pytest.mark.anyio
async def test_it_is_strict() -> None:
    provider = Provider({"lead": [say("one"), say("two")]})
    async with running(provider) as url:
        model = open_model("openai-chat/m", base_url=url, env={})
        talk = conversation()
        await ask(model, talk)
        with pytest.raises(AssertionError, match="2 steps, only 1"):
            provider.assert_consumed()
        await ask(model, talk)
        provider.assert_consumed()
        with pytest.raises(ModelError, match="has 2 steps"):
            await ask(model, talk)
        with pytest.raises(ModelError, match="no script for agent 'w9'"):
            await ask(model, conversation(), agent="w9")
        await model.aclose()
    assert len(provider.bill.lines) == 2  # what was refused is not billed


@pytest.mark.anyio
async def test_fault_steps_are_counted_by_run_and_agent() -> None:
    """Two runs at once play the same script from its start."""
    steps = [Step(fault="rate_limit"), Step(fault="overload"), say("at last")]
    async with running(Provider({"lead": steps})) as url:
        model = open_model("openai/m", base_url=url, env={})
        for key in ("run1-lead", "run2-lead"):
            talk = conversation()
            for fault in ("rate_limit", "overload"):
                with pytest.raises(ModelError) as caught:
                    await ask(model, talk, cache_key=key)
                assert caught.value.fault == fault
            assert (await ask(model, talk, cache_key=key)).message.text == "at last"
        await model.aclose()


@pytest.mark.anyio
async def test_a_quota_of_requests() -> None:
    now = [0.0]
    provider = Provider({"lead": lambda seen: say("ok")}, requests_per_minute=3, clock=lambda: now[0])
    async with running(provider) as url:
        model = open_model("openai-chat/m", base_url=url, env={})
        for _ in range(3):
            await ask(model, conversation())
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        assert caught.value.fault == "rate_limit"
        assert caught.value.retry_after_s == pytest.approx(20, abs=0.1)
        now[0] += 20
        await ask(model, conversation())
        await model.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/chat/completions", {"messages": []}, "non-empty"),
        ("/chat/completions", {"messages": [{"role": "tool", "tool_call_id": "x", "content": ""}]}, "answers no call"),
        ("/chat/completions", {"messages": [{"role": "wizard", "content": ""}]}, "unknown role"),
        ("/chat/completions", {"messages": [{"role": "assistant", "content": None}]}, "needs content"),
        (
            "/responses",
            {"input": [{"type": "function_call_output", "call_id": "x", "output": ""}]},
            "No tool call found",
        ),
        (
            "/responses",
            {"input": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}]},
            "could not be verified",
        ),
        ("/messages", {"max_tokens": 5, "messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
        ("/messages", {"messages": [{"role": "user", "content": "x"}]}, "max_tokens"),
        (
            "/messages",
            {
                "max_tokens": 5,
                "messages": [
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "9"}]}
                ],
            },
            "Invalid `signature`",
        ),
        (
            "/messages",
            {
                "max_tokens": 5,
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5,
                    }
                ],
            },
            "maximum of 4",
        ),
        ("/../v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
        (
            "/../v1beta/models/m:generateContent",
            {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "x", "args": {}}}]}]},
            "thought_signature",
        ),
    ],
)
async def test_what_the_real_ones_refuse_is_refused(path: str, body: dict, words: str) -> None:  # type: ignore[type-arg]
    async with running(Provider({"lead": [say("no")]})) as url:
        target = (url + path).replace("/v1/../", "/")
        with pytest.raises(HTTPError) as caught:
            await anyio.to_thread.run_sync(post, target, {"model": "m", **body})
        with caught.value as answer:
            assert answer.code == 400
            assert words in answer.read().decode()


def test_a_conversation_is_not_kept_alive_by_its_encoding() -> None:
    import gc
    import weakref

    from leadhand.models.history import EncodedHistory
    from leadhand.models.wires.chat import encode_body, fixed_fields

    history = EncodedHistory(encode_body, fixed_fields)
    talk: Conversation | None = conversation()
    assert talk is not None
    first = history.parts(talk)
    talk.append(talk.link(talk.messages[0].body))
    assert history.parts(talk) is first
    assert len(first) == 2
    alive = weakref.ref(talk)
    talk = None
    gc.collect()
    assert alive() is None
