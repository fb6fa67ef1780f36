"""Images that an engine has, pulls, or builds from a Dockerfile: once, whoever else wants the same one meanwhile."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from leadhand.core.errors import SandboxError
from leadhand.core.values import Build
from leadhand.sandboxes import engine
from leadhand.sandboxes.engine import Engine, EngineError

LABEL = "leadhand.image"
PULL_S = 3600.0
_STEP = re.compile(r"Step \d+/\d+ : .*|#\d+ \[[^\]]*\] .*")
Say = Callable[[str], None]


class Image(NamedTuple):
    """`id` names the content; `workdir` is where commands start; `volumes` are no part of a container's changes."""

    id: str
    workdir: str
    volumes: tuple[str, ...]


def silent(step: str) -> None:
    pass


def look(found: Engine, name: str) -> Image | None:
    """The image, if the engine has it. Blocks, as everything here does."""
    try:
        told = found.get(engine.path_of("images", name, "json"))
    except EngineError as failure:
        if failure.status != 404:
            raise
        return None
    config = told.get("Config") or {}
    return Image(told["Id"], config.get("WorkingDir") or "/", tuple(sorted(config.get("Volumes") or {})))


def ready(found: Engine, name: str, build: Build | None = None, say: Say = silent) -> Image:
    """The image; built or pulled where it is not there. Raises `SandboxError` with the reason in one line."""
    if here := look(found, name):
        return here
    with _alone(name):
        if (here := look(found, name)) is None:
            _build(found, name, build, say) if build is not None else _pull(found, name, say)
            here = look(found, name)
    if here is None:
        raise SandboxError(f"the image {name} is not there though it was made; is it another engine's?")
    return here


def check_volumes(name: str, image: Image, *, whole: bool) -> None:
    """Raises `SandboxError` where an image that is to be a workspace keeps a part of its files elsewhere."""
    if whole and image.volumes:
        raise SandboxError(f"image {name} declares the volume {image.volumes[0]}: what is in it cannot be handed in")


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process of this user at a time, by image."""
    mark = hashlib.sha256(name.encode()).hexdigest()[:16]
    with open(Path(tempfile.gettempdir()) / f"leadhand-image-{os.getuid()}-{mark}", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _pull(found: Engine, name: str, say: Say) -> None:
    say(f"pulling {name}")
    tag = {} if ":" in name.rpartition("/")[2] or "@" in name else {"tag": "latest"}
    known, done = set[str](), set[str]()
    with found.answer("POST", "/images/create", query={"fromImage": name, **tag}, timeout=PULL_S) as told:
        for line in told:
            event = json.loads(line) if line.strip() else {}
            if error := event.get("error"):
                raise SandboxError(f"cannot pull the image {name}: {error}")
            if "id" in event and "layer" in event.get("status", ""):
                known.add(event["id"])
            elif event.get("status") in ("Pull complete", "Already exists"):
                done.add(event["id"])
                say(f"pulling {name}: {len(done)} of {len(known | done)} layers")


def _build(found: Engine, name: str, build: Build, say: Say) -> None:
    """By the docker command: what task authors write is for its builder, which the engine's own API does not reach."""
    say(f"building {name}")
    command = [
        "docker",
        "-H",
        f"unix://{found.path}",
        "build",
        "-t",
        name,
        "--force-rm",
        "--label",
        f"{LABEL}=1",
        build.folder,
    ]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "BUILDKIT_PROGRESS": "plain"},
        )
    except FileNotFoundError:
        raise SandboxError(f"the image {name} has to be built, and there is no docker command: install it") from None
    late = threading.Timer(build.timeout_s, process.kill)
    late.start()
    try:
        last = _told(process, name, say)
    finally:
        late.cancel()
        process.kill()
        code = process.wait()
        assert process.stdout is not None
        process.stdout.close()
    if code:
        why = f"took longer than {build.timeout_s:g} s" if code < 0 else "failed"
        raise SandboxError(f"building the image of {build.folder} {why}: {' | '.join(last)[-600:]}")


def _told(process: subprocess.Popen[bytes], name: str, say: Say) -> deque[str]:
    """Tell each step of a build until it ends; its last lines."""
    last = deque[str](maxlen=4)
    assert process.stdout is not None
    for raw in process.stdout:
        line = raw.decode("utf-8", "replace").strip()
        if not line:
            continue
        last.append(line)
        if _STEP.match(line):
            say(f"building {name}: {line[:100]}")
    process.wait()
    return last
