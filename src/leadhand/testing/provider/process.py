"""The fake provider as a process of its own: it outlives a killed harness, and does not take its CPU time."""

from __future__ import annotations

import argparse
import importlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec

from leadhand.core.errors import UsageError
from leadhand.testing.provider.chaos import Chaos
from leadhand.testing.provider.server import Provider, running
from leadhand.testing.scripted import Script, Step


def load_scripts(name: str) -> dict[str, Script]:
    """Scripts from `module:attribute` (a mapping, or a function that makes one) or from a JSON file of steps by agent.

    Raises `UsageError` where there are none.
    """
    if name.endswith(".json"):
        try:
            return dict(msgspec.json.decode(Path(name).read_bytes(), type=dict[str, list[Step]]))
        except (OSError, msgspec.DecodeError) as e:
            raise UsageError(f"cannot read scripts from {name}: {e}") from None
    module, colon, attribute = name.partition(":")
    if not colon:
        raise UsageError(f"{name!r} is not module:attribute nor a .json file")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as e:
        raise UsageError(f"cannot load scripts from {name!r}: {e}") from None
    scripts = found() if callable(found) else found
    if not isinstance(scripts, Mapping):
        raise UsageError(f"{name!r} is no mapping of agent names to scripts")
    return dict(scripts)


async def serve(provider: Provider, port: int) -> None:
    """Print the base URL on one line, then serve until SIGTERM or SIGINT."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with running(provider, port=port) as base_url:
            sys.stdout.write(base_url + "\n")
            sys.stdout.flush()
            async for _ in signals:
                return


@contextmanager
def in_process(
    script: str,
    *,
    bill: Path | None = None,
    port: int = 0,
    latency_s: float = 0.0,
    chaos: Chaos | None = None,
    options: Sequence[str] = (),
    pythonpath: str = "",
) -> Iterator[str]:
    """Run the server in a child process; gives its base URL; stops it at the end."""
    command = [sys.executable, "-m", "leadhand.testing.provider", "--script", script, "--port", str(port), *options]
    if bill is not None:
        command += ["--bill", str(bill)]
    if latency_s:
        command += ["--latency", str(latency_s)]
    if chaos is not None:
        command += ["--chaos", msgspec.json.encode(chaos).decode()]
    if pythonpath:
        command += ["--path", pythonpath]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"the fake provider did not start (exit code {process.wait()})")
            yield url
        finally:
            process.terminate()
            process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m leadhand.testing.provider", description=__doc__)
    parser.add_argument("--script", required=True, help="module:attribute, or a JSON file of steps by agent")
    parser.add_argument("--path", default="", help="folder to find the script's module in")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) picks a free one")
    parser.add_argument("--bill", type=Path, help="file that one line is appended to for each served request")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument(
        "--chaos", default="", help='mishaps as JSON: {"rates": {"429": 0.1, "stall": 0.01}, "seed": 1}'
    )
    parser.add_argument("--api-key", default="", help="the only key that is accepted")
    parser.add_argument("--requests-per-minute", type=float)
    given = parser.parse_args(argv)
    if given.path:
        sys.path.insert(0, given.path)
    try:
        scripts = load_scripts(given.script)
        chaos = msgspec.json.decode(given.chaos, type=Chaos) if given.chaos else None
    except (UsageError, msgspec.DecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    provider = Provider(
        scripts,
        bill=given.bill,
        latency_s=given.latency,
        chaos=chaos,
        api_key=given.api_key,
        requests_per_minute=given.requests_per_minute,
    )
    anyio.run(serve, provider, given.port)
    return 0
