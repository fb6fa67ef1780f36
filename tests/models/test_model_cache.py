"""What is read from the providers' caches: by rules that reproduce recorded usages, over real requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from leadhand.core.chain import Conversation, Root
from leadhand.core.ports import Model
from leadhand.core.values import ToolResult, ToolResults, Usage, User
from leadhand.models import open_model
from leadhand.testing.model_contract import TOOLS, ask
from leadhand.testing.provider import Asked, Block, CacheRule, PromptCache, Provider, running
from leadhand.testing.scripted import Seen, Step, bash, do

WIRES = ["openai-chat", "openai", "anthropic", "bedrock", "gemini"]
SYSTEM = "You build programs. " * 600  # 3,000 tokens: over every provider's minimum


def busy(calls: int) -> object:
    """An agent that calls `bash` so many times in every turn."""

    def script(seen: Seen) -> Step:
        return do(*(bash(f"step {seen.turn} part {i}") for i in range(calls)))

    return script


@asynccontextmanager
async def caching(name: str, calls: int = 1, **more: object) -> AsyncIterator[Model]:
    agents = ["lead", *(f"w{i}" for i in range(1, 17))]
    provider = Provider({a: busy(calls) for a in agents}, **more)  # type: ignore[arg-type, misc]
    async with running(provider) as base_url:
        model = open_model(f"{name}/m", base_url=base_url, env={}, stream=False)
        try:
            yield model
        finally:
            await model.aclose()


def begin(text: str, system: str = SYSTEM) -> Conversation:
    talk = Conversation(Root(system=system, tools=TOOLS))
    talk.append(talk.link(User(text=text)))
    return talk


async def steps(model: Model, talk: Conversation, count: int, agent: str, key: str = "") -> list[Usage]:
    """So many steps, each answered with a result of 400 characters a call."""
    usages: list[Usage] = []
    for _ in range(count):
        reply = await ask(model, talk, agent=agent, cache_key=key or f"run-{agent}")
        usages.append(reply.usage)
        results = tuple(ToolResult(call_id=c.id, name=c.name, text="output " * 57) for c in reply.message.calls)
        talk.append(talk.link(ToolResults(results=results)))
    return usages


def share(usages: list[Usage], first: int = 0) -> float:
    """Tokens read from the cache over those that could have been: what the request before had sent already."""
    cacheable = [first, *(u.prompt for u in usages)][: len(usages)]
    return sum(u.cache_read for u in usages) / sum(cacheable)


@pytest.mark.anyio
@pytest.mark.parametrize("name", WIRES)
async def test_a_solo_run_of_100_steps_reads_its_prefix(name: str) -> None:
    async with caching(name) as model:
        usages = await steps(model, begin("Begin."), 100, "lead")
    assert share(usages) >= 0.95
    assert usages[-1].prompt > 10_000
    assert usages[-1].input < 200  # neither read nor written


@pytest.mark.anyio
@pytest.mark.parametrize("name", WIRES)
async def test_sixteen_parallel_calls_do_not_lose_the_cache(name: str) -> None:
    """Sixteen calls and their results are 32 blocks; Anthropic looks back 20."""
    async with caching(name, calls=16) as model:
        usages = await steps(model, begin("Begin."), 12, "lead")
    assert share(usages) >= 0.95


@pytest.mark.anyio
@pytest.mark.parametrize("name", WIRES)
async def test_sixteen_fresh_workers(name: str) -> None:
    async with caching(name) as model:
        all_usages = [await steps(model, begin(f"Assignment {i}."), 10, f"w{i}") for i in range(1, 17)]
    for usages in all_usages:
        assert share(usages) >= 0.95
    if name not in ("openai-chat", "openai"):  # there, a key of its own keeps a worker apart
        assert all(u[0].cache_read > 2900 for u in all_usages[1:])  # tools and system prompt, written by the first


@pytest.mark.anyio
@pytest.mark.parametrize("name", WIRES)
async def test_sixteen_forked_workers_read_the_leads_prefix(name: str) -> None:
    """Each sends the exact prefix of the lead's last request, then its role and assignment."""
    async with caching(name) as model:
        lead = begin("Begin.")
        sent = (await steps(model, lead, 20, "lead"))[-1].prompt
        prefix = lead.messages[:-2]  # without the last reply and its results: what that request had sent
        for i in range(1, 17):
            worker = Conversation(lead.root, prefix)
            worker.append(worker.link(User(text=f"You are worker w{i}. Assignment {i}.")))
            usages = await steps(model, worker, 5, f"w{i}", key="run-lead")
            assert share(usages, first=sent) >= 0.95


