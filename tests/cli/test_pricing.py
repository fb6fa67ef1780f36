"""`leadhand models` and `leadhand reprice`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leadhand
from leadhand.cli.app import app
from leadhand.core.errors import UsageError
from leadhand.core.values import Price, Usage
from leadhand.runs.paths import RunPaths
from leadhand.runs.pricing import price_list, reprice
from leadhand.testing.scripted import finish

USAGE = Usage(input=100_000, cache_read=900_000, cache_write_30m=50_000, output=10_000, reasoning=4_000)
SOLO = {"solo": [finish("done", usage=USAGE)]}
NAME = f"scripted/{__name__}:SOLO"


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    price = Price(input=4, output=20, cache_read=0.4)
    result = leadhand.run(
        "numerus", lead=NAME, solo=True, sandbox="bwrap", folder=tmp_path / "runs", keys={}, prices={NAME: price}
    )
    return RunPaths(result.folder)


def test_a_stored_run_is_priced_anew_and_not_changed(run: RunPaths) -> None:
    before = {p: p.read_bytes() for p in (run.run_json, run.journal)}
    line = reprice(run, {NAME: Price(input=5, output=30, cache_read=0.5, cache_write_30m=6.25)})
    # 0.15 M fresh or written at 4, 0.9 M read at 0.4, 10 k out at 20; then writes have a price of their own
    assert line.pinned_usd == pytest.approx(0.15 * 4 + 0.9 * 0.4 + 0.01 * 20, abs=1e-9)
    assert line.usd == pytest.approx(0.1 * 5 + 0.9 * 0.5 + 0.05 * 6.25 + 0.01 * 30, abs=1e-9)
    assert line.by_model == {NAME: (line.pinned_usd, line.usd)}
    assert {p: p.read_bytes() for p in before} == before


def test_price_lists_come_from_profiles_files_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('["openai/gpt-5.6-sol"]\ninput = 1.0\noutput = 2.0\n')
    prices = price_list(["paper-table-2", str(file), "gpt-5.6-luna=7,8"])
    assert prices["gpt-5.6-terra"].input == 2.0
    assert prices["openai/gpt-5.6-sol"] == Price(input=1.0, output=2.0, source="mine.toml")
    assert (prices["gpt-5.6-luna"].input, prices["gpt-5.6-luna"].output) == (7.0, 8.0)


@pytest.mark.parametrize("wrong", ["no-such-profile", "a=b", "missing.toml"])
def test_a_price_list_that_cannot_be_read_says_so(wrong: str) -> None:
    with pytest.raises(UsageError):
        price_list([wrong])


def test_reprice_sums_over_a_folder_of_runs(run: RunPaths) -> None:
    done = CliRunner().invoke(app, ["reprice", str(run.folder.parent), "--prices", f"{NAME}=8,40,0.8", "--json"])
    assert done.exit_code == 0, done.output
    (line,) = json.loads(done.stdout)
    assert line["usd"] == pytest.approx(2 * line["pinned_usd"])


def test_models_lists_prices_and_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(key, raising=False)
    (tmp_path / ".env").write_text("ANTHROPIC_API_KEY=made-up\n")
    listed = json.loads(CliRunner().invoke(app, ["models", "--json"]).stdout)
    with_key = {m["name"].partition("/")[0] for m in listed if m["has_key"]}
    assert with_key == {"anthropic"}
    assert all(m["price"] for m in listed)
    checked = json.loads(CliRunner().invoke(app, ["models", "--check", "--json"]).stdout)
    assert {m["name"] for m in checked} == {m["name"] for m in listed if m["has_key"]}


def test_a_reasoning_setting_that_the_model_does_not_take_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not take reasoning 'enormous'"):
        leadhand.run(
            "numerus",
            lead="openai/gpt-5.6-sol",
            lead_reasoning="enormous",
            folder=tmp_path,
            keys={"OPENAI_API_KEY": "x"},
        )
    assert not list(tmp_path.iterdir())
