"""Tables as values: typed columns, rows, notes; as text, CSV, LaTeX and HTML. Figures are drawn from these alone."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from leadhand.core.values import Value

Cell = str | float | int | bool | None
Kind = Literal["text", "reward", "points", "usd", "minutes", "hours", "percent", "number", "count", "p", "yes"]
"""How a number is shown. `reward` is in [0, 1]; `points` are rewards shown as 0.01; `percent` is a share."""


class Column(Value, frozen=True, kw_only=True):
    """`label` carries the unit, since it is also the axis label of what is drawn from it."""

    key: str
    label: str
    kind: Kind = "number"


class Table(Value, frozen=True, kw_only=True):
    """Rows in the order of `columns`. `notes` say what was left out and how intervals were made."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def at(self, key: str) -> int:
        return next(i for i, c in enumerate(self.columns) if c.key == key)

    def column(self, key: str) -> list[Any]:
        at = self.at(key)
        return [row[at] for row in self.rows]

    def label(self, key: str) -> str:
        return self.columns[self.at(key)].label

    def dicts(self) -> list[dict[str, Any]]:
        keys = [c.key for c in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]


def table(columns: Iterable[tuple[str, str, Kind]], rows: Iterable[Sequence[Any]], *notes: str) -> Table:
    """A table from (key, label, kind) and rows; a row of another length is an error."""
    made = tuple(Column(key=k, label=label, kind=kind) for k, label, kind in columns)
    given = tuple(tuple(r) for r in rows)
    for row in given:
        if len(row) != len(made):
            raise ValueError(f"a row of {len(row)} cells in a table of {len(made)} columns: {row}")
    return Table(columns=made, rows=given, notes=tuple(n for n in notes if n))


def filled(t: Table) -> Table:
    """Without the columns in which nothing is."""
    keep = [i for i in range(len(t.columns)) if not t.rows or any(row[i] is not None for row in t.rows)]
    return Table(
        columns=tuple(t.columns[i] for i in keep),
        rows=tuple(tuple(row[i] for i in keep) for row in t.rows),
        notes=t.notes,
    )


def shown(value: Cell, kind: Kind) -> str:
    """A cell as people read it; None is a dash, infinity is named."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if value in (float("inf"), float("-inf")):
        return "no limit"
    match kind:
        case "reward":
            return f"{value:.3f}"
        case "points":
            return _minus(f"{100 * value:+.1f}")
        case "usd":
            size = abs(value)
            digits = 0 if size >= 1000 else (2 if size >= 0.1 or size == 0 else 4)
            return f"{'−' if value < 0 else ''}${size:,.{digits}f}"
        case "minutes" | "hours":
            return f"{value:,.1f}"
        case "percent":
            return f"{100 * value:.0f} %" if abs(value) >= 0.095 or value == 0 else f"{100 * value:.1f} %"
        case "count":
            return f"{value:,.0f}"
        case "p":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        case _:
            return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _minus(text: str) -> str:
    """A true minus sign; zero without a sign."""
    return text[1:] if not text.strip("+-0.") else text.replace("-", "−")


def counted(number: int, what: str) -> str:
    """ "1 run", "2 runs"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def cells(t: Table) -> list[list[str]]:
    return [[shown(v, c.kind) for v, c in zip(row, t.columns, strict=True)] for row in t.rows]


def as_text(t: Table) -> str:
    """Columns aligned, numbers to the right; notes below."""
    head, body = [c.label for c in t.columns], cells(t)
    widths = [max(len(r[i]) for r in [head, *body]) for i in range(len(head))]
    left = [c.kind == "text" for c in t.columns]

    def line(row: list[str]) -> str:
        parts = (v.ljust(w) if to_left else v.rjust(w) for v, w, to_left in zip(row, widths, left, strict=True))
        return "  ".join(parts).rstrip()

    return "\n".join([line(head), *(line(r) for r in body), *(f"  {n}" for n in t.notes)]) + "\n"


def as_csv(t: Table) -> str:
    """Full precision, keys as header, empty for what does not exist."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([c.key for c in t.columns])
    for row in t.rows:
        writer.writerow(["" if v is None else (repr(v) if isinstance(v, float) else v) for v in row])
    return out.getvalue()


_LATEX = dict(zip("&%$#_{}", (r"\&", r"\%", r"\$", r"\#", r"\_", r"\{", r"\}"), strict=True)) | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "–": "--",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "η": r"$\eta$",
    "Δ": r"$\Delta$",
    "<": r"$<$",
    ">": r"$>$",
}


def latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def as_latex(t: Table, caption: str = "", label: str = "") -> str:
    """A booktabs table."""
    align = "".join("l" if c.kind == "text" else "r" for c in t.columns)
    head = " & ".join(latex(c.label) for c in t.columns)
    body = [" & ".join(latex(v) for v in row) + r" \\" for row in cells(t)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(caption)}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            head + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {latex(n)}" for n in t.notes),
            r"\end{table}",
            "",
        ]
    )


def as_html(t: Table, slug: str = "") -> str:
    """A sortable table: each number carries its full value."""
    head = "".join(f'<th class="{_side(c.kind)}" scope="col">{html.escape(c.label)}</th>' for c in t.columns)
    rows = []
    for i, (row, texts) in enumerate(zip(t.rows, cells(t), strict=True)):
        tds = "".join(
            f'<td class="{_side(c.kind)}"{_value(v)}>{html.escape(s)}</td>'
            for v, s, c in zip(row, texts, t.columns, strict=True)
        )
        rows.append(f'<tr data-row="{slug}-{i}">{tds}</tr>')
    notes = "".join(f"<p class=note>{html.escape(n)}</p>" for n in t.notes)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f"<div class=scroll><table class=sortable>{inner}</table></div>{notes}"


def _side(kind: Kind) -> str:
    return "l" if kind == "text" else "r"


def _value(value: Cell) -> str:
    return f' data-v="{float(value)!r}"' if isinstance(value, int | float) else ""
