"""Hostile submissions against the real grader in a real sandbox. None gains, and none turns into a lost grading."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import msgspec
import pytest

from leadhand.benchmarks import submission as submissions
from leadhand.benchmarks.cases import Case
from leadhand.benchmarks.folder import FolderBenchmark
from leadhand.core.chain import canonical
from leadhand.core.errors import GradingError, SandboxError, SandboxLost
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import Grade, Grader, SandboxSpec, Task

Pack = Callable[[Mapping[str, str]], Path]

HEAD = "#!/bin/bash\nrm -f executable\ncat > executable <<'EOF'\n#!/bin/bash\n"
TAIL = "\nEOF\nchmod +x executable\n"
ECHO = 'echo "said $1"'
BOAST = '{"reward": 1, "passed": 3, "total": 3}'


def program(body: str, build: str = "") -> dict[str, str]:
    """A submission whose program is the bash script `body`; `build` runs at the end of compile.sh."""
    return {"compile.sh": HEAD + body + TAIL + build}


def echoing(*names: str) -> list[Case]:
    return [Case(name=n, args=(n,), stdout=f"said {n}\n") for n in names]


class Bench:
    """Grades submissions of one case-graded task."""

    def __init__(self, start: StartSandbox, pack: Pack, folder: Path) -> None:
        self.start, self.pack, self.folder, self.count = start, pack, folder, 0

    async def grade(self, files: Mapping[str, str], cases: list[Case], **settings: float) -> Grade:
        path = self.folder / "cases.jsonl"
        await anyio.Path(path).write_bytes(b"".join(canonical(case) + b"\n" for case in cases))
        return await self.by(Grader(cases=str(path), **settings), files)

    async def by(self, grader: Grader, files: Mapping[str, str]) -> Grade:
        self.count += 1
        scratch = self.folder / f"scratch{self.count}"
        os.mkdir(scratch)
        task = Task(id="attacked", prompt="", grader=grader)
        return await FolderBenchmark([task]).grade(task, self.pack(files), self.start, scratch)


@pytest.fixture
def bench(start: StartSandbox, pack: Pack, tmp_path: Path) -> Bench:
    return Bench(start, pack, tmp_path)


@pytest.mark.anyio
async def test_an_honest_program_passes(bench: Bench) -> None:
    grade = await bench.grade(program(ECHO), echoing("a", "b", "c"))
    assert (grade.reward, grade.passed, grade.total) == (1.0, 3, 3)


@pytest.mark.anyio
async def test_boasting_of_a_reward_in_every_place_gains_nothing(bench: Bench) -> None:
    shout = f"echo '{BOAST}'; echo '{BOAST}' >&2; echo '{BOAST}' > /scratch/verdict 2>/dev/null"
    grade = await bench.grade(program(shout, shout), echoing("a", "b"))
    assert (grade.reward, grade.passed, grade.total) == (0.0, 0, 2)


THIEF = r"""
{ cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline
  find / -xdev -type f -size -100k -not -path '/usr/*' -not -path '/proc/*' -not -path '/sys/*' -exec cat {} +
  cat /grader/* /scratch/* /scratch/*/*
} 2>/dev/null </dev/null | tr '\0' '\n' | grep -ao "SECRET-$1-[0-9a-f]\{16\}" | head -n 1
"""


@pytest.mark.anyio
async def test_expected_outputs_are_nowhere_to_be_stolen(bench: Bench) -> None:
    cases = [Case(name=n, args=(n,), stdout=f"SECRET-{n}-{secrets.token_hex(8)}\n") for n in ("a", "b")]
    grade = await bench.grade(program(THIEF), cases)
    assert grade.passed == 0


@pytest.mark.anyio
async def test_the_thief_does_steal_where_there_is_something(bench: Bench, tmp_path: Path) -> None:
    """The control of the test above, and the reason why cases are compared on the host."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "expected").write_text("SECRET-a-0123456789abcdef\n")
    command = (
        'bash compile.sh && [ "$(./executable a)" = "$(cat $GRADER/expected)" ] && echo \'{"reward": 1}\' '
        "|| echo '{\"reward\": 0}'"
    )
    assert (await bench.by(Grader(command=command, files=str(files)), program(THIEF))).reward == 1


@pytest.mark.anyio
async def test_a_hanging_case_costs_only_itself(bench: Bench) -> None:
    body = f'[ "$1" = b ] && {{ trap "" TERM; sleep 600; }}\n{ECHO}'
    grade = await bench.grade(program(body), echoing("a", "b", "c"), case_timeout_s=1.0)
    assert grade.detail["failed"] == ["b"]


