"""From a study file to its runs: designs, tasks, requests, identities. Everything that can be wrong is found here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import leadhand
from leadhand import models, sandboxes
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Price, Task
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request, RunFile
from leadhand.study import layout
from leadhand.study.file import StudyFile, load
from leadhand.study.grid import control_of, designs_of, in_order
from leadhand.study.layout import PlannedRun, Resolved, StudyPaths, StudyRecord
from leadhand.study.select import select
from leadhand.study.sources import selected_of

V = TypeVar("V")


class Given(NamedTuple):
    """What the command line says on top of the file. `budget_usd` "" leaves the file's."""

    budget_usd: str | float | None = ""
    base_urls: Mapping[str, str] = {}
    sandbox: str = ""


AS_WRITTEN = Given()


class Prepared:
    """A study whose designs and tasks are known, and which can make the run file of each of its runs."""

    def __init__(self, path: Path, keys: Mapping[str, str], given: Given = AS_WRITTEN) -> None:
        self.path = path
        self.file: StudyFile = load(path)
        self.keys = keys
        self.designs = designs_in(self.file, path)
        chosen = select(selected_of(self.file.tasks, path.parent), self.file.tasks, self.file.seed)
        self.tasks: dict[str, Task] = {t.id: t for t in chosen}
        if lack := no_budget(self.file, given):
            raise UsageError(f"{path}: {lack}")
        self.budget_usd = budget_of(self.file, given)
        self._urls = {**self.file.base_urls, **given.base_urls}
        self._prices = _prices(self.file)
        image = next((t.image for t in self.tasks.values() if t.image), "")
        self.sandbox = sandboxes.choose(given.sandbox or self.file.sandbox, image)
        self._check_budgets()

    def request(self, design: str, task: str, repeat: int) -> Request:
        team = self.designs[design]
        return Request(
            task=self.tasks[task],
            design=team,
            sandbox=self.sandbox[0],
            network=self.file.network,
            base_urls=_for_models(team, self._urls),
            prices=_for_models(team, self._prices),
            wording=str(self.path.parent / self.file.wording) if self.file.wording else "",
            repeat=repeat,
            seed=self.file.seed,
        )

    def run_file(self, run: PlannedRun) -> RunFile:
        """What the run is made from. Raises `UsageError` where it is no longer the run that was planned."""
        made = plan(self.request(run.design, run.task, run.repeat), self.keys, self.sandbox)
        if made.lock.digest != run.identity:
            raise UsageError(f"run {run.run}: task, prompts or settings changed while the study ran; run it again")
        return made

    def record(self, study_id: str) -> StudyRecord:
        """The study as `study.json` holds it."""
        runs = []
        for design, task, repeat in in_order(list(self.designs), list(self.tasks), self.file.repeats, self.file.seed):
            identity = plan(self.request(design, task, repeat), self.keys, self.sandbox).lock.digest
            name = layout.folder_name(study_id, identity, design, task, repeat)
            runs.append(PlannedRun(run=name, design=design, task=task, repeat=repeat, identity=identity))
        resolved = self._resolved()
        return StudyRecord(
            format=layout.FORMAT,
            name=self.file.name,
            id=study_id,
            version=leadhand.__version__,
            study=resolved,
            digest=layout.study_digest(resolved),
            runs=tuple(runs),
        )

    def _resolved(self) -> Resolved:
        return Resolved(
            designs=self.designs,
            controls={name: control_of(name, self.designs) for name in self.designs},
            tasks=tuple(self.tasks),
            labels={t.id: t.labels for t in self.tasks.values() if t.labels},
            repeats=self.file.repeats,
            seed=self.file.seed,
            budget_usd=self.budget_usd,
            sandbox=self.sandbox[0],
            about=self.file.about,
        )

    def _check_budgets(self) -> None:
        unlimited = [name for name, d in self.designs.items() if d.budget_usd is None]
        if self.budget_usd is not None and unlimited:
            raise UsageError(
                f"a study with a budget needs one for each run, and {', '.join(unlimited[:3])} has none: "
                "set budget_usd in [base], or run with --max-usd none"
            )
        dearest = max((d.budget_usd or 0.0 for d in self.designs.values()), default=0.0)
        if self.budget_usd is not None and dearest > self.budget_usd:
            raise UsageError(f"a single run may spend ${dearest:g}, the whole study only ${self.budget_usd:g}")


