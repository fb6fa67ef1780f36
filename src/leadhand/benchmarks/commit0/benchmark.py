"""Commit0-Lite as a `Benchmark`: prepared libraries as tasks, scored by their fixed list of tests."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import msgspec

from leadhand.benchmarks.commit0.hiding import hidden
from leadhand.benchmarks.commit0.prepared import PYTHON, VENV, Place, Prepared
from leadhand.benchmarks.commit0.rows import Row, row, rows
from leadhand.benchmarks.commit0.scoring import score
from leadhand.benchmarks.commit0.tree import settle
from leadhand.benchmarks.proving import Expected, What
from leadhand.benchmarks.submission import BadSubmission, discard, unpack
from leadhand.core.chain import canonical, digest
from leadhand.core.errors import GradingError, SandboxError, UsageError
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import ExecResult, Grade, Grader, Mount, SandboxSpec, Task

Mode = Literal["strict", "guarded"]
SCORER = "commit0 0.1.8: passed of the fixed list"
TEST_S = 1800.0
PROMPT = Path(__file__).with_name("prompt.txt")
AGENT = "grader"


def lite() -> Commit0:
    """The 16 tasks, scored as upstream does: tests that the team has changed count as they are."""
    return Commit0()


def lite_guarded() -> Commit0:
    """The 16 tasks; tests, conftest files and pytest's settings are put back before they are run."""
    return Commit0(mode="guarded")


class Commit0:
    """See `leadhand.core.ports.Benchmark`. `root`: where the libraries are prepared."""

    def __init__(self, mode: Mode = "strict", root: Path | None = None) -> None:
        self.mode = mode
        self._root = root

    def place(self, name: str) -> Place:
        return Place(row(name), self._root)

    def tasks(self) -> Sequence[Task]:
        """All that are prepared. Raises `UsageError` where one is missing that could be there.

        minitorch is not on PyPI: without it these are 15 of the 16, and each task's label says so.
        """
        places = [Place(r, self._root) for r in rows()]
        here = [p for p in places if p.read() is not None]
        missing = [p.row.name for p in places if p not in here and p.row.sdist]
        if missing:
            raise UsageError(
                f"{len(missing)} of Commit0-Lite's tasks are not prepared ({', '.join(missing[:3])}...): "
                "`leadhand bench prepare commit0-lite`"
            )
        count = "" if len(here) == len(places) else f" ({len(here)} of {len(places)}, without minitorch)"
        return tuple(self._task(p, p.need(), f"commit0-lite{count}") for p in here)

    def task(self, name: str) -> Task:
        """One task. Raises `UsageError` where it is not prepared."""
        place = self.place(name)
        return self._task(place, place.need(), "")

    def _task(self, place: Place, found: Prepared, set_: str) -> Task:
        prompt = prompt_of(place.row)
        grader = Grader(files=str(place.folder), timeout_s=TEST_S, options={"mode": self.mode})
        return Task(
            id=place.row.name,
            benchmark="commit0",
            prompt=prompt,
            workspace=str(place.stub),
            mounts=mounts(place, found),
            grader=grader,
            digest=digest(canonical(["commit0", prompt, found.content])),
            grader_digest=grader_digest(place.row, found, self.mode),
            labels={"language": "python", "mode": self.mode, "source": found.source, **({"set": set_} if set_ else {})},
            isolated=True,
            solution=str(place.reference),
        )

    def expected(self, task: Task, what: What) -> Expected:
        """How many tests pass before any work, and with the reference."""
        one = row(task.id)
        if what == "untouched":
            return Expected(one.stub_passes, one.stub_passes, counts=True)
        return Expected(one.reference_passes - one.clock_bound, one.reference_passes, counts=True)

    async def grade(self, task: Task, submission: Path, start: StartSandbox, scratch: Path) -> Grade:
        began = anyio.current_time()
        place, found = _place_of(task)
        try:
            grade = await _graded(task, place, found, submission, start, scratch)
        except BadSubmission as error:
            grade = Grade(reward=0.0, passed=0, total=place.row.ids, detail={"submission": str(error)})
        except SandboxError as error:
            raise GradingError(f"the grading sandbox failed: {error}") from error
        return msgspec.structs.replace(grade, seconds=anyio.current_time() - began)


def prompt_of(one: Row) -> str:
    """What a team is asked, in our words."""
    text = PROMPT.read_text(encoding="utf-8").strip()
    parts = {"NAME": one.name, "SRC": one.src_dir, "TESTS": one.test_dir, "CMD": one.test_cmd, "VENV": VENV}
    for word, value in parts.items():
        text = text.replace(word, value)
    return text


