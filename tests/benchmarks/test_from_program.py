"""Tasks made from programs: recorded, cleaned of cases that say nothing, proven by a gold solution."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leadhand.benchmarks.cases import load_cases
from leadhand.benchmarks.folder import SHIPPED
from leadhand.benchmarks.from_program import make_task
from leadhand.benchmarks.tasktoml import load_task
from leadhand.core.errors import UsageError

NUMERUS = SHIPPED / "numerus/reference/executable"
DATE, PRINTF = Path("/usr/bin/date"), Path("/usr/bin/printf")


def lines(tmp_path: Path, *text: str) -> Path:
    file = tmp_path / "arguments.txt"
    file.write_text("# what to ask\n" + "".join(f"{line}\n" for line in text))
    return file


@pytest.mark.anyio
async def test_a_task_is_made_and_its_gold_solution_scores_one(tmp_path: Path) -> None:
    asked = lines(tmp_path, "4", "14", "1999", "'XIV'", "--no-such-option")
    made = await make_task(NUMERUS, asked, tmp_path / "roman", gold=SHIPPED / "numerus/gold", branches=3)
    assert (made.gold, made.kept) == (1.0, 5)
    task = load_task(tmp_path / "roman")
    assert task.grader is not None
    cases = load_cases(Path(task.grader.cases))
    assert {c.args: (c.stdout, c.exit_code) for c in cases}[("14",)] == ("XIV\n", 0)
    assert {c.area for c in cases} <= {"b1", "b2", "b3"}
    assert len({c.area for c in cases}) > 1


@pytest.mark.anyio
async def test_cases_that_say_nothing_or_flicker_are_left_out(tmp_path: Path) -> None:
    asked = lines(tmp_path, "-u -d @0 +%Y", "+%N")
    made = await make_task(DATE, asked, tmp_path / "date")
    assert (made.kept, made.ignored["flaky"], made.gold) == (1, 1, None)
    told = [json.loads(line) for line in (tmp_path / "date/ignored.jsonl").read_text().splitlines()]
    assert {"reason": "flaky", "name": "b1/0003", "args": ["+%N"]} in told
    mute = await make_task(PRINTF, lines(tmp_path, "''", "'%s' x"), tmp_path / "printf")
    assert (mute.kept, mute.ignored["dummy_pass"]) == (1, 1)


@pytest.mark.anyio
async def test_cases_that_the_gold_solution_fails_are_left_out(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    gold.mkdir()
    text = (SHIPPED / "numerus/gold/compile.sh").read_text()
    (gold / "compile.sh").write_text(text.replace('(5, "V")', '(5, "W")'))
    made = await make_task(NUMERUS, lines(tmp_path, "1", "5", "10"), tmp_path / "roman", gold=gold)
    assert (made.gold, made.kept, made.ignored["gold_fail"]) == (1.0, 2, 1)
    (gold / "compile.sh").write_text("exit 1\n")
    with pytest.raises(UsageError, match=r"scores 0\.000, not 1\.0"):
        await make_task(NUMERUS, lines(tmp_path, "1", "5"), tmp_path / "new/roman2", gold=gold)
    assert [*(tmp_path / "new").iterdir()] == [], "what is not proven is not left to be taken for a task"


@pytest.mark.anyio
async def test_cases_as_json_lines_have_branches_too(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    cases = [{"name": f"n{i}", "args": [str(i)]} for i in range(1, 9)] + [{"name": "own/one", "args": ["-r", "IV"]}]
    file.write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    await make_task(NUMERUS, file, tmp_path / "roman", branches=2)
    kept = load_cases(tmp_path / "roman/grader/cases.jsonl")
    assert {c.area for c in kept} == {"b1", "b2", "own"}
    assert {c.name.partition("/")[2] for c in kept} == {*(f"n{i}" for i in range(1, 9)), "one"}


@pytest.mark.anyio
async def test_what_cannot_be_a_task_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\n")
    asked = lines(tmp_path, "1")
    with pytest.raises(UsageError, match="no ELF executable"):
        await make_task(script, asked, tmp_path / "x")
    with pytest.raises(UsageError, match="there already"):
        await make_task(NUMERUS, asked, tmp_path)
    with pytest.raises(UsageError, match="has no case"):
        await make_task(NUMERUS, lines(tmp_path), tmp_path / "x")
    with pytest.raises(UsageError, match="quote as in a shell"):
        await make_task(NUMERUS, lines(tmp_path, "'"), tmp_path / "x")
    (tmp_path / "nul.txt").write_text("a\0b\n")
    with pytest.raises(UsageError, match=r"nul\.txt:1: an argument cannot hold a NUL character"):
        await make_task(NUMERUS, tmp_path / "nul.txt", tmp_path / "x")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        await make_task(NUMERUS, tmp_path / "latin.txt", tmp_path / "x")
    with pytest.raises(UsageError, match="none of the 1 cases says anything"):
        await make_task(Path("/usr/bin/true"), lines(tmp_path, "x"), tmp_path / "x")
