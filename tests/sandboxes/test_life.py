"""What outlives the harness, and what must not: kill -9, resume, reap, lost sandboxes, limits that the host lacks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Never

import anyio
import pytest
from anyio import to_thread

from leadhand import sandboxes
from leadhand.core.errors import SandboxError, SandboxLost, UsageError
from leadhand.core.ports import Sandbox
from leadhand.core.values import Limits, Mount, SandboxInfo, SandboxSpec
from leadhand.sandboxes import cgroups, docker, engine, leftovers, owners
from leadhand.testing.sandbox_contract import alive, sh
from needs import require

from .conftest import Start, make_spec

MARK = str(random.SystemRandom().randrange(10**6, 10**7))
"""In the arguments of the processes that are looked for: others may run these tests at the same time."""

HARNESS = """
import sys, anyio, msgspec
from leadhand import sandboxes
from leadhand.core.values import SandboxSpec

async def main():
    spec = msgspec.json.decode(sys.argv[1], type=SandboxSpec)
    sandbox = await sandboxes.start(spec, sys.argv[2])
    await sandbox.write("kept.txt", b"kept")
    await sandbox.exec("sleep 8644000 & (setsid env -i sleep 8644001 &); echo", agent="lead", timeout_s=60)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: sandbox.exec("trap '' TERM; sleep 8644002", agent="w1", timeout_s=600))
        while (await sandbox.exec("pgrep -f '^sleep 8644002'", agent="lead", timeout_s=60)).exit_code:
            pass
        print(msgspec.json.encode(sandbox.info).decode(), flush=True)

anyio.run(main)
"""


def host_count(mark: str) -> int:
    """How many living processes of this machine have an argument that starts with `mark`."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (path / "cmdline").read_bytes().split(b"\0")
            state = (path / "stat").read_text(errors="replace").rpartition(") ")[2][0]
        except OSError:
            continue
        count += state not in "ZX" and any(a.startswith(mark.encode()) for a in arguments)
    return count


async def gone(mark: str) -> bool:
    for _ in range(1000):
        if not host_count(mark):
            return True
        await anyio.sleep(0.02)
    return False


@asynccontextmanager
async def killed_harness(kind: str, where: Path) -> AsyncIterator[tuple[SandboxInfo, SandboxSpec]]:
    """A sandbox whose harness was killed with -9 while a command ran."""
    import msgspec

    spec = make_spec(kind, where)
    argv = [sys.executable, "-c", HARNESS.replace("8644", MARK), msgspec.json.encode(spec).decode(), kind]
    process = await anyio.open_process(argv, stdin=None, stderr=None)
    assert process.stdout is not None
    info = msgspec.json.decode(await process.stdout.receive(), type=SandboxInfo)
    assert host_count(f"{MARK}00") >= 3  # what is looked for later is there
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await process.aclose()
    try:
        yield info, spec
    finally:
        await to_thread.run_sync(leftovers.clear, spec.run_id.__eq__)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["bwrap", "local"], indirect=True)
async def test_when_the_harness_is_killed_everything_dies_with_it(kind: str, tmp_path: Path) -> None:
    async with killed_harness(kind, tmp_path):
        assert await gone(f"{MARK}00")


@pytest.mark.anyio
async def test_reattaching_finds_the_workspace_and_kills_what_was_left(kind: str, tmp_path: Path) -> None:
    async with killed_harness(kind, tmp_path) as (info, spec):
        sandbox = await sandboxes.reattach(info, spec)
        try:
            assert sandbox.info.kind == kind
            assert await sandbox.read("kept.txt") == b"kept"
            assert await alive(sandbox, f"{MARK}00") == 0
            assert (await sh(sandbox, "echo on")).head == b"on\n"
        finally:
            await sandbox.aclose()
        assert await gone(f"{MARK}00")


@pytest.mark.anyio
async def test_what_is_kept_at_the_end_can_be_reattached(kind: str, tmp_path: Path) -> None:
    spec = make_spec(kind, tmp_path)
    sandbox = await sandboxes.start(spec, kind)
    await sandbox.write("kept.txt", b"kept")
    await sh(sandbox, f"(setsid sleep {MARK}200 &)")
    await sandbox.aclose(keep=True)
    again = await sandboxes.reattach(sandbox.info, spec)
    try:
        assert await again.read("kept.txt") == b"kept"
        assert await alive(again, f"{MARK}200") == 0
    finally:
        await again.aclose()
    assert await gone(f"{MARK}200")


