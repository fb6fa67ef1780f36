"""Harbor's tasks as a `Benchmark`: tests run on a fresh machine that has every file the team's machine ended with.

Harbor runs the tests in the agent's own container. Here they run in a new container of the same image, over which the
team's changes are laid: no process of the team's is there, nor what it put where the tests' own files come to lie.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from leadhand.benchmarks.harbor.reward import reward_of
from leadhand.benchmarks.submission import BadSubmission, printable
from leadhand.core.errors import GradingError, RunnerLost, SandboxError, SandboxLost
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import ExecResult, Grade, Grader, Mount, SandboxSpec, Task
from leadhand.sandboxes.docker import OTHER_IMAGE

AGENT = "grader"
LEFT = ("reward.json", "reward.txt", "test-stdout.txt")
TESTS, LOGS, SOLUTION = "/tests", "/logs/verifier", "/solution"
MOST_BYTES = 16 << 30
TOLD = 100
OUTPUT = 2000

_RUN = f"{TESTS}/test.sh > {LOGS}/test-stdout.txt 2>&1"


class Harbor:
    """See `leadhand.core.ports.Benchmark`."""

    def __init__(self, tasks: Sequence[Task] = ()) -> None:
        self._tasks = tuple(tasks)

    def tasks(self) -> Sequence[Task]:
        return self._tasks

    async def grade(self, task: Task, submission: Path, start: StartSandbox, scratch: Path) -> Grade:
        """By the task's tests. `submission`: the changes of the team's machine, as a layer."""
        if task.grader is None:
            raise GradingError(f"task {task.id} has no grader")
        began = anyio.current_time()
        machines = _Machines(task, task.grader, start, scratch)
        try:
            seen = await anyio.to_thread.run_sync(survey, submission)
            grade = await machines.test(submission)
        except BadSubmission as error:
            seen, grade = {}, Grade(reward=0.0, detail={"submission": str(error)})
        except SandboxError as error:
            raise GradingError(f"the grading sandbox failed: {error}") from error
        return msgspec.structs.replace(grade, detail={**grade.detail, **seen}, seconds=anyio.current_time() - began)

    async def submission(self, task: Task, start: StartSandbox, scratch: Path, *, solved: bool) -> Path:
        """What the untouched machine hands in, or the one on which the task's own solution was run."""
        assert task.grader is not None
        machines = _Machines(task, task.grader, start, scratch)
        return await machines.solved() if solved else await machines.untouched()


class NoReward(Exception):
    """The tests ended, or were ended, without a reward; the text says how."""


