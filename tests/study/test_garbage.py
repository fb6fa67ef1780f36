"""The collector is kept away from what lives long, and gets everything back."""

from __future__ import annotations

import gc

import anyio
import pytest

from leadhand.core.events import Entry, ToolEnded
from leadhand.core.values import User
from leadhand.study.garbage import MOMENT_S, SELDOM_S, seldom_collected

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_clock]


class Node:
    """In a cycle with itself: only the collector can free it."""

    alive = 0

    def __init__(self) -> None:
        self.me = self
        Node.alive += 1

    def __del__(self) -> None:
        Node.alive -= 1


async def test_what_has_lived_for_a_moment_is_out_of_sight_until_the_end() -> None:
    async with seldom_collected():
        await anyio.sleep(2 * MOMENT_S)
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() < 1000  # the interpreter has a few of its own


async def test_cycles_are_freed_now_and_then() -> None:
    async with seldom_collected():
        Node()
        await anyio.sleep(3 * MOMENT_S)
        gc.collect()
        assert Node.alive == 1
        await anyio.sleep(SELDOM_S + MOMENT_S)
        assert Node.alive == 0


def test_values_are_none_of_the_collectors_business() -> None:
    event = ToolEnded(call="c", text="t")
    entry = Entry(v=1, seq=0, at="", session=0, mono=0.0, agent="", event=event)
    assert not any(map(gc.is_tracked, (event, entry, User(text="x"))))
