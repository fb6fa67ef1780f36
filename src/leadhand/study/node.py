"""One run on a node of a cluster: made in a scratch folder there, its journal sent home while it is written.

A model is asked only after the record of that attempt is home, so that a node that is lost takes no money with it that
is not counted.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import msgspec

from leadhand import models
from leadhand.core.events import Entry
from leadhand.core.ports import Model, Reply, Request
from leadhand.runs import best_of, store
from leadhand.runs.execution import Execution, Ports
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile
from leadhand.study.parcel import unpack

PIECE = 4 << 20
SENT_S = 0.25

Call = Callable[..., Any]
"""Calls a method of `Home` by name: `await call("append", ...)`."""


class Work(NamedTuple):
    """All that a node needs of a run. `file` is its `run.json` as JSON."""

    token: str
    name: str
    file: bytes
    keys: Mapping[str, str]


class Sender:
    """Sends what is new of a journal home, in order. Invariant: `_sending` is held from reading to acknowledgement."""

    def __init__(self, journal: Path, token: str, home: Call) -> None:
        self._journal = journal
        self._token = token
        self._home = home
        self._sent = 0
        self._seen = self._shown = 0
        self._sending = anyio.Lock()

    def see(self, entry: Entry) -> None:
        self._seen += 1

    async def flush(self) -> None:
        """Return when everything that was written before the call is home."""
        async with self._sending:
            with self._journal.open("rb") as file:
                file.seek(self._sent)
                data = file.read()
            if data:
                self._sent = await self._home("append", self._token, "journal.jsonl", self._sent, data)

    async def run(self) -> None:
        """Send now and then, for whoever looks. That the loop wakes up also lets a cancelled task hear of it."""
        while True:
            await anyio.sleep(SENT_S)
            if self._seen != self._shown:
                self._shown = self._seen
                await self.flush()

    async def blobs(self, files: Sequence[Path]) -> None:
        for path in files:
            with path.open("rb") as file:
                offset = 0
                while data := file.read(PIECE):
                    offset = await self._home("append", self._token, f"blobs/{path.name}", offset, data)


class SentFirst:
    """A model that is asked only after the record of the attempt is home."""

    def __init__(self, model: Model, sender: Sender) -> None:
        self._model = model
        self._sender = sender

    async def complete(self, request: Request) -> Reply:
        await self._sender.flush()
        return await self._model.complete(request)

    async def aclose(self) -> None:
        await self._model.aclose()


class HomeLimiter:
    """One cool-down for all nodes: asked at home before each attempt."""

    def __init__(self, home: Call) -> None:
        self._home = home
        self._told: list[tuple[str, float | None]] = []

    async def admit(self, model: str) -> None:
        while self._told:
            await self._home("observe", *self._told.pop(0))
        if wait := await self._home("turn", model, False):
            await anyio.sleep(wait)
            # No event to wait for: the end of a cool-down is a moment, and it may be moved while one waits for it.
            while await self._home("left", model) > 0:  # noqa: ASYNC110
                await anyio.sleep(await self._home("turn", model, True))

    def observe(self, model: str, retry_after_s: float | None) -> None:
        self._told.append((model, retry_after_s))


def carry_out(work: Work, packed: bytes, home: Call) -> None:
    """Run, collect and grade in a scratch folder; journal and blobs are home when it returns."""
    scratch = Path(tempfile.mkdtemp(prefix="leadhand-node-"))
    try:
        anyio.run(_carry_out, work, packed, home, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _carry_out(work: Work, packed: bytes, home: Call, scratch: Path) -> None:
    file = unpack(packed, msgspec.json.decode(work.file, type=RunFile), scratch / "task")
    await anyio.to_thread.run_sync(store.clear_leftovers, *best_of.sandbox_ids(work.name, file.lock.design))
    paths: RunPaths = await anyio.to_thread.run_sync(store.create, scratch, file, work.name)
    sender = Sender(paths.journal, work.token, home)
    limiter = HomeLimiter(home)

    def opened(name: str, **options: Any) -> Model:
        return SentFirst(models.open_model(name, **options), sender)

    execution = Execution(paths, work.keys, observers=(sender.see,), limiter=limiter, ports=Ports(open_model=opened))
    fault: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(sender.run)
        try:
            await execution.finish()
        except Exception as error:
            fault = error  # raised below as it is, and not as one of a group
        finally:
            group.cancel_scope.cancel()
            with anyio.move_on_after(20, shield=True):
                await sender.blobs(sorted(p for p in paths.blobs.iterdir() if p.suffix != ".partial"))
                await sender.flush()
    if fault is not None:
        raise fault
