"""How figures look: colours that colour-blind readers can tell apart, shapes beside colours, room for every label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, without its yellow (too light on white) and with a grey at the end.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#B5B5B5")
MARKERS = {"minimal": "o", "P": "s", "I": "^", "V": "v", "PIV": "D", "PI": "P", "PV": "X", "IV": "*", "": "o"}
STAGE = {"P": "#0072B2", "I": "#E69F00", "V": "#009E73"}
HATCHES = ("", "//", "..", "xx", "\\\\", "oo")

SETTINGS: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "path",
    "svg.hashsalt": "leadhand",
    "savefig.dpi": 160,
    "figure.max_open_warning": 0,
}


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib with our settings and without a display."""
    settings: Any = SETTINGS | {"backend": "agg"}
    with matplotlib.rc_context(settings):
        yield


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour per distinct name, in order of appearance; beyond the palette they repeat (shapes still differ)."""
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(names))}


def ink(colour: str) -> str:
    """Black or white, whichever can be read on this colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def signed(digits: int | None = None, factor: float = 1.0, unit: str = "") -> Any:
    """A tick formatter: a true minus, a plus, and zero without either. Without `digits`, as many as the tick needs."""

    def shown(value: float, _: Any = None) -> str:
        text = plain_number(abs(factor * value)) if digits is None else f"{abs(factor * value):.{digits}f}"
        sign = "" if float(text) == 0 else ("+" if value > 0 else "−")
        return f"{sign}{text}{unit}"

    return shown


def percent(value: float, _: Any = None) -> str:
    """A tick formatter for shares."""
    return f"{'−' if value < 0 else ''}{plain_number(abs(100 * value))} %"


def plain_number(value: float) -> str:
    """Up to three decimals, without zeros at the end."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def mark(artist: Any, row: int) -> None:
    """Tie an artist to a row of the exhibit's table: the page shows that row when it is pointed at."""
    artist.set_gid(f"row{row}")


def place_labels(
    ax: Axes,
    points: Sequence[tuple[float, float, str]],
    others: Sequence[tuple[float, float]] = (),
    lines: Sequence[tuple[tuple[float, float], tuple[float, float]]] = (),
    size: float = 7.5,
) -> int:
    """Label points where there is room, beside `others` and straight `lines` too, in the order given.

    The number that found none; the figure says it.
    """
    figure = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    taken = [_box(ax, x, y) for x, y in [*others, *((x, y) for x, y, _ in points)]]
    taken += [_strip(ax, *line) for line in lines]
    inside = ax.get_window_extent(renderer)
    lost = 0
    for x, y, text in points:
        for dx, dy in _OFFSETS:
            far = abs(dx) + abs(dy) > 18
            note = ax.annotate(
                text,
                (x, y),
                xytext=(dx, dy),
                textcoords="offset points",
                fontsize=size,
                ha="left" if dx > 0 else ("right" if dx < 0 else "center"),
                va="bottom" if dy > 0 else ("top" if dy < 0 else "center"),
                arrowprops=_LEADER if far else None,
                path_effects=_HALO,
                zorder=6,
            )
            note.set_in_layout(False)
            # The text alone: an annotation's own extent has the leader in it, which begins at the point.
            note.update_positions(renderer)
            box = Text.get_window_extent(note, renderer).padded(1.5)
            fits = box.x0 >= inside.x0 and box.x1 <= inside.x1 and box.y0 >= inside.y0 and box.y1 <= inside.y1
            if fits and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            note.remove()
        else:
            lost += 1
    if lost:
        said = f"{lost} label{'s' if lost > 1 else ''} without room: see the table"
        note = ax.annotate(said, (1, 0), xycoords="axes fraction", xytext=(-3, 3), textcoords="offset points",
                           fontsize=6.5, color="#666666", ha="right", va="bottom")  # fmt: skip
        note.set_in_layout(False)
    return lost


_HALO = [withStroke(linewidth=2.2, foreground="white")]
_LEADER = {"arrowstyle": "-", "lw": 0.4, "color": "#888888", "shrinkA": 0, "shrinkB": 3}
_OFFSETS = (
    (6, 0), (0, 6), (-6, 0), (0, -6), (5, 5), (-5, 5), (5, -5), (-5, -5),
    (14, 12), (-14, 12), (14, -12), (-14, -12), (0, 18), (0, -18), (24, 20), (-24, 20), (24, -20), (-24, -20),
    (36, 30), (-36, 30), (36, -30), (-36, -30), (-30, 8), (30, 8), (-30, -8), (30, -8), (-48, 0), (48, 0),
    (52, 44), (-52, 44), (52, -44), (-52, -44), (-64, 20), (64, 20), (-64, -20), (64, -20),
    (-84, 40), (84, 40), (-84, -40), (84, -40), (-96, 0), (96, 0), (-70, 70), (70, 70), (-70, -70), (70, -70),
    (-120, 60), (120, 60), (-120, -60), (120, -60), (-140, 25), (140, 25), (-140, -25), (140, -25), (-90, 95), (90, 95),
)  # fmt: skip


def _box(ax: Axes, x: float, y: float) -> Any:
    from matplotlib.transforms import Bbox

    px, py = ax.transData.transform((x, y))
    return Bbox.from_bounds(px - 6, py - 6, 12, 12)


def _strip(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> Any:
    """The room that a horizontal or vertical line takes."""
    from matplotlib.transforms import Bbox

    (x0, y0), (x1, y1) = ax.transData.transform([start, end])
    return Bbox.from_extents(min(x0, x1) - 1, min(y0, y1) - 1, max(x0, x1) + 1, max(y0, y1) + 1)
