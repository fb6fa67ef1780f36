"""What "like this" means: the setting that an advice is for, the own runs that are of it, and what is known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from leadhand.advisor.candidates import asked
from leadhand.advisor.figures import HOME, figures, settings
from leadhand.advisor.own import Own, benchmark_named, one_task, own_runs, setting_of
from leadhand.advisor.values import Question
from leadhand.benchmarks.folder import find_task, shipped
from leadhand.benchmarks.listing import listed
from leadhand.benchmarks.loading import OURS
from leadhand.benchmarks.tasktoml import FILE
from leadhand.core.errors import UsageError
from leadhand.core.values import Price
from leadhand.models import find_price
from leadhand.study.file import load
from leadhand.study.layout import StudyPaths, read_record
from leadhand.study.sources import tasks_of

UNNAMED = "your tasks"
TIERS = ("easy", "medium", "hard")


class Like(NamedTuple):
    """A setting, own runs (relabelled so that those of the setting say so), and where its tasks come from.

    `source` is what a study file's `tasks.source` says; () where there are no tasks that a study could run. `ids`: its
    tasks by name, in an order that is always the same but by chance; () where they are not known here.
    """

    setting: str
    own: list[Own]
    source: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    note: str = ""

    @property
    def lone(self) -> bool:
        """Whether there is but one task, so that runs are repeats of it."""
        return one_task(self.setting)


def check_question(q: Question, own: Sequence[Own], prices: Mapping[str, Price]) -> None:
    """Find what is wrong with a question without the libraries that answer it. Raises `UsageError`, as `advise` does:
    with no model, what is wrong with `like` is said too.
    """
    try:
        models = asked(q.models)
    except UsageError as error:
        unknown = find_like(q.like, own).note if q.like.strip() else ""
        raise UsageError("; ".join(filter(None, (str(error), unknown)))) from None
    for model in models:
        find_price(model.name, datetime.now(UTC), prices)


def find_like(like: str, own: Sequence[Own]) -> Like:
    """The setting that `like` names: a benchmark (`:TIER`), a tier of ProgramBench, a study, a task or a repository.

    Without a name it is where most own runs are. Raises `UsageError` for a study that cannot be read.
    """
    runs = list(own)
    if not like.strip():
        return _unnamed(runs)
    name, _, tier = like.partition(":") if not _is_path(like) else (like, "", "")
    name, like = benchmark_named(name), benchmark_named(like)
    if like in TIERS:
        name, tier = HOME, like
    study = _study(like)
    if study is not None:
        return _like_study(study, runs)
    if like in settings() or tier:
        return _benchmark(name, tier, runs)
    task = _task(like, runs)
    if task is not None:
        return task
    if _is_path(like):
        return Like(f"repository {Path(like).expanduser().resolve().name}".replace(":", "-"), runs)
    if like in {r.setting for r in runs} or like in OURS:
        return _whole(like, runs)
    return Like(like, runs, note=f"{like!r} is no benchmark, study, task or folder that is known here")


def quoted(setting: str) -> str:
    """A setting's name in a sentence. A name of somebody's own, such as `mine`, would read as a word of it."""
    return setting if setting == UNNAMED else f"`{setting}`"


def known_of(like: Like) -> str:
    """What is known of a setting, in a sentence."""
    mine = sum(r.setting == like.setting for r in like.own)
    about = [f for f in figures() if f.absolute and f.setting == like.setting]
    teams = any(t.design.has_lead for f in about for t in f.terms)
    parts = []
    if mine:
        parts.append(f"{mine} own run{'s' if mine != 1 else ''}")
    if about:
        parts.append(f"{len(about)} published figures{'' if teams else ', none of them of teams'}")
    if parts:
        return f"{like.setting}: {'; '.join(parts)}"
    elsewhere = f" {len(like.own)} own run{'s' if len(like.own) > 1 else ''} and" if like.own else ""
    return (
        f"{like.setting}: no evidence. Everything below is extrapolated from{elsewhere} published figures about other "
        f"tasks (most of them ProgramBench: programs rebuilt from scratch), and its intervals are as wide as that is"
    )


def _unnamed(runs: list[Own]) -> Like:
    if not runs:
        return Like(UNNAMED, [], note="say what your tasks are like with --like BENCHMARK, STUDY, TASK or REPOSITORY")
    most = Counter(r.setting for r in runs).most_common(1)[0][0]
    note = f"taken to be like {most}, where most of your runs are; --like says other"
    if most.startswith("study ") and (study := _study(most.removeprefix("study "))) is not None:
        return _like_study(study, runs)._replace(note=note)
    if one_task(most) and (task := _task(most.removeprefix("task "), runs)) is not None:
        return task._replace(note=note)
    return Like(most, runs, *_source(most), note=note)


def _benchmark(name: str, tier: str, runs: list[Own]) -> Like:
    if not tier:
        return _whole(name, runs)
    full = f"{name}:{tier}"
    moved = [msgspec.structs.replace(r, setting=full) if (r.setting, r.tier) == (name, tier) else r for r in runs]
    return Like(full, moved, *_source(name, tier))


def _whole(name: str, runs: list[Own]) -> Like:
    """A benchmark. Runs of its tasks that are folders stand under the study (or the task) they were run in."""
    source, ids = _source(name)
    known = set(ids)
    moved = [
        msgspec.structs.replace(r, setting=name) if r.task in known and r.setting.startswith(("study ", "task ")) else r
        for r in runs
    ]
    return Like(name, moved, source, ids)


def _study(like: str) -> Path | None:
    for folder in (Path(like).expanduser(), Path("studies") / like):
        if (folder / "study.json").is_file():
            return folder.absolute()
    return None


def _like_study(folder: Path, runs: list[Own]) -> Like:
    """All runs of the study's tasks are of one setting, whatever benchmark they are from and whichever study ran them:
    so what the next experiment finds counts here too.
    """
    paths = StudyPaths(folder)
    record = read_record(paths)
    setting = f"study {record.name}".replace(":", "-")
    if not any(r.study == record.name for r in runs):
        runs = [*runs, *own_runs([folder])]
    tasks = set(record.study.tasks)
    found = [msgspec.structs.replace(r, setting=setting) if r.task in tasks else r for r in runs]
    return Like(setting, found, _sources_of(paths, tasks), _mixed(tasks))


def _sources_of(paths: StudyPaths, tasks: set[str]) -> tuple[str, ...]:
    """The sources of a study's tasks, if they can be found from here."""
    try:
        source = load(paths.study_toml).tasks.source
        here = {t.id for t in tasks_of(source, Path.cwd(), tasks.__contains__)}
    except UsageError:
        return ()
    return source if tasks <= here else ()


