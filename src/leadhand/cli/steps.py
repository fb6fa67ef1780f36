"""Steps that take a while, told as they begin: one plain line each, beside the output proper."""

from __future__ import annotations

import sys

from leadhand.cli.text import safe


def say_step(step: str) -> None:
    print(safe(step, 160), file=sys.stderr, flush=True)
