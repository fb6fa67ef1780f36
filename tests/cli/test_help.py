"""`leadhand --help` is where people begin."""

from __future__ import annotations

from itertools import chain

from typer.main import get_command
from typer.testing import CliRunner

from leadhand.cli.app import app
from leadhand.cli.help import GROUPS


def test_every_command_stands_in_one_group() -> None:
    grouped = list(chain(*GROUPS.values()))
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == set(get_command(app).commands)  # type: ignore[attr-defined]


def test_the_help_cuts_no_sentence() -> None:
    text = CliRunner().invoke(app, ["--help"], terminal_width=80).output
    assert all(f"{title}:" in text for title in GROUPS)
    assert not any(line.endswith("...") for line in text.splitlines()[1:])
