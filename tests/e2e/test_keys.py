"""A failing run through the command line, whose provider sends the key back: it is in nothing that was written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e_cli import CLEAN, HERE, Leadhand
from key_teams import KEY

from leadhand.core.events import AttemptFailed, CommandEnded
from leadhand.core.journal import read_journal
from leadhand.testing.provider import in_process

SHAPES = (KEY.encode(), KEY[:14].encode(), KEY[-14:].encode())
RUN = ("--lead", "openai-chat/m", "--price", "openai-chat/m=1,1", "--plain", "-s", "retries=0")


def leaks(*folders: Path) -> list[str]:
    """Files that hold the key or a good part of it, archives unpacked."""
    found = []
    for folder in folders:
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink() and file.name != ".env":
                data = file.read_bytes()
                if file.read_bytes()[:2] == b"\x1f\x8b":
                    data = subprocess.run(["gzip", "-dc", str(file)], capture_output=True, check=True).stdout
                found += [str(file)] * any(shape in data for shape in SHAPES)
    return found


@pytest.mark.parametrize(("sandbox", "given"), [("bwrap", "environment"), ("local", ".env")])
def test_a_failing_run_writes_no_key(sandbox: str, given: str, task: Path, tmp_path: Path) -> None:
    runs, home, scratch = (tmp_path / name for name in ("runs", "home", "tmp"))
    home.mkdir()
    scratch.mkdir()
    env = CLEAN | {"LEADHAND_RUNS": str(runs), "HOME": str(home), "TMPDIR": str(scratch)}
    where = tmp_path / "cwd"
    where.mkdir()
    if given == ".env":
        (where / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    else:
        env |= {"OPENAI_API_KEY": KEY}
    with in_process(f"key_teams:{sandbox.upper()}", pythonpath=str(HERE), options=["--api-key", KEY]) as url:
        command = ["run", str(task), *RUN, "--sandbox", sandbox, "--base-url", url]
        done = subprocess.run(
            # -X dev: asyncio's debug log and resource warnings are written as well.
            [sys.executable, "-X", "dev", "-m", "leadhand", *command],
            cwd=where,
            env=env,
            capture_output=True,
            timeout=100,
            check=False,
        )
        folders = sorted(p.parent for p in runs.glob("*/run.json"))  # what failed by infrastructure is tried again
        shown = [
            subprocess.run(
                [sys.executable, "-m", "leadhand", word, folders[0].name], cwd=where, env=env, capture_output=True
            )
            for word in ("show", "resume")
        ]
    # It came as far as it should: the search was made, and all refusals were met and recorded.
    assert done.returncode != 0
    entries = read_journal(folders[0] / "journal.jsonl")
    faults = [(e.agent, e.event.fault) for e in entries if isinstance(e.event, AttemptFailed)]
    assert set(faults) == {("w1", "invalid_key"), ("lead", "server")}
    assert all("[key]" in e.event.error for e in entries if isinstance(e.event, AttemptFailed))
    searched = [e.event.head for e in entries if isinstance(e.event, CommandEnded) and e.agent in ("lead", "w1")]
    assert len(searched) == 2
    assert all("PATH=" in text for text in searched)
    said = b"".join(d.stdout + d.stderr for d in (done, *shown))
    assert b"[key]" in said
    assert not any(shape in said for shape in SHAPES)
    assert leaks(runs, home, scratch, where, task) == []


def test_a_crash_shows_no_key(task: Path, tmp_path: Path, leadhand: Leadhand) -> None:
    """Not in the traceback of a broken installation either, nor in what the run left."""
    env = {"OPENAI_API_KEY": KEY}
    with in_process("key_teams:LOCAL", pythonpath=str(HERE)) as url:
        done = leadhand(
            "run", str(task), *RUN, "--sandbox", "local", "--base-url", url, env=env, hide="aiohttp.payload"
        )
    assert done.code != 0
    assert "aiohttp" in done.out + done.err
    assert KEY not in done.out + done.err
    assert leaks(tmp_path) == []
