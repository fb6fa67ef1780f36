"""Which HTTP client carries a team: CPU and delay per call at 1 to 2,000 concurrent calls.

The server runs in a process of its own on another core and answers every POST after `--latency` seconds. What is
measured is the client process alone: CPU time per call, and how much later than the latency an answer arrives.

    python -m benchmarks.transport [--concurrency 1 16 256 2000] [--latency 0.1] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from benchmarks.servers.fixed import ANSWER, fixed_server
from benchmarks.servers.http import pin

POST = Callable[[bytes, int], Awaitable[bytes]]
REQUEST = b'{"model":"m","messages":[' + b'{"role":"user","content":"' + b"x" * 8000 + b'"}]}'


# --- the clients ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def with_aiohttp(url: str, n: int) -> AsyncIterator[POST]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(body: bytes, agent: int) -> bytes:
            async with session.post(url, data=body, headers={"content-type": "application/json"}) as answer:
                return await answer.read()

        yield post


@asynccontextmanager
async def with_httpx2_shared(url: str, n: int) -> AsyncIterator[POST]:
    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def post(body: bytes, agent: int) -> bytes:
            answer = await client.post(url, content=body, headers={"content-type": "application/json"})
            return answer.content

        yield post


@asynccontextmanager
async def with_httpx2_each(url: str, n: int) -> AsyncIterator[POST]:
    import httpx2

    context = httpx2.create_ssl_context()  # 20 ms each, so it is shared
    clients = [httpx2.AsyncClient(timeout=60, verify=context) for _ in range(n)]

    async def post(body: bytes, agent: int) -> bytes:
        answer = await clients[agent].post(url, content=body, headers={"content-type": "application/json"})
        return answer.content

    try:
        yield post
    finally:
        for client in clients:
            await client.aclose()


@asynccontextmanager
async def with_sockets(url: str, n: int) -> AsyncIterator[POST]:
    """The floor: one raw asyncio stream an agent, a fixed header, no errors handled."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def post(body: bytes, agent: int) -> bytes:
        if agent not in streams:
            streams[agent] = await asyncio.open_connection(host, int(port))
        reader, writer = streams[agent]
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        head = await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(int(head.rpartition(b"content-length:")[2].split(b"\r\n")[0]))

    try:
        yield post
    finally:
        for _, writer in streams.values():
            writer.close()


CLIENTS = {
    "aiohttp": with_aiohttp,
    "httpx2, shared": with_httpx2_shared,
    "httpx2, one an agent": with_httpx2_each,
    "raw sockets": with_sockets,
}


# --- measuring ------------------------------------------------------------------------------------------------


async def measure(name: str, url: str, concurrent: int, calls: int, latency: float) -> tuple[float, float, float]:
    """(CPU ms a call, median and p95 of the added delay in ms), connections already open."""
    delays: list[float] = []

    async def agent(post: POST, index: int, times: int) -> None:
        for _ in range(times):
            started = time.perf_counter()
            assert await post(REQUEST, index) == ANSWER
            delays.append(time.perf_counter() - started - latency)

    async with CLIENTS[name](url, concurrent) as post:
        await together(agent, post, concurrent, 1)
        delays.clear()
        before = time.process_time()
        await together(agent, post, concurrent, max(1, calls // concurrent))
        cpu = time.process_time() - before
    delays.sort()
    return cpu / len(delays) * 1e3, statistics.median(delays) * 1e3, delays[int(len(delays) * 0.95)] * 1e3


async def together(agent: Callable[[POST, int, int], Awaitable[None]], post: POST, concurrent: int, times: int) -> None:
    async with anyio.create_task_group() as group:
        for index in range(concurrent):
            group.start_soon(agent, post, index, times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 256, 2000])
    parser.add_argument("--clients", nargs="+", default=list(CLIENTS))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with fixed_server(given.latency) as server:
        pin(0, 0)
        url = f"{server}/v1/chat/completions"
        print(f"{'client':22}{'concurrent':>11}{'CPU ms/call':>13}{'added ms':>10}{'p95':>9}")
        for concurrent in given.concurrency:
            calls = 30 if concurrent == 1 else max(400, concurrent * 2)
            rounds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in given.clients}
            for _ in range(given.rounds):  # turn about, so that a busy machine hits all alike
                for name in given.clients:
                    rounds[name].append(asyncio.run(measure(name, url, concurrent, calls, given.latency)))
            for name, all_ in rounds.items():
                cpu, delay, p95 = (statistics.median(column) for column in zip(*all_, strict=True))
                print(f"{name:22}{concurrent:>11}{cpu:>13.2f}{delay:>10.1f}{p95:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