def designs_in(file: StudyFile, path: Path) -> dict[str, Design]:
    """All designs of a study by name. Raises `UsageError` that names the file."""
    try:
        return designs_of(file)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def no_budget(file: StudyFile, given: Given) -> str:
    """What is wrong where neither the file nor the command line says what the whole study may spend, else ""."""
    if given.budget_usd != "" or file.budget_usd is not None:
        return ""
    return 'no budget of the whole study: add budget_usd = DOLLARS above [tasks], or "none" for no limit, or --max-usd'


def budget_of(file: StudyFile, given: Given) -> float | None:
    """The study's budget in dollars; None is unlimited (written as "none"), or not written (`no_budget`)."""
    asked = file.budget_usd if given.budget_usd == "" else given.budget_usd
    if asked is None or (isinstance(asked, str) and asked.lower() == "none"):
        return None
    try:
        usd = float(str(asked).removeprefix("$"))
    except ValueError:
        usd = -1.0
    if not 0 < usd < float("inf"):
        raise UsageError(f"--max-usd {asked!r} is not an amount in dollars; write a number above 0, or none")
    return usd


def _prices(file: StudyFile) -> dict[str, Price]:
    profile = dict(models.find_profile(file.price_profile)) if file.price_profile else {}
    given = dict(models.parse_price(f"{file.models.get(n, n)}={text}") for n, text in file.prices.items())
    return {**profile, **given}


def prices_of(file: StudyFile, designs: Iterable[Design]) -> dict[str, Price]:
    """The file's own prices for all models of its designs."""
    given = _prices(file)
    return {name: price for design in designs for name, price in _for_models(design, given).items()}


def _for_models(design: Design, given: Mapping[str, V]) -> dict[str, V]:
    """What is given for a design's models: by full name, by bare name, or for all of them by `*`."""
    found: dict[str, V] = {}
    for name in design.models:
        key = next((k for k in (name, name.partition("/")[2], "*") if k in given), None)
        if key is not None:
            found[name] = given[key]
    return found


def open_study(prepared: Prepared, paths: StudyPaths, *, accept_changes: bool = False) -> StudyRecord:
    """Write `study.json` in a new folder, or take up the study in it.

    Where the folder holds runs that the file no longer asks for, it was another study: `UsageError`, unless
    `accept_changes`. Their money counts in any case.
    """
    before = layout.read_record(paths) if paths.study_json.exists() else None
    if before is None and paths.folder.exists() and any(paths.folder.iterdir()):
        strange = [p.name for p in paths.folder.iterdir() if p.name != paths.lock.name]
        if strange:
            raise UsageError(f"{paths.folder} is no study and not empty; name another folder with --folder")
    record = prepared.record(before.id if before else os.urandom(4).hex())
    if before is not None and not accept_changes:
        dropped = _dropped(before.runs, record.runs, set(paths.folders()))
        if dropped:
            raise UsageError(
                f"{len(dropped)} runs in {paths.folder} are not part of this study file any more (designs, tasks, "
                "prompts or settings changed); --accept-changes goes on without them, --folder starts anew elsewhere"
            )
    paths.runs.mkdir(parents=True, exist_ok=True)
    layout.write_record(paths, record)
    layout.write_whole(paths.study_toml, prepared.path.read_bytes())
    return record


def _dropped(before: Iterable[PlannedRun], now: Iterable[PlannedRun], there: set[str]) -> list[str]:
    return sorted(there & ({r.run for r in before} - {r.run for r in now}))
