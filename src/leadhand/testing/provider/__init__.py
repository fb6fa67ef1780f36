"""The fake provider: a real HTTP server that plays scripts over the providers' own wires and keeps a bill.

    async with running(Provider({"lead": [say("done")]}, bill=Path("bill.jsonl"))) as base_url: ...
    with in_process("package.module:SCRIPTS", bill=Path("bill.jsonl")) as base_url: ...
    python -m leadhand.testing.provider --script package.module:SCRIPTS --port 0 --bill bill.jsonl

Scripts are those of `leadhand.testing.scripted`, by agent name. Give `base_url` to `open_model` or `--base-url`.
"""

from leadhand.testing.provider.asked import Asked, BadRequest, Block, Raw
from leadhand.testing.provider.bill import Bill, BillLine, dollars, read_bill, total
from leadhand.testing.provider.cache import CacheRule, PromptCache
from leadhand.testing.provider.chaos import Chaos, Mishap
from leadhand.testing.provider.process import in_process, load_scripts
from leadhand.testing.provider.server import Provider, running

__all__ = [
    "Asked",
    "BadRequest",
    "Bill",
    "BillLine",
    "Block",
    "CacheRule",
    "Chaos",
    "Mishap",
    "PromptCache",
    "Provider",
    "Raw",
    "dollars",
    "in_process",
    "load_scripts",
    "read_bill",
    "running",
    "total",
]
