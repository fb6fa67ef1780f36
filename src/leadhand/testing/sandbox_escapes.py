"""What a sandbox must refuse or survive: escapes, sabotage, and more than its limits. Checks as in `sandbox_contract`.

Each is marked with what must be enforced for it to hold: a sandbox that says "not enforced" is believed.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import anyio

from leadhand.core.values import ExecResult, Limits, Mount
from leadhand.testing.sandbox_contract import Check, Setup, alive, needs, sh

SECRET = "leadhand-contract-secret-7f3a"


@needs("isolation")
async def only_workspace_scratch_home_and_tmp_can_be_written(setup: Setup) -> None:
    async with setup() as sandbox:
        w, s = sandbox.info.workspace, sandbox.info.scratch
        may = await sh(sandbox, f'for d in {w} {s} ~ /tmp; do echo x >"$d/mine" && rm "$d/mine" && echo -n y; done')
        assert may.head == b"yyyy"
        places = "/ /usr /usr/bin /usr/local/bin /etc /bin /lib /home /root /var /opt /run /proc /proc/sys/kernel"
        result = await sh(
            sandbox, f"for d in {places}; do (echo x >$d/lh-escape) 2>/dev/null && echo $d; done; echo end"
        )
        assert result.head == b"end\n"
        for attack in (
            "echo core >/proc/sys/kernel/core_pattern",
            "echo h >/proc/sysrq-trigger",
            "mknod /tmp/disk b 8 0 && head -c 1 /tmp/disk",
            "mknod /tmp/mem c 1 1 && head -c 1 /tmp/mem",
            "chroot / true",
            "find /proc/sys /proc/fs /proc/irq /proc/bus -type f -perm -200 | while read f; do"
            " (: >>$f) && echo $f; done 2>/dev/null | grep .",
        ):
            assert (await sh(sandbox, attack)).exit_code != 0, attack


REMOUNTS = ("mount -o remount,rw,bind {0}", "mount -o remount,rw {0}", "umount -l {0}", "mount -t tmpfs x /tmp")


@needs("isolation")
async def a_read_only_mount_stays_read_only(setup: Setup) -> None:
    """As the user we are (root or not), with and without user namespaces, in every way that worked once."""
    with tempfile.TemporaryDirectory() as there:
        file = Path(there) / "reference"
        file.write_bytes(b"#!/bin/sh\necho original\n")
        file.chmod(0o755)
        mounts = (Mount(source=str(file), target="/reference/run", link="ref/tool"),)
        async with setup(mounts=mounts) as sandbox:
            target = sandbox.info.path("/reference/run")
            assert (await sh(sandbox, "./ref/tool")).head == b"original\n"
            for way in ("", "unshare -Ur ", "unshare -Urm ", "unshare -m ", "nsenter -t 1 -m "):
                for remount in REMOUNTS:
                    inner = f"{remount.format(target)} && echo changed >{target}"
                    await sh(
                        sandbox, f"{way}sh -c '{inner}'; echo changed >{target}; rm -f {target}; chmod 777 {target}"
                    )
            await sh(
                sandbox, f"mv {target} /tmp/x; ln -f {target} /tmp/y && echo changed >/tmp/y; truncate -s 0 {target}"
            )
            assert (await sh(sandbox, "./ref/tool")).head == b"original\n"
        assert file.read_bytes() == b"#!/bin/sh\necho original\n"
        assert file.stat().st_mode & 0o777 == 0o755


@needs("isolation")
async def an_executable_of_mode_0111_runs_and_cannot_be_read(setup: Setup) -> None:
    with tempfile.TemporaryDirectory() as there:
        file = Path(there) / "reference"
        shutil.copyfile("/bin/sleep", file)
        file.chmod(0o111)
        async with setup(mounts=(Mount(source=str(file), target="/reference/run"),)) as sandbox:
            assert (await sh(sandbox, "/reference/run 0")).exit_code == 0
            await sh(sandbox, "/reference/run 8643000 & echo")
            mark = "p=$(pgrep -f '^/reference/run [8]64300')"
            for attack in (
                "cat /reference/run",
                "cp /reference/run /tmp/copy",
                "chmod 755 /reference/run && cat /reference/run",
                "chown $(id -u) /reference/run && cat /reference/run",
                "unshare -Ur cat /reference/run",
                "unshare -Urm sh -c 'mount -o remount,rw,bind /reference/run; cat /reference/run'",
                "ln /reference/run /tmp/link && cat /tmp/link",
                "python3 -c 'import os,sys; sys.stdout.buffer.write(os.read(os.open(\"/reference/run\", 0), 9))'",
                f"{mark}; cat /proc/$p/exe",
                f"{mark}; head -c 16 /proc/$p/mem",
                f"{mark}; cat /proc/$p/map_files/*",
                f"{mark}; unshare -Ur cat /proc/$p/exe",
            ):
                result = await sh(sandbox, attack)
                assert b"ELF" not in result.head + result.tail, attack
                assert result.exit_code != 0, attack


@needs("isolation")
async def nothing_of_the_harness_can_be_seen(setup: Setup) -> None:
    os.environ["LEADHAND_CONTRACT_KEY"] = SECRET
    try:
        with tempfile.NamedTemporaryFile("w", prefix="leadhand-secret-") as file:
            file.write(SECRET)
            file.flush()
            async with setup() as sandbox:
                half = len(SECRET) // 2
                search = f"s={SECRET[:half]}; s=$s{SECRET[half:]}; env | grep $s; cat /proc/[0-9]*/environ | grep -a $s"
                assert (await sh(sandbox, f"{search}; cat {file.name}; true")).head.count(SECRET.encode()) == 0
                seen = await sh(
                    sandbox, "ls /proc | grep -c '^[0-9]'; ls /root/.ssh /root/.config /home/*/.ssh /etc/shadow"
                )
                assert int(seen.head.split()[0]) < 20
                shadow = await sh(sandbox, "cat /etc/shadow /etc/ssl/private/*")
                assert shadow.exit_code != 0
    finally:
        del os.environ["LEADHAND_CONTRACT_KEY"]


@needs("network")
async def there_is_no_network(setup: Setup) -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with setup() as sandbox:
            for host in ("127.0.0.1", "1.1.1.1", "169.254.169.254"):
                result = await sh(sandbox, f"exec 5<>/dev/tcp/{host}/{port}", timeout_s=20)
                assert result.exit_code not in (0, 137), host
            assert (await sh(sandbox, "tail -n +3 /proc/net/dev | grep -v lo: | wc -l")).head.strip() == b"0"
            server = "python3 -m http.server 8123 >/dev/null 2>&1 & for i in $(seq 200); do"
            among = f"{server} (exec 5<>/dev/tcp/127.0.0.1/8123) 2>/dev/null && echo up && break; sleep 0.05; done"
            assert (await sh(sandbox, among)).head == b"up\n"  # agents reach each other's servers
            assert (await sh(sandbox, "exec 5<>/dev/tcp/127.0.0.1/8123; echo $?", agent="w1")).head == b"0\n"


@needs("isolation")
async def killing_everything_hurts_only_for_a_moment(setup: Setup) -> None:
    async with setup() as sandbox:
        await sh(sandbox, "echo", agent="w1")
        for attack in ("kill -9 -1", "kill -9 1", "kill -TERM 1; kill -HUP 1; kill -INT 1", "kill -STOP 1"):
            await sh(sandbox, attack)
            assert (await sh(sandbox, "echo here")).head == b"here\n", attack
            while (after := await sh(sandbox, "echo me too", agent="w1")).ended == "runner_lost":
                pass  # told once, then it is back
            assert after.head == b"me too\n"
        hidden = await sh(
            sandbox, "pkill -9 -f [p]ython; pkill -9 -f [l]h_reply; pkill -9 sleep; echo done", agent="w1"
        )
        assert hidden.head == b"done\n"


@needs("isolation")
async def writing_to_a_runners_stream_hurts_only_for_a_moment(setup: Setup) -> None:
    async with setup() as sandbox:
        for attack in ("printf 'LH 1 0 0 0 e -\\nnonsense\\n'", "head -c 100000 /dev/urandom"):
            await sh(sandbox, f"for fd in /proc/$PPID/fd/*; do timeout 1 sh -c '{attack}' >$fd; done", timeout_s=20)
            for _ in range(3):
                last = await sh(sandbox, "echo here", timeout_s=20)
            assert last.head == b"here\n"


@needs("memory", "isolation")
async def too_much_memory_ends_the_command_alone(setup: Setup) -> None:
    async with setup(limits=Limits(memory_mb=256)) as sandbox:
        await sh(sandbox, "sleep 8643200 & echo", agent="w1")
        eater = "python3 -c 'x = []\nwhile True: x.append(bytearray(b\"x\" * 10_000_000))'"
        result = await sh(sandbox, f"{eater}; echo code $?")
        assert result.head.endswith(b"code 137\n"), result
        assert (await sh(sandbox, "echo here")).head == b"here\n"
        assert (await sh(sandbox, "echo here", agent="w1")).head == b"here\n"


FORK_BOMBS = (":(){ :|:& };:", "f(){ f & f & }; f", "while :; do sleep 8643300 & done")


@needs("processes", "isolation")
async def a_fork_bomb_is_cleared_and_the_others_get_an_answer(setup: Setup) -> None:
    async with setup(limits=Limits(processes=200)) as sandbox:
        await sh(sandbox, "echo", agent="w1")
        for bomb in FORK_BOMBS:
            answers: list[ExecResult] = []

            async def other(into: list[ExecResult] = answers) -> None:
                for _ in range(50):
                    answer = await sh(sandbox, "echo here; sleep 0.1", agent="w1")
                    if answer.head == b"here\n":
                        into.append(answer)
                        return

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(other)
                await sh(sandbox, bomb, timeout_s=2)
                await sandbox.kill("lead")
            assert answers, bomb
            for agent in ("lead", "looker"):
                for _ in range(2):  # the first may be told that its runner was lost
                    last = await sh(sandbox, "echo here", agent=agent)
                assert last.head == b"here\n", bomb
            assert await alive(sandbox, "8643300") == 0


@needs("isolation")
async def what_is_collected_holds_nothing_of_the_host(setup: Setup) -> None:
    async with setup() as sandbox, anyio.TemporaryDirectory(prefix="contract-") as there:
        await sh(
            sandbox,
            "ln -s /etc/shadow shadow; ln -s / root; ln -s ../../../../.. up; mknod zero c 1 5; ln -s self self",
        )
        await sh(
            sandbox, "mkfifo p; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x >file"
        )
        await sh(sandbox, "truncate -s 4T bomb; printf 'x' >$'line\\nbreak'; mkdir -p $(printf 'd/%.0s' $(seq 300))")
        target = Path(there) / "out.tar.gz"
        await sandbox.collect(target)
        with tarfile.open(target) as archive:
            members = {m.name: m for m in archive}
        assert all(m.issym() or m.isdir() or m.isreg() for m in members.values())
        assert all(members[name].issym() for name in ("shadow", "root", "up", "self"))
        assert not members.keys() & {"zero", "p", "sock"}
        assert sum(m.size for m in members.values()) < 1000
        assert "line\nbreak" in members


@needs("isolation")
async def reading_never_leaves_the_sandbox(setup: Setup) -> None:
    async with setup() as sandbox:
        with tempfile.NamedTemporaryFile("w", prefix="leadhand-secret-") as file:
            await sh(sandbox, f"ln -s {file.name} link; ln -s {Path(file.name).parent} folder")
            for path in ("link", f"folder/{Path(file.name).name}"):
                try:
                    await sandbox.read(path)
                except FileNotFoundError:
                    continue
                raise AssertionError("followed a link to the host")


CHECKS: tuple[Check, ...] = (
    only_workspace_scratch_home_and_tmp_can_be_written,
    a_read_only_mount_stays_read_only,
    an_executable_of_mode_0111_runs_and_cannot_be_read,
    nothing_of_the_harness_can_be_seen,
    there_is_no_network,
    killing_everything_hurts_only_for_a_moment,
    writing_to_a_runners_stream_hurts_only_for_a_moment,
    too_much_memory_ends_the_command_alone,
    a_fork_bomb_is_cleared_and_the_others_get_an_answer,
    what_is_collected_holds_nothing_of_the_host,
    reading_never_leaves_the_sandbox,
)
