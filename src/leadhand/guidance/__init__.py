"""Prompt wording as text files. A design's guidance says which of them are put together, and in which order."""

from __future__ import annotations

from pathlib import Path

from leadhand.core import wording
from leadhand.core.chain import digest
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.harness import Prompts

TEXTS = Path(__file__).parent / "texts"
_STAGES = {"P": "plan", "I": "implement", "V": "verify"}


def parts(design: Design) -> tuple[str, ...]:
    """Names of the texts that make the system prompt of the lead (or of a solo agent, or of a peer)."""
    stages = () if design.guidance == "minimal" else tuple(design.guidance)
    wording_of = ("stages", "plan", "implement", "verify") if stages else ()
    if design.strategy == "peers":
        return ("common", "peer", *wording_of)
    if not design.has_lead:
        return ("common", *wording_of)
    delegated = tuple(f"delegate_{s}" for s in stages)
    keep = ("keep",) if 0 < len(stages) < len(_STAGES) else ()
    return ("common", "lead", *wording_of, *delegated, *keep)


def worker_parts(design: Design) -> tuple[str, ...]:
    """Names of the texts that make the system prompt of every worker: one prompt, so that they share a cache."""
    return ("common", "worker", *(("plus",) if design.messaging == "plus" else ()))


def prompts(design: Design, task: str, workspace: str, folder: Path = TEXTS) -> Prompts:
    """The wording of a run. `folder` may hold a user's own texts under the same names; missing ones are ours."""
    lead, worker = parts(design), worker_parts(design) if design.has_lead else ()
    used = {name: _read(folder, name) for name in dict.fromkeys((*lead, *worker, "assignment"))}

    def joined(names: tuple[str, ...]) -> str:
        return "\n".join(used[n] for n in names).replace("{workspace}", workspace)

    _check_assignment(used["assignment"], folder)
    return Prompts(
        lead=joined(lead),
        worker=joined(worker),
        assignment=used["assignment"],
        task=task,
        # A forked worker has read the lead's system prompt; of the workers' it lacks what comes after `common`.
        role=joined(worker[1:]) if design.context == "fork" else "",
        digests={**{n: digest(t.encode()) for n, t in used.items()}, "harness": wording.DIGEST},
    )


def _read(folder: Path, name: str) -> str:
    own = folder / f"{name}.md"
    try:
        return (own if own.exists() else TEXTS / f"{name}.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the wording {own}: {error}") from error


def _check_assignment(text: str, folder: Path) -> None:
    """The assignment is the one text that is filled in per delegation: find out now whether it can be."""
    file = folder / "assignment.md"
    try:
        filled = text.format(worker="w1", conventions="", assignment=(mark := "\0the assignment\0"))
    except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{file}: use only {{worker}}, {{conventions}} and {{assignment}}, and double all other braces ({error!r})"
        ) from None
    if mark not in filled:
        raise UsageError(f"{file} must hold {{assignment}}: without it no worker is told what to do")