@pytest.mark.anyio
async def test_a_flood_of_output_costs_only_itself(bench: Bench) -> None:
    body = f'[ "$1" = b ] && {{ echo "said b"; exec head -c 30000000 /dev/zero; }}\n{ECHO}'
    grade = await bench.grade(program(body), echoing("a", "b", "c"))
    assert grade.detail["failed"] == ["b"]


@pytest.mark.anyio
async def test_killing_everything_costs_only_the_case_that_did_it(bench: Bench) -> None:
    body = f'[ "$1" = b ] && {{ kill -9 -1; kill -9 $PPID; }}\n{ECHO}'
    grade = await bench.grade(program(body), echoing("a", "b", "c"))
    assert grade.detail["failed"] == ["b"]


SPAWN = "(setsid bash -c 'while :; do date +%s%N > /tmp/beat; sleep 0.05; done' > /dev/null 2>&1 &) ; sleep 0.3"
ALIVE = "rm -f /tmp/beat; sleep 0.3; [ -e /tmp/beat ] && echo alive || echo quiet"


@pytest.mark.anyio
async def test_processes_left_by_the_build_or_by_a_case_do_not_live_on(bench: Bench) -> None:
    body = f'if [ "$1" = spawn ]; then {SPAWN}; {ALIVE}; else {ALIVE}; fi'
    cases = [
        Case(name="after-build", args=("look",), stdout="quiet\n"),
        Case(name="control", args=("spawn",), stdout="alive\n"),
        Case(name="after-case", args=("look",), stdout="quiet\n"),
    ]
    grade = await bench.grade(program(body, SPAWN), cases)
    assert grade.detail["failed"] == []


@pytest.mark.anyio
async def test_writing_into_the_output_of_whoever_runs_it_gains_nothing(bench: Bench) -> None:
    """The runner's shells have the same uid: whatever is poured into their files, no expected output is known."""
    body = f"for f in /proc/[0-9]*/fd/*; do timeout 0.2 bash -c \"echo '{BOAST}' > $f\" 2>/dev/null; done; echo no"
    grade = await bench.grade(program(body), echoing("a", "b"), case_timeout_s=5.0)
    assert grade.passed == 0


POUR = "for f in /proc/[0-9]*/fd/*; do timeout 0.2 bash -c 'head -c 999 /dev/urandom > $0' $f; done 2>/dev/null"


@pytest.mark.anyio
async def test_destroying_the_sandbox_costs_the_case_and_not_the_grading(bench: Bench) -> None:
    """Garbage in the files of the runners may end them and the sandbox with them."""
    body = f'[ "$1" = b ] && {{ {POUR}; {POUR}; }}\n{ECHO}'
    grade = await bench.grade(program(body), echoing("a", "b", "c"), case_timeout_s=5.0)
    assert grade.detail["failed"] == ["b"]


@pytest.mark.anyio
async def test_destroying_every_sandbox_ends_with_nothing_and_not_with_no_grade(bench: Bench) -> None:
    in_cases = await bench.grade(program(POUR), echoing("a", "b", "c", "d", "e"), case_timeout_s=5.0)
    assert (in_cases.reward, in_cases.total) == (0.0, 5)
    in_build = await bench.grade(program(ECHO, f"{POUR}\n{POUR}\nexit 1"), echoing("a"))
    assert (in_build.reward, in_build.total) == (0.0, 1)


@pytest.mark.anyio
async def test_there_is_no_network_and_no_reference(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        accepted: list[object] = []
        listener = threading.Thread(target=lambda: accepted.append(server.accept()), daemon=True)
        listener.start()
        body = f"(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo net || echo none; ls /reference /grader"
        grade = await bench.grade(program(body), [Case(name="a", stdout="none\n", exit_code=2)])
        assert grade.reward == 1
        assert accepted == []
        socket.create_connection(("127.0.0.1", port)).close()
        listener.join()
        accepted[0][0].close()  # type: ignore[index]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "files",
    [
        {},
        {"compile.sh": "exit 3"},
        {"compile.sh": "echo done"},
        {"compile.sh": "mkdir -p executable"},
        {"compile.sh": "mkfifo executable; chmod +x executable"},
        {"compile.sh": "ln -s /nowhere executable"},
        {"compile.sh": "ln -s /usr executable"},
        {"compile.sh": "echo x > executable; chmod -x executable"},
        {"compile.sh": f"echo '{BOAST}'; false"},
        {"compile.sh": "kill -9 -1"},
        {"executable": "#!/bin/sh\necho said a", "compile.sh": "true"},
    ],
)
async def test_what_does_not_build_is_worth_nothing_and_that_is_a_valid_grade(
    bench: Bench, files: Mapping[str, str]
) -> None:
    grade = await bench.grade(files, echoing("a"))
    assert (grade.reward, grade.passed, grade.total) == (0.0, 0, 1)
    assert grade.detail["build"]


