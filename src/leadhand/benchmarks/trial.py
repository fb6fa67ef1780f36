"""Runs a hostile submission case by case, in one sandbox after another if it destroys them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

import anyio

from leadhand.benchmarks.cases import KEEP, Case, command, fits, tally
from leadhand.core.errors import RunnerLost, SandboxLost
from leadhand.core.ports import Sandbox
from leadhand.core.values import ExecResult, Grade, Grader

AGENT = "grader"


def build_command(grader: Grader) -> str:
    """Builds the program; exit code 0 only if it is there."""
    program = shlex.quote(grader.program)
    steps = f"rm -rf -- {program}\n{grader.build}\nstatus=$?\n[ $status = 0 ] || exit $status\n"
    return f"{steps}[ -f {program} ] && [ -x {program} ] || {{ echo the build gave no executable {program}; exit 1; }}"


MOST_LOST = 3


class Trial:
    """What is known of a submission so far.

    Losing a sandbox is no way out of a bad grade: the case that did it has failed, and the rest is run in a fresh
    sandbox. A submission that has taken down `MOST_LOST` of them, each of which had worked before, has failed the rest.
    """

    def __init__(self, grader: Grader, cases: Sequence[Case]) -> None:
        self._grader = grader
        self._cases = tuple(cases)
        self._left = list(cases)
        self._failed: list[Case] = []
        self._complaint = ""
        self._built = False
        self._lost = 0
        self._deadline = anyio.current_time() + grader.timeout_s

    @property
    def done(self) -> bool:
        return bool(self._complaint) or not self._left

    def grade(self) -> Grade:
        """The grade, once `done`. A build that failed is reward 0."""
        if self._complaint:
            return Grade(reward=0.0, passed=0, total=len(self._cases), detail={"build": self._complaint})
        return tally(self._cases, self._failed)

    async def go_on(self, sandbox: Sandbox) -> None:
        """Build in the fresh `sandbox` and run the cases that are left.

        Leftover processes are killed after the build and after each case. Where the grader's time is up, the cases that
        are left have failed. Raises `SandboxError` for a sandbox that did not work from the start.
        """
        await sandbox.exec("true", agent=AGENT, timeout_s=60.0)
        self._built = False
        try:
            self._complain(await self._build(sandbox))
            self._built = True
            while not self.done:
                if not await self._passes(self._left[0], sandbox):
                    self._failed.append(self._left[0])
                del self._left[0]
        except SandboxLost:
            self._blame()

    def _blame(self) -> None:
        """The submission has taken its sandbox down, in the build or in the case at hand."""
        self._lost += 1
        if self._built:
            self._failed.append(self._left.pop(0))
        if self._lost >= MOST_LOST:
            self._complain("the build destroyed its sandbox")

    def _complain(self, complaint: str) -> None:
        """No program, or none any more: all has failed, or what is left after cases that were run before."""
        if complaint and len(self._left) < len(self._cases):
            self._failed += self._left
            self._left = []
        else:
            self._complaint = complaint

    def _time(self, most: float) -> float:
        return min(most, self._deadline - anyio.current_time())

    async def _build(self, sandbox: Sandbox) -> str:
        """Build; an empty text if the program is there, else what went wrong."""
        result = await self._run(build_command(self._grader), sandbox, self._time(self._grader.timeout_s))
        if result is None:
            return "the build killed its shell, or there was no time left for it"
        if result.ended == "exited" and result.exit_code == 0:
            return ""
        output = (result.head + result.tail).decode(errors="replace")[-2000:]
        return f"{result.ended} with {result.exit_code}: {output}"

    async def _passes(self, case: Case, sandbox: Sandbox) -> bool:
        program = str(PurePosixPath(sandbox.info.workspace) / self._grader.program)
        text = command(case, program, f"{sandbox.info.scratch}/case")
        result = await self._run(text, sandbox, self._time(self._grader.case_timeout_s))
        return result is not None and fits(case, result)

    async def _run(self, text: str, sandbox: Sandbox, timeout_s: float) -> ExecResult | None:
        """One command and the end of everything it started; None where it took its own shell down with it."""
        if timeout_s <= 0:
            return None
        try:
            result = await sandbox.exec(text, agent=AGENT, timeout_s=timeout_s, keep=KEEP)
        except RunnerLost:
            return None
        await sandbox.kill(AGENT)
        return result
