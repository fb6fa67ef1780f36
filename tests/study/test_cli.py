"""`leadhand study` as users type it."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from sessions import outcomes
from study_files import HERE, Make, Provider

from leadhand.analysis.tidy import read_scores
from leadhand.cli import study_plan
from leadhand.cli.study_live import drawn, fitting, line_of
from leadhand.core.errors import LeadhandError
from leadhand.core.events import AttemptFailed, AttemptStarted, Entry
from leadhand.core.values import FREE
from leadhand.study.board import Board, DesignLine
from leadhand.study.copies import Copying
from leadhand.study.engine import Job
from leadhand.study.file import shipped
from leadhand.study.forecast import Range
from leadhand.study.layout import PlannedRun, StudyPaths
from leadhand.study.outcome import Outcome
from leadhand.study.purse import Purse


def leadhand(*arguments: str, cwd: Path, code: int = 0) -> str:
    command = [sys.executable, "-W", "error", str(HERE / "study_cli.py"), "study", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def test_from_plan_to_export(make_study: Make, provider: Provider, tmp_path: Path) -> None:
    file = make_study(provider.url, tasks=2, schedules='["blocking"]')
    plan = json.loads(leadhand("plan", str(file), "--json", cwd=tmp_path))
    assert (plan["runs"], len(plan["designs"]), plan["forecast"]["worst_usd"]) == (6, 3, 600.0)
    assert plan["forecast"]["usd"] is None

    ran = json.loads(leadhand("run", str(file), "--json", "--copy-to", f"file://{tmp_path}/copy", cwd=tmp_path))
    folder = Path(ran["folder"])
    assert folder == tmp_path / "studies" / "small"
    assert (ran["end"], ran["finished"], ran["runs"]) == ("finished", 6, 6)
    assert ran["settled_usd"] == pytest.approx(provider.usd(), abs=1e-6)
    copied = tmp_path / "copy" / "runs"
    for name in outcomes(StudyPaths(folder)):
        assert (copied / name / "journal.jsonl").read_bytes() == (folder / "runs" / name / "journal.jsonl").read_bytes()

    status = json.loads(leadhand("status", "small", "--json", cwd=tmp_path))
    assert (status["tally"]["finished"], status["tally"]["waiting"]) == (6, 0)
    assert "6 of 6 runs finished" in leadhand("status", "small", cwd=tmp_path)

    shown = leadhand("results", "small", cwd=tmp_path)
    assert "P_blocking" in shown
    assert "+37.5" in shown

    rows = list(csv.DictReader(io.StringIO(leadhand("export", "small", cwd=tmp_path))))
    assert len(rows) == 6
    assert sum(float(r["cost"]) for r in rows) == pytest.approx(provider.usd(), abs=1e-6)
    leadhand("export", "small", "--to", "out.csv", cwd=tmp_path)
    scores = read_scores(tmp_path / "out.csv")
    assert len(scores.frame) == 6

    # What was run is what the next plan knows.
    said = leadhand("plan", str(file), cwd=tmp_path)
    assert re.search(r"^P_blocking +\$.* +1\.00 \(1\.00 to 1\.00\) +2 runs of your own", said, re.MULTILINE)
    again = json.loads(leadhand("plan", str(file), "--json", cwd=tmp_path))
    assert [line["source"] for line in again["forecast"]["lines"]] == ["2 runs of your own"] * 3
    assert again["forecast"]["usd"]["expected"] == pytest.approx(provider.usd(), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "nothing-of-the-kind"), "sol-terra-luna"),
        (("status", "nowhere"), "no study 'nowhere'"),
        (("run", "FILE", "--engine", "abacus"), "no engine 'abacus'"),
        (("run", "FILE", "--max-usd", "plenty"), "--max-usd"),
        (("run", "FILE", "--max-usd", "1"), "a single run may spend $100"),
        (("run", "FILE", "--concurrency", "0"), "--concurrency"),
        (("run", "FILE", "--sandbox", "castle"), "castle"),
        (("run", "FILE", "--copy-to", "nothing://x"), "--copy-to nothing://x"),
        (("plan", "FILE", "--past", "nowhere"), "--past"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: tuple[str, ...], says: str, make_study: Make, tmp_path: Path) -> None:
    file = str(make_study())
    said = leadhand(*(file if a == "FILE" else a for a in arguments), cwd=tmp_path, code=2)
    assert says in said
    assert len(said.strip().splitlines()) == 1


def test_a_plan_says_what_it_costs_and_what_that_is_known_from(tmp_path: Path) -> None:
    """A shipped study whose models are partly published: figures for Sol, for Terra and Luna their prices alone."""
    said = leadhand("plan", "sol-terra-luna", cwd=tmp_path)
    lines = said.splitlines()
    assert lines[0] == "sol-terra-luna: 31 designs x 200 tasks x 3 repeats"
    sol = next(line for line in lines if line.startswith("sol_solo_minimal "))
    found = re.match(
        r"sol_solo_minimal +\$(\d+) \(\$(\d+) to \$(\d+)\) +0\.(\d\d) \(0\.\d\d to 0\.\d\d\) +published \[1", sol
    )
    assert found, sol
    usd, low, high, _ = map(int, found.groups())
    assert low < usd < high
    assert usd == pytest.approx(600 * 0.24, rel=0.3)  # published: $0.24 a task
    assert re.search(r"terra_P +\$\S+ \(\$\S+ to \$\S+\) +unknown +price alone", said)
    assert "[1] gpt-5.6-sol alone on programbench: $0.24 a task (" in said
    assert "runs      18,600, 16 sandboxes at once; the forecast is for tasks like `programbench`" in said
    assert re.search(r"^dollars   \$[\d,]+ \(\$[\d,]+ to \$[\d,]+\)$", said, re.MULTILINE)
    assert re.search(r"^hours     [\d.]+ \([\d.]+ to [\d.]+\), grading not counted$", said, re.MULTILINE)
    assert "without   19 designs that neither runs nor figures tell of" in said
    assert "with      19 designs placed by their prices alone:" in said
    assert "at most   $372,000 (the runs' budgets); the study stops at $40,000" in said
    assert "detects   1.7 points of reward with 80 % power (strong leads, published)" in said
    assert re.search(r"^100 tasks x 3 repeats +9,300 +\$[\d,]+ \(50 %\) +2\.4 ", said, re.MULTILINE)
    assert re.search(r"^200 tasks x 1 repeat +6,200 +\$[\d,]+ \(67 %\) +2\.2 ", said, re.MULTILINE)
    assert re.search(r"^without \d+ dominated designs? ", said, re.MULTILINE)
    assert re.search(r"^without \S+ its lift stays unknown; \S+ is expected to be cheaper", said, re.MULTILINE)


def test_a_plan_of_what_nobody_knows_says_unknown(make_study: Make, tmp_path: Path) -> None:
    said = leadhand("plan", str(make_study(schedules='["blocking"]')), "--max-usd", "none", cwd=tmp_path)
    assert re.search(r"^P_blocking +\$\S+ \(.*\) +unknown +price alone", said, re.MULTILINE)
    assert "dollars   unknown" in said
    assert "hours     unknown" in said
    assert "the study stops" not in said
    priceless = make_study(more='[designs.other]\nlead = "openai-chat/gpt-5.6-sool"\n')
    said = leadhand("plan", str(priceless), cwd=tmp_path)
    assert re.search(r"^other +unknown +unknown +nothing *$", said, re.MULTILINE)
    refused = "`leadhand study run` will refuse this: no price is known for openai-chat/gpt-5.6-sool; "
    assert f"{refused}did you mean openai-chat/gpt-5.6-sol? If not, give one with --price" in said


def test_a_study_whose_budget_nobody_wrote_is_planned_and_not_run(make_study: Make, tmp_path: Path) -> None:
    file = make_study()
    file.write_text(file.read_text().replace("\nbudget_usd", "\n#budget_usd", 1))
    assert "will refuse this: no budget of the whole study" in leadhand("plan", str(file), cwd=tmp_path)
    assert "no budget of the whole study" not in leadhand("plan", str(file), "--max-usd", "none", cwd=tmp_path)
    said = leadhand("run", str(file), cwd=tmp_path, code=2)
    assert said.startswith(f"leadhand: {file}: no budget of the whole study: add budget_usd = DOLLARS")
    assert "or --max-usd" in said
    assert not (tmp_path / "studies").exists()


def test_a_mistyped_factor_is_told_the_nearest_setting_and_the_file(make_study: Make, tmp_path: Path) -> None:
    file = make_study()
    file.write_text(file.read_text().replace("\nguidance", "\nguidence"))
    said = leadhand("plan", str(file), cwd=tmp_path, code=2)
    assert said.startswith(f"leadhand: {file}: guidence is no setting of a design; did you mean 'guidance'?")


def test_little_time_is_in_minutes_and_a_mere_cap_is_called_one() -> None:
    hours = Range(expected=0.5, low=0.25, high=1.5)
    assert study_plan._time(hours) == ("minutes", "30.0 (15.0 to 90.0)")
    assert study_plan._time(Range(expected=1.5, low=0.5, high=2.0)) == ("hours", "1.5 (0.5 to 2.0)")
    capped = Range(expected=6.0, low=6.0, high=6.0)
    assert study_plan._capped(capped, 6.0) == "at most $6.00 by its budget"
    assert study_plan._capped(Range(expected=6.0, low=2.0, high=6.0), 6.0) == "$6.00 ($2.00 to $6.00)"


def test_without_the_libraries_of_the_analysis_a_plan_says_what_it_lacks(make_study: Make) -> None:
    bare = "import sys; sys.modules['numpy'] = None; sys.argv = ['leadhand', *sys.argv[1:]]; import study_cli"
    command = [sys.executable, "-c", bare, "study", "plan", str(make_study())]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    remedy = "pip install 'leadhand[analysis]' (in a checkout: make install)"
    assert f"published figures are left out: numpy is not installed: {remedy}" in done.stdout
    assert re.search(r"^P_push +unknown +unknown +nothing *$", done.stdout, re.MULTILINE)


def test_every_shipped_study_can_be_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in shipped():
        study_plan.plan(name, [], None, "", as_json=True)
        plan = json.loads(capsys.readouterr().out)
        assert plan["forecast"]["usd"]["low"] < plan["forecast"]["usd"]["high"], name
        assert plan["detectable"]


# --- the display -----------------------------------------------------------------------------------------------------


def board(budget: float | None = 50.0) -> tuple[Board, list[float]]:
    clock = [100.0]
    runs = tuple(
        PlannedRun(run=f"{d}.t{n}.1", design=d, task=f"t{n}", repeat=1, identity="x") for n in range(4) for d in "ab"
    )
    made = Board(runs, Purse(budget, {}), lambda: clock[0])
    made.known({}, set())
    return made, clock


def entry(event: Any, seq: int = 0) -> Entry:
    return Entry(v=1, seq=seq, at="", session=0, mono=0.0, agent="lead", event=event)


def test_the_board_counts_rate_dollars_and_the_expected_end() -> None:
    made, clock = board()
    first, second = made.runs[:2]
    for run in (first, second):
        made.purse.hold(run.run, 5.0)
        made.started(run, {"m": FREE}, None)
    p = made.picture()
    assert (p.done, p.running, p.held_usd, p.rate, p.left_s) == (0, 2, 10.0, None, None)
    clock[0] += 600
    made.purse.settle(first.run, 2.0)
    made.finished(first, Outcome(status="finished", reward=0.5, settled_usd=2.0, seconds=300))
    p = made.picture()
    assert (p.done, p.running, p.spent_usd) == (1, 1, 2.0)
    assert p.rate == pytest.approx(6.0)
    assert p.left_s == pytest.approx(7 * 600)
    assert p.expected_usd == pytest.approx(2.0 + 7 * 2.0)
    assert "1 of 8 runs" in line_of(p)
    assert "of $50.00 (+$5.00 reserved)" in line_of(p)
    assert "6 runs an hour" in line_of(p)
    assert drawn("x", p) is not None
    lines = {line.name: line for line in p.designs}
    assert (lines["a"].done, lines["a"].reward, lines["b"].reward) == (1, 0.5, None)


def test_where_not_all_designs_fit_those_that_run_are_shown() -> None:
    lines = [
        DesignLine(name=f"d{n}", runs=3, done=1, running=n == 7, reward=None, usd=None, minutes=None) for n in range(9)
    ]
    assert [d.name for d in fitting(lines, 4)] == ["d0", "d1", "d2", "d7"]
    assert fitting(lines, 9) == lines
    made, _ = board()
    picture = msgspec.structs.replace(made.picture(), designs=tuple(lines))
    out = Console(width=60, height=13, file=io.StringIO())
    out.print(drawn("x", picture, out.height))
    shown = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(shown) < 13
    assert "d7" in "".join(shown)
    assert shown[-1].startswith("and 4 more designs, 4/12 done")


def test_the_board_says_why_nothing_moves() -> None:
    made, clock = board()
    see = made.started(made.runs[0], {"m": FREE}, None)
    see(entry(AttemptStarted(attempt=1, head="", model="m", prompt_bound=1, output_bound=1)))
    see(entry(AttemptFailed(attempt=1, fault="overload", error="come back later\x1b[2J", retry_in_s=5.0)))
    assert "1 attempts failed in the last minute, the last with overload: come back later" in line_of(made.picture())
    assert "\x1b" not in line_of(made.picture())
    # What we cut ourselves (a peer that is stopped because another has finished) is no trouble.
    see(entry(AttemptStarted(attempt=2, head="", model="m", prompt_bound=1, output_bound=1)))
    see(entry(AttemptFailed(attempt=2, fault="cut", error="CancelledError")))
    assert "1 attempts failed" in made.picture().trouble
    clock[0] += 61
    assert made.picture().trouble == ""


def test_a_resumed_run_shows_only_what_is_new() -> None:
    made, _ = board(None)
    see = made.started(made.runs[0], {"m": FREE}, Outcome(settled_usd=3.0))
    see(entry(AttemptFailed(attempt=7, fault="cut", error="the harness was killed", maybe_billed=True)))
    assert made.picture().running_usd == 3.0


# --- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_copy_that_fails_keeps_the_run(tmp_path: Path) -> None:
    run = tmp_path / "study" / "runs" / "r"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "journal.jsonl").write_text("1\n")
    (tmp_path / "study" / "study.json").write_text("{}")

    class Done:
        slots = 3

        async def submit(self, job: Job) -> Outcome:
            return Outcome(status="finished")

        async def aclose(self) -> None:
            pass

    (tmp_path / "file").write_text("in the way")
    blocked = Copying(Done(), f"file://{tmp_path}/file/x")
    assert blocked.slots == 3
    with pytest.raises(LeadhandError, match="cannot copy"):
        await blocked.submit(Job(run, None, lambda entry: None))  # type: ignore[arg-type]
    copying = Copying(Done(), f"file://{tmp_path}/copy")
    copying.whole(tmp_path / "study")
    assert (tmp_path / "copy" / "runs" / "r" / "journal.jsonl").read_text() == "1\n"
    assert (tmp_path / "copy" / "study.json").exists()
