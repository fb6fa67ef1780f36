"""`leadhand run --auto`: the advisor chooses the design, and says why before anything is spent."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from leadhand.cli.app import app

MODELS = ["--lead", "openai/gpt-5.6-sol", "--worker-model", "openai/gpt-5.6-luna"]


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")


def test_the_advised_design_is_the_one_that_would_run() -> None:
    done = CliRunner().invoke(
        app, ["run", "satchel", "--auto", *MODELS, "--max-usd", "1", "--sandbox", "bwrap", "--dry-run", "--json"]
    )
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["worst_case_usd"] == 1.0
    assert {a["model"] for a in shown["agents"]} <= {"openai/gpt-5.6-sol", "openai/gpt-5.6-luna"}
    assert "What the numbers rest on" in done.stderr
    assert "no evidence" in done.stderr  # nothing was ever run on this task, and it says so


@pytest.mark.parametrize("own", [["--guidance", "P"], ["--workers", "3"], ["--design", "mine.toml"]])
def test_a_design_of_ones_own_does_not_go_with_it(own: list[str]) -> None:
    done = CliRunner().invoke(app, ["run", "satchel", "--auto", *MODELS, *own, "--dry-run"])
    assert done.exit_code != 0
    assert "--auto chooses the design" in str(done.exception)