def grader_digest(one: Row, found: Prepared, mode: str) -> str:
    return digest(canonical([SCORER, mode, one.test_cmd, one.test_dir, found.scoring]))


def mounts(place: Place, found: Prepared) -> tuple[Mount, ...]:
    """Python and environment at their fixed paths; nothing over the places where the host may keep copies."""
    shown = (
        Mount(source=str(place.interpreter(found)), target=PYTHON),
        Mount(source=str(place.venv), target=VENV),
    )
    return shown + hidden(place.row, place.root / "empty")


def _place_of(task: Task) -> tuple[Place, Prepared]:
    """Where the task's library is prepared. Raises `GradingError` where it is gone, or another by now."""
    if task.grader is None:
        raise GradingError(f"task {task.id} has no grader")
    place = Place(row(task.id), Path(task.grader.files).parent)
    try:
        found = place.need()
    except UsageError as error:
        raise GradingError(str(error)) from error
    if grader_digest(place.row, found, task.grader.options.get("mode", "")) != task.grader_digest:
        raise GradingError(f"commit0/{task.id} was prepared otherwise when this run was made; run it anew")
    return place, found


async def _graded(
    task: Task, place: Place, found: Prepared, submission: Path, start: StartSandbox, scratch: Path
) -> Grade:
    assert task.grader is not None
    tree, notes = scratch / "tree", scratch / "notes"
    guarded = task.grader.options.get("mode") == "guarded"
    try:
        ids = place.ids()
        notes.mkdir()
    except OSError as error:
        raise GradingError(f"cannot prepare the grading of {task.id}: {error}") from error
    left_out = await anyio.to_thread.run_sync(unpack, submission, tree)
    changes = await anyio.to_thread.run_sync(settle, tree, place.stub, place.row, ids, guarded)
    spec = SandboxSpec(
        run_id=f"grade-{task.id}-{scratch.name}",
        workspace=str(tree),
        scratch=str(notes),
        limits=msgspec.structs.replace(task.limits, command_s=TEST_S, run_s=2 * TEST_S),
        mounts=mounts(place, found),
        image=task.image,
    )
    sandbox = await start(spec)
    try:
        report, ended = await run_tests(sandbox, place.row, task.grader.timeout_s)
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
            await anyio.to_thread.run_sync(partial(discard, tree))
    grade = score(report, ids)
    told = {
        "mode": task.grader.options.get("mode"),
        "edited_tests": list(changes.tests),
        "forged_report": changes.report,
        "left_out": list(left_out[:100]),
    }
    detail = {**grade.detail, **{k: v for k, v in told.items() if v}}
    if report is None and ended.ended != "exited":
        detail["tests"] = f"pytest {ended.ended.replace('_', ' ')}: no report, so nothing counts"
    if changes.binary:  # upstream's patch is text: one such file loses all of it
        detail |= {"binary": list(changes.binary), "upstream_reward": place.row.stub_passes / len(ids)}
    return msgspec.structs.replace(grade, detail=detail)


async def run_tests(sandbox: Sandbox, one: Row, timeout_s: float) -> tuple[bytes | None, ExecResult]:
    """Run the whole test folder as upstream does; the report, if pytest wrote one, and how the command ended."""
    if sandbox.info.workspace != "/workspace":
        raise GradingError(f"commit0 needs a closed sandbox, not {sandbox.info.kind}")
    ready = await sandbox.exec(f"test -x {VENV}/bin/pytest && {VENV}/bin/python -c ''", agent=AGENT, timeout_s=60)
    if ready.exit_code != 0:
        said = (ready.head + ready.tail).decode(errors="replace").strip()[-300:]
        raise GradingError(f"the environment of {one.name} does not work in this sandbox: {said or 'no pytest'}")
    report = f"{sandbox.info.scratch}/report.json"
    options = f"--json-report --json-report-file={report} --continue-on-collection-errors"
    output = shlex.quote(f"{sandbox.info.scratch}/test_output.txt")
    # In UTC, as upstream's containers are: babel cannot pickle the zone of a host that it only knows as a file.
    command = f"export TZ=UTC PATH={VENV}/bin:$PATH\n{one.test_cmd} {options} {one.test_dir} > {output} 2>&1"
    result = await sandbox.exec(command, agent=AGENT, timeout_s=timeout_s)
    await sandbox.kill(AGENT)
    try:
        return await sandbox.read(report), result
    except OSError:
        return None, result
