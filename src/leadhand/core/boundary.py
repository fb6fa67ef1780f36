"""The agent's boundary: the one place where a fault of one agent is caught, so that it ends that agent alone."""

from __future__ import annotations

import asyncio

import anyio

from leadhand.core.agent import Agent
from leadhand.core.errors import JournalError, SandboxLost
from leadhand.core.harness import End

FATAL = (JournalError, SandboxLost)
"""Faults that concern the whole run: they pass every boundary."""


async def at_boundary(agent: Agent) -> End:
    """Run an agent to its end; whatever its adapters throw is its end."""
    try:
        return await agent.run()
    except Exception as error:
        fatal = fatal_in(error)
        if fatal is not None:
            raise fatal from error
        return End("failed", fault=f"{type(error).__name__}: {error}"[:2000])
    except anyio.get_cancelled_exc_class():
        if _asked_to_stop():
            raise
        return End("failed", fault="an adapter cancelled its own call")


def fatal_in(error: BaseException) -> BaseException | None:
    """The fault in `error` (or in the group that it is) that concerns the whole run, if there is one."""
    if isinstance(error, BaseExceptionGroup):
        found = [f for f in map(fatal_in, error.exceptions) if f is not None]
        return next((f for f in found if isinstance(f, JournalError)), found[0] if found else None)
    return error if isinstance(error, FATAL) else None


def cause_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The fault that ended a run: a journal that cannot be written first, a lost sandbox next, else the first."""
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return fatal_in(group) or first


def _asked_to_stop() -> bool:
    """Whether somebody cancelled this task. A library on asyncio can leak the cancellation of a future of its own,
    and a task group would take that for the quiet end of a task; on trio a cancellation is always real.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() > 0
