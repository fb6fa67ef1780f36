"""Small real tasks, a study over them, and a fake provider in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leadhand.core.values import Price
from leadhand.study.layout import StudyPaths
from leadhand.testing.provider.bill import dollars, read_bill
from leadhand.testing.provider.process import in_process

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

Make = Callable[..., Path]


@pytest.fixture
def make_study(tmp_path: Path) -> Make:
    """Writes tasks and a study file over them; gives the file."""

    def make(
        url: str = "http://127.0.0.1:9/v1",
        *,
        tasks: int = 2,
        repeats: int = 1,
        sandbox: str = "local",
        concurrency: int = 4,
        budget: str = '"none"',
        run_budget: float = 100.0,
        schedules: str = '["push"]',
        guidance: str = '["P", "PIV"]',
        more: str = "",
    ) -> Path:
        for n in range(tasks):
            folder = tmp_path / "tasks" / f"t{n:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "task.toml").write_text(TASK.format(n=n, parity="odd" if n % 2 else "even"))
        text = STUDY.format(
            url=url,
            repeats=repeats,
            sandbox=sandbox,
            concurrency=concurrency,
            budget=budget,
            run_budget=run_budget,
            schedules=schedules,
            guidance=guidance,
        )
        path = tmp_path / "small.toml"
        path.write_text(text + more)
        return path

    return make


class Provider:
    """The fake provider's address and what it billed."""

    def __init__(self, url: str, bill: Path) -> None:
        self.url = url
        self.bill = bill

    def usd(self) -> float:
        return dollars(read_bill(self.bill), PRICE) if self.bill.exists() else 0.0


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    bill = tmp_path / "bill.jsonl"
    with in_process("study_scripts:scripts", bill=bill, pythonpath=str(HERE)) as url:
        yield Provider(url, bill)


@pytest.fixture
def paths(tmp_path: Path) -> StudyPaths:
    return StudyPaths(tmp_path / "study")
