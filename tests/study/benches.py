"""Engines set up for the contract suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from study_files import Make, Provider

from leadhand.core.events import Entry
from leadhand.study.engine import Engine, Job
from leadhand.study.prepare import Prepared


class StudyBench:
    """Jobs of a small study, in folders of their own."""

    def __init__(self, engine: Engine, make: Make, provider: Provider, folder: Path) -> None:
        self.engine = engine
        self._prepared = Prepared(make(provider.url, tasks=3, sandbox="local", schedules='["blocking"]'), {})
        self._run = next(r for r in self._prepared.record("bench").runs if r.design == "P_blocking")
        self._provider = provider
        self._folder = folder

    def job(self, name: str, watch: Callable[[Entry], None], *, slow: bool = False, broken: bool = False) -> Job:
        file = self._prepared.run_file(self._run)
        if slow or broken:
            prompts = msgspec.structs.replace(file.lock.prompts, task=f"Be slow. {file.lock.prompts.task}")
            urls = {} if broken else file.request.base_urls
            file = msgspec.structs.replace(
                file,
                request=msgspec.structs.replace(file.request, base_urls=urls),
                lock=msgspec.structs.replace(file.lock, prompts=prompts),
            )
        return Job(self._folder / name, file, watch)

    def requests(self) -> int:
        return self._provider.requests_here()

    def usd(self) -> float:
        return self._provider.usd()
