"""The study's money: a run starts only if its whole budget fits beside what is spent and what others may still spend.

Invariant: spent + held <= limit. A run never spends more than its own budget, over all its sessions, so the study's
settled spend never exceeds the limit; running runs finish inside what is held for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.errors import UsageError


class Purse:
    """Dollars by run folder. `limit` None is unlimited."""

    def __init__(self, limit: float | None, spent: Mapping[str, float]) -> None:
        self.limit = limit
        self._spent = dict(spent)
        self._held: dict[str, float] = {}
        self.spent = 0.0
        """What may be owed for everything that does not run now."""
        self.held = 0.0
        """What the running runs may come to in all: their budgets."""
        self._sum_up()

    def _sum_up(self) -> None:
        # Summed anew rather than added to: no rounding residue grows over thousands of runs.
        self.spent = sum(usd for run, usd in self._spent.items() if run not in self._held)
        self.held = sum(self._held.values())

    def fits(self, run: str, budget: float | None) -> bool:
        if self.limit is None:
            return True
        return self.spent - self._spent.get(run, 0.0) + self.held + self._whole(run, budget) <= self.limit

    def hold(self, run: str, budget: float | None) -> None:
        """Set a run's budget aside. Ask `fits` first: it is an error if it does not."""
        if not self.fits(run, budget):
            raise AssertionError(f"the budget of {run} does not fit")
        self._held[run] = self._whole(run, budget) if self.limit is not None else self._spent.get(run, 0.0)
        self._sum_up()

    def settle(self, run: str, usd: float) -> None:
        """A run stopped: what it may owe in all is known, the rest of its budget is free again."""
        self._held.pop(run, None)
        self._spent[run] = usd
        self._sum_up()

    def rename(self, run: str, archived: str) -> None:
        """A folder got another name; its money stays spent."""
        self._spent[archived] = self._spent.pop(run, 0.0)
        self._sum_up()

    def _whole(self, run: str, budget: float | None) -> float:
        if budget is None:
            raise UsageError(
                "a study with a budget needs one for each run: set budget_usd in [base], or --max-usd none"
            )
        # A resumed run may have come over its budget only if that was lowered since.
        return max(budget, self._spent.get(run, 0.0))
