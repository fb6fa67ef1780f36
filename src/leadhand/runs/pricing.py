"""Price stored runs anew: tokens are in the journal, so another price list needs no call. Nothing is changed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from leadhand import models
from leadhand.core.errors import UsageError
from leadhand.core.journal import read_journal
from leadhand.core.ledger import ledger_of
from leadhand.core.values import Price, Value
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file


class Repriced(Value, frozen=True, kw_only=True):
    """One run at its pinned prices and at others, dollars; `unknown` is what may have been billed unseen."""

    run: str
    pinned_usd: float
    pinned_unknown_usd: float
    usd: float
    unknown_usd: float
    by_model: dict[str, tuple[float, float]]


def price_list(given: Iterable[str]) -> dict[str, Price]:
    """Prices from profile names, TOML files and `MODEL=IN,OUT[,READ[,WRITE]]`, the later ones winning.

    A TOML file has a table a model, with the fields of `Price` in dollars per million tokens.
    """
    prices: dict[str, Price] = {}
    for text in given:
        path = Path(text).expanduser()
        if "=" in text and not path.exists():
            name, price = models.parse_price(text)
            prices[name] = price
        elif path.suffix == ".toml" or path.exists():
            prices |= _from_toml(path)
        else:
            prices |= models.find_profile(text)
    return prices


def _from_toml(path: Path) -> dict[str, Price]:
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        return {
            name: msgspec.structs.replace(msgspec.convert(table, Price), source=path.name)
            for name, table in tables.items()
        }
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"cannot read prices from {path}: {error}") from None


def reprice(paths: RunPaths, given: Mapping[str, Price]) -> Repriced:
    """A run at other prices. Models that `given` does not name are priced by the table at the run's own date."""
    run = read_run_file(paths.run_json)
    when = datetime.fromisoformat(run.lock.created)
    prices = {name: _price(name, when, given, run.lock.prices) for name in run.lock.prices}
    entries = read_journal(paths.journal)
    pinned, anew = ledger_of(entries, run.lock.prices), ledger_of(entries, prices)
    return Repriced(
        run=paths.id,
        pinned_usd=pinned.settled,
        pinned_unknown_usd=pinned.unknown + pinned.reserved,
        usd=anew.settled,
        unknown_usd=anew.unknown + anew.reserved,
        by_model={name: (pinned.models[name].settled, anew.models[name].settled) for name in anew.models},
    )


def _price(name: str, when: datetime, given: Mapping[str, Price], pinned: Mapping[str, Price]) -> Price:
    try:
        return models.find_price(name, when, given)
    except UsageError:
        return pinned[name]
