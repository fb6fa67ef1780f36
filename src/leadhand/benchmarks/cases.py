"""Behavioural cases: a program, its input, and what it must print. Compared on the host.

The submission is hostile and has the whole grading sandbox to itself, so nothing worth stealing is there: no expected
output, no grader process, no reference. All it can do is to answer.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import anyio
import msgspec

from leadhand.core.errors import GradingError, RunnerLost, UsageError
from leadhand.core.ports import Sandbox
from leadhand.core.values import ExecResult, Grade, Grader, Value

AGENT = "grader"
KEEP = 65_536
SHOWN_FAILURES = 200


class Case(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of the program: arguments, standard input and files in its fresh folder; then what it must give.

    The name's part before a "/" is the area that the case counts for in the grade's detail.
    """

    name: str
    args: tuple[str, ...] = ()
    stdin: str = ""
    files: dict[str, str] = {}
    stdout: str = ""
    exit_code: int = 0

    @property
    def area(self) -> str:
        return self.name.partition("/")[0]


def load_cases(path: Path) -> tuple[Case, ...]:
    """The cases in a file of JSON lines. Raises `UsageError` naming the line that does not fit."""
    cases: list[Case] = []
    names: set[str] = set()
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            case = msgspec.json.decode(line, type=Case)
        except msgspec.MsgspecError as error:
            raise UsageError(f"{path}:{number}: not a case: {error}; correct the line") from None
        if case.name in names:
            raise UsageError(f"{path}:{number}: name: {case.name!r} is used twice; rename one of the two")
        if any(PurePosixPath(f).is_absolute() or ".." in PurePosixPath(f).parts for f in case.files):
            raise UsageError(f"{path}:{number}: files: names must be relative and without '..'; correct them")
        if "\0" in "".join([*case.args, case.stdin, *case.files, *case.files.values()]):
            raise UsageError(f"{path}:{number}: a case cannot hold a NUL character; remove it")
        if len(case.stdout.encode()) > 2 * KEEP:
            raise UsageError(
                f"{path}:{number}: stdout: more than {2 * KEEP} bytes cannot be compared; shorten the case"
            )
        names.add(case.name)
        cases.append(case)
    if not cases:
        raise UsageError(f"{path}: holds no case; write at least one line")
    return tuple(cases)


def command(case: Case, program: str, folder: str) -> str:
    """The shell command that runs `program` (an absolute path) on the case in `folder`, made afresh below it."""
    home, stdin = f"{folder}/work", f"{folder}/stdin"
    lines = [
        f"rm -rf -- {shlex.quote(folder)} && mkdir -p -- {shlex.quote(home)} && cd -- {shlex.quote(home)} || exit 125",
        _written(case.stdin, stdin),
    ]
    for name, text in case.files.items():
        lines.append(f"mkdir -p -- {shlex.quote('./' + PurePosixPath(name).parent.as_posix())} || exit 125")
        lines.append(_written(text, "./" + name))
    words = " ".join(shlex.quote(word) for word in (program, *case.args))
    lines.append(f"exec {words} < {shlex.quote(stdin)} 2>/dev/null")
    return "\n".join(lines)


def _written(text: str, path: str) -> str:
    return f"printf %s {shlex.quote(text)} > {shlex.quote(path)} || exit 125"


def fits(case: Case, result: ExecResult) -> bool:
    """Whether the program gave exactly what it must, and ended by itself."""
    output = result.head + result.tail
    whole = result.size <= len(output)
    return result.ended == "exited" and whole and result.exit_code == case.exit_code and output == case.stdout.encode()


async def grade_cases(grader: Grader, cases: Sequence[Case], sandbox: Sandbox) -> Grade:
    """Build the submission in `sandbox`, run the program once per case, count. A build that fails is reward 0.

    Leftover processes are killed after the build and after each case. Where the grader's time is up, the cases that
    are left count as failed.
    """
    deadline = anyio.current_time() + grader.timeout_s
    total = len(cases)
    complaint = await _build(grader, sandbox)
    if complaint:
        return Grade(reward=0.0, passed=0, total=total, detail={"build": complaint})
    workspace, scratch = sandbox.info.workspace, sandbox.info.scratch
    program = str(PurePosixPath(workspace) / grader.program)
    failed: list[Case] = []
    for case in cases:
        left = min(grader.case_timeout_s, deadline - anyio.current_time())
        if left <= 0 or not await _passes(case, command(case, program, f"{scratch}/case"), sandbox, left):
            failed.append(case)
    return tally(cases, failed)


def tally(cases: Sequence[Case], failed: Sequence[Case]) -> Grade:
    """The grade, with [passed, total] by area."""
    totals, lost = Counter(c.area for c in cases), Counter(c.area for c in failed)
    passed = len(cases) - len(failed)
    return Grade(
        reward=passed / len(cases),
        passed=passed,
        total=len(cases),
        detail={
            "areas": {area: [n - lost[area], n] for area, n in totals.items()},
            "failed": [c.name for c in failed[:SHOWN_FAILURES]],
        },
    )


async def _build(grader: Grader, sandbox: Sandbox) -> str:
    """Build; an empty text if the program is there, else what went wrong."""
    program = shlex.quote(grader.program)
    steps = f"rm -rf -- {program}\n{grader.build}\nstatus=$?\n[ $status = 0 ] || exit $status\n"
    check = (
        f"[ -f {program} ] && [ -x {program} ] || {{ echo 'the build gave no executable {grader.program}'; exit 1; }}"
    )
    result = await _run(steps + check, sandbox, grader.timeout_s)
    if result is None:
        return "the build killed its shell"
    if result.ended == "exited" and result.exit_code == 0:
        return ""
    output = (result.head + result.tail).decode(errors="replace")[-2000:]
    return f"{result.ended} with {result.exit_code}: {output}"


async def _passes(case: Case, text: str, sandbox: Sandbox, timeout_s: float) -> bool:
    result = await _run(text, sandbox, timeout_s)
    return result is not None and fits(case, result)


async def _run(text: str, sandbox: Sandbox, timeout_s: float) -> ExecResult | None:
    """One command and the end of everything it started; None where it took its own shell down with it."""
    try:
        result = await sandbox.exec(text, agent=AGENT, timeout_s=timeout_s, keep=KEEP)
    except RunnerLost:
        return None
    await sandbox.kill(AGENT)
    return result


def needs_cases(grader: Grader) -> tuple[Case, ...]:
    """The cases of a grader that was loaded earlier; a file that has gone bad since is a fault of the grading."""
    try:
        return load_cases(Path(grader.cases))
    except (UsageError, OSError) as error:
        raise GradingError(f"cannot read the cases: {error}") from error