@pytest.mark.anyio
async def test_what_a_team_built_in_the_place_of_a_link_is_its_own(kind: str, tmp_path: Path) -> None:
    """A program that is to be rebuilt often has the name of its reference: a resumed team finds what it has built."""
    tools = [tmp_path / name for name in ("one", "two", "three")]
    for tool in tools:
        tool.write_text(f"#!/bin/sh\necho {tool.name}\n")
        tool.chmod(0o755)
    mounts = tuple(Mount(source=str(tool), target=f"/reference/{tool.name}", link=tool.name) for tool in tools)
    spec = make_spec(kind, tmp_path, mounts=mounts)
    sandbox = await sandboxes.start(spec, kind)
    made = await sh(sandbox, "./one; ./two; ./three; rm one two; printf '#!/bin/sh\necho mine\n' >one; chmod +x one")
    assert made.head == b"one\ntwo\nthree\n"
    await sandbox.aclose(keep=True)
    again = await sandboxes.reattach(sandbox.info, spec)
    try:
        assert (await sh(again, "./one; ls | grep two; ./three")).head == b"mine\nthree\n"
    finally:
        await again.aclose()


@pytest.mark.engine
@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["docker"], indirect=True)
async def test_a_stopped_container_is_started_again(kind: str, tmp_path: Path) -> None:
    async with killed_harness(kind, tmp_path) as (info, spec):
        found = sandboxes_engine()
        await to_thread.run_sync(lambda: found.call("POST", f"/containers/{info.id}/stop", query={"t": "0"}))
        sandbox = await sandboxes.reattach(info, spec)
        try:
            assert await sandbox.read("kept.txt") == b"kept"
        finally:
            await sandbox.aclose()
        with pytest.raises(SandboxLost):
            await sandboxes.reattach(info, spec)


def sandboxes_engine() -> engine.Engine:
    return engine.find()


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["bwrap", "local"], indirect=True)
async def test_without_its_workspace_a_run_is_lost(kind: str, tmp_path: Path) -> None:
    spec = make_spec(kind, tmp_path)
    sandbox = await sandboxes.start(spec, kind)
    await sandbox.aclose()
    (tmp_path / "workspace").rmdir()
    with pytest.raises(SandboxLost, match="workspace"):
        await sandboxes.reattach(sandbox.info, spec)


@pytest.mark.anyio
async def test_reap_removes_leftovers_and_spares_the_runs_it_is_told_to(kind: str, tmp_path: Path) -> None:
    async with (
        killed_harness(kind, tmp_path / "one") as (one, spec_one),
        killed_harness(kind, tmp_path / "two") as (_, spec_two),
    ):
        others = everybody_else(spec_one.run_id, spec_two.run_id)
        said = await sandboxes.reap({spec_one.run_id, *others})
        assert said
        if kind == "docker":
            sandbox = await sandboxes.reattach(one, spec_one)  # spared
            assert await sandbox.read("kept.txt") == b"kept"
            await sandbox.aclose()
        assert await gone(f"{MARK}00")
        assert not any(run == spec_two.run_id for _, run in [*leftovers.folders(), *leftovers.marked()])
        assert not any(leftovers.run_of(path) == spec_two.run_id for path, _ in cgroups.left())
        if kind == "docker":
            found = sandboxes_engine()
            volumes = found.get("/volumes", filters='{"label": ["leadhand.run"]}').get("Volumes") or ()
            assert not [v for v in volumes if v["Labels"]["leadhand.run"] in (spec_one.run_id, spec_two.run_id)]


class Meanwhile(set[str]):
    """Runs to spare; when it is first asked for one that is not, another run begins."""

    def __init__(self, spared: set[str], begin: Callable[[], None]) -> None:
        super().__init__(spared)
        self.begin: Callable[[], None] | None = begin

    def __contains__(self, run: object) -> bool:
        found = super().__contains__(run)
        if not found and self.begin is not None:
            begin, self.begin = self.begin, None
            begin()
        return found