@pytest.mark.anyio
async def test_the_cache_is_lost_when_its_time_is_over_and_kept_by_each_read() -> None:
    now = [0.0]
    async with caching("anthropic", clock=lambda: now[0]) as model:
        talk = begin("Begin.")
        await steps(model, talk, 2, "lead")
        for _ in range(3):
            now[0] += 290
            assert (await steps(model, talk, 1, "lead"))[0].cache_read > 3000
        now[0] += 310
        assert (await steps(model, talk, 1, "lead"))[0].cache_read == 0


@pytest.mark.anyio
async def test_an_hour_of_cache_is_a_setting_of_the_conversation() -> None:
    now = [0.0]
    async with caching("anthropic", clock=lambda: now[0]) as model:
        talk = Conversation(Root(system=SYSTEM, tools=TOOLS, settings={"cache_ttl": "1h"}))
        talk.append(talk.link(User(text="Begin.")))
        first = (await steps(model, talk, 1, "lead"))[0]
        assert first.cache_write_5m == 0
        assert first.cache_write_1h > 3000
        now[0] += 3000
        assert (await steps(model, talk, 1, "lead"))[0].cache_read > 3000


@pytest.mark.anyio
async def test_another_system_prompt_is_another_prefix() -> None:
    async with caching("gemini") as model:
        await steps(model, begin("Begin."), 2, "lead")
        assert (await steps(model, begin("Begin.", "X" + SYSTEM), 1, "w1"))[0].cache_read == 0


# --- the rules themselves ---------------------------------------------------------------------------------------------


def blocks(*tokens: int, marks: tuple[int, ...] = (), ttl: str = "5m") -> tuple[Block, ...]:
    """Blocks of so many tokens, different from each other, marked where an explicit breakpoint stands."""
    return tuple(Block(data=bytes([65 + i]) * (4 * n), ttl=ttl if i in marks else "") for i, n in enumerate(tokens))


def asked(wire: str, given: tuple[Block, ...], key: str = "k") -> Asked:
    return Asked(wire=wire, model="m", bodies=(), blocks=given, max_output_tokens=9, key=key)


def test_openai_as_recorded() -> None:
    """gpt-5.6-sol, implicit: of 4,036 tokens 4,017 were read and 16 written; of 4,053 alone, 4,050 written."""
    cache = PromptCache(lambda: 0.0)
    assert cache.usage(asked("openai", blocks(4017)), 5) == Usage(input=3, cache_write_30m=4017, output=5)
    again = cache.usage(asked("openai", blocks(4017, 16)), 6)
    assert again == Usage(input=3, cache_read=4017, cache_write_30m=16, output=6)
    other = cache.usage(asked("openai", blocks(4050), key="another"), 5)
    assert other == Usage(input=3, cache_write_30m=4050, output=5)


def test_short_prompts_are_not_cached() -> None:
    cache = PromptCache(lambda: 0.0)
    for _ in range(2):
        assert cache.usage(asked("openai", blocks(1000)), 1) == Usage(input=1003, output=1)
        assert cache.usage(asked("anthropic", blocks(1000, marks=(0,))), 1) == Usage(input=1000, output=1)
        assert cache.usage(asked("gemini", blocks(2000)), 1) == Usage(input=2000, output=1)


def test_anthropic_bills_only_what_is_marked() -> None:
    cache = PromptCache(lambda: 0.0)
    first = cache.usage(asked("anthropic", blocks(2000, 300, 50, marks=(1,))), 1)
    assert first == Usage(input=50, cache_write_5m=2300, output=1)
    again = cache.usage(asked("anthropic", blocks(2000, 300, 50, 70, marks=(1, 3))), 1)
    assert again == Usage(cache_read=2300, cache_write_5m=120, output=1)
    unmarked = cache.usage(asked("anthropic", blocks(2000, 300, 50)), 1)
    assert unmarked == Usage(input=2350, output=1)


def test_the_look_back_ends() -> None:
    """With a breakpoint only at the end of 25 new blocks, the entry before them is out of reach."""
    many = (2000,) + (10,) * 25
    for marks, read in (((25,), 0), ((0, 25), 2000)):
        cache = PromptCache(lambda: 0.0)
        cache.usage(asked("anthropic", blocks(2000, marks=(0,))), 1)
        assert cache.usage(asked("anthropic", blocks(*many, marks=marks)), 1).cache_read == read


def test_rules_can_be_given() -> None:
    cache = PromptCache(lambda: 0.0, {"openai": CacheRule(minimum=10, step=128)})
    cache.usage(asked("openai", blocks(300)), 1)
    assert cache.usage(asked("openai", blocks(300, 5)), 1) == Usage(input=49, cache_read=256, output=1)
    assert cache.usage(asked("gemini", blocks(9000)), 1) == Usage(input=9000, output=1)
