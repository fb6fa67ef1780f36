"""The shared cool-down, on a virtual clock."""

from __future__ import annotations

import random

import anyio
import pytest

from leadhand.models import SharedLimiter

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_clock]


async def waited(limiter: SharedLimiter, model: str = "m") -> float:
    start = anyio.current_time()
    await limiter.admit(model)
    return anyio.current_time() - start


async def test_nobody_waits_before_anything_went_wrong() -> None:
    assert await waited(SharedLimiter()) == 0


async def test_all_wait_for_as_long_as_the_provider_said_but_not_at_the_same_moment() -> None:
    limiter = SharedLimiter(random.Random(1))
    limiter.observe("m", 20.0)
    starts: list[float] = []

    async def one() -> None:
        starts.append(await waited(limiter))

    async with anyio.create_task_group() as group:
        for _ in range(16):
            group.start_soon(one)
    assert min(starts) >= 20
    assert max(starts) <= 22
    assert len({round(s, 3) for s in starts}) > 10


async def test_other_models_do_not_wait() -> None:
    limiter = SharedLimiter()
    limiter.observe("m", 20.0)
    assert await waited(limiter, "other") == 0


async def test_without_a_word_from_the_provider_the_back_off_doubles_and_is_bounded() -> None:
    limiter = SharedLimiter(random.Random(1))
    waits = []
    for _ in range(9):
        limiter.observe("m", None)
        waits.append(await waited(limiter))
    for n, wait in enumerate(waits):
        step = min(2**n, 60)
        assert step <= wait <= 2 * step


async def test_many_refusals_of_one_moment_are_one() -> None:
    limiter = SharedLimiter(random.Random(1))
    for _ in range(50):
        limiter.observe("m", None)
    assert await waited(limiter) <= 2


async def test_it_calms_down() -> None:
    limiter = SharedLimiter(random.Random(1))
    for _ in range(6):
        limiter.observe("m", None)
        await waited(limiter)
    await anyio.sleep(120)
    limiter.observe("m", None)
    assert await waited(limiter) <= 2


async def test_a_longer_word_extends_the_wait_of_those_who_wait_already() -> None:
    limiter = SharedLimiter(random.Random(1))
    limiter.observe("m", 5.0)
    waits: list[float] = []

    async def one() -> None:
        waits.append(await waited(limiter))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        await anyio.sleep(1)
        limiter.observe("m", 30.0)
        limiter.observe("m", 1.0)  # a shorter one does not shorten it
    assert waits[0] >= 31


async def test_a_waiter_can_be_cancelled() -> None:
    limiter = SharedLimiter()
    limiter.observe("m", 3600.0)
    with anyio.move_on_after(1) as scope:
        await limiter.admit("m")
    assert scope.cancelled_caught


async def test_behind_a_quota_all_are_served_at_the_quota_and_nobody_is_refused_for_ever() -> None:
    """Sixty agents that ask twice as fast as a provider serves: a bucket of ten, refilled ten times a second."""
    limiter = SharedLimiter(random.Random(1))
    left, at, served, most = 10.0, anyio.current_time(), 0, 0

    async def one() -> None:
        nonlocal left, at, served, most
        refused = 0
        while True:
            await limiter.admit("m")
            now = anyio.current_time()
            left, at = min(10.0, left + 10 * (now - at)), now
            if left >= 1:
                left, served, refused = left - 1, served + 1, 0
                await anyio.sleep(3.0)
                continue
            refused += 1
            most = max(most, refused)
            limiter.observe("m", (1 - left) / 10)
            await anyio.sleep(0.1)

    with anyio.move_on_after(400):
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(one)
    assert served >= 0.95 * 10 * 400
    assert most <= 6
