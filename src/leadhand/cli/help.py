"""`leadhand --help`: the commands by what one wants to do."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

WHOLE = 400
"""Characters: no first sentence is longer, so none is cut."""

GROUPS = {
    "Run a team": ("demo", "run", "resume", "apply", "grade"),
    "Look at runs": ("show", "view", "runs", "compare", "export"),
    "Study designs": ("study", "analyse", "report", "advise", "design", "reprice"),
    "Tasks and models": ("bench", "task", "models"),
    "This machine": ("doctor", "reap"),
}


class Grouped(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(n.ljust(width), self.commands[n].get_short_help_str(WHOLE)) for n in names])
