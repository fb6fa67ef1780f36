"""Makes a library ready: reference tree, stubs, environment, list of tests. Cached; may be interrupted at any time."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from leadhand import sandboxes
from leadhand.benchmarks.commit0 import pythons, sources, stubs
from leadhand.benchmarks.commit0.prepared import CUTOFF, FORMAT, PYTHON, Place, Prepared, row_digest
from leadhand.benchmarks.commit0.rows import Row
from leadhand.benchmarks.digests import content
from leadhand.core.chain import digest
from leadhand.core.errors import LeadhandError, UsageError
from leadhand.core.values import Limits, Mount, SandboxSpec

Say = Callable[[str], None]
TOOL = "/c0/uv"
INSTALL_S = 1800.0
# Settings of the package tools and of certificates that a user's network may need; nothing else of the environment.
PASSED = ("UV_", "PIP_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http", "https", "no_proxy")
NEWER_UNPARSE = ("jinja", "babel")
"""Libraries whose stubs come out otherwise under Python 3.11; all others are the same byte for byte."""


async def prepare(row: Row, say: Say, *, root: Path | None = None, source: str = "auto", again: bool = False) -> bool:
    """Prepare one library; False where it was. `source`: git (upstream's repository), pypi, or auto: git where it can
    be reached, else PyPI where the library is there.

    Raises `UsageError` with the remedy. What was begun and not ended is begun anew the next time.
    """
    place = Place(row, root)
    if not again and place.read() is not None:
        return False
    choice = await anyio.to_thread.run_sync(_sources, row, source)
    building = place.root / f".{row.name}.{os.getpid()}"
    began = time.monotonic()
    for chosen in choice:
        await anyio.to_thread.run_sync(_discard, place.root, row.name)
        try:
            await _build(row, chosen, building, place, say, began)
        except UsageError as error:
            if chosen == choice[-1]:
                raise
            say(f"from PyPI: {error}")
        else:
            break
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(shutil.rmtree, building, ignore_errors=True))
    return True


def _sources(row: Row, wish: str) -> tuple[str, ...]:
    """Where to take a library from, in the order in which it is tried. Blocks."""
    if wish == "pypi" and not row.sdist:
        raise UsageError(f"{row.name} is not on PyPI as the benchmark has it; it can only come from git ({row.repo})")
    if wish != "auto":
        return (wish,)
    if not row.sdist:
        return ("git",)
    return ("git", "pypi") if sources.reachable(sources.GIT.format(repo=row.repo)) else ("pypi",)


def _discard(root: Path, name: str) -> None:
    """Make the root folder; remove what interrupted preparations of this library left."""
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob(f".{name}.*"):
        shutil.rmtree(left, ignore_errors=True)


async def _build(row: Row, source: str, building: Path, place: Place, say: Say, began: float) -> None:
    in_thread = anyio.to_thread.run_sync
    say("fetching")
    await in_thread(_trees, row, source, building, place.root)
    wheel = await in_thread(sources.fetch, *sources.IDS, "wheel", place.root / "archives")
    ids = sources.ids(wheel, row.name)
    if len(ids) != row.ids:
        raise UsageError(f"upstream's list of {row.name} has {len(ids)} tests, not {row.ids}")
    (building / "ids.txt").write_text("".join(f"{i}\n" for i in ids), encoding="utf-8")
    files = {str(e[0]): str(e[3]) for e in await in_thread(content, str(building / "stub")) if e[1] == "file"}
    await in_thread(_history, building / "stub")
    say("installing")
    python, interpreter = await in_thread(_interpreter, row, place.root)
    packages = await _environment(row, building, place.root, interpreter)
    await in_thread(_no_copy, row, building / "venv", place.root / "pythons" / interpreter)
    told = Prepared(
        format=FORMAT,
        name=row.name,
        source="git" if source == "git" else "pypi",
        row=row_digest(row),
        cutoff=CUTOFF,
        python=python,
        interpreter=interpreter,
        packages=packages,
        files=files,
        ids=digest("\n".join(ids).encode()),
        seconds=round(time.monotonic() - began, 1),
    )
    await in_thread(_install, building, place, told)


def _install(building: Path, place: Place, told: Prepared) -> None:
    """The last step: from now on the library is prepared."""
    (building / "prepared.json").write_bytes(msgspec.json.format(msgspec.json.encode(told)) + b"\n")
    shutil.rmtree(place.folder, ignore_errors=True)
    building.rename(place.folder)


# --- the trees -------------------------------------------------------------------------------------------------


def _trees(row: Row, source: str, building: Path, root: Path) -> None:
    building.mkdir()
    reference, stub = building / "reference", building / "stub"
    if source == "git":
        sources.clone(row, reference, stub)
        if generated := sources.GENERATED.get(row.name):
            release = building / "release"
            sources.unpack(sources.fetch(row.sdist, row.sha256, "sdist", root / "archives"), release)
            sources.add(release, generated, reference, stub)
            shutil.rmtree(release)
        return
    archive = sources.fetch(row.sdist, row.sha256, "sdist", root / "archives")
    sources.unpack(archive, reference)
    shutil.copytree(reference, stub, symlinks=True)
    python = pythons.find(("3.12",) if row.name in NEWER_UNPARSE else ("3.12", "3.11"))
    command = [str(python), "-I", stubs.__file__, str(stub), row.src_dir, row.test_dir]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or done.stdout.strip() != str(row.stubbed):
        said = (done.stderr.strip().splitlines() or [f"{done.stdout.strip()} functions, not {row.stubbed}"])[-1]
        raise LeadhandError(f"the stubs of {row.name} came out wrong ({said}); report it")


def _history(stub: Path) -> None:
    """A git history of one commit, the same wherever it is made: nothing in it knows the reference."""
    who = {"NAME": "Commit0", "EMAIL": "commit0@localhost", "DATE": "2024-09-28T00:00:00Z"}
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    env |= {"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for step in (
        ["init", "-q", "-b", "main", "--template="],
        ["config", "user.name", "agent"],
        ["config", "user.email", "agent@localhost"],
        ["add", "-A", "-f"],
        ["commit", "-q", "--no-verify", "-m", "Commit 0"],
    ):
        subprocess.run(["git", "-C", str(stub), *step], check=True, capture_output=True, env=env)


# --- the environment -------------------------------------------------------------------------------------------


def _interpreter(row: Row, root: Path) -> tuple[str, str]:
    """The Python version the library's tests run with, and the folder of its copy; the row's own where it is here."""
    python = pythons.find((row.python, "3.11", "3.12", "3.10"))
    told = pythons.describe(python)
    name = f"{told.version}-{digest(str(python).encode())[:8]}"
    target = root / "pythons" / name
    if not target.is_dir():
        partial_copy = target.with_name(f".{name}.{os.getpid()}")
        shutil.rmtree(partial_copy, ignore_errors=True)
        pythons.stripped(python, partial_copy, PYTHON)
        partial_copy.rename(target)
    return told.minor, name


async def _environment(row: Row, building: Path, root: Path, interpreter: str) -> tuple[str, ...]:
    """Install what upstream installs, with the reference at /workspace; what is installed, as `name==version`.

    In a sandbox, because the library's link must hold the path that every later sandbox shows its tree at.
    """
    scratch, tree = root / "scratch", building / "installing"
    scratch.mkdir(exist_ok=True)
    for left in scratch.glob(f"{row.name}.*"):
        await anyio.to_thread.run_sync(partial(shutil.rmtree, left, ignore_errors=True))
    mine = scratch / f"{row.name}.{os.getpid()}"
    mine.mkdir()
    await anyio.to_thread.run_sync(partial(shutil.copytree, building / "reference", tree, symlinks=True))
    mounts = (Mount(source=pythons.uv(), target=TOOL), Mount(source=str(root / "pythons" / interpreter), target=PYTHON))
    spec = SandboxSpec(
        run_id=f"prepare-{row.name}",
        workspace=str(tree),
        scratch=str(scratch),
        limits=Limits(command_s=INSTALL_S, run_s=INSTALL_S, processes=None),
        network=True,
        mounts=mounts,
        env={**_passed(), "VIRTUAL_ENV": f"/scratch/{mine.name}/venv"},
    )
    sandbox = await sandboxes.start(spec, "bwrap")
    try:
        result = await sandbox.exec(_script(row, interpreter, tree), agent="prepare", timeout_s=INSTALL_S)
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
    if result.exit_code != 0:
        said = (result.tail or result.head).decode(errors="replace").strip().splitlines()[-12:]
        raise LeadhandError(f"cannot install the environment of {row.name}: {' | '.join(said)}")
    freeze = (mine / "packages.txt").read_text(encoding="utf-8").splitlines()
    (mine / "venv").rename(building / "venv")
    for done in (tree, mine):
        await anyio.to_thread.run_sync(partial(shutil.rmtree, done, ignore_errors=True))
    return tuple(sorted(line for line in freeze if not line.startswith("-e")))


def _passed() -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k.startswith(PASSED) and not k.startswith("UV_PYTHON")}
    return {
        **env,
        "UV_EXCLUDE_NEWER": CUTOFF,
        "UV_CACHE_DIR": "/scratch/uv-cache",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }


def _script(row: Row, interpreter: str, tree: Path) -> str:
    minor = ".".join(interpreter.split("-")[0].split(".")[:2])
    install = f"{TOOL} pip install -q --compile-bytecode"
    editable = " ".join(shlex.quote(word) for word in row.install.split())
    wanted = [f"-r {shlex.quote(file)}" for file in row.packages if (tree / file).exists()]
    single = (*row.pip_packages, *(row.instead if len(wanted) < len(row.packages) else ()))
    lines = [
        "set -e",
        f"{TOOL} venv -q --relocatable --no-project --python {PYTHON}/bin/python{minor} $VIRTUAL_ENV",
        *(f"{install} {file}" for file in wanted),
        *([f"{install} {' '.join(map(shlex.quote, single))}"] if single else []),
        # Trees without a history have no tags, which some versions are made from.
        f"SETUPTOOLS_SCM_PRETEND_VERSION={row.version or '0'} {install} {editable}",
        f"{install} -U pytest pytest-cov coverage pytest-json-report",
        f"{TOOL} pip freeze > $VIRTUAL_ENV/../packages.txt",
    ]
    return "\n".join(lines)


def _no_copy(row: Row, *folders: Path) -> None:
    """What agents can read must not hold the library itself."""
    for folder in folders:
        for found in folder.rglob(row.package):
            if found.is_dir() and (found / "__init__.py").exists():
                raise LeadhandError(f"the environment of {row.name} holds a copy of it at {found}; report it")
