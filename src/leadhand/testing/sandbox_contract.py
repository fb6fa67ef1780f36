"""What every `Sandbox` must do, as checks that any backend can be put through.

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
    async def test_contract(check): await check(setup)

`setup(**more)` is an async context manager that gives a started sandbox on an empty workspace; `more` are fields of
`SandboxSpec`. A check marked `needs(...)` holds only where the sandbox enforces that (see `missing`). What a sandbox
must refuse is in `sandbox_escapes`.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import anyio

from leadhand.core.errors import SandboxError, SandboxLost
from leadhand.core.ports import Sandbox
from leadhand.core.values import ExecResult, Limits


class Setup(Protocol):
    def __call__(self, **more: object) -> AbstractAsyncContextManager[Sandbox]: ...


Check = Callable[[Setup], Awaitable[None]]
LONG = 60.0  # seconds: no check waits that long, unless it fails


def needs(*names: str) -> Callable[[Check], Check]:
    """Marks a check that holds only where the sandbox enforces these (names as in `SandboxInfo.not_enforced`)."""

    def mark(check: Check) -> Check:
        check.needs = names  # type: ignore[attr-defined]
        return check

    return mark


def needed(check: Check) -> tuple[str, ...]:
    """What the check needs enforced."""
    names: tuple[str, ...] = getattr(check, "needs", ())
    return names


def missing(check: Check, sandbox: Sandbox) -> list[str]:
    """What this sandbox does not enforce of what the check needs."""
    return [name for name in needed(check) if name in sandbox.info.not_enforced]


async def sh(
    sandbox: Sandbox, command: str, *, agent: str = "lead", timeout_s: float = LONG, keep: int = 65_536
) -> ExecResult:
    return await sandbox.exec(command, agent=agent, timeout_s=timeout_s, keep=keep)


async def alive(sandbox: Sandbox, mark: str) -> int:
    """How many processes have `mark` in their arguments, as seen from inside; zombies are dead."""
    half = len(mark) // 2  # so that this command's own arguments do not hold the mark
    command = f"""m='{mark[:half]}'; m=$m'{mark[half:]}'; n=0
        for d in /proc/[0-9]*; do
            [[ $(tr '\\0' ' ' <$d/cmdline) == *"$m"* ]] && ! grep -q '^State:.Z' $d/status && n=$((n+1))
        done 2>/dev/null; echo $n"""
    return int((await sh(sandbox, command, agent="looker")).head)


# --- one command ----------------------------------------------------------------------------------------------


async def output_is_merged_and_the_exit_code_is_the_shells(setup: Setup) -> None:
    async with setup() as sandbox:
        result = await sh(sandbox, "echo one; echo two >&2; echo three; exit 7")
        assert (result.head, result.exit_code, result.ended) == (b"one\ntwo\nthree\n", 7, "exited")
        assert (result.size, result.tail, result.spill) == (14, b"", "")
        silent = await sh(sandbox, "true")
        assert (silent.head, silent.size, silent.exit_code) == (b"", 0, 0)
        assert (await sh(sandbox, "")).exit_code == 0
        assert (await sh(sandbox, "kill -TERM $$")).exit_code == 143
        assert (await sh(sandbox, "if then")).exit_code == 2


async def every_command_starts_in_its_folder_with_a_fresh_shell(setup: Setup) -> None:
    async with setup() as sandbox:
        there = sandbox.info.workspace
        assert (
            await sh(sandbox, "pwd; mkdir -p 'a b'; cd /; export X=1; umask 077; set -e")
        ).head.decode() == f"{there}\n"
        assert (await sh(sandbox, "pwd; echo ${X-unset}; umask")).head.decode() == f"{there}\nunset\n0022\n"
        inside = await sandbox.exec("pwd", agent="lead", timeout_s=LONG, cwd=f"{there}/a b")
        assert inside.head.decode() == f"{there}/a b\n"
        gone = await sandbox.exec("echo ran", agent="lead", timeout_s=LONG, cwd=f"{there}/none")
        assert gone.exit_code != 0
        assert b"ran" not in gone.head


async def standard_input_is_empty(setup: Setup) -> None:
    async with setup() as sandbox:
        assert (await sh(sandbox, "cat; read x; echo $?")).head == b"1\n"


async def bytes_are_exact(setup: Setup) -> None:
    async with setup() as sandbox:
        odd = await sh(sandbox, r"printf 'a\0b\xff\xfe\r\n\0'")
        assert odd.head == b"a\0b\xff\xfe\r\n\0"
        long = "é" * 150_000  # 300 kB: more than one argument of a program may hold
        assert (await sh(sandbox, f": {long}\nx='{long}'; echo ${{#x}} end")).head == b"150000 end\n"
        quotes = "echo '\"$`\\'\nprintf '%s\\n' \"it's\"\n\ncat <<'EOF'\n LH 1 0 0 0 e -\nEOF"
        assert (await sh(sandbox, quotes)).head == b"\"$`\\\nit's\n LH 1 0 0 0 e -\n"
        assert (await sh(sandbox, "echo \ud800 ok")).head.endswith(b" ok\n")
        nul = await sh(sandbox, "echo a\0b")
        assert nul.exit_code != 0
        assert b"NUL" in nul.head


async def output_can_be_opened_anew(setup: Setup) -> None:
    """`tee /dev/stderr` and the like must not truncate what was written before."""
    async with setup() as sandbox:
        result = await sh(
            sandbox, "echo one; echo two >/dev/stderr; echo three | tee /dev/stderr; echo four >>/dev/stdout"
        )
        assert result.head == b"one\ntwo\nthree\nthree\nfour\n"


async def long_output_keeps_both_ends_and_the_whole_in_a_file(setup: Setup) -> None:
    async with setup() as sandbox:
        whole = b"".join(b"%d\n" % n for n in range(1, 100_001))
        result = await sh(sandbox, "seq 100000", keep=1000)
        assert (result.head, result.tail, result.size) == (whole[:1000], whole[-1000:], len(whole))
        assert await sandbox.read(result.spill) == whole
        assert not result.spill.startswith(sandbox.info.workspace + "/")
        just = await sh(sandbox, "head -c 2000 /dev/zero", keep=1000)
        assert (just.head + just.tail, just.spill) == (bytes(2000), "")


async def a_flood_ends(setup: Setup) -> None:
    async with setup(limits=Limits(file_mb=4)) as sandbox:
        result = await sh(sandbox, "echo first; yes", keep=1000)
        assert result.ended == "flooded"
        assert (result.head[:8], result.size) == (b"first\ny\n", 4 << 20)
        assert (await sh(sandbox, "echo next")).head == b"next\n"


# --- kills ----------------------------------------------------------------------------------------------------

KINDS_OF_PROCESS = """
    trap '' TERM HUP INT
    sleep {mark}1 &
    setsid sleep {mark}2 &
    nohup sleep {mark}3 >/dev/null 2>&1 &
    (setsid sleep {mark}4 &)
    env -i setsid sh -c 'sleep {mark}5 & exit' &
    (env -i sh -c '(trap "" TERM; sleep {mark}6 &) &' &)
    sleep 0.2
    echo started
    sleep {mark}7
