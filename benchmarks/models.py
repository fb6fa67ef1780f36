"""What a model call costs us in CPU: beside raw clients and the official SDKs, in one run, turn about, medians.

The server (`servers/fixed.py`) is a process of its own on another core. Histories are of tool calls with 2 kB results;
"60 turns" is about 180 kB. `--no-sdks` leaves out the SDKs (dependency group `oracle`).

    python -m benchmarks.models [--turns 1 60 200] [--concurrency 1 16 256 2000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio

from benchmarks.servers.fixed import fixed_server
from benchmarks.servers.http import pin
from benchmarks.transport import with_aiohttp, with_httpx2_each
from leadhand.core.chain import Conversation, Root
from leadhand.core.ports import Request
from leadhand.core.values import Assistant, ToolCall, ToolResult, ToolResults, ToolSpec, User
from leadhand.models import open_model

Call = Callable[[int], Awaitable[object]]
TOOL = ToolSpec(name="bash", description="Run a command.", parameters={"type": "object", "properties": {}})
RESULT = "output of the command " * 91


def history(turns: int) -> list[dict[str, Any]]:
    """Chat messages of so many turns: a call and its 2 kB result each."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Begin."},
    ]
    for turn in range(turns - 1):
        function = {"name": "bash", "arguments": json.dumps({"command": f"echo {turn}"})}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})
    return messages


def as_conversation(messages: list[dict[str, Any]]) -> Conversation:
    talk = Conversation(Root(system=messages[0]["content"], tools=(TOOL,)))
    for message in messages[1:]:
        match message["role"]:
            case "user":
                body: Any = User(text=message["content"])
            case "tool":
                result = ToolResult(call_id=message["tool_call_id"], name="bash", text=message["content"])
                body = ToolResults(results=(result,))
            case _:
                calls = tuple(
                    ToolCall(id=c["id"], name="bash", arguments=c["function"]["arguments"])
                    for c in message["tool_calls"]
                )
                body = Assistant(wire="openai-chat", items=[message], calls=calls, stop="tool_calls")
        talk.append(talk.link(body))
    return talk


# --- the clients: each gives a call that agent number i makes --------------------------------------------------------


