"""The study file (TOML): read strictly; every complaint is one line that names the file, the key and the remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from leadhand.core.errors import UsageError
from leadhand.core.values import Value

FILES = Path(__file__).parent / "files"
"""The study files that are shipped: one for each of the paper's experiments."""

T = TypeVar("T", bound=msgspec.Struct)


class Selection(Value, frozen=True, kw_only=True):
    """`[tasks]`: which tasks, in which order.

    `source` names benchmarks, shipped tasks, task folders or patterns of them. Of what they give, `ids` and `without`
    (shell patterns) and `where` (label = one value or several) choose; then `shuffle` by the study's seed, then `per`
    label `each` so many, then `skip`, then `first`. `count` is how many there must be in the end.
    """

    source: tuple[str, ...]
    ids: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    where: dict[str, str | tuple[str, ...]] = {}
    shuffle: bool = False
    per: str = ""
    each: int = 0
    skip: int = 0
    first: int | None = None
    count: int | None = None


class StudyFile(Value, frozen=True, kw_only=True):
    """A study as it is written. Designs are the union of `grid` (full), `vary` (one factor at a time from `base`) and
    `designs` (by name); with none of them it is `base` alone. `models` gives short names to models. A study without
    `budget_usd` can be planned, not run.
    """

    name: str
    about: str = ""
    tasks: Selection
    repeats: int = 1
    seed: int = 0
    budget_usd: float | Literal["none"] | None = None
    solo_controls: bool = True
    sandbox: str = "auto"
    network: bool = False
    concurrency: int = 8
    models: dict[str, str] = {}
    price_profile: str = ""
    prices: dict[str, str] = {}
    base_urls: dict[str, str] = {}
    wording: str = ""
    base: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    vary: dict[str, list[Any]] = {}
    designs: dict[str, dict[str, Any]] = {}


def shipped() -> tuple[str, ...]:
    """Names of the shipped study files."""
    return tuple(sorted(p.stem for p in FILES.glob("*.toml")))


def find_file(name_or_path: str) -> Path:
    """A study file by its path, or a shipped one by its name. Raises `UsageError`."""
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path.absolute()
    if name_or_path in shipped():
        return FILES / f"{name_or_path}.toml"
    raise UsageError(f"no study file {name_or_path!r}: give a path, or one of the shipped: {', '.join(shipped())}")


def load(path: Path) -> StudyFile:
    """Raises `UsageError` for anything that does not fit."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); it must be a readable UTF-8 file") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}; correct it there") from None
    if isinstance(raw.get("tasks"), dict):
        raw["tasks"] = table(raw["tasks"], Selection, f"{path}: tasks.")
    study = table({"name": path.stem, **raw}, StudyFile, f"{path}: ")
    _check(study, path)
    return study


def _check(s: StudyFile, path: Path) -> None:
    faults = (
        (not s.name.strip(), "name: is empty"),
        (s.repeats < 1, "repeats: must be at least 1"),
        (s.concurrency < 1, "concurrency: must be at least 1"),
        (isinstance(s.budget_usd, float) and not 0 < s.budget_usd < float("inf"), "budget_usd: must be above 0"),
        (bool(s.tasks.per) != (s.tasks.each > 0), "tasks.per: goes with tasks.each (so many of each label)"),
        (s.tasks.skip < 0 or (s.tasks.first is not None and s.tasks.first < 1), "tasks.skip, tasks.first: too small"),
        (not s.tasks.source, "tasks.source: is empty; name a benchmark, shipped tasks, or task folders"),
    )
    for wrong, text in faults:
        if wrong:
            raise UsageError(f"{path}: {text}")


def table(raw: dict[str, Any], kind: type[T], prefix: str) -> T:
    """A table as a struct; unknown keys are errors. `prefix` begins each complaint."""
    for key in raw:
        if key not in kind.__struct_fields__:
            raise UsageError(f"{prefix}{key}: unknown key; known here: {', '.join(kind.__struct_fields__)}")
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise UsageError(f"{prefix}{where.strip('.`') or kind.__name__}: {what}; correct it") from None