@pytest.mark.anyio
async def test_reap_spares_a_run_that_begins_while_it_is_at_work() -> None:
    names = [f"20260101-000000-{name}-{os.getpid()}" for name in ("old", "new")]
    old, *_ = started = [marked_process(names[0])]
    holds: list[owners.Hold] = []

    def begin() -> None:
        holds.append(owners.Hold(names[1]))
        started.append(marked_process(names[1]))

    try:
        await sandboxes.reap(Meanwhile(everybody_else(*names), begin))
        assert old.wait(5) == -signal.SIGKILL
        assert started[1].poll() is None
    finally:
        for process in started:
            process.kill()
            process.wait()
        for hold in holds:
            hold.release()


def marked_process(run: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={"LEADHAND_RUN": run, "PATH": os.environ["PATH"]})


@pytest.mark.anyio
async def test_a_run_is_owned_before_anything_of_it_is_there() -> None:
    run = f"20260101-000000-owned-{os.getpid()}"

    async def start() -> Never:
        assert owners.is_held(run)
        raise SandboxError("it cannot be started")

    with pytest.raises(SandboxError):
        await sandboxes._held(run, start)
    assert not owners.is_held(run)


def everybody_else(*own: str) -> set[str]:
    """The runs of whoever else works on this machine."""
    found = {run for _, run in [*leftovers.marked(), *leftovers.folders(), *leftovers.grouped()]}
    try:
        docker = engine.find()
    except UsageError:
        return found - set(own)
    label = engine.labelled("leadhand.run")
    things = [*docker.get("/containers/json", all="1", filters=label)]
    things += docker.get("/volumes", filters=label).get("Volumes") or ()
    return (found | {thing["Labels"]["leadhand.run"] for thing in things}) - set(own)


@pytest.mark.anyio
async def test_a_command_that_cleared_its_environment_is_found_by_reap(tmp_path: Path) -> None:
    """`local` without its control runner: the control group still holds what has no mark."""
    spec = make_spec("local", tmp_path)
    sandbox = await sandboxes.start(spec, "local")
    if "processes" in sandbox.info.not_enforced:
        await sandbox.aclose()
        pytest.skip("no control groups here")
    await sh(sandbox, f"(env -i setsid /bin/sleep {MARK}100 &) ; kill -9 $PPID")
    backend = sandbox._backend  # type: ignore[attr-defined]
    await sh(sandbox, f"(env -i setsid /bin/sleep {MARK}101 &) ; sleep 0.1")
    os.kill(backend.control.pid, signal.SIGKILL)
    await anyio.sleep(0.1)
    assert host_count(f"{MARK}101") == 1
    await sandboxes.reap(everybody_else(spec.run_id))  # a living process is at work on it: it is spared
    assert host_count(f"{MARK}101") == 1
    await sandbox.aclose()
    await to_thread.run_sync(leftovers.clear, spec.run_id.__eq__)
    assert await gone(f"{MARK}1")


@pytest.mark.anyio
async def test_a_dead_sandbox_is_said_to_be_lost(kind: str, setup: Start) -> None:
    async with setup() as sandbox:
        await sh(sandbox, "echo")
        await kill_sandbox(sandbox)
        with pytest.raises(SandboxLost):
            await use(sandbox)


async def use(sandbox: Sandbox) -> None:
    for _ in range(3):  # the first may be told of a lost runner
        await sh(sandbox, "echo")


async def kill_sandbox(sandbox: Sandbox) -> None:
    if sandbox.info.kind == "docker":
        await to_thread.run_sync(sandboxes_engine().post, f"/containers/{sandbox.info.id}/kill")
    else:
        process = sandbox._backend.hosted.process  # type: ignore[attr-defined]
        process.kill()
        await process.wait()


@pytest.mark.anyio
async def test_limits_are_clamped_to_the_host_and_it_is_said(setup: Start) -> None:
    async with setup(limits=Limits(cpus=4096, memory_mb=10**9, processes=300)) as sandbox:
        limits = sandbox.info.limits
        assert limits.cpus is not None
        assert limits.cpus < 4096
        assert limits.memory_mb is not None
        assert limits.memory_mb < 10**9
        assert any("cpu" in w for w in sandbox.info.warnings)
        assert any("memory" in w for w in sandbox.info.warnings)
        assert (await sh(sandbox, "echo ok")).head == b"ok\n"


