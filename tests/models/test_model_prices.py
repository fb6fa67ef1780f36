"""Prices to the cent: recorded calls, the paper's table, each provider's way of counting."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leadhand.core.errors import UsageError
from leadhand.core.values import FREE, Price, Usage
from leadhand.models import find_price, find_profile, list_models, parse_price
from leadhand.models.wires import chat, gemini, messages, responses

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HERE = Path(__file__).parent
WHOLE = HERE.parents[2] / "shared/data/programbench/calls_gpt-5-5-high.csv"
SAMPLE = HERE / "data/calls_sample.csv"


@pytest.mark.parametrize("path", [SAMPLE, WHOLE], ids=["sample", "all 8,038"])
def test_recorded_costs_are_met_on_every_call(path: Path) -> None:
    if path == WHOLE and not path.exists():
        pytest.skip("the whole table is not beside this checkout; the sample of it is")
    name, price = parse_price("openai/gpt-5.5=5,30,0.5")
    assert name == "openai/gpt-5.5"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == (8038 if path == WHOLE else 119)
    for row in rows:
        usage = responses.read_usage(
            {
                "input_tokens": int(row["input_tokens"]),
                "input_tokens_details": {"cached_tokens": int(row["cached_input_tokens"])},
                "output_tokens": int(row["output_tokens"]),
                "output_tokens_details": {"reasoning_tokens": int(row["reasoning_tokens"])},
            }
        )
        assert usage is not None
        assert abs(price.cost(usage) - float(row["cost_usd"])) < 1e-6, row


PAPER = [  # table 2 of arXiv 2610.17471: input, output, cache read, cache write
    ("openai/gpt-5.6-sol", 4.00, 20.00, 0.40, None),
    ("openai/gpt-5.6-terra", 2.00, 12.00, 0.20, None),
    ("openai/gpt-5.6-luna", 0.20, 1.20, 0.02, None),
    ("anthropic/claude-opus-4-8", 5.00, 25.00, 0.50, 6.25),
    ("anthropic/claude-opus-4-7", 5.00, 25.00, 0.50, 6.25),
]


@pytest.mark.parametrize(("name", "fresh", "output", "read", "write"), PAPER)
def test_the_profile_of_the_paper(name: str, fresh: float, output: float, read: float, write: float | None) -> None:
    price = find_price(name, NOW, find_profile("paper-table-2"))
    million = {"input": fresh, "output": output, "cache_read": read, "cache_write_5m": write or fresh}
    for part, usd in million.items():
        assert price.cost(Usage(**{part: 1_000_000})) == pytest.approx(usd, abs=1e-9)
    assert price.cost(Usage(cache_write_30m=1_000_000)) == pytest.approx(fresh)  # the paper bills no writes


@pytest.mark.parametrize(("name", "fresh", "output", "read", "write"), PAPER)
def test_the_paper_differs_from_the_truth_by_openais_write_price_only(
    name: str, fresh: float, output: float, read: float, write: float | None
) -> None:
    price = find_price(name, NOW, {})
    assert (price.input, price.output, price.cache_read) == (fresh, output, read)
    assert price.cache_write_5m == (write or fresh * 1.25)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("openai/gpt-5.6-sool", "openai/gpt-5.6-sol"),
        ("anthropic/claude-opus-48", "anthropic/claude-opus-4-8"),
        ("opnai/gpt-5.6-sol", "openai/gpt-5.6-sol"),
    ],
)
def test_a_mistyped_model_is_told_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"no price is known for {name}; did you mean {near}?")):
        find_price(name, NOW, {})


@pytest.mark.parametrize("name", ["openai/qwen3-8b", "openai-chat/my-model"])
def test_a_model_of_ones_own_is_no_mistake(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"no price is known for {name}; give one with --price {name}=")):
        find_price(name, NOW, {})


def test_the_profile_has_five_rows_and_no_more() -> None:
    assert len(find_profile("paper-table-2")) == 5
    assert find_price("anthropic/claude-haiku-4-5", NOW, find_profile("paper-table-2")).source.startswith(
        "genai-prices"
    )
    with pytest.raises(UsageError, match="paper-table-2"):
        find_profile("paper-table-3")


def test_prices_go_by_the_date_of_the_request() -> None:
    name = "gemini/gemini-4-argon"
    tomorrow = datetime(2026, 12, 1, 12, tzinfo=UTC)
    before, after = find_price(name, NOW, {}), find_price(name, tomorrow, {})
    assert (before.input, before.output, before.cache_read) == (2, 10, 0.1)
    assert (after.input, after.output, after.cache_read) == (4, 20, 0.2)
    assert find_price("openai/gpt-5.6-luna", datetime(2026, 7, 1, tzinfo=UTC), {}).input == 1


@pytest.mark.parametrize("prompt", [1, 271_999, 272_000, 272_001, 900_000])
@pytest.mark.parametrize("name", ["openai/gpt-5.6-sol", "gemini/gemini-3.1-pro-preview", "anthropic/claude-haiku-5-5"])
def test_tiers_cost_what_genai_prices_says(name: str, prompt: int) -> None:
    """An independent calculation of the same call: a quarter read, a quarter written where the provider does that."""
    from genai_prices import Usage as TheirUsage
    from genai_prices import calc_price

    provider, _, model = name.partition("/")
    writes = provider != "gemini"
    read, write = prompt // 4, prompt // 4 if writes else 0
    ours = find_price(name, NOW, {}).cost(
        Usage(input=prompt - read - write, cache_read=read, cache_write_5m=write, output=1000)
    )
    theirs = calc_price(
        TheirUsage(input_tokens=prompt, cache_read_tokens=read, cache_write_tokens=write, output_tokens=1000),
        model,
        provider_id={"gemini": "google"}.get(provider, provider),
        genai_request_timestamp=NOW,
    )
    assert ours == pytest.approx(float(theirs.total_price), abs=1e-9)


def test_regional_bedrock_costs_ten_percent_more() -> None:
    everywhere = find_price("bedrock/global.anthropic.claude-opus-4-8-v1:0", NOW, {})
    regional = find_price("bedrock/us.anthropic.claude-opus-4-8-v1:0", NOW, {})
    assert (everywhere.input, everywhere.cache_write_1h) == (5, 10)
    assert regional.input == pytest.approx(5.5)
    assert regional.cache_write_5m == pytest.approx(6.875)


GOLDEN = [
    # OpenAI and Gemini count what was cached inside the input, Anthropic outside; Gemini counts thoughts apart.
    (
        responses.read_usage,
        {
            "input_tokens": 4036,
            "input_tokens_details": {"cached_tokens": 4017, "cache_write_tokens": 16},
            "output_tokens": 6,
            "output_tokens_details": {"reasoning_tokens": 2},
        },
        Usage(input=3, cache_read=4017, cache_write_30m=16, output=6, reasoning=2),
        "openai/gpt-5.6-sol",
        (3 * 4 + 4017 * 0.4 + 16 * 5 + 6 * 20) / 1e6,
    ),
    (
        chat.read_usage,
        {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}},
        Usage(input=36, cache_read=64, output=7),
        "openai-chat/gpt-5.6-terra",
        (36 * 2 + 64 * 0.2 + 7 * 12) / 1e6,
    ),
    (
        messages.read_usage,
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 2000,
            "cache_creation_input_tokens": 900,
            "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 500},
            "output_tokens": 50,
            "output_tokens_details": {"thinking_tokens": 30},
        },
        Usage(input=10, cache_read=2000, cache_write_5m=400, cache_write_1h=500, output=50, reasoning=30),
        "anthropic/claude-opus-4-8",
        (10 * 5 + 2000 * 0.5 + 400 * 6.25 + 500 * 10 + 50 * 25) / 1e6,
    ),
    (
        messages.read_usage,
        {"input_tokens": 10, "cache_creation_input_tokens": 900, "output_tokens": 5},
        Usage(input=10, cache_write_5m=900, output=5),
        "bedrock/us.anthropic.claude-opus-4-8-v1:0",
        (10 * 5.5 + 900 * 6.875 + 5 * 27.5) / 1e6,
    ),
    (
        messages.read_usage,  # a server that names the lifetimes only
        {"cache_creation_input_tokens": 0, "cache_creation": {"ephemeral_1h_input_tokens": 500}, "output_tokens": 5},
        Usage(cache_write_1h=500, output=5),
        "anthropic/claude-opus-4-8",
        (500 * 10 + 5 * 25) / 1e6,
    ),
    (
        gemini.read_usage,
        {
            "promptTokenCount": 5000,
            "cachedContentTokenCount": 4000,
            "candidatesTokenCount": 15,
            "thoughtsTokenCount": 804,
            "toolUsePromptTokenCount": 12,
            "totalTokenCount": 5831,
        },
        Usage(input=1012, cache_read=4000, output=819, reasoning=804),
        "gemini/gemini-3.1-pro-preview",
        (1012 * 2 + 4000 * 0.2 + 819 * 12) / 1e6,
    ),
]


@pytest.mark.parametrize(("read", "raw", "usage", "name", "usd"), GOLDEN)
def test_golden_costs_of_every_usage_shape(read, raw, usage, name, usd) -> None:
    assert read(raw) == usage
    assert find_price(name, NOW, {}).cost(usage) == pytest.approx(usd, abs=1e-12)


def test_unknown_prices_fail_closed_and_name_the_remedy() -> None:
    for name in ("openai/gpt-99", "openai-chat/my-local-model", "nonesuch/x", "openai/"):
        with pytest.raises(UsageError, match=r"--price .*=IN,OUT\[,READ\[,WRITE\]\]"):
            find_price(name, NOW, {})
    assert find_price("scripted/anything", NOW, {}) == FREE


def test_an_override_wins_by_full_or_bare_name() -> None:
    mine = Price(input=1, output=2)
    assert find_price("openai/gpt-5.6-sol", NOW, {"openai/gpt-5.6-sol": mine}) is mine
    assert find_price("openai-chat/Qwen/Coder", NOW, {"Qwen/Coder": mine}) is mine


def test_parse_price() -> None:
    name, price = parse_price("openai-chat/a=b/c=1,2,0.1,1.5")
    assert name == "openai-chat/a=b/c"
    assert (price.input, price.output, price.cache_read, price.cache_write_1h) == (1, 2, 0.1, 1.5)
    assert parse_price("x=0,0")[1].cost(Usage(input=5, cache_write_1h=5, output=5)) == 0
    for bad in ("x", "x=", "=1,2", "x=1", "x=1,2,3,4,5", "x=-1,2", "x=nan,1", "x=inf,1", "x=1,two"):
        with pytest.raises(UsageError, match="IN,OUT"):
            parse_price(bad)


def test_models_are_listed_with_price_key_and_settings() -> None:
    listed = {
        m.name: m for m in list_models({"ANTHROPIC_API_KEY": "k"}, NOW, {"openai-chat/mine": Price(input=1, output=1)})
    }
    assert all(m.price is not None for m in listed.values())
    assert listed["anthropic/claude-opus-4-8"].has_key
    assert not listed["openai/gpt-5.6-sol"].has_key
    assert listed["openai/gpt-5.6-sol"].context == 1_050_000
    assert listed["openai-chat/mine"].price == Price(input=1, output=1)
