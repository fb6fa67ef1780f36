"""Exhibits as SVG and PNG."""

from __future__ import annotations

import io
import re

from leadhand.report.exhibit import Exhibit
from leadhand.report.style import styled


def render(exhibit: Exhibit, form: str) -> bytes:
    """The drawn figure as `svg` or `png`. The same table gives the same bytes."""
    return render_all(exhibit, (form,))[form]


def render_all(exhibit: Exhibit, forms: tuple[str, ...] = ("svg", "png")) -> dict[str, bytes]:
    """One drawing in several forms."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert exhibit.draw is not None
    made: dict[str, bytes] = {}
    with styled():
        figure = Figure(figsize=exhibit.size)
        FigureCanvasAgg(figure)
        exhibit.draw(figure, exhibit.table)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, not again for each form
        for form in forms:
            out = io.BytesIO()
            metadata = {"Date": None} if form == "svg" else {"Software": None}
            figure.savefig(out, format=form, metadata=metadata)
            made[form] = out.getvalue()
    return made


_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_ID = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')


def inline(exhibit: Exhibit, svg: bytes) -> str:
    """An SVG to stand in a page with others: no prologue, ids of its own, scaled to the page, named for readers."""
    text = _PROLOGUE.sub("", svg.decode(), count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _ID.sub(lambda m: f"{m[1]}{exhibit.slug}-{m[2]}", text)
    head, _, rest = text.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{exhibit.title}" style="max-width:{exhibit.size[0] * 96:.0f}px">{rest}'
