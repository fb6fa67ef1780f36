"""Records a reference executable's answers: `python -m leadhand.benchmarks.record TASK_FOLDER`.

For authors of tasks. Fills `stdout` and `exit_code` of every line in the case file by running the reference, twice, and
drops the cases that say nothing: those that a program which only exits 0 would pass, and those that flicker.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from leadhand.benchmarks.cases import Case, load_cases
from leadhand.benchmarks.tasktoml import load_task
from leadhand.core.chain import canonical
from leadhand.core.errors import LeadhandError, UsageError


def answer(reference: Path, case: Case, timeout_s: float = 10.0) -> Case:
    """The case with what `reference` prints and exits with. Runs it on this machine, without a sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case.files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [str(reference), *case.args],
            input=case.stdin.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            timeout=timeout_s,
            check=False,
        )
    return msgspec.structs.replace(case, stdout=done.stdout.decode("utf-8"), exit_code=done.returncode)


def is_mute(case: Case) -> bool:
    """Whether a program that prints nothing and exits 0 would pass."""
    return case.stdout == "" and case.exit_code == 0


def record(reference: Path, cases: Iterable[Case]) -> Iterator[Case]:
    """The cases worth keeping, answered."""
    for case in cases:
        first, second = answer(reference, case), answer(reference, case)
        if first == second and not is_mute(first):
            yield first


def main(arguments: list[str]) -> int:
    try:
        for folder in arguments:
            task = load_task(Path(folder))
            if task.grader is None or not task.grader.cases or not task.mounts:
                raise UsageError(f"{folder}: nothing to record; it needs [reference] and grader.cases")
            path = Path(task.grader.cases)
            before = load_cases(path)
            kept = list(record(Path(task.mounts[0].source), before))
            path.write_bytes(b"".join(canonical(case) + b"\n" for case in kept))
            sys.stdout.write(f"{task.id}: {len(kept)} cases recorded, {len(before) - len(kept)} dropped\n")
    except LeadhandError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
