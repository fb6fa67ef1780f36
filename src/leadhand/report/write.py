"""Write a report: one page, and a folder of every figure and table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from leadhand.report.answer import answer
from leadhand.report.catalog import all_exhibits
from leadhand.report.claims import claims
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.images import render_all
from leadhand.report.page import page
from leadhand.report.table import as_csv, as_latex, as_text


class Written(NamedTuple):
    """Where a report is, and what it holds."""

    page: Path
    exhibits: int
    absent: tuple[Absent, ...]


def write_report(e: Evidence, folder: Path, say: Callable[[str], None] = lambda _: None) -> Written:
    """`index.html` (self-contained), `figures/*.svg|png`, `tables/*.txt|csv|tex`, `claims.json`; `say` hears each."""
    figures, tables = folder / "figures", folder / "tables"
    figures.mkdir(parents=True, exist_ok=True)
    tables.mkdir(exist_ok=True)
    exhibits = all_exhibits(e)
    svgs: dict[str, bytes] = {}
    for number, x in enumerate(exhibits, 1):
        say(f"exhibit {number} of {len(exhibits)}: {x.title}")
        if isinstance(x, Absent):
            continue
        _write_table(tables, x)
        if x.draw is not None:
            images = render_all(x)
            svgs[x.slug] = images["svg"]
            for form, data in images.items():
                (figures / f"{x.slug}.{form}").write_bytes(data)
    found = claims(e)
    (folder / "claims.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    index = folder / "index.html"
    index.write_text(page(e, answer(e), found, exhibits, svgs), encoding="utf-8")
    absent = tuple(x for x in exhibits if isinstance(x, Absent))
    return Written(index, len(exhibits) - len(absent), absent)


def _write_table(folder: Path, x: Exhibit) -> None:
    (folder / f"{x.slug}.txt").write_text(as_text(x.table), encoding="utf-8")
    (folder / f"{x.slug}.csv").write_text(as_csv(x.table), encoding="utf-8")
    (folder / f"{x.slug}.tex").write_text(as_latex(x.table, x.caption, x.slug), encoding="utf-8")