class _Machines:
    """Fresh machines of one task."""

    def __init__(self, task: Task, grader: Grader, start: StartSandbox, scratch: Path) -> None:
        self._task, self._grader, self._start, self._scratch = task, grader, start, scratch
        self._made = 0

    async def test(self, submission: Path) -> Grade:
        """The tests' reward. Where they leave none, an untouched machine shows whether that is the team's doing."""
        try:
            return await self._tested(submission)
        except NoReward as why:
            try:
                await self._tested(None)
            except (NoReward, GradingError):
                raise GradingError(f"{why}; on the untouched machine neither: the tests do not work here") from None
            return Grade(reward=0.0, detail={"tests": f"{why}; on the untouched machine they leave one"})

    async def _tested(self, submission: Path | None) -> Grade:
        home = self._folder()
        copies = await anyio.to_thread.run_sync(_tests, self._grader.files, home)
        env = json.loads(self._grader.options.get("env", "{}"))
        network = self._grader.options.get("network") == "yes"
        sandbox = await self._begin(copies, env, network=network, layer=str(submission or ""))
        try:
            result = await sandbox.exec(_RUN, agent=AGENT, timeout_s=self._grader.timeout_s)
            await sandbox.kill(AGENT)
            in_json, in_text, output = [await _file(sandbox, f"{LOGS}/{name}") for name in LEFT]
            warnings = sandbox.info.warnings
        except (RunnerLost, SandboxLost) as lost:
            raise NoReward(f"tests/test.sh went down with its machine ({lost})") from lost
        finally:
            await _close(sandbox)
        if result.ended != "exited" or not (in_json or in_text):
            raise NoReward(_why(result, self._grader.timeout_s, output))
        grade = reward_of(in_json or None, in_text)
        said = {"output": output[-OUTPUT:], "image": next((w for w in warnings if w.startswith(OTHER_IMAGE)), "")}
        return msgspec.structs.replace(grade, detail={**grade.detail, **{k: v for k, v in said.items() if v}})

    async def untouched(self) -> Path:
        return await self._handed_in("", (), {})

    async def solved(self) -> Path:
        """Raises `GradingError` where the solution fails, or there is none."""
        if not self._task.solution:
            raise GradingError(f"task {self._task.id} has no solution/solve.sh")
        copies = (Mount(source=self._task.solution, target=SOLUTION, copy=True),)
        env = json.loads(self._grader.options.get("solution_env", "{}"))
        solve = f"chmod +x {SOLUTION}/solve.sh; DEBIAN_FRONTEND=noninteractive {SOLUTION}/solve.sh"
        return await self._handed_in(solve, copies, env)

    async def _handed_in(self, command: str, copies: tuple[Mount, ...], env: dict[str, str]) -> Path:
        packed = self._folder() / "layer.tar.gz"
        sandbox = await self._begin(copies, env, network=self._task.network, user=self._task.user)
        try:
            if command:
                await sandbox.exec(command, agent="solution", timeout_s=self._task.limits.run_s)
            await sandbox.collect(packed)
        finally:
            await _close(sandbox)
        return packed

    async def _begin(
        self, copies: tuple[Mount, ...], env: dict[str, str], *, network: bool, layer: str = "", user: str = ""
    ) -> Sandbox:
        task, home = self._task, self._folder()
        for name in ("workspace", "scratch"):
            (home / name).mkdir()
        seconds = max(self._grader.timeout_s, task.limits.run_s)
        return await self._start(
            SandboxSpec(
                run_id=f"grade-{task.id}-{self._scratch.name}-{self._made}",
                workspace=str(home / "workspace"),
                scratch=str(home / "scratch"),
                limits=msgspec.structs.replace(task.limits, command_s=seconds, run_s=2 * seconds),
                network=network,
                mounts=copies,
                image=task.image,
                user=user,
                env={**task.env, **env},
                build=task.build,
                whole=True,
                workdir=task.workdir,
                layer=layer,
            )
        )

    def _folder(self) -> Path:
        self._made += 1
        made = self._scratch / str(self._made)
        made.mkdir()
        return made


async def _close(sandbox: Sandbox) -> None:
    with anyio.CancelScope(shield=True):
        await sandbox.aclose()


def _tests(folder: str, home: Path) -> tuple[Mount, ...]:
    """The tests and an empty place for what they leave, to be copied into a machine; `home` is a host folder."""
    shutil.copytree(folder, home / "tests", symlinks=True)
    (home / "tests/test.sh").chmod(0o755)
    (home / "logs").mkdir()
    (home / "logs").chmod(0o777)
    places = ((home / "tests", TESTS), (home / "logs", LOGS))
    return tuple(Mount(source=str(source), target=target, copy=True) for source, target in places)


async def _file(sandbox: Sandbox, path: str) -> str:
    """A text without the space around it, "" where there is none.

    By bash alone: a program that the team has put on the path has no say in it.
    """
    result = await sandbox.exec(f'[[ -f {path} ]] && printf %s "$(<{path})"', agent=AGENT, timeout_s=60)
    return (result.head + result.tail).decode("utf-8", "replace").strip()


def _why(result: ExecResult, timeout_s: float, output: str) -> str:
    how = f"exited with {result.exit_code}" if result.ended == "exited" else result.ended.replace("_", " ")
    limit = f" after {timeout_s:g} s" if result.ended == "timed_out" else ""
    said = f": {' '.join(output[-300:].split())}" if output.strip() else ""
    return f"tests/test.sh {how}{limit} and left no reward in {LOGS}{said}"


def survey(submission: Path) -> dict[str, object]:
    """What of a layer is worth telling.

    Raises `BadSubmission` where it is too large, `GradingError` where it cannot be read.
    """
    planted, size = list[str](), 0
    ours = tuple(place.lstrip("/") for place in (TESTS, LOGS))
    try:
        with tarfile.open(submission, "r:gz") as layer:
            for member in layer:
                size += member.size
                if size > MOST_BYTES:
                    raise BadSubmission(f"the changed files are larger than {MOST_BYTES >> 30} GB")
                if any(member.name.startswith(f"{place}/") for place in ours):
                    planted.append(printable(member.name))
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise GradingError(f"submission {submission} cannot be read: {error}") from error
    return {"planted": planted[:TOLD]} if planted else {}
