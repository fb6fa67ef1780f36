"""What the harness itself says to agents. Short, plain, and part of a run's identity (`digest`)."""

from __future__ import annotations

from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design, share_of
from leadhand.core.state import State

EMPTY = "Your reply held neither text nor a tool call. Go on with a tool call, or call finish if you are done."
CUT = "Your reply was cut off at the output limit. Go on in smaller steps: write long files in several commands."
INTERRUPTED = (
    "[interrupted: the harness stopped while this command ran. It was not run again; "
    "check what it has done before you repeat it]"
)
NOT_BEGUN = "[not carried out: you were stopped before it]"
FINISH_ALONE = "finish must be the only call of its turn; the other calls were carried out. Call it again, alone."
LEAD_ONLY = "{tool} is for the lead; you are a worker. Do the work yourself and finish with your report."
NOT_YET = "Before you finish, read what your workers reported. Then go on, or call finish again."
REFUSED = "You cannot finish yet: {overview}. Wait for them or read their reports, then call finish again."
RETURNED = "[your report was given to the lead]"
LEFTOVERS = (
    "[the harness was interrupted and started again; processes that had been running in the sandbox were killed, "
    "servers in the background too]"
)
FORKED = (
    "From here on you are worker {worker}, no longer the lead. Everything above is what the lead knew when it gave you "
    "this assignment. Tools of the lead are refused to you; you have bash and finish{mail}."
)
ELIDED = "[{size} characters of output left out here to make room; run the command again if you need them]"
CHECK_FAILED = (
    "Your work was not taken yet. The workspace as it is now was copied to a clean place without network, and there "
    "the build that the task asks for failed. What ran in the sandbox was stopped for this.\n\n{output}\n\n"
    "Correct it and call finish again. {left}"
)
CHECK_AGAIN = "It will be tried again, {times} at most."
CHECK_LAST = "It will not be tried again: your next finish ends your work."
STEPS_LEFT = "[{steps} left]"
LAST_STEP = "[1 step left: call finish now]"
MINUTES_LEFT = "[{minutes:.1f} minutes left]"
OWN_MONEY = "[you have spent ${own:.4f}]"
TEAM_MONEY = "[the team has spent ${team:.4f} of {total}, ${left:.4f} of it is left to you; you have spent ${own:.4f}]"
TEAM_MONEY_UNLIMITED = "[the team has spent ${team:.4f} of no limit; you have spent ${own:.4f}]"

_STEPS_LOW = 20
_SECONDS_LOW = 600.0


def footer(state: State, design: Design, agent: str, seconds_left: float, seconds_span: float) -> str:
    """Lines under a result: what is left when it runs short, and the money, where the design shows it.

    Time is short in the last ten minutes, or in the last quarter of a span that is short itself.
    """
    lines = []
    steps = design.limits.steps - state.agents[agent].steps
    if steps <= _STEPS_LOW:
        lines.append(LAST_STEP if steps == 1 else STEPS_LEFT.format(steps=f"{steps} steps"))
    if seconds_left < min(_SECONDS_LOW, seconds_span / 4):
        lines.append(MINUTES_LEFT.format(minutes=max(0.0, seconds_left) / 60))
    if design.budget_visibility != "none":
        lines.append(_money(state, design, agent))
    return "\n".join(lines)


def _money(state: State, design: Design, agent: str) -> str:
    spend = state.ledger.agents.get(agent)
    own, team = spend.settled if spend else 0.0, state.ledger.settled
    if design.budget_visibility == "own":
        return OWN_MONEY.format(own=own)
    if design.budget_usd is None:
        return TEAM_MONEY_UNLIMITED.format(team=team, own=own)
    share = share_of(design.budget_usd, worker=state.agents[agent].role == "worker")
    left = max(0.0, share - team - state.ledger.unknown)
    return TEAM_MONEY.format(team=team, total=f"${design.budget_usd:.2f}", left=left, own=own)


DIGEST = digest(
    canonical(
        [
            *(EMPTY, CUT, INTERRUPTED, NOT_BEGUN, FINISH_ALONE, LEAD_ONLY, NOT_YET, REFUSED, RETURNED, LEFTOVERS),
            *(FORKED, ELIDED, STEPS_LEFT, LAST_STEP, MINUTES_LEFT, OWN_MONEY, TEAM_MONEY, TEAM_MONEY_UNLIMITED),
        ]
    )
)

CHECK_DIGEST = digest(canonical([CHECK_FAILED, CHECK_AGAIN, CHECK_LAST]))
"""Part of the identity of runs with a `finish_check`, and of no others."""
