"""A task folder from any program: answers recorded in a sandbox, mute cases left out, the gold score proven.

The cases are either JSON lines (see `cases.Case`; answers are filled in) or a text file with one command line a line.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread
import msgspec

from leadhand import sandboxes
from leadhand.benchmarks import grading
from leadhand.benchmarks.cases import KEEP, Case, command, load_cases
from leadhand.benchmarks.record import is_mute
from leadhand.benchmarks.tasktoml import FILE, ID, load_task
from leadhand.core.chain import canonical
from leadhand.core.errors import SandboxError, UsageError
from leadhand.core.ports import Sandbox
from leadhand.core.values import Mount, SandboxSpec, Value

TARGET = "/reference/executable"
PROMPT = """Rebuild the command-line program `NAME` from scratch.

The original is {reference}; `./executable` in {workspace} is a link to it. You can run it as often as you like, but not
read it. Its documents, if it has any, are in {workspace}. Where they are silent, the original is the judge.

What to deliver in {workspace}: source code of your own and an executable script `compile.sh` that, run there from a
fresh copy, creates `./executable`, a program that behaves exactly as the original does: the same standard output and
exit code for the same arguments, standard input and files. Standard error is not compared.

Rules. Write original code, in any language that is installed. Do not wrap, copy or call the original from your
program, and do not decompile, disassemble or trace it. There is no network. `./executable` is a link at first: remove
it before you build, and keep comparing with {reference}. Hidden tests decide; the share that passes is your score.
"""


class Made(Value, frozen=True, kw_only=True):
    """What became of the cases; `gold` is the score of the gold solution, None where none was given."""

    folder: str
    kept: int
    ignored: dict[str, int]
    gold: float | None = None

    def lines(self) -> list[str]:
        dropped = ", ".join(f"{n} {why}" for why, n in self.ignored.items() if n) or "none"
        proof = "no gold solution was given, so nothing proves that 1.0 can be reached"
        return [
            f"{self.folder}: {self.kept} cases; left out: {dropped}",
            proof if self.gold is None else f"the gold solution scores {self.gold:.3f}",
        ]


async def make_task(
    program: Path, arguments: Path, to: Path, *, docs: Path | None = None, gold: Path | None = None, branches: int = 1
) -> Made:
    """Make the task folder `to`. Raises `UsageError` where it cannot be made, or the gold solution does not reach 1.0.

    Cases are left out that a program which does nothing passes (`dummy_pass`), whose answers differ from run to run or
    cannot be stored (`flaky`), and that the gold solution fails (`gold_fail`); `ignored.jsonl` keeps them.
    """
    _check(program, to, docs, gold, branches)
    asked = _asked(arguments, branches)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".leadhand-", dir=to.parent) as aside:  # until it is proven
            made = await _made_in(Path(aside) / to.name, program, asked, docs, gold)
            (Path(aside) / to.name).rename(to)
    except OSError as error:
        raise UsageError(f"{to} cannot be made: {error}") from None
    return msgspec.structs.replace(made, folder=str(to))


async def _made_in(to: Path, program: Path, asked: Sequence[Case], docs: Path | None, gold: Path | None) -> Made:
    """The task in the new folder `to`."""
    answers = [await _answers(program, asked) for _ in range(2)]
    ignored: dict[str, list[Case]] = {"flaky": [], "dummy_pass": [], "gold_fail": []}
    kept = []
    for case, first, second in zip(asked, *answers, strict=True):
        if first is None or first != second:
            ignored["flaky"].append(case)
        elif is_mute(first):
            ignored["dummy_pass"].append(first)
        else:
            kept.append(first)
    if not kept:
        raise UsageError(f"none of the {len(asked)} cases says anything; give arguments that make the program print")
    await anyio.to_thread.run_sync(_write, program, to, docs, gold, kept)
    if gold is None:
        return _made(to, kept, ignored, None)
    score, failed = await _gold_score(to, gold)
    while failed and len(failed) < len(kept):  # a grade names only so many
        ignored["gold_fail"] += [c for c in kept if c.name in failed]
        kept = [c for c in kept if c.name not in failed]
        _write_cases(to / "grader/cases.jsonl", kept)
        score, failed = await _gold_score(to, gold)
    if score != 1.0:
        raise UsageError(f"the gold solution scores {score:.3f}, not 1.0: correct {gold / 'compile.sh'}")
    return _made(to, kept, ignored, score)


def _made(to: Path, kept: Sequence[Case], ignored: dict[str, list[Case]], score: float | None) -> Made:
    lines = [
        json.dumps({"reason": why, "name": c.name, "args": c.args}) for why, cases in ignored.items() for c in cases
    ]
    (to / "ignored.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Made(folder=str(to), kept=len(kept), ignored={why: len(cases) for why, cases in ignored.items()}, gold=score)


def _check(program: Path, to: Path, docs: Path | None, gold: Path | None, branches: int) -> None:
    if not program.is_file() or program.read_bytes()[:4] != b"\x7fELF":
        raise UsageError(f"{program} is no ELF executable; a script cannot run without being readable, so compile it")
    if to.exists():
        raise UsageError(f"{to} is there already; name a new folder with --to")
    if not ID.fullmatch(to.name):
        raise UsageError(f"--to {to}: {to.name!r} is no name for a task; use letters, digits, '.', '_' and '-'")
    if docs is not None and not docs.is_dir():
        raise UsageError(f"--docs {docs}: no such folder")
    if gold is not None and not (gold / "compile.sh").is_file():
        raise UsageError(f"--gold {gold}: it has no compile.sh")
    if branches < 1:
        raise UsageError("--branches must be at least 1")


def _asked(file: Path, branches: int) -> list[Case]:
    """The cases to be answered, each in a branch: by its name's area, else by the hash of what it asks."""
    if not file.is_file():
        raise UsageError(f"no file {file}; give the cases as JSON lines or as command lines")
    if file.suffix == ".jsonl":
        return [_in_branch(case, branches) for case in load_cases(file)]
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8; save it as that") from None
    cases = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if "\0" in line:
            raise UsageError(f"{file}:{number}: an argument cannot hold a NUL character; remove it")
        try:
            words = tuple(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{file}:{number}: {error}; quote as in a shell") from None
        cases.append(Case(name=f"b{_branch(line, branches)}/{number:04d}", args=words))
    if not cases:
        raise UsageError(f"{file} has no case; write one command line a line, without the program's name")
    return cases


def _branch(what: str, branches: int) -> int:
    return int(hashlib.sha256(what.encode()).hexdigest(), 16) % branches + 1


def _in_branch(case: Case, branches: int) -> Case:
    """A case whose name has no area gets one."""
    if "/" in case.name:
        return case
    asked = canonical(msgspec.structs.replace(case, name="", stdout="", exit_code=0)).decode()
    return msgspec.structs.replace(case, name=f"b{_branch(asked, branches)}/{case.name}")


async def _answers(program: Path, cases: Sequence[Case]) -> list[Case | None]:
    """What the program answers in a closed sandbox; None where that cannot be a case."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        copy = home / "program"
        await anyio.to_thread.run_sync(_prepare, program, home)
        spec = SandboxSpec(
            run_id=f"record-{home.name}",
            workspace=str(home / "workspace"),
            scratch=str(home / "scratch"),
            mounts=(Mount(source=str(copy), target=TARGET),),
        )
        sandbox = await sandboxes.start(spec, "bwrap")
        try:
            return [await _answer(sandbox, case) for case in cases]
        finally:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()


def _prepare(program: Path, home: Path) -> None:
    for folder in ("workspace", "scratch"):
        (home / folder).mkdir()
    shutil.copyfile(program, home / "program")
    (home / "program").chmod(0o755)


async def _answer(sandbox: Sandbox, case: Case) -> Case | None:
    text = command(case, sandbox.info.path(TARGET), f"{sandbox.info.scratch}/case")
    try:
        result = await sandbox.exec(text, agent="record", timeout_s=10.0, keep=KEEP)
    except SandboxError as error:
        raise UsageError(f"case {case.name} took the sandbox down: {error}") from None
    await sandbox.kill("record")
    output = result.head + result.tail
    if result.ended != "exited" or result.size > len(output):
        return None
    try:
        return msgspec.structs.replace(case, stdout=output.decode("utf-8"), exit_code=result.exit_code)
    except UnicodeDecodeError:
        return None


def _write(program: Path, to: Path, docs: Path | None, gold: Path | None, kept: Sequence[Case]) -> None:
    for folder in ("reference", "grader"):
        (to / folder).mkdir(parents=True)
    shutil.copyfile(program, to / "reference/executable")
    if docs is None:
        (to / "workspace").mkdir()
    else:
        shutil.copytree(docs, to / "workspace")
    if gold is not None:
        shutil.copytree(gold, to / "gold")
    (to / "prompt.md").write_text(PROMPT.replace("NAME", program.name), encoding="utf-8")
    _write_cases(to / "grader/cases.jsonl", kept)
    seconds = max(120, 2 * len(kept))
    (to / FILE).write_text(
        'prompt_file = "prompt.md"\nworkspace = "workspace"\n\n[reference]\nexecutable = "reference/executable"\n\n'
        f'[grader]\ncases = "grader/cases.jsonl"\ntimeout_s = {seconds}\n',
        encoding="utf-8",
    )


def _write_cases(path: Path, cases: Sequence[Case]) -> None:
    path.write_bytes(b"".join(canonical(case) + b"\n" for case in cases))


async def _gold_score(to: Path, gold: Path) -> tuple[float, set[str]]:
    """The gold solution's score by the task's own grader, and the cases it fails."""
    task = load_task(to)
    with tempfile.TemporaryDirectory() as name:
        archive, scratch = Path(name) / "gold.tar.gz", Path(name) / "scratch"
        await anyio.to_thread.run_sync(_pack, gold, archive, scratch)

        async def start(spec: SandboxSpec) -> Sandbox:
            return await sandboxes.start(spec, "bwrap")

        grade = await grading.grade(task, archive, start, scratch)
    return grade.reward, set(grade.detail.get("failed", ()))


def _pack(gold: Path, archive: Path, scratch: Path) -> None:
    scratch.mkdir()
    with tarfile.open(archive, "w:gz") as tar:
        for child in sorted(gold.iterdir()):
            tar.add(child, child.name)
