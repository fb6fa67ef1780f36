"""The task rehearsed without a lead: by peers, who share the planning by claims and notes, and by solo candidates.

As in the team's rehearsal everything is read out of what commands print: a peer builds its program from the tables in
the notes of the others and its own; take a note away, and that part of its program is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice

from leadhand.benchmarks.rehearsal.areas import AREAS
from leadhand.benchmarks.rehearsal.areas.asking import Area
from leadhand.benchmarks.rehearsal.lead import build as compiled
from leadhand.benchmarks.rehearsal.lead import (
    frame,
    mend,
    original,
    prepare_check,
    source,
    verify,
    verify_again,
    written,
)
from leadhand.benchmarks.rehearsal.seeing import block, outputs, tables, thinking
from leadhand.core.values import Assistant, Body, ToolResults
from leadhand.testing.scripted import Script, Seen, Step, bash, call, do, finish

NOTE = re.compile(r'<leadhand-note id="n\d+" from="[^"]*">\n(.*?)\n</leadhand-note>', re.DOTALL)
MOST_POLLS = 100
"""How often a peer looks for the notes of the others before it goes on without them."""

Tables = Mapping[str, dict[str, object]]
Stage = Callable[[Seen, Tables], Step]


def peer(seen: Seen) -> Step:
    """The next step of a peer: claim an area, probe it, note it down, gather the others' notes, build, verify."""
    asked = [r.text for b in seen.bodies if isinstance(b, ToolResults) for r in b.results if r.name == "claim"]
    mine = next((name for name, text in zip(AREAS, asked, strict=False) if f"{name} is yours" in text), "")
    if not mine and len(asked) < len(AREAS):
        slot = list(AREAS)[len(asked)]
        return do(call("claim", slot=slot), text=f"Does anyone look into {slot} yet?", delay_s=thinking(seen))
    told = answers(seen)
    own: dict[str, dict[str, object]] = {}
    if mine:
        area = AREAS[mine]
        if len(told) < len(area.probes):
            return probe(seen, area, told)
        own[mine] = area.table(told[: len(area.probes)])
        if not _has_called(seen, "write_note"):
            text = f"{area.plan}\n\n{block({'area': mine, **own[mine]})}"
            return do(call("write_note", text=text), text="What I have found, for all.", delay_s=thinking(seen))
    known = {**tables(NOTE.findall(seen.text)), **own}
    polls = sum(isinstance(b, Assistant) and b.text == GATHER for b in seen.bodies)
    if len(known) < len(AREAS) and polls < MOST_POLLS and not _stage(seen):
        return do(bash("sleep 0.3"), call("read_notes"), text=GATHER)
    return build(seen, known)


def candidate(areas: int, *, mends: bool = True) -> Script:
    """A solo candidate that looks into so many of the areas only, and may leave its mistake as it is."""

    def step(seen: Seen) -> Step:
        told = answers(seen)
        known: dict[str, dict[str, object]] = {}
        for area in islice(AREAS.values(), areas):
            if len(told) < len(area.probes):
                return probe(seen, area, told)
            known[area.name] = area.table(told[: len(area.probes)])
            told = told[len(area.probes) :]
        return build(seen, known, mends=mends)

    return step


def probe(seen: Seen, area: Area, told: list[str]) -> Step:
    asked = area.probes[len(told)]
    return do(bash(f"X={original(seen)}\n{asked.command(told)}"), text=asked.why, delay_s=thinking(seen))


# --- building --------------------------------------------------------------------------------------------------


def _write(seen: Seen, known: Tables) -> Step:
    calls = [written(f"src/{area}.py", source(area, dict(known[area]))) for area in AREAS if area in known]
    return do(*calls, bash(f"echo tables: {' '.join(known)}"), delay_s=thinking(seen))


def _done(seen: Seen, known: Tables) -> Step:
    last = (outputs(seen)[-1].strip().splitlines() or ["nothing was checked"])[-1]
    return finish(f"satchel is rebuilt from {len(known)} tables; {last}.", delay_s=thinking(seen))


STAGES: tuple[tuple[str, Stage], ...] = (
    ("The frame.", lambda seen, _: frame(seen)),
    ("A script that compares.", lambda seen, _: prepare_check(seen)),
    ("The tools.", _write),
    ("Build.", lambda seen, _: compiled(seen)),
    ("Verify.", lambda seen, _: verify(seen)),
    ("Mend.", lambda seen, _: mend(seen)),
    ("Verify again.", lambda seen, _: verify_again(seen)),
    ("Done.", _done),
)
UNMENDED = tuple(stage for stage in STAGES if stage[0] not in ("Mend.", "Verify again."))
LOST = ("[interrupted", "[not carried out")
GATHER = "Have the others found the rest?"


def build(seen: Seen, known: Tables, *, mends: bool = True) -> Step:
    """The next stage of building; how far it is, is told by the texts of the steps before."""
    stages = STAGES if mends else UNMENDED
    title, stage = stages[min(_stage(seen), len(stages) - 1)]
    step = stage(seen, known)
    return do(*step.calls, text=title, delay_s=step.delay_s)


def _stage(seen: Seen) -> int:
    """How many stages are done; one whose commands were interrupted is done again."""
    titles = {title for title, _ in STAGES}
    turns = zip(seen.bodies, seen.bodies[1:], strict=False)
    return sum(isinstance(b, Assistant) and b.text in titles and not _interrupted(after) for b, after in turns)


def answers(seen: Seen) -> list[str]:
    """What the bash commands so far have printed; those that an interruption swallowed are asked again."""
    return [text for text in outputs(seen) if not text.startswith(LOST)]


def _interrupted(body: Body) -> bool:
    return isinstance(body, ToolResults) and any(r.text.startswith(LOST) for r in body.results)


def _has_called(seen: Seen, tool: str) -> bool:
    return any(c.name == tool for b in seen.bodies if isinstance(b, Assistant) for c in b.calls)


def peers() -> dict[str, Script]:
    """Scripts for strategy peers with k = 4 on the rehearsed task."""
    return {f"p{i}": peer for i in range(1, len(AREAS) + 1)}


def candidates() -> dict[str, Script]:
    """Scripts for best-of-k with k = 3: one leaves an area out, one is right, one leaves its mistake in."""
    return {"s1": candidate(3), "s2": candidate(4), "s3": candidate(4, mends=False)}