@asynccontextmanager
async def leadhand_encoded(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    """Ours, as in a run: what was sent before is encoded already."""
    model = open_model("openai-chat/m", base_url=url, env={}, stream=False)
    talks = [as_conversation(history(turns)) for _ in range(agents)]

    async def call(agent: int) -> object:
        return await model.complete(Request(model="m", agent="lead", conversation=talks[agent]))

    yield call
    await model.aclose()


@asynccontextmanager
async def leadhand_fresh(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    """Ours with the whole history encoded for each call."""
    model = open_model("openai-chat/m", base_url=url, env={}, stream=False)
    talk = as_conversation(history(turns))

    async def call(agent: int) -> object:
        again = Conversation.__new__(Conversation)  # without hashing the history again: that is not the adapter's
        for name in set(Conversation.__slots__) - {"__weakref__"}:
            setattr(again, name, getattr(talk, name))
        return await model.complete(Request(model="m", agent="lead", conversation=again))

    yield call
    await model.aclose()


@asynccontextmanager
async def raw_aiohttp(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    messages = history(turns)
    async with with_aiohttp(url + "/chat/completions", agents) as post:

        async def call(agent: int) -> object:
            return json.loads(await post(json.dumps({"model": "m", "messages": messages}).encode(), agent))

        yield call


@asynccontextmanager
async def raw_httpx2(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    messages = history(turns)
    async with with_httpx2_each(url + "/chat/completions", agents) as post:

        async def call(agent: int) -> object:
            return json.loads(await post(json.dumps({"model": "m", "messages": messages}).encode(), agent))

        yield call


@asynccontextmanager
async def openai_chat(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    import openai

    messages = history(turns)
    async with openai.AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:

        async def call(agent: int) -> object:
            return await client.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]

        yield call


@asynccontextmanager
async def openai_responses(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    import openai

    items: list[Any] = [{"role": "user", "content": "Begin."}]
    for turn in range(turns - 1):
        items.append({"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": "x" * 1000})
        call = {"type": "function_call", "call_id": f"c{turn}", "name": "bash", "arguments": "{}", "id": f"fc_{turn}"}
        items += [call, {"type": "function_call_output", "call_id": f"c{turn}", "output": RESULT}]
    async with openai.AsyncOpenAI(api_key="x", base_url=url, max_retries=0) as client:

        async def ask(agent: int) -> object:
            return await client.responses.create(model="m", input=items)

        yield ask


@asynccontextmanager
async def anthropic_messages(url: str, turns: int, agents: int) -> AsyncIterator[Call]:
    import anthropic

    messages: list[Any] = [{"role": "user", "content": "Begin."}]
    for turn in range(turns - 1):
        use = {"type": "tool_use", "id": f"t{turn}", "name": "bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": RESULT}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    client = anthropic.AsyncAnthropic(api_key="x", base_url=url.removesuffix("/v1"), max_retries=0)

    async def call(agent: int) -> object:
        return await client.messages.create(model="m", max_tokens=1000, messages=messages)

    yield call
    await client.close()


OURS = {"leadhand, encoded once": leadhand_encoded, "leadhand, encoded anew": leadhand_fresh}
RAW = {"raw aiohttp + json": raw_aiohttp, "raw httpx2 + json": raw_httpx2}
SDKS = {
    "openai chat": openai_chat,
    "openai responses": openai_responses,
    "anthropic messages": anthropic_messages,
}


# --- measuring ------------------------------------------------------------------------------------------------------


async def cpu_ms(client: Any, url: str, turns: int, agents: int, calls: int) -> float:
    """CPU milliseconds of this process a call, connections open and histories sent once before."""

    async def agent(call: Call, index: int, times: int) -> None:
        for _ in range(times):
            await call(index)

    async def together(call: Call, times: int) -> None:
        async with anyio.create_task_group() as group:
            for index in range(agents):
                group.start_soon(agent, call, index, times)

    async with client(url, turns, agents) as call:
        await together(call, 1)
        times = max(1, calls // agents)
        before = time.process_time()
        await together(call, times)
        return (time.process_time() - before) / (times * agents) * 1e3


async def in_turn(clients: dict[str, Any], url: str, turns: int, rounds: int) -> dict[str, float]:
    """Median CPU ms a call of one agent, by client: batches of ten, clients turn about, so that all meet the same noise
    of a machine that others use too."""
    found: dict[str, list[float]] = {name: [] for name in clients}
    async with AsyncExitStack() as stack:
        calls = {name: await stack.enter_async_context(client(url, turns, 1)) for name, client in clients.items()}
        for _ in range(rounds * max(4, 40 // turns)):
            for name, call in calls.items():
                await call(0)
                before = time.process_time()
                for _ in range(10):
                    await call(0)
                found[name].append((time.process_time() - before) / 10 * 1e3)
    return {name: statistics.median(cells) for name, cells in found.items()}


def one_agent(clients: dict[str, Any], url: str, turns: list[int], rounds: int) -> dict[str, list[float]]:
    columns = [asyncio.run(in_turn(clients, url, t, rounds)) for t in turns]
    medians = {name: [column[name] for column in columns] for name in clients}
    show("one agent", [f"{t} turns" for t in turns], medians)
    return medians


def show(title: str, heads: list[str], rows: dict[str, list[float]]) -> None:
    print(f"\n{title}, CPU ms a call")
    print(f"{'':26}" + "".join(f"{h:>14}" for h in heads))
    for name, row in rows.items():
        print(f"{name:26}" + "".join(f"{v:>14.2f}" for v in row), flush=True)


def table(
    title: str, clients: dict[str, Any], url: str, columns: list[tuple[int, int, int]], rounds: int
) -> dict[str, list[float]]:
    """Medians by client; a column is (turns, agents, calls). Clients take turns within a round."""
    found: dict[str, list[list[float]]] = {name: [[] for _ in columns] for name in clients}
    for n, (turns, agents, calls) in enumerate(columns):
        for _ in range(rounds):
            for name, client in clients.items():
                found[name][n].append(asyncio.run(cpu_ms(client, url, turns, agents, calls)))
    medians = {name: [statistics.median(c) for c in cells] for name, cells in found.items()}
    show(title, [f"{a} at once" for _, a, _ in columns], medians)
    return medians


def imports() -> None:
    code = "import time; t = time.process_time(); import {0}; print(time.process_time() - t)"
    print("\nimport, CPU s (median of 5)")
    for name in ("leadhand", "leadhand.models", "leadhand.models.adapters, aiohttp"):
        runs = [
            float(subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, check=True).stdout)
            for _ in range(5)
        ]
        print(f"{name:36}{statistics.median(runs):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, nargs="+", default=[1, 60, 200])
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 256, 2000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-sdks", action="store_true")
    given = parser.parse_args()
    clients = {**OURS, **RAW, **({} if given.no_sdks else SDKS)}
    with fixed_server(0.0) as url:
        pin(0, 0)
        by_turns = one_agent(clients, f"{url}/v1", given.turns, given.rounds)
    at_once = {**OURS, **RAW}
    with fixed_server(0.05) as url:
        columns = [(20, n, max(64, 2 * n)) for n in given.concurrency]
        by_agents = table("20 turns each, 50 ms latency", at_once, f"{url}/v1", columns, given.rounds)
    imports()
    verdict(by_turns, by_agents, given.concurrency)


def verdict(by_turns: dict[str, list[float]], by_agents: dict[str, list[float]], agents: list[int]) -> None:
    best = [min(by_turns[name][n] for name in RAW) for n in range(len(next(iter(by_turns.values()))))]
    print("\nagainst the best raw client, by turns (targets: anew at most 1.3, once below 1 where there is a history)")
    for name in OURS:
        print(f"{name:26}" + "".join(f"{ours / raw:>14.2f}" for ours, raw in zip(by_turns[name], best, strict=True)))
    if 16 in agents and 2000 in agents:
        row = by_agents["leadhand, encoded once"]
        ratio = row[agents.index(2000)] / row[agents.index(16)]
        print(f"2,000 at once against 16: {ratio:.2f} (target: at most 1.5)")


if __name__ == "__main__":
    main()
