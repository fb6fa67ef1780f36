"""Where a design asks for it: what a lead would hand in is tried before it is taken, and the lead told if that fails.

The core knows no task: what is tried, and where, is the harness's `try_work`. A check is no step and costs nothing, but
it takes time; it leaves the workspace alone. What was found out is read from the journal's view, so a resumed run tries
nothing again whose outcome is recorded.
"""

from __future__ import annotations

import anyio

from leadhand.core import framing, wording
from leadhand.core.agent import Outcome
from leadhand.core.errors import GradingError
from leadhand.core.events import CheckEnded, CheckStarted, command_ended
from leadhand.core.harness import Harness
from leadhand.core.ports import TryWork
from leadhand.core.state import AgentState
from leadhand.core.values import ExecResult

MOST_FAILED = 3
"""After so many failed checks in a run its work is taken untried: what is left is a matter for the grader."""

SHOWN_CHARS = 4000
"""How much of a failed check's output is shown: head and tail."""


async def objection(h: Harness, agent: AgentState, deadline: float) -> Outcome | None:
    """What speaks against taking the agent's work as it is now; None lets it finish.

    A check has what is left until `deadline`, and no longer than a command may take.
    """
    if agent.checked is None and h.try_work is not None and h.state.failed_checks < MOST_FAILED:
        await _check(h, agent, h.try_work, min(h.design.limits.command_s, deadline - anyio.current_time()))
    ended = agent.checked
    return Outcome(ended.text, is_error=True) if ended is not None and ended.outcome == "failed" else None


async def _check(h: Harness, agent: AgentState, try_work: TryWork, seconds: float) -> None:
    """Carry out one check, from its start to its end on record."""
    check = f"c{h.state.checks + 1}"
    h.record(agent.name, CheckStarted(check=check))
    try:
        ended = _outcome(h, check, await try_work(seconds))
    except GradingError as error:
        ended = CheckEnded(check=check, outcome="not_tried", fault=str(error)[:2000])
    except BaseException:
        # Cancelled, or the sandbox is lost: nothing was found out.
        h.record(agent.name, CheckEnded(check=check, outcome="interrupted"))
        raise
    h.record(agent.name, ended)


def _outcome(h: Harness, check: str, result: ExecResult) -> CheckEnded:
    seconds = round(result.seconds, 6)
    if result.ended == "exited" and result.exit_code == 0:
        return CheckEnded(check=check, outcome="passed", seconds=seconds)
    shown = framing.check(command_ended(check, result), min(SHOWN_CHARS, h.design.limits.output_chars))
    again = MOST_FAILED - 1 - h.state.failed_checks
    times = "once more" if again == 1 else f"{again} times"
    left = wording.CHECK_AGAIN.format(times=times) if again else wording.CHECK_LAST
    return CheckEnded(
        check=check,
        outcome="failed",
        text=wording.CHECK_FAILED.format(output=shown, left=left),
        exit_code=result.exit_code,
        ended=result.ended,
        seconds=seconds,
    )
