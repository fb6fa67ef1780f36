"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Runs = Annotated[str, typer.Option("--runs", help="Folder that holds runs (default: $LEADHAND_RUNS, else ./runs).")]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run: its folder, its id or the beginning of it, or `last`.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
