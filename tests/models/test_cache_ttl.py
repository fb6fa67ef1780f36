"""The lifetime of prompt caches by role: from a TOML file to the request, the bill, the reservation, the identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from wire_talk import talking

from leadhand.core.chain import Conversation, Root
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.events import AttemptStarted
from leadhand.core.ledger import Ledger
from leadhand.core.values import Price, Task, User
from leadhand.models import cache_ttls, check_cache_ttl, open_model
from leadhand.models.wires.messages import MessagesWire
from leadhand.models.wires.responses import ResponsesWire
from leadhand.runs.design_file import design_from_toml
from leadhand.runs.design_text import design_to_toml
from leadhand.runs.spec import identity
from leadhand.testing.model_contract import ask
from leadhand.testing.play import PROMPTS, play
from leadhand.testing.provider import Provider, dollars, running
from leadhand.testing.scripted import bash, call, do, finish, say

PRICE = Price(input=5, output=25, cache_read=0.5, cache_write_5m=6.25, cache_write_1h=10)
LONG = "You build programs. " * 600

TEAM = """
lead = "anthropic/m"
lead_cache_ttl = "1h"
worker_cache_ttl = "5m"
budget_usd = 10
"""


@pytest.mark.anyio
async def test_a_toml_file_decides_what_each_role_asks_for_and_pays(tmp_path: Path) -> None:
    design = design_from_toml(TEAM)
    scripts = {
        "lead": [do(call("delegate_agent", assignment="x")), do(call("wait")), finish("end")],
        "w1": [do(bash("ls")), finish("report")],
    }
    provider = Provider(scripts)
    async with running(provider) as url:
        model = open_model("anthropic/m", base_url=url, env={})
        prompts = msgspec.structs.replace(PROMPTS, lead=LONG, worker=LONG)
        run = await play(model, design, tmp_path, prices={"anthropic/m": PRICE}, prompts=prompts)
        await model.aclose()
    lead = [b.usage for b in provider.bill.lines if b.agent == "lead"]
    worker = [b.usage for b in provider.bill.lines if b.agent == "w1"]
    assert lead[0].cache_write_1h > 3000
    assert worker[0].cache_write_5m > 3000
    assert not any(u.cache_write_5m for u in lead)
    assert not any(u.cache_write_1h for u in worker)
    assert run.state.ledger.settled == pytest.approx(dollars(provider.bill.lines, PRICE), abs=1e-9)
    started = [(e.agent, e.event) for e in run.entries if isinstance(e.event, AttemptStarted)]
    assert {(agent, e.cache_ttl) for agent, e in started} == {("lead", "1h"), ("w1", "5m")}
    # What is reserved is what that lifetime can cost, not the dearest of the table.
    ledger = Ledger({"anthropic/m": PRICE})
    for entry in run.entries:
        ledger.apply(entry)
        if isinstance(entry.event, AttemptStarted):
            e = entry.event
            rate = 10 if e.cache_ttl == "1h" else 6.25
            assert ledger.open[e.attempt].usd == pytest.approx((e.prompt_bound * rate + e.output_bound * 25) / 1e6)


def test_the_reservation_goes_by_the_lifetime() -> None:
    assert PRICE.bound(10**6, 0, "1h") == 10
    assert PRICE.bound(10**6, 0, "5m") == 6.25
    assert PRICE.bound(10**6, 0) == 6.25  # nobody bills an hour that was not asked for
    assert PRICE.bound(10**6, 0, "12h") == 5
    openai = Price(input=4, output=20, cache_write_30m=5, cache_write_12h=7)
    assert (openai.bound(10**6, 0), openai.bound(10**6, 0, "12h")) == (5, 7)
    tiered = msgspec.structs.replace(PRICE, tier_above=10, tier=Price(input=1, output=1, cache_write_1h=99))
    assert tiered.bound(100, 0, "1h") == pytest.approx(100 * 99 / 1e6)


def request_of(wire: Any, ttl: str) -> dict[str, Any]:
    from leadhand.core.ports import Request

    talk = Conversation(Root(system="S", settings={"cache_ttl": ttl} if ttl else {}))
    talk.append(talk.link(User(text="Hi.")))
    return msgspec.json.decode(wire.encode(Request(model="m", agent="a", conversation=talk), stream=False))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("ttl", "sent"), [("", "5m"), ("5m", "5m"), ("1h", "1h")])
def test_anthropic_is_asked_on_every_breakpoint(ttl: str, sent: str) -> None:
    body = request_of(MessagesWire(), ttl)
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": sent}
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": sent}


def test_openai_is_asked_only_where_a_lifetime_was_given() -> None:
    assert "prompt_cache_options" not in request_of(ResponsesWire(), "")
    for ttl in ("30m", "12h"):
        assert request_of(ResponsesWire(), ttl)["prompt_cache_options"] == {"mode": "implicit", "ttl": ttl}


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("ttl", "part"), [("", "cache_write_30m"), ("30m", "cache_write_30m"), ("12h", "cache_write_12h")]
)
async def test_openais_writes_are_counted_by_the_lifetime_that_was_applied(ttl: str, part: str, stream: bool) -> None:
    async with talking("openai", say("one"), say("two"), stream=stream) as (model, provider):
        talk = Conversation(Root(system=LONG, settings={"cache_ttl": ttl} if ttl else {}))
        talk.append(talk.link(User(text="Begin.")))
        reply = await ask(model, talk)
        assert getattr(reply.usage, part) == reply.usage.cache_write > 2900
        assert reply.usage == provider.bill.lines[0].usage


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("anthropic/claude-opus-4-8", ("5m", "1h")),
        ("bedrock/global.anthropic.claude-opus-4-8-v1:0", ("5m", "1h")),
        ("openai/gpt-5.6-sol", ("30m", "12h")),
        ("openai/gpt-6-luna", ("30m", "12h")),
        ("openai/gpt-5.5", ()),
        ("openai/gpt-5", ()),
        ("openai-chat/gpt-5.6-sol", ()),
        ("gemini/gemini-4-argon", ()),
    ],
)
def test_what_a_model_can_be_asked_for(name: str, takes: tuple[str, ...]) -> None:
    assert cache_ttls(name) == takes
    for ttl in ("5m", "30m", "1h", "12h"):
        if ttl in takes:
            check_cache_ttl(name, ttl)
            continue
        with pytest.raises(UsageError, match="cannot be asked to keep its cache"):
            check_cache_ttl(name, ttl)
    check_cache_ttl(name, "")


def test_settings_in_a_file_and_back() -> None:
    design = design_from_toml(TEAM, ["lead_cache_ttl=5m", "compaction=elide"])
    assert (design.lead_cache_ttl, design.worker_cache_ttl, design.compaction) == ("5m", "5m", "elide")
    assert design_from_toml(design_to_toml(design)) == design
    with pytest.raises(UsageError, match="lead_cache_ttl"):
        design_from_toml(TEAM, ["lead_cache_ttl=2h"])
    with pytest.raises(UsageError, match="compaction"):
        design_from_toml(TEAM, ["compaction=yes"])


def test_workers_follow_the_lead_where_the_model_is_the_same() -> None:
    same, other = Design(lead="m", lead_cache_ttl="1h"), Design(lead="m", worker="n", lead_cache_ttl="1h")
    assert [k.cache_ttl for k in same.worker_kinds] == ["1h"]
    assert [k.cache_ttl for k in other.worker_kinds] == [""]
    with pytest.raises(UsageError, match="cache_ttl"):
        design_from_toml(TEAM, ["context=fork"])
    design_from_toml(TEAM, ["context=fork", "worker_cache_ttl=1h"])


def test_lifetimes_and_compaction_are_part_of_a_runs_identity() -> None:
    """By role: a run whose lead's cache lives longer is another run, and so is one that may leave outputs out."""
    plain = Design(lead="anthropic/m")
    designs = [
        plain,
        Design(lead="anthropic/m", lead_cache_ttl="1h"),
        Design(lead="anthropic/m", worker_cache_ttl="1h"),
        Design(lead="anthropic/m", compaction="elide"),
    ]
    task = Task(id="t", prompt="p")
    digests = [identity(d, task, PROMPTS, "local", False, "", 1) for d in designs]
    assert len(set(digests)) == len(designs)
