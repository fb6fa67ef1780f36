"""Rehearsed teams: a lead that hands the work to a worker, who writes what stands in $LEADHAND_TEST_SOLUTION (JSON)."""

from __future__ import annotations

import json
import os

from leadhand.testing.scripted import Seen, Step, bash, call, do, finish


def written() -> str:
    """One command that writes every file of the solution."""
    files: dict[str, str] = json.loads(os.environ["LEADHAND_TEST_SOLUTION"])
    return "\n".join(f"cat > {name} <<'END_OF_FILE'\n{text}\nEND_OF_FILE" for name, text in files.items())


def lead(seen: Seen) -> Step:
    match seen.turn:
        case 0:
            return do(bash("ls"), call("delegate_agent", assignment="Write the code."))
        case 1:
            return do(call("wait", mode="all"))
    return finish("done")


def worker(seen: Seen) -> Step:
    return do(bash(written())) if seen.turn == 0 else finish("written")


SCRIPTS = {"lead": lead, "w1": worker, "solo": worker}
