"""A run that broke a rule of its task is done with, and counts nowhere in its study."""

from __future__ import annotations

from pathlib import Path

from leadhand.analysis.simulated import grid, write_study
from leadhand.analysis.writing import JournalWriter
from leadhand.core.values import Usage
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file
from leadhand.study import state
from leadhand.study.outcome import read_outcome


def test_it_is_no_valid_run_and_is_not_run_again(tmp_path: Path) -> None:
    solo = next(d for d in grid() if d.solo)
    write_study(tmp_path / "study", [solo], tasks=1, repeats=1)
    paths = RunPaths(next((tmp_path / "study/runs").iterdir()))
    digest = read_run_file(paths.run_json).lock.task.grader_digest
    for command, valid in (("ls", True), ("curl -s https://example.org/x", False)):
        writer = JournalWriter()
        writer.agent("solo", "solo", solo.lead)
        (call,) = writer.step("solo", solo.lead, Usage(input=1, output=1), ("bash", {"command": command}))
        writer.command("solo", call)
        writer.end_agent("solo")
        writer.end("finished", 1.0, digest)
        writer.write(paths.journal)
        outcome = read_outcome(paths)
        assert (outcome.reward, outcome.valid, outcome.broke_rules) == (1.0, valid, not valid)
        assert state.done(outcome, graded=True)
