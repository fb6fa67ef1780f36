"""Which tasks a study takes, and in which order: a pure function of what there is, the selection and the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from random import Random

from leadhand.core.errors import UsageError
from leadhand.core.values import Task
from leadhand.study.file import Selection


def select(tasks: Sequence[Task], s: Selection, seed: int) -> list[Task]:
    """Raises `UsageError` where nothing is left, an id is there twice, or the count is not the one declared."""
    _unique(tasks)
    chosen = [t for t in tasks if wanted(t.id, s) and labelled(t.labels, s.where)]
    if s.shuffle:
        chosen = Random(f"tasks-{seed}").sample(chosen, len(chosen))
    if s.per:
        chosen = _each(chosen, s.per, s.each)
    chosen = chosen[s.skip :][: s.first]
    if not chosen:
        raise UsageError("tasks: nothing is left of them; loosen ids, without, where, skip or first")
    if s.count is not None and len(chosen) != s.count:
        raise UsageError(f"tasks: there are {len(chosen)} and not {s.count}, as count says; correct one of the two")
    return chosen


def _unique(tasks: Sequence[Task]) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UsageError(f"tasks: two tasks are called {task.id!r}; leave one out, or give it another id")
        seen.add(task.id)


def wanted(task: str, s: Selection) -> bool:
    """Whether the selection takes a task of this name, as far as the name says."""
    named = not s.ids or any(fnmatchcase(task, p) for p in s.ids)
    return named and not any(fnmatchcase(task, p) for p in s.without)


def labelled(labels: Mapping[str, str], where: Mapping[str, str | tuple[str, ...]]) -> bool:
    """Whether each label has (one of) the wished value(s)."""
    return all(labels.get(k, "") in ((v,) if isinstance(v, str) else v) for k, v in where.items())


def _each(tasks: Sequence[Task], label: str, most: int) -> list[Task]:
    """The first `most` of each value of a label; a value with fewer is an error, since the sample would not balance."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.labels.get(label, ""), []).append(task)
    for value, group in groups.items():
        if len(group) < most:
            raise UsageError(f"tasks: only {len(group)} have {label} = {value!r}, each asks for {most}")
    kept = {t.id for group in groups.values() for t in group[:most]}
    return [t for t in tasks if t.id in kept]
