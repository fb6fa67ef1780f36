"""The demo's rehearsed team on the third task: real team, real sandbox, real commands, real grader."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from leadhand.benchmarks.folder import FolderBenchmark, fill_prompt, find_task
from leadhand.benchmarks.rehearsal import TASK, WORKERS, rehearsal
from leadhand.benchmarks.rehearsal.areas import AREAS
from leadhand.benchmarks.rehearsal.seeing import BLOCK, outputs, tables
from leadhand.benchmarks.staging import stage_mounts
from leadhand.core.design import Design
from leadhand.core.events import CommandEnded, DelegationEnded, DelegationStarted
from leadhand.core.ports import StartSandbox
from leadhand.core.values import Grade, SandboxSpec, ToolResult, ToolResults
from leadhand.testing.play import PROMPTS, Played, play
from leadhand.testing.scripted import Script, Seen, Step, finish, hurried, step_for


class Run(NamedTuple):
    played: Played
    grade: Grade


async def run(scripts: Mapping[str, Script], start: StartSandbox, folder: Path) -> Run:
    """One run of the rehearsal from an empty folder to its grade, without the delays of the scripts."""
    task = find_task(TASK)
    for name in ("scratch", "grading", "run"):
        os.makedirs(folder / name)
    shutil.copytree(task.workspace, folder / "workspace")
    spec = SandboxSpec(
        run_id=f"rehearsal-{folder.name}",
        workspace=str(folder / "workspace"),
        scratch=str(folder / "scratch"),
        mounts=stage_mounts(task, folder / "mounts"),
    )
    sandbox = await start(spec)
    try:
        prompt = fill_prompt(task.prompt, workspace=sandbox.info.workspace, reference=sandbox.info.path(task.reference))
        design = Design(lead="rehearsed", guidance="P", schedule="push")
        prompts = msgspec.structs.replace(PROMPTS, task=prompt)
        quick = {agent: hurried(script) for agent, script in scripts.items()}
        played = await play(quick, design, folder / "run", sandbox=sandbox, prompts=prompts)
        await sandbox.collect(folder / "submission.tar.gz")
    finally:
        await sandbox.aclose()
    grade = await FolderBenchmark([task]).grade(task, folder / "submission.tar.gz", start, folder / "grading")
    return Run(played, grade)


@pytest.mark.anyio
async def test_the_rehearsed_team_rebuilds_the_program(start: StartSandbox, tmp_path: Path) -> None:
    played, grade = await run(rehearsal(), start, tmp_path / "all")
    assert played.end.status == "finished"
    assert (grade.reward, grade.detail["failed"]) == (1.0, [])
    started = [e.event for e in played.entries if isinstance(e.event, DelegationStarted)]
    assert [d.worker for d in started] == [f"w{i}" for i in range(1, WORKERS + 1)]
    ended = [e.event for e in played.entries if isinstance(e.event, DelegationEnded)]
    assert {d.status for d in ended} == {"finished"}
    for worker in ("w1", "w2", "w3", "w4"):
        commands = [e for e in played.entries if e.agent == worker and isinstance(e.event, CommandEnded)]
        assert len(commands) >= 10
    # The mistake is made, seen and mended.
    told = outputs(
        Seen(agent="lead", turn=0, bodies=tuple(m.body for m in played.state.agents["lead"].conversation.messages))
    )
    checks = [text.splitlines()[-1].split(" checked, ")[1] for text in told if " checked, " in text]
    assert checks == ["1 differ", "0 differ"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("area", "how"), [*((area, "silent") for area in AREAS), ("spell", "crashed"), ("date", "garbled")]
)
async def test_without_any_one_report_that_part_is_missing_and_the_run_still_ends(
    area: str, how: str, start: StartSandbox, tmp_path: Path
) -> None:
    worker = f"w{[*AREAS].index(area) + 1}"
    scripts = rehearsal()

    def lost(seen: Seen) -> Step:
        match how:
            case "silent":
                return finish("I have nothing to report.")
            case "crashed":
                return Step(fault="bad_request")
        step = step_for(rehearsal()[worker], seen)
        (first, *_) = step.calls
        text = str(first.arguments.get("text", ""))
        return finish(text.replace("{", "(", 1)) if first.name == "finish" else step

    played, grade = await run({**scripts, worker: lost}, start, tmp_path / "less")
    assert played.end.status == "finished"
    assert area in played.end.text
    assert 0.5 < grade.reward < 1.0
    assert grade.detail["areas"][area][0] == 0
    assert all(passed == total for name, (passed, total) in grade.detail["areas"].items() if name != area)


@pytest.mark.anyio
async def test_what_the_lead_writes_is_what_the_reports_say(start: StartSandbox, tmp_path: Path) -> None:
    """A worker that reports a wrong code word is believed."""

    def wrong(seen: Seen) -> Step:
        step = step_for(rehearsal()["w1"], seen)
        (first, *_) = step.calls
        text = str(first.arguments.get("text", ""))
        return finish(text.replace('"amber"', '"anvil"')) if first.name == "finish" else step

    played, grade = await run({**rehearsal(), "w1": wrong}, start, tmp_path / "wrong")
    assert played.end.status == "finished"
    assert grade.reward < 1.0
    assert "spell/first-half" in grade.detail["failed"]
    assert "spell/second-half" not in grade.detail["failed"]


def test_delays_are_those_of_a_model_and_the_same_each_time() -> None:
    def delay(agent: str) -> float:
        return step_for(rehearsal()[agent], Seen(agent=agent, turn=0, bodies=())).delay_s

    assert delay("lead") == delay("lead")
    assert 0.2 <= delay("lead") <= 1.2


def test_a_bash_result_is_read_without_what_the_harness_adds() -> None:
    texts = ["one\n[exit code 0]", "two\n\n[exit code 3]\n\n<leadhand-report>\nx\n</leadhand-report>", "[exit code 1]"]
    results = tuple(ToolResult(call_id=str(i), name="bash", text=t) for i, t in enumerate(texts))
    other = ToolResult(call_id="9", name="wait", text="[all done]")
    seen = Seen(agent="lead", turn=1, bodies=(ToolResults(results=(*results, other)),))
    assert outputs(seen) == ["one", "two\n", ""]


def test_only_readable_tables_are_taken_from_reports() -> None:
    good = 'Plan.\n\n```json\n{"area":"spell","x":1}\n```'
    assert tables([good, "no block", "```json\n{\n```", "```json\n[1]\n```"]) == {"spell": {"x": 1}}
    assert BLOCK.search(good)
