"""How the numbers were made, in words, and how far they can be trusted (measured in simulations)."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from leadhand.analysis.calibration.checks import Coverage, Decile, Detectable
from leadhand.report.table import as_html, table

_TEAMS = """
A <b>team</b> is one lead agent and its workers in one sandbox; the lead also works. <b>Solo</b> is an
agent without workers. <b>Guidance</b> says which stages the lead is told to delegate: planning (P), implementation (I),
verification (V), all (PIV), or nothing in particular (minimal). A fixed team has the number of workers given, a dynamic
one <b>up to</b> so many.
"""
_NUMBERS = """
<b>Reward</b> is the grader's score in 0 to 1; a <b>point</b> is 0.01 of it. <b>Cost</b> is in
dollars of model calls. Point at a mark in a figure to see its numbers.
"""

METHOD = """
<ul>
<li><b>Unit.</b> The task. Repeats of a task are averaged first; 3 repeats of 200 tasks are 200 numbers, not 600.</li>
<li><b>Intervals.</b> 95 %, Student's t over tasks of means and of paired differences, deviation with n − 1
(<code>--paper</code>: 1.96 standard errors). Ratios and shares: BCa bootstrap over tasks, 9,999 draws, fixed seed; a
ratio's interval is printed only where its denominator is above zero in at least 97.5 % of draws.</li>
<li><b>Lift.</b> Mean paired difference team − solo. Minimal teams against solo minimal, guided teams against the same
lead's solo PIV.</li>
<li><b>Several comparisons.</b> Holm's adjusted p beside each; intervals are not widened.</li>
<li><b>Detectable.</b> The true difference that a comparison finds with 80 % power, from its own spread.</li>
<li><b>What counts.</b> Graded runs that nobody broke off. Runs in which an agent died of a provider or sandbox fault
(degraded) are left out, with a line that says what they would change. Resumed runs are left out of wall-clock.</li>
<li><b>Cost.</b> Settled dollars at the prices pinned in each run. A run's cost is its own and that of its earlier
attempts that failed or were lost; its minutes are its own alone.</li>
<li><b>Without a lead.</b> Peers and best-of-k have no lead and no workers: exhibits of delegation leave them out. Their
control is the same model's solo agent. Where the grader itself chose the best candidate (an oracle), that is an upper
bound which nobody can buy: it is shown, and is on no frontier.</li>
<li><b>η</b> = (ΔR/R₀)/(ΔC/C₀) against the lead's solo PIV, a ratio of means [our formula]. <b>Recovery</b>: shares of
the all-strong team's gain and added cost. <b>Synergy</b>: reward above the cost-matched line between the two
homogeneous teams.</li>
<li><b>Phases.</b> Planning before a run's first source write, verification after its last. Source writes and reference
runs are read from shell commands: lower bounds.</li>
</ul>
"""


def words(*, teams: bool) -> str:
    """What the page's words mean; those of teams where there are any."""
    return f"<p class=note>{_TEAMS if teams else ''}{_NUMBERS}</p>"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `measured.json`."""

    coverage: tuple[Coverage, ...]
    frontier: tuple[Decile, ...]
    detectable: tuple[Detectable, ...]


def measured() -> Measured | None:
    """What `python -m benchmarks.analysis --calibrate` found last; None before it ever ran."""
    path = files("leadhand.analysis.calibration") / "measured.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measured)
    except FileNotFoundError:
        return None


def calibration() -> str:
    """The shortfalls, as HTML."""
    found = measured()
    if found is None:
        return ""
    rows = [
        (c.quantity, c.generator, c.skew, c.n, c.covered, c.simulations, "as promised" if c.promised else "short")
        for c in found.coverage
        if c.n == 16 or not c.promised
    ]
    t = table(
        [
            ("quantity", "Interval of", "text"), ("generator", "Data", "text"), ("skew", "Skewness", "number"),
            ("n", "Tasks", "count"), ("covered", "Covered", "percent"), ("simulations", "Simulations", "count"),
            ("promise", "Promise", "text"),
        ],
        rows,
        "Promised of nominal 95 %: 93 to 97 % at 200 tasks, at least 90 % at 16 tasks where skewness is at most 1. "
        "Mostly-zero rewards with few tasks are where intervals are too short.",
    )  # fmt: skip
    worst = max(abs(d.stated - d.true) for d in found.frontier)
    effect = max(abs(d.stated - d.simulated) / d.simulated for d in found.detectable)
    text = (
        f"<p>The stated probability of being on the frontier is off by at most {100 * worst:.1f} points in any decile; "
        f"the detectable effect by at most {100 * effect:.0f} %. (Simulations with known truth.)</p>"
    )
    return f"<h3>How good the intervals are</h3>{text}{as_html(t)}"
