"""What rehearsed agents have in common: reading what came back, thinking for a moment, filling in tables."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import msgspec

from leadhand.core.values import ToolResults
from leadhand.testing.scripted import Seen

EXIT = re.compile(r"\n?\[exit code (\d+)\]\s*(?:\n\n.*)?\Z", re.DOTALL)
BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)


def outputs(seen: Seen) -> list[str]:
    """What every bash command so far has printed, in order, without the harness's last line."""
    texts = [r.text for b in seen.bodies if isinstance(b, ToolResults) for r in b.results if r.name == "bash"]
    return [EXIT.sub("", text) for text in texts]


def thinking(seen: Seen, least: float = 0.2, most: float = 0.6) -> float:
    """Seconds that this step takes, as a model's latency would: even over the range, the same in every rehearsal."""
    share = zlib.crc32(f"{seen.agent}/{seen.turn}".encode()) % 1000 / 999
    return least + (most - least) * share


def block(table: object) -> str:
    """A table as a fenced block for a report."""
    return f"```json\n{msgspec.json.encode(table).decode()}\n```"


def tables(reports: Sequence[str]) -> dict[str, dict[str, object]]:
    """The tables in reports, by area. A report without a readable table gives none."""
    found: dict[str, dict[str, object]] = {}
    for text in reports:
        match = BLOCK.search(text)
        if match is None:
            continue
        try:
            table = msgspec.json.decode(match[1], type=dict[str, object])
        except msgspec.DecodeError:
            continue
        found[str(table.pop("area", ""))] = table
    return found
