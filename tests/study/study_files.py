"""Small real tasks, a study over them, and what the fake provider billed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leadhand.core.values import Price
from leadhand.testing.provider.bill import dollars, read_bill

HERE = Path(__file__).parent
PRICE = Price(input=1000.0, output=2000.0, source="given")
"""Dollars per million tokens: a thousand times too dear, so that cents are worth counting."""

TASK = """\
prompt = "Write the number {n} into answer.txt."
labels = {{ parity = "{parity}" }}
[grader]
command = '''
reward=0.25; [ "$(cat answer.txt)" = {n} ] && reward=1
echo "{{\\"reward\\": $reward, \\"passed\\": 1, \\"total\\": 1}}"
'''
"""

STUDY = """\
name = "small"
repeats = {repeats}
seed = 3
sandbox = "{sandbox}"
concurrency = {concurrency}
budget_usd = {budget}

[tasks]
source = ["tasks/*"]

[base]
lead = "openai-chat/strong"
worker = "openai-chat/weak"
budget_usd = {run_budget}
max_output_tokens = 100

[prices]
"openai-chat/strong" = "1000,2000"
"openai-chat/weak" = "1000,2000"

[base_urls]
"*" = "{url}"

[grid]
guidance = {guidance}
schedule = {schedules}
"""

STRATEGIES = """
[designs.peers]
strategy = "peers"
guidance = "PIV"
k = 3

[designs.best]
strategy = "best-of-k"
guidance = "PIV"
k = 3
selector_command = "wc -c < notes.txt"
"""
"""Beside the grid of `STUDY`: peers and candidates who do the same work."""

Make = Callable[..., Path]


class Provider:
    """The fake provider's address and what it billed since this was made."""

    def __init__(self, url: str, bill: Path) -> None:
        self.url = url
        self.bill = bill
        self._before = self.requests()

    def requests(self) -> int:
        return len(read_bill(self.bill)) if self.bill.exists() else 0

    def requests_here(self) -> int:
        return self.requests() - self._before

    def usd(self, price: Price = PRICE) -> float:
        return dollars(read_bill(self.bill)[self._before :], price) if self.bill.exists() else 0.0