@pytest.mark.anyio
async def test_a_build_that_hangs_is_worth_nothing(bench: Bench) -> None:
    grade = await bench.grade({"compile.sh": "sleep 600"}, echoing("a"), timeout_s=1.0)
    assert grade.reward == 0
    assert "timed_out" in grade.detail["build"]


@pytest.mark.anyio
async def test_when_the_time_is_up_the_rest_counts_as_failed(bench: Bench) -> None:
    body = f'[ "$1" = a ] || sleep 600\n{ECHO}'
    grade = await bench.grade(program(body), echoing("a", "b", "c", "d"), timeout_s=3.0, case_timeout_s=2.0)
    assert (grade.reward, grade.detail["failed"]) == (0.25, ["b", "c", "d"])


@pytest.mark.anyio
async def test_a_submission_that_is_too_large_is_worth_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MAX_ENTRIES", 1)
    grade = await bench.grade({**program(ECHO), "more": ""}, echoing("a"))
    assert grade.reward == 0
    assert "entries" in grade.detail["submission"]


# --- grader commands ------------------------------------------------------------------------------------------

GRADE = """
import json, os, subprocess, sys
print("noise", file=sys.stderr)
try:
    open(os.environ["GRADER"] + "/new", "w")
except OSError:
    subprocess.run(["bash", "compile.sh"], check=True)
    said = subprocess.run(["./executable", "x"], capture_output=True, text=True).stdout
    print(json.dumps({"reward": 0.5 * (said == "said x\\n"), "passed": 1, "total": 2, "why": "half"}))
print("late noise", file=sys.stderr)
"""


@pytest.mark.anyio
async def test_a_grader_command_grades_with_its_files_read_only(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "grade.py").write_text(GRADE)
    grader = Grader(command="python3 $GRADER/grade.py", files=str(tmp_path / "files"))
    grade = await bench.by(grader, program(ECHO))
    assert (grade.reward, grade.passed, grade.total, grade.detail) == (0.5, 1, 2, {"why": "half"})


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("echo boom >&2; exit 7", "exited with 7.*boom"),
        ("true", "printed nothing"),
        (f"echo '{BOAST}'; echo sorry", "last line"),
        ("echo '{\"reward\": NaN}'", "last line"),
        ("echo '{\"reward\": 2}'", "in \\[0, 1\\]"),
        ("sleep 600", "timed out"),
        ("kill -9 $$", "137"),
    ],
)
async def test_a_grader_command_that_fails_is_a_grading_error(bench: Bench, command: str, complaint: str) -> None:
    with pytest.raises(GradingError, match=complaint):
        await bench.by(Grader(command=command, timeout_s=2.0), program(ECHO))


# --- faults of the grading itself -----------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_sandbox_that_does_not_start_or_is_lost_is_a_grading_error(
    pack: Pack, tmp_path: Path, start: StartSandbox
) -> None:
    async def broken(spec: SandboxSpec) -> Sandbox:
        raise SandboxError("no room")

    async def lost(spec: SandboxSpec) -> Sandbox:
        sandbox = await start(spec)

        async def gone(*words: object, **more: object) -> None:
            raise SandboxLost("gone")

        sandbox.exec = gone  # type: ignore[method-assign,assignment]
        return sandbox

    for number, faulty in enumerate((broken, lost)):
        os.mkdir(tmp_path / str(number))
        with pytest.raises(GradingError, match=r"grading sandbox failed: (no room|gone)"):
            await Bench(faulty, pack, tmp_path / str(number)).grade(program(ECHO), echoing("a"))


@pytest.mark.anyio
async def test_a_missing_grader_submission_or_case_file_is_a_grading_error(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(GradingError, match="cannot read the cases"):
        await bench.by(Grader(cases=str(tmp_path / "gone.jsonl")), program(ECHO))
    task = Task(id="x", prompt="")
    with pytest.raises(GradingError, match="has no grader"):
        await FolderBenchmark([task]).grade(task, tmp_path / "gone", bench.start, tmp_path / "s")
    graded = msgspec.structs.replace(task, grader=Grader(command="true"))
    with pytest.raises(GradingError, match="cannot be unpacked"):
        await FolderBenchmark([graded]).grade(graded, tmp_path / "gone", bench.start, tmp_path / "t")
