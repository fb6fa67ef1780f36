"""What "like this" means: the setting that an advice is for, the own runs that are of it, and what is known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from leadhand.advisor.features import HOME
from leadhand.advisor.figures import figures, settings
from leadhand.advisor.own import Own, own_runs, setting_of
from leadhand.benchmarks.folder import find_task, shipped
from leadhand.benchmarks.loading import OURS
from leadhand.benchmarks.tasktoml import FILE
from leadhand.core.errors import UsageError
from leadhand.study.layout import StudyPaths, read_record

UNNAMED = "your tasks"
TIERS = ("easy", "medium", "hard")


class Like(NamedTuple):
    """A setting, own runs (relabelled so that those of the setting say so), and where its tasks come from.

    `source` is what a study file's `tasks.source` says; "" where there are no tasks that a study could run. `where`:
    labels that its tasks have.
    """

    setting: str
    own: list[Own]
    source: str = ""
    where: str = ""
    note: str = ""

    @property
    def lone(self) -> bool:
        """Whether there is but one task, so that runs are repeats of it."""
        return self.setting.startswith("task ")


def find_like(like: str, own: Sequence[Own]) -> Like:
    """The setting that `like` names: a benchmark (`:TIER`), a tier of ProgramBench, a study, a task or a repository.

    Without a name it is where most own runs are. Raises `UsageError` for a study that cannot be read.
    """
    runs = list(own)
    if not like.strip():
        return _unnamed(runs)
    name, _, tier = like.partition(":") if not _is_path(like) else (like, "", "")
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
        return Like(like, runs, like)
    return Like(like, runs, note=f"{like!r} is no benchmark, study, task or folder that is known here")


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
    elsewhere = f" {len(like.own)} own runs and" if like.own else ""
    return (
        f"{like.setting}: no evidence. Everything below is extrapolated from{elsewhere} published figures about other "
        f"tasks (most of them ProgramBench: programs rebuilt from scratch), and its intervals are as wide as that is"
    )


def _unnamed(runs: list[Own]) -> Like:
    if not runs:
        return Like(UNNAMED, [], note="say what your tasks are like with --like BENCHMARK, STUDY, TASK or REPOSITORY")
    most = Counter(r.setting for r in runs).most_common(1)[0][0]
    return Like(
        most, runs, _source(most), note=f"taken to be like {most}, where most of your runs are; --like says other"
    )


def _benchmark(name: str, tier: str, runs: list[Own]) -> Like:
    if not tier:
        return Like(name, runs, _source(name))
    full = f"{name}:{tier}"
    moved = [msgspec.structs.replace(r, setting=full) if (r.setting, r.tier) == (name, tier) else r for r in runs]
    return Like(full, moved, _source(name), tier)


def _study(like: str) -> Path | None:
    for folder in (Path(like).expanduser(), Path("studies") / like):
        if (folder / "study.json").is_file():
            return folder.absolute()
    return None


def _like_study(folder: Path, runs: list[Own]) -> Like:
    """The study's runs are of one setting, whatever benchmarks they are from."""
    name = read_record(StudyPaths(folder)).name
    setting = f"study {name}".replace(":", "-")
    if not any(r.study == name for r in runs):
        runs = [*runs, *own_runs([folder])]
    found = [msgspec.structs.replace(r, setting=setting) if r.study == name else r for r in runs]
    of = Counter(r.setting for r in runs if r.study == name)
    source = _source(of.most_common(1)[0][0]) if of else ""
    return Like(setting, found, source)


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
    return Like(setting, moved, like if like in shipped() or _is_path(like) else "")


def _source(setting: str) -> str:
    """A benchmark that a study can name."""
    name = setting.partition(":")[0]
    return name if name in OURS else ""


def _is_path(text: str) -> bool:
    try:
        return Path(text).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):
        return False