@pytest.mark.anyio
async def test_the_workspace_is_what_was_given(kind: str, tmp_path: Path, setup: Start) -> None:
    where = tmp_path / "workspace"
    (where / "sub").mkdir(parents=True)
    (where / "sub" / "f.txt").write_text("given")
    (where / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (where / "run.sh").chmod(0o755)
    (where / "link").symlink_to("sub/f.txt")
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    async with setup(mounts=(Mount(source=str(tool), target="/reference/tool", link="bin/tool"),)) as sandbox:
        assert (await sh(sandbox, "./run.sh; cat link; ./bin/tool")).head == b"ran\ngiventool\n"
        made = await sh(sandbox, "echo new >sub/f.txt && echo x >sub/new && rm run.sh && echo ok")
        assert made.head == b"ok\n"


@pytest.mark.anyio
async def test_folders_may_have_any_name(kind: str, tmp_path: Path) -> None:
    spec = make_spec(kind, tmp_path / "a 'b\" $c * é", env={"LC_ALL": "C.UTF-8", "ODD": "a 'b\" $c * é"})
    sandbox = await sandboxes.start(spec, kind)
    try:
        result = await sh(sandbox, 'seq 1000; echo $LC_ALL "$ODD"', keep=100)
        assert result.tail.endswith(f"1000\nC.UTF-8 {spec.env['ODD']}\n".encode())
        assert (await sandbox.read(result.spill)).startswith(result.head)
    finally:
        await sandbox.aclose()


@pytest.mark.engine
@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["docker"], indirect=True)
async def test_a_user_who_is_not_root_owns_the_workspace(kind: str, tmp_path: Path, setup: Start) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "given").write_text("1")
    async with setup(user="1234:1234") as sandbox:
        result = await sh(sandbox, "id -u; echo 2 >given && touch made ~/h /tmp/t && echo ok; chown 0 given || echo no")
        assert result.head.startswith(b"1234\nok\n")
        assert result.head.endswith(b"no\n")
        await sandbox.write(f"{sandbox.info.scratch}/reports/w1.md", b"report")
        assert await sandbox.read(f"{sandbox.info.scratch}/reports/w1.md") == b"report"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="bubble"):
        sandboxes.choose("bubble")


def test_without_bwrap_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from leadhand.sandboxes import bwrap

    monkeypatch.setattr(bwrap, "_packaged", lambda: "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"leadhand\[bwrap\].*--sandbox local"):
        sandboxes.choose("bwrap")


def test_without_an_engine_bwrap_is_chosen_and_the_reason_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    kind, why = sandboxes.choose("auto")
    assert kind == "bwrap"
    assert "no Docker Engine" in why
    with pytest.raises(UsageError, match="start Docker"):
        sandboxes.choose("docker")
    monkeypatch.setenv("DOCKER_HOST", "tcp://1.2.3.4:2375")
    with pytest.raises(UsageError, match="unix://"):
        sandboxes.choose("docker")


def test_importing_the_room_loads_no_adapter() -> None:
    code = "import sys, leadhand.sandboxes as s; print([m for m in sys.modules if m.startswith('leadhand.sandboxes.')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_problems_are_told_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    found = {name: (state, remedy) for name, state, remedy in sandboxes.problems()}
    assert found.keys() == {"docker", "bwrap", "cgroups"}
    assert found["docker"][0] == "not usable"
    assert "start Docker" in found["docker"][1]


@pytest.mark.engine
def test_a_sandbox_is_chosen_that_needs_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    require("docker")
    monkeypatch.setattr(docker, "IMAGE", "leadhand.invalid/nothing-of-the-kind:1")
    kind, why = sandboxes.choose("auto")
    assert kind == "bwrap"
    assert "has no image leadhand.invalid/nothing-of-the-kind:1" in why
    monkeypatch.setattr(docker, "IMAGE", os.environ["LEADHAND_TEST_IMAGE"])
    assert sandboxes.choose("auto")[0] == "docker"
    assert sandboxes.choose("auto", image="somebody/task:1")[0] == "docker"  # it cannot do without