"""
"""Background, setsid, nohup, orphan, cleared environment, double fork, foreground; all with TERM ignored."""


async def a_timeout_kills_whatever_the_command_started(setup: Setup) -> None:
    async with setup() as sandbox:
        await sh(sandbox, "sleep 8642100 & echo ok")  # an earlier command's server: lives on
        result = await sh(sandbox, KINDS_OF_PROCESS.format(mark="8642199"), timeout_s=1.5)
        assert (result.ended, result.exit_code, result.head) == ("timed_out", 137, b"started\n")
        assert await alive(sandbox, "8642199") == 0
        assert await alive(sandbox, "8642100") == 1
        assert (await sh(sandbox, "echo next")).head == b"next\n"


async def a_cancelled_command_is_dead_before_the_cancellation_goes_on(setup: Setup) -> None:
    async with setup() as sandbox:
        with anyio.move_on_after(1.5) as scope:
            await sh(sandbox, KINDS_OF_PROCESS.format(mark="8642299"))
        assert scope.cancelled_caught
        assert await alive(sandbox, "8642299") == 0
        assert (await sh(sandbox, "echo next")).head == b"next\n"


async def a_finished_commands_children_live_until_they_are_killed(setup: Setup) -> None:
    async with setup() as sandbox:
        result = await sh(sandbox, "sleep 8642300 & (setsid sleep 8642301 &) ; echo ok")
        assert (result.ended, result.head) == ("exited", b"ok\n")
        await sh(sandbox, "sleep 8642302 & echo ok", agent="w1")
        assert await alive(sandbox, "864230") == 3
        assert await sandbox.kill("lead") >= 2
        assert await alive(sandbox, "864230") == 1
        assert await sandbox.kill() >= 1
        assert await alive(sandbox, "864230") == 0
        assert (await sh(sandbox, "echo next")).head == b"next\n"


async def kill_ends_a_running_command(setup: Setup) -> None:
    async with setup() as sandbox:
        results = []

        async def run() -> None:
            results.append(await sh(sandbox, "echo begun; touch begun; sleep 8642400"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await sh(sandbox, "until [ -e begun ]; do sleep 0.01; done", agent="w1")
            assert await sandbox.kill("lead") >= 1
        assert (results[0].ended, results[0].exit_code) == ("killed", 137)
        assert await alive(sandbox, "8642400") == 0


async def a_killed_runner_is_replaced_and_its_agent_told(setup: Setup) -> None:
    async with setup() as sandbox:
        result = await sh(sandbox, "(setsid sleep 8642500 &) ; kill -9 $PPID; sleep 8642501")
        assert (result.ended, result.exit_code) == ("runner_lost", 137)
        assert await alive(sandbox, "864250") == 0
        assert (await sh(sandbox, "echo next")).head == b"next\n"


async def a_missing_spool_folder_comes_back(setup: Setup) -> None:
    async with setup() as sandbox:
        await sh(sandbox, f"rm -rf {sandbox.info.scratch}/*")
        assert (await sh(sandbox, "echo next")).head == b"next\n"


# --- several agents -------------------------------------------------------------------------------------------


async def agents_run_at_the_same_time_in_the_same_place(setup: Setup) -> None:
    """Each waits for the other's file: impossible one after the other."""
    async with setup() as sandbox:
        results: dict[str, ExecResult] = {}

        async def run(own: str, other: str) -> None:
            command = f"touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo {own} saw {other}"
            results[own] = await sh(sandbox, command, agent=own)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "w1", "w2")
            tasks.start_soon(run, "w2", "w1")
        assert [r.head for _, r in sorted(results.items())] == [b"w1 saw w2\n", b"w2 saw w1\n"]


