"""A whole job over a real socket: a shipped task, a real sandbox, real commands, the real grader, through the CLI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from e2e_cli import CLEAN, HERE, PRICE, Leadhand

from leadhand.core.journal import read_journal
from leadhand.core.ledger import ledger_of
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file
from leadhand.testing.provider import dollars, in_process, read_bill

LEAD = ("--lead", "openai-chat/fake", "--price", PRICE, "--workers", "2", "--sandbox", "bwrap")
KEY = "sk-canary-7f2c9e"


@pytest.fixture
def job(tmp_path: Path) -> tuple[RunPaths, Path, subprocess.CompletedProcess[str]]:
    """A finished run of a lead and two workers on `numerus`, in a process of its own; its folder, bill, process."""
    bill = tmp_path / "bill.jsonl"
    with in_process("e2e_teams:NUMERUS", bill=bill, pythonpath=str(HERE), options=["--api-key", KEY]) as url:
        done = subprocess.run(
            [sys.executable, "-m", "leadhand", "run", "numerus", *LEAD, "--base-url", url, "--json"],
            cwd=tmp_path,
            env=CLEAN | {"OPENAI_API_KEY": KEY, "LEADHAND_RUNS": str(tmp_path / "runs")},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").glob("*/")
    return RunPaths(folder), bill, done


def test_a_team_does_a_real_job_over_a_real_socket(
    job: tuple[RunPaths, Path, subprocess.CompletedProcess[str]], leadhand: Leadhand
) -> None:
    run, bill, done = job
    shown = leadhand("show", "last", "--json").json["summary"]
    assert shown["status"] == "finished"
    assert shown["reward"] == 1.0
    assert shown["valid"] is True
    assert [d["status"] for d in shown["delegations"]] == ["finished", "finished"]
    assert {r["role"]: r["agents"] for r in shown["roles"]} == {"lead": 1, "worker": 2}
    lines = read_bill(bill)
    price = read_run_file(run.run_json).lock.prices["openai-chat/fake"]
    ledger = ledger_of(read_journal(run.journal), {"openai-chat/fake": price})
    assert shown["steps"] == len(lines)
    assert ledger.settled == pytest.approx(dollars(lines, price), abs=1e-6)
    assert ledger.unknown == ledger.reserved == 0
    _no_key_anywhere(run.folder, done)


def _no_key_anywhere(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert KEY not in done.stdout + done.stderr
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert KEY.encode() not in file.read_bytes(), file


def test_all_but_the_journal_can_be_deleted_and_is_folded_again(
    job: tuple[RunPaths, Path, subprocess.CompletedProcess[str]], leadhand: Leadhand
) -> None:
    run, _, _ = job
    before = [leadhand("show", run.id, *flags) for flags in ((), ("--json",))]
    for path in run.folder.iterdir():
        if path not in (run.run_json, run.journal, run.blobs):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert sorted(p.name for p in run.folder.iterdir()) == ["blobs", "journal.jsonl", "run.json"]
    assert [leadhand("show", run.id, *flags) for flags in ((), ("--json",))] == before
    again = leadhand("grade", run.id, "--json")
    assert again.code == 0, again.err
    assert again.json["summary"]["reward"] == 1.0
