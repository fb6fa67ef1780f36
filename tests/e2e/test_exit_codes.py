"""Exit code 0 only for a valid finished run; `--json` owns standard output; a full disk is one line, and no end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_cli import HERE, PRICE, Leadhand, Warm

from leadhand.runs.paths import all_runs
from leadhand.testing.provider import in_process


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with in_process("e2e_teams:SOLO", pythonpath=str(HERE)) as url:
        yield url


def solo(task: Path, server: str, *more: str) -> list[str]:
    return [
        *("run", str(task), "--solo", "--lead", "openai-chat/fake", "--price", PRICE, "--base-url", server),
        *("--sandbox", "bwrap", *more),
    ]


@pytest.mark.parametrize(
    ("more", "code", "status"),
    [
        ((), 0, "finished"),
        (("--max-usd", "0"), 1, "out_of_budget"),
        (("-s", "limits.steps=1"), 1, "out_of_steps"),
        (("--max-minutes", "0.000001"), 1, "out_of_time"),
    ],
)
def test_exit_codes_and_json(
    leadhand: Leadhand, task: Path, server: str, more: tuple[str, ...], code: int, status: str
) -> None:
    done = leadhand(*solo(task, server, *more, "--json"))
    assert done.code == code, done.err
    summary = done.json["summary"]
    assert summary["status"] == status
    assert summary["reward"] is not None, "every valid end is graded"
    shown = leadhand("show", done.json["run"], "--json").json["summary"]
    assert shown == summary
    assert [r["status"] for r in leadhand("runs", "--json").json] == [status]


def test_resuming_an_ended_run_shows_it_and_changes_nothing_of_what_it_says(
    leadhand: Leadhand, task: Path, server: str
) -> None:
    first = leadhand(*solo(task, server, "--json"))
    again = leadhand("resume", "last", "--json")
    assert again.code == 0, again.err
    assert again.json["summary"]["reward"] == 1.0
    assert again.json["summary"].get("resumed", False) == first.json["summary"].get("resumed", False)


def test_a_full_disk_is_one_line_and_the_run_can_be_resumed(
    warmed: Warm, leadhand: Leadhand, task: Path, server: str, tmp_path: Path
) -> None:
    argv = solo(task, server, "--plain")
    done = warmed.run(argv, tmp_path, env={"LEADHAND_RUNS": str(tmp_path / "runs")}, largest_file=6_000)
    (run,) = all_runs(tmp_path / "runs")
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("leadhand: cannot write journal")
    assert f"leadhand resume {run.id}" in last
    done = leadhand("resume", run.id, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["summary"]["reward"] == 1.0
