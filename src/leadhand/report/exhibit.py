"""An exhibit: one figure or table of the paper (or beyond it), with the numbers that it is drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadhand.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[["Figure", Table], None]


@dataclass(frozen=True, slots=True)
class Exhibit:
    """`paper` names the figures or tables of arXiv 2610.17471 that it corresponds to, "" beyond the paper.

    `caption` says what is shown and what the bars are. `draw` sees nothing but the table, so a figure cannot show
    other numbers than its table. `size` is in inches.
    """

    slug: str
    title: str
    paper: str
    caption: str
    table: Table
    draw: Draw | None = None
    size: tuple[float, float] = (7.2, 4.2)


@dataclass(frozen=True, slots=True)
class Absent:
    """An exhibit that this study cannot give, and what it would need."""

    slug: str
    title: str
    paper: str
    needs: str
