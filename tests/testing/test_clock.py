"""The virtual clock, on both backends: exact jumps, and none past real work."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
import time

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from leadhand.testing.clock import run_virtual, virtual_backend

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def test_a_backend_must_be_known() -> None:
    with pytest.raises(ValueError, match="'asyncio' and 'trio'"):
        virtual_backend("curio")


@both
def test_eight_tasks_of_a_hundred_minutes_end_at_exact_times(backend: str) -> None:
    ends: list[tuple[int, int, float]] = []

    async def worker(number: int) -> None:
        for minute in range(1, 101):
            await anyio.sleep(60 + number)
            ends.append((number, minute, anyio.current_time()))

    async def main() -> float:
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(worker, number)
        return anyio.current_time()

    assert run_virtual(main, backend=backend) == 100 * 67.0
    assert sorted(ends) == [(n, m, m * (60.0 + n)) for n in range(8) for m in range(1, 101)]
    assert [at for *_, at in ends] == sorted(at for *_, at in ends)


@both
def test_each_run_starts_at_zero(backend: str) -> None:
    async def main() -> float:
        began = anyio.current_time()
        await anyio.sleep(5)
        return began

    assert [run_virtual(main, backend=backend) for _ in range(2)] == [0.0, 0.0]


@both
def test_deadlines_fire_on_time_and_in_order(backend: str) -> None:
    async def main() -> tuple[bool, float, float]:
        with anyio.move_on_after(3600) as outer:
            with anyio.move_on_after(90.5):
                await anyio.sleep_forever()
            inner_ended = anyio.current_time()
            await anyio.sleep_forever()
        return outer.cancelled_caught, inner_ended, anyio.current_time()

    assert run_virtual(main, backend=backend) == (True, 90.5, 3600.0)


@both
def test_days_pass(backend: str) -> None:
    async def main() -> float:
        await anyio.sleep(10 * 86_400)
        return anyio.current_time()

    assert run_virtual(main, backend=backend) == 864_000.0


@both
def test_tasks_that_wake_each_other_do_so_before_time_moves(backend: str) -> None:
    async def main() -> tuple[int, float]:
        send, receive = anyio.create_memory_object_stream[int](0)
        async with anyio.create_task_group() as group, send, receive:
            group.start_soon(anyio.sleep, 1000)

            async def count() -> None:
                for n in range(500):
                    await send.send(n)

            group.start_soon(count)
            total = 0
            for _ in range(500):
                total += await receive.receive()
            return total, anyio.current_time()

    assert run_virtual(main, backend=backend) == (sum(range(500)), 0.0)


@both
def test_a_call_in_a_thread_takes_no_virtual_time(backend: str) -> None:
    async def main() -> tuple[str, float]:
        with anyio.fail_after(0.001):
            answer = await anyio.to_thread.run_sync(slow)
        return answer, anyio.current_time()

    def slow() -> str:
        time.sleep(0.1)
        return "done"

    assert run_virtual(main, backend=backend) == ("done", 0.0)


@both
def test_time_jumps_again_after_the_thread_is_done(backend: str) -> None:
    async def main() -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, time.sleep, 0.05)
            group.start_soon(anyio.sleep, 7200)
        return anyio.current_time()

    assert run_virtual(main, backend=backend) == 7200.0


def test_an_abandoned_thread_does_not_hold_asyncios_clock() -> None:
    release = threading.Event()

    async def main() -> float:
        async with anyio.create_task_group() as group:

            async def abandoned() -> None:
                await anyio.to_thread.run_sync(release.wait, abandon_on_cancel=True)

            group.start_soon(abandoned)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        await anyio.sleep(600)
        now = anyio.current_time()
        release.set()
        return now

    assert run_virtual(main) == 600.0


def test_asyncios_executor_counts_as_a_thread() -> None:
    async def main() -> float:
        with anyio.fail_after(0.001):
            await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.05)
        return anyio.current_time()

    assert run_virtual(main) == 0.0


@both
def test_a_socket_that_is_waited_for_keeps_time_from_jumping(backend: str) -> None:
    ours, theirs = socket.socketpair()

    async def main() -> tuple[bytes, float]:
        async with await anyio.abc.SocketStream.from_socket(ours) as stream:
            later = threading.Timer(0.1, theirs.send, [b"hello"])
            later.start()
            with anyio.fail_after(3600):
                heard = await stream.receive()
            return heard, anyio.current_time()

    with theirs:
        heard, now = run_virtual(main, backend=backend)
    assert heard == b"hello"
    assert now < 1800  # a jump to the deadline would be 3600, or a timeout


@both
def test_a_timeout_on_a_silent_socket_still_fires(backend: str) -> None:
    ours, theirs = socket.socketpair()

    async def main() -> bool:
        async with await anyio.abc.SocketStream.from_socket(ours) as stream:
            with anyio.move_on_after(0.05) as scope:
                await stream.receive()
            return scope.cancelled_caught

    with theirs:
        assert run_virtual(main, backend=backend)


@both
@pytest.mark.parametrize("output", [subprocess.PIPE, subprocess.DEVNULL])
def test_a_child_process_is_waited_for(backend: str, output: int) -> None:
    async def main() -> tuple[int, bytes | None]:
        with anyio.fail_after(3600):
            done = await anyio.run_process(
                ["sh", "-c", "echo out; exec >&-; sleep 0.1; exit 3"], stdout=output, check=False
            )
        await anyio.sleep(7200)
        return done.returncode, done.stdout

    assert run_virtual(main, backend=backend) == (3, b"out\n" if output == subprocess.PIPE else None)


@pytest.mark.anyio
@pytest.mark.virtual_clock
async def test_the_marker_gives_a_virtual_clock() -> None:
    assert anyio.current_time() == 0.0
    await anyio.sleep(86_400)
    assert anyio.current_time() == 86_400.0


@pytest.mark.anyio
async def test_without_the_marker_the_clock_is_real(anyio_backend_name: str) -> None:
    began = time.monotonic()
    await anyio.sleep(0.02)
    assert time.monotonic() - began >= 0.019
    assert anyio_backend_name == "asyncio"