def _task(like: str, runs: list[Own]) -> Like | None:
    """A task by the name it was run under, a shipped one, or a folder. Runs of it are the setting's."""
    name, setting = like, ""
    if like in shipped() or (_is_path(like) and (Path(like).expanduser() / FILE).is_file()):
        try:
            task = find_task(like)
        except UsageError:
            return None
        name, setting = task.id, setting_of(task)
    mine = [r for r in runs if r.task == name]
    if not setting and not mine:
        return None
    setting = f"task {name}".replace(":", "-")
    moved = [msgspec.structs.replace(r, setting=setting) if r.task == name else r for r in runs]
    return Like(setting, moved, (like,) if like in shipped() or _is_path(like) else ())


def _source(setting: str, tier: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A benchmark that a study can name, and its tasks (of a tier), where they are known here."""
    name, _, of = setting.partition(":")
    if name not in OURS:
        return (), ()
    try:
        tasks = listed(name)
    except UsageError:
        return (name,), ()
    return (name,), _mixed(t.id for t in tasks if (tier or of) in ("", t.difficulty))


def _mixed(tasks: Iterable[str]) -> tuple[str, ...]:
    """The first of them are a fair sample of all, and stay the first ones the next time."""
    names = sorted(tasks)
    return tuple(Random("advised tasks").sample(names, len(names)))


def _is_path(text: str) -> bool:
    try:
        return Path(text).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):
        return False
