"""What the harness itself says to agents. Short, plain, and part of a run's identity (`digest`)."""

from __future__ import annotations

from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design
from leadhand.core.state import State

EMPTY = "Your reply held neither text nor a tool call. Go on with a tool call, or call finish if you are done."
CUT = "Your reply was cut off at the output limit. Go on in smaller steps: write long files in several commands."
INTERRUPTED = (
    "[interrupted: the harness stopped while this command ran. It was not run again; "
    "check what it has done before you repeat it]"
)
FINISH_ALONE = "finish must be the only call of its turn; the other calls were carried out. Call it again, alone."
LEAD_ONLY = "{tool} is for the lead; you are a worker. Do the work yourself and finish with your report."
NOT_YET = "Before you finish, read what your workers reported. Then go on, or call finish again."
REFUSED = "You cannot finish yet: {overview}. Wait for them or read their reports, then call finish again."
RETURNED = "[your report was given to the lead]"
LEFTOVERS = "[the harness was restarted; {count} processes that were running in the sandbox were killed]"

_STEPS_LOW = 20
_SECONDS_LOW = 600.0


def footer(state: State, design: Design, agent: str, seconds_left: float) -> str:
    """Lines under a result: what is left when it runs short, and the money, where the design shows it."""
    lines = []
    steps_left = design.limits.steps - state.agents[agent].steps
    if steps_left <= _STEPS_LOW:
        lines.append(f"[{steps_left} steps left]")
    if seconds_left < min(_SECONDS_LOW, design.limits.run_s / 4):
        lines.append(f"[{max(0.0, seconds_left) / 60:.1f} minutes left]")
    if design.budget_visibility != "none":
        lines.append(_money(state, design, agent))
    return "\n".join(lines)


def _money(state: State, design: Design, agent: str) -> str:
    own = state.ledger.agents.get(agent)
    spent = own.settled if own else 0.0
    if design.budget_visibility == "own":
        return f"[you have spent ${spent:.4f}]"
    total = "no limit" if design.budget_usd is None else f"${design.budget_usd:.2f}"
    return f"[the team has spent ${state.ledger.settled:.4f} of {total}; you ${spent:.4f}]"


DIGEST = digest(canonical([EMPTY, CUT, INTERRUPTED, FINISH_ALONE, LEAD_ONLY, NOT_YET, REFUSED, RETURNED, LEFTOVERS]))
