"""One self-contained HTML page that a reader understands without the paper."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import groupby

from leadhand.analysis.spent import together
from leadhand.report.claims import Claim
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.images import inline
from leadhand.report.method import METHOD, calibration, words
from leadhand.report.table import as_html, cells, counted

MOST_ROWS = 400
"""A longer table is in the folder of tables, not in the page."""

FIRST = ("cost", "frontier", "designs", "paired")


def page(
    e: Evidence, answer: str, claims: Sequence[Claim], exhibits: Sequence[Exhibit | Absent], svgs: Mapping[str, bytes]
) -> str:
    """The page as text. `svgs` by slug; marks in them show their table's row when pointed at."""
    shown = [x for x in exhibits if isinstance(x, Exhibit)]
    absent = [x for x in exhibits if isinstance(x, Absent)]
    first = [x for slug in FIRST for x in shown if x.slug == slug]
    rest = [x for x in shown if x.slug not in FIRST]
    tested = any(c.verdict != "not tested" for c in claims)
    held = ["<h2 id=claims>Claims of the paper, held against this study</h2>", _held(e, claims)]
    frontier = ["<h2 id=frontier-section>Frontier and designs</h2>", *(_exhibit(x, svgs) for x in first)]
    question = e.question or "Which design earns the most, and which earns the most for its money?"
    body = [
        f"<h1>{html.escape(question)}</h1>",
        f"<p class=where>{html.escape(_where(e))}</p>",
        f"<p class=answer>{html.escape(answer)}</p>",
        f"<nav>{_links(tested)}</nav>",
        words(teams=_has_teams(e)),
        # Where no claim can be tested, what the data do show goes first.
        *((*held, *frontier) if tested else (*frontier, *held)),
        "<h2 id=figures>More figures and tables</h2>",
        *(_exhibit(x, svgs) for x in rest),
        "<h2 id=caveats>Caveats</h2>",
        _caveats(e, absent),
        "<h2 id=method>Method</h2>",
        METHOD,
        calibration(),
    ]
    data = {
        x.slug: {"labels": [c.label for c in x.table.columns], "rows": cells(x.table)} for x in shown if x.slug in svgs
    }
    return _shell(e.name, "\n".join(body), data)


def _links(tested: bool) -> str:
    """To the parts of the page, in their order."""
    parts = [("claims", "Claims"), ("frontier-section", "Frontier and designs")]
    parts = (parts if tested else parts[::-1]) + [("figures", "Figures"), ("caveats", "Caveats"), ("method", "Method")]
    return "".join(f"<a href=#{name}>{words}</a>" for name, words in parts)


def _has_teams(e: Evidence) -> bool:
    """Whether anything is known to be more than one agent."""
    return any(f.group or (f.known and not f.solo) for f in e.factors.values())


