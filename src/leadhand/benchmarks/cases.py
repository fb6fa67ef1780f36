"""Behavioural cases: a program, its input, and what it must print. Compared on the host.

The submission is hostile and has the whole grading sandbox to itself, so nothing worth stealing is there: no expected
output, no grader process, no reference. All it can do is to answer.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from leadhand.core.errors import GradingError, UsageError
from leadhand.core.values import ExecResult, Grade, Grader, Value

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


def needs_cases(grader: Grader) -> tuple[Case, ...]:
    """The cases of a grader that was loaded earlier; a file that has gone bad since is a fault of the grading."""
    try:
        return load_cases(Path(grader.cases))
    except (UsageError, OSError) as error:
        raise GradingError(f"cannot read the cases: {error}") from error
