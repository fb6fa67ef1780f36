"""What models cost: `leadhand models`, `leadhand reprice`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leadhand.cli.options import Json, Runs

if TYPE_CHECKING:
    from leadhand.core.values import Price

Prices = Annotated[
    list[str] | None,
    typer.Option(help="A profile (paper-table-2), a TOML file, or MODEL=IN,OUT[,READ[,WRITE]]. Repeatable."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(models)
    app.command()(reprice)


def models(
    check: Annotated[bool, typer.Option("--check", help="Only those with a key here and a known price.")] = False,
    prices: Prices = None,
    json: Json = False,
) -> None:
    """List models: price in dollars per million tokens, context, reasoning settings, and whether a key is here."""
    from datetime import UTC, datetime
    from pathlib import Path

    from rich.table import Table

    from leadhand import models as room
    from leadhand.cli import text
    from leadhand.cli.show import print_json, wide_console
    from leadhand.runs.pricing import price_list

    found = room.list_models(room.load_keys(Path.cwd()), datetime.now(UTC), price_list(prices or ()))
    if check:
        found = [m for m in found if m.has_key and m.price is not None]
    if json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("model", "key", "in", "out", "read", "write", "context", "reasoning"):
        table.add_column(
            name,
            no_wrap=name not in ("model", "reasoning"),  # in a narrow terminal prices stay whole
            overflow="fold",
            justify="left" if name in ("model", "key", "reasoning") else "right",
        )
    for m in found:
        context = text.tokens(m.context) if m.context else "?"
        row = (m.name, "yes" if m.has_key else "no", *_rates(m.price), context, " ".join(m.reasoning))
        table.add_row(*row, style=None if m.has_key else "dim")
    wide_console().print(table)
    if not found:
        raise typer.Exit(1)


def _rates(price: Price | None) -> tuple[str, str, str, str]:
    if price is None:
        return "?", "?", "?", "?"
    write = price.cache_write_5m if price.cache_write_5m is not None else price.cache_write_30m
    return tuple("" if r is None else f"{r:g}" for r in (price.input, price.output, price.cache_read, write))  # type: ignore[return-value]


def reprice(
    name: Annotated[str, typer.Argument(metavar="RUN|STUDY", help="A run, or a folder of runs.")],
    prices: Prices = None,
    json: Json = False,
    runs: Runs = "",
) -> None:
    """What a stored run, or all runs of a study, would have cost at other prices. Changes nothing."""
    from pathlib import Path

    from rich.table import Table

    from leadhand.cli import text
    from leadhand.cli.show import print_json, wide_console
    from leadhand.runs.paths import all_runs, find_run, runs_root
    from leadhand.runs.pricing import price_list
    from leadhand.runs.pricing import reprice as priced

    folder = Path(name).expanduser()
    found = all_runs(folder / "runs") or all_runs(folder) if folder.is_dir() else []
    given = price_list(prices or ())
    lines = [priced(paths, given) for paths in found or [find_run(name, runs_root(runs))]]
    if json:
        print_json(lines)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("run", "pinned", "at these prices", "change"):
        table.add_column(column, no_wrap=True, justify="left" if column == "run" else "right")
    for line in lines:
        table.add_row(line.run, *_money(line.pinned_usd, line.usd))
    if len(lines) > 1:
        both = sum(line.pinned_usd for line in lines), sum(line.usd for line in lines)
        table.add_row(text.plural(len(lines), "run"), *_money(*both), style="bold")
    wide_console().print(table)


def _money(pinned: float, anew: float) -> tuple[str, str, str]:
    change = f"{(anew - pinned) / pinned:+.1%}" if pinned else ""
    return f"${pinned:.6f}", f"${anew:.6f}", change