def _shell(name: str, body: str, data: object) -> str:
    folder = files("leadhand.report")
    css, script = (folder / "page.css").read_text(), (folder / "page.js").read_text()
    # "<" in data would let a task's name end the script element.
    encoded = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width">'
        f"<title>{html.escape(name)} · Leadhand report</title><style>{css}</style></head>\n<body>\n{body}\n"
        f'<div id=tip role=tooltip></div><script type="application/json" id=data>{encoded}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def _where(e: Evidence) -> str:
    runs = sum(s.standing.counted for s in e.summaries.values())
    spent = together(e.spending).total if e.spending else float(e.scores.frame["cost"].sum() or 0.0)
    idle = sum(not s.standing.counted for s in e.summaries.values())
    without = f" ({idle} without a run that counts)" if idle else ""
    dollars = f", ${spent:,.2f} spent" if spent else ""
    return (
        f"{e.name}: {counted(len(e.factors), 'design')}{without}, {counted(len(e.scores.tasks), 'task')}, "
        f"{counted(e.scores.repeats, 'repeat')}; {counted(runs, 'run')} that count{'s' if runs == 1 else ''}{dollars}."
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = []
    for claim, group in groupby(claims, key=lambda c: c.claim):
        found = list(group)
        for i, c in enumerate(found):
            first = ""
            if i == 0:
                rule = f"<div class=note>{html.escape(c.rule)}</div>"
                first = f"<td rowspan={len(found)}>{html.escape(claim)}{rule}</td>"
            verdict = f"<td class={c.verdict.replace(' ', '-')}>{c.verdict}</td>"
            rows.append(f"<tr>{first}{verdict}<td>{html.escape(c.finding)}</td></tr>")
    tested = [c for c in claims if c.verdict != "not tested"]
    several = f" {len(tested)} tests are read together here and are not corrected for that." if len(tested) > 1 else ""
    undecided = "Undecided means that the interval leaves both open, not that there is no effect. " if tested else ""
    note = f"{undecided}The claims are from arXiv 2610.17471, in our words.{several}"
    head = "<thead><tr><th>Claim, and its rule</th><th>Verdict</th><th>What was seen (95 % interval)</th></tr></thead>"
    return f"<table class=claims>{head}<tbody>{''.join(rows)}</tbody></table><p class=note>{note}</p>"


def _held(e: Evidence, claims: Sequence[Claim]) -> str:
    """The claims that can be tested; the others in one line, with what each would need folded below it."""
    tested = [c for c in claims if c.verdict != "not tested"]
    rest = [c for c in claims if c.verdict == "not tested"]
    if not rest:
        return _claims(tested)
    why = "the designs that they need are not here" if _has_teams(e) else "no teams"
    line = f"None of the paper's {len(rest)} claims can be tested with these data: {why}."
    if tested:
        line = f"Of the paper's claims, {len(rest)} cannot be tested with these data: {why}."
    folded = f"<details><summary>The claims not tested, and what each needs</summary>{_claims(rest)}</details>"
    return f"{_claims(tested) if tested else ''}<p>{line}</p>{folded}"


def _exhibit(x: Exhibit, svgs: Mapping[str, bytes]) -> str:
    source = f"<span class=paper> · {_cited(x.paper)}</span>" if x.paper else ""
    parts = [f"<section id={x.slug}><h3>{html.escape(x.title)}{source}</h3>"]
    caption = f"<figcaption>{html.escape(x.caption)}</figcaption>"
    if x.slug in svgs:
        parts.append(f"<figure>{inline(x, svgs[x.slug])}{caption}</figure>")
    else:
        parts.append(caption)
    if len(x.table.rows) > MOST_ROWS:
        notes = "".join(f"<p class=note>{html.escape(n)}</p>" for n in x.table.notes)
        parts.append(f"{notes}<p class=note>{len(x.table.rows):,} rows: see tables/{x.slug}.csv.</p>")
    elif x.slug in svgs:
        parts.append(f"<details><summary>The numbers</summary>{as_html(x.table, x.slug)}</details>")
    else:
        parts.append(as_html(x.table, x.slug))
    return "".join(parts) + "</section>"


def _cited(paper: str) -> str:
    """ "2, 7" as "paper: figures 2, 7"; what names its kind itself stays."""
    if paper.startswith("table"):
        return f"paper: {paper}"
    return f"paper: figure{'s' if ',' in paper or '–' in paper else ''} {paper}"


def _tried_in_vain(e: Evidence) -> list[str]:
    """What attempts and runs that do not count have cost."""
    every = together(e.spending)
    told = []
    if every.attempts_made:
        designs = sum(s.attempts_made > 0 for s in e.spending)
        told.append(
            f"{counted(every.attempts_made, 'archived attempt')} of {counted(designs, 'design')} failed or were lost: "
            f"${every.attempts:,.2f} settled, and at most ${every.attempts_unknown:,.2f} more of unknown billing. "
            "The settled dollars are in the cost of the runs that replaced them (where none did, in the study's "
            "total alone): see the table of what the study cost."
        )
    if every.dropped_runs:
        told.append(
            f"{counted(every.dropped_runs, 'run')} that the study no longer asks for cost ${every.dropped:,.2f}: in "
            "its total, and in no design's mean."
        )
    if every.unknown:
        told.append(
            f"Of calls that were cut off it was never learnt what they cost: at most ${every.unknown:,.2f} beside the "
            f"${every.total:,.2f} that are settled. Means are of settled dollars."
        )
    return told


def _caveats(e: Evidence, absent: Sequence[Absent]) -> str:
    items = [html.escape(n) for n in (*e.notes, *_tried_in_vain(e))]
    for s in e.summaries.values():
        t = s.standing
        if t.left_out:
            kinds = {
                "never run": t.never_run, "without reward": t.no_reward, "invalid": t.invalid, "degraded": t.degraded,
            }  # fmt: skip
            words = ", ".join(f"{n} {k}" for k, n in kinds.items() if n)
            low, high = s.reward_bounds
            items.append(
                f"{html.escape(s.design)}: {t.left_out} of {t.expected} runs are left out ({words}); whatever the "
                f"runs left out would have given, its mean is within {low:.3f} to {high:.3f}."
            )
    if e.scores.missing == "zero":
        items.append("A task without a reward counts as 0 (the leaderboard's rule).")
    items.append("Figures 3 and 6 of the paper are not described in what we have of it, so they are not here.")
    missing = "".join(
        f"<li>{html.escape(x.title)}{f' ({_cited(x.paper)})' if x.paper else ''}: needs {html.escape(x.needs)}.</li>"
        for x in absent
    )
    listed = "".join(f"<li>{i}</li>" for i in items)
    also = f"<p>This study cannot show:</p><ul>{missing}</ul>" if missing else ""
    return f"<ul>{listed}</ul>{also}"
