from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.analysis.simulated import grid, write_study
from leadhand.core.design import Design
from leadhand.report.catalog import all_exhibits
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.load import load

STRONG, CHEAP = "sim/strong", "sim/cheap"


def chosen() -> list[Design]:
    """Of the simulated grid, enough for every exhibit that it can give."""

    def wanted(d: Design) -> bool:
        if d.solo or d.messaging == "on" or d.schedule == "notify":
            return True
        if d.workers is not None:
            return d.guidance in ("P", "V") and d.workers in (4, 16)
        return d.schedule == "push" and d.messaging == "off"

    return [d for d in grid() if wanted(d)]


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_study(folder, chosen(), tasks=5, repeats=2)
    return folder


@pytest.fixture(scope="session")
def evidence(study: Path) -> Evidence:
    return load(study)


@pytest.fixture(scope="session")
def every(evidence: Evidence) -> list[Exhibit | Absent]:
    return all_exhibits(evidence)


@pytest.fixture(scope="session")
def exhibits(every: list[Exhibit | Absent]) -> dict[str, Exhibit]:
    return {x.slug: x for x in every if isinstance(x, Exhibit)}