async def commands_of_one_agent_run_in_order(setup: Setup) -> None:
    async with setup() as sandbox:
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(sh, sandbox, f"sleep 0.0{9 - number}; echo {number} >>order")
                await anyio.lowlevel.checkpoint()
        assert await sandbox.read("order") == b"0\n1\n2\n3\n4\n"


# --- files ----------------------------------------------------------------------------------------------------


async def files_are_exact(setup: Setup) -> None:
    async with setup() as sandbox:
        data = bytes(range(256)) * 12_000
        for path in (f"{sandbox.info.scratch}/reports/w 1/d'1.md", "below/the/workspace.bin"):
            await sandbox.write(path, data)
            assert await sandbox.read(path) == data
            await sandbox.write(path, b"")
            assert await sandbox.read(path) == b""
        for path in ("none", "none/at/all"):
            try:
                await sandbox.read(path)
            except FileNotFoundError:
                continue
            raise AssertionError("read what is not there")
        await sh(sandbox, "mkdir folder; mkfifo pipe")
        for path in ("folder", "pipe"):
            for attempt in (sandbox.read(path), sandbox.write(path, b"x")):
                try:
                    await attempt
                except SandboxError:
                    continue
                raise AssertionError(f"used {path} as a file")


async def what_is_collected_is_plain(setup: Setup) -> None:
    async with setup() as sandbox, anyio.TemporaryDirectory(prefix="contract-") as there:
        await sh(
            sandbox,
            "mkdir d; echo text >d/f; ln -s /etc/passwd l; ln -s .. d/up; mkfifo p; ln d/f hard; sleep 8642600 &",
        )
        await sh(
            sandbox,
            "echo secret >shut; chmod 000 shut; mkdir closed; echo x >closed/x; chmod 000 closed; mknod n c 1 3",
        )
        target = Path(there) / "made" / "out.tar.gz"
        await sandbox.collect(target)
        assert await alive(sandbox, "8642600") == 0
        with tarfile.open(target) as archive:
            members = {m.name: m for m in archive}
            names = {"d", "d/f", "d/up", "l", "hard", "shut", "closed", "closed/x"}
            assert members.keys() == names
            assert (members["l"].linkname, members["l"].issym()) == ("/etc/passwd", True)
            with tempfile.TemporaryDirectory() as out:
                archive.extract("d/f", out, filter="data")
                assert (Path(out) / "d/f").read_text() == "text\n"


async def closing_is_final_and_may_be_repeated(setup: Setup) -> None:
    async with setup() as sandbox:
        await sh(sandbox, "(setsid sleep 8642700 &)")
        await sandbox.aclose()
        await sandbox.aclose()
        try:
            await sh(sandbox, "echo still here")
        except SandboxLost:
            return
        raise AssertionError("a closed sandbox ran a command")


CHECKS: tuple[Check, ...] = (
    output_is_merged_and_the_exit_code_is_the_shells,
    every_command_starts_in_its_folder_with_a_fresh_shell,
    standard_input_is_empty,
    bytes_are_exact,
    output_can_be_opened_anew,
    long_output_keeps_both_ends_and_the_whole_in_a_file,
    a_flood_ends,
    a_timeout_kills_whatever_the_command_started,
    a_cancelled_command_is_dead_before_the_cancellation_goes_on,
    a_finished_commands_children_live_until_they_are_killed,
    kill_ends_a_running_command,
    a_killed_runner_is_replaced_and_its_agent_told,
    a_missing_spool_folder_comes_back,
    agents_run_at_the_same_time_in_the_same_place,
    commands_of_one_agent_run_in_order,
    files_are_exact,
    what_is_collected_is_plain,
    closing_is_final_and_may_be_repeated,
)
