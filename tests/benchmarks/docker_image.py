"""An image for ProgramBench-shaped tasks, made of this host's own programs: no registry is asked."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

PROGRAMS = (
    *("bash", "sh", "env", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "chmod", "chown", "ln", "ls", "sleep", "true"),
    *(
        "false",
        "cut",
        "head",
        "tail",
        "sort",
        "uniq",
        "wc",
        "tr",
        "touch",
        "test",
        "[",
        "printf",
        "dirname",
        "basename",
    ),
    *("id", "date", "sha256sum", "stat", "mktemp", "realpath", "tar", "gzip", "find", "grep", "sed", "xargs", "git"),
    *("kill", "ps", "od", "tee"),
)
PURE = ("pytest", "py", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "xdist", "execnet", "pytest_timeout")
DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "execnet", "pytest_xdist", "pytest_timeout")
PYTHON = "/usr/bin/python3"


def derive(base: str, tag: str, executable: Path | None) -> None:
    """An image more; `executable` becomes /workspace/executable, root's and unreadable, as in ProgramBench."""
    if executable is None:
        subprocess.run(["docker", "tag", base, tag], check=True, capture_output=True)
        return
    made = subprocess.run(["docker", "create", base, "true"], check=True, capture_output=True, text=True)
    container, packed = made.stdout.strip(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar, executable.open("rb") as stream:
        member = tar.gettarinfo(executable, "executable")
        member.mode, member.uid, member.gid, member.uname, member.gname = 0o111, 0, 0, "root", "root"
        tar.addfile(member, stream)
    copy = ["docker", "cp", "-", f"{container}:/workspace"]
    subprocess.run(copy, check=True, capture_output=True, input=packed.getvalue())
    subprocess.run(["docker", "commit", container, tag], check=True, capture_output=True)
    subprocess.run(["docker", "rm", "-f", container], check=True, capture_output=True)


def build(tag: str, scratch: Path) -> None:
    """Import the image `tag`."""
    root = scratch / "rootfs"
    for name in (
        "usr/bin",
        "usr/lib",
        "etc",
        "proc",
        "sys",
        "dev",
        "tmp",
        "root",
        "run",
        "opt",
        "workspace",
        "home/agent",
        "var/tmp",
    ):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to("usr/bin" if "bin" in name else "usr/lib")
    for program in PROGRAMS:
        if found := shutil.which(program, path="/usr/bin:/bin"):
            _copy(Path(found), root)
    _python(root)
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\n")
    (root / "etc/group").write_text("root:x:0:\nagent:x:1000:\n")
    (root / "home/agent/tool").write_text("as a toolchain would be\n")
    (root / "etc/gitconfig").write_text("[safe]\n\tdirectory = *\n")
    packed = scratch / "rootfs.tar"
    with tarfile.open(packed, "w") as tar:
        tar.add(root, ".", filter=_rooted)
    command = ["docker", "import", "-c", "ENV PATH=/usr/bin:/bin", "-c", "WORKDIR /workspace", str(packed), tag]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(root)
    packed.unlink()


def _rooted(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    if member.name in ("./tmp", "./var/tmp"):
        member.mode = 0o1777
    if member.name in ("./workspace", "./home/agent") or member.name.endswith("agent/tool"):
        member.uid = member.gid = 1000
        member.uname = member.gname = "agent"
    return member


def _copy(path: Path, root: Path) -> None:
    """A program with the libraries that it is linked to, at /usr/bin and /usr/lib."""
    target = root / "usr/bin" / path.name
    shutil.copy2(path.resolve(), target)
    _libraries(path, root)


def _libraries(path: Path, root: Path) -> None:
    said = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"(/\S+\.so\S*)", said):
        target = root / "usr/lib" / Path(library).name
        if not target.exists():
            shutil.copy2(Path(library).resolve(), target)


def _python(root: Path) -> None:
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    _copy(Path(PYTHON), root)
    ignore = shutil.ignore_patterns("test", "dist-packages", "config-*", "idlelib", "ensurepip")
    library = root / "usr/lib" / version
    shutil.copytree(f"/usr/lib/{version}", library, symlinks=False, ignore=ignore, ignore_dangling_symlinks=True)
    for module in library.glob("lib-dynload/*.so"):
        _libraries(module, root)
    packages = root / "usr/lib/python3/dist-packages"
    packages.mkdir(parents=True)
    for name in PURE:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(origin, packages / origin.name)
    site = Path(importlib.util.find_spec("pytest").origin).parent.parent  # type: ignore[union-attr,arg-type]
    for info in site.glob("*.dist-info"):  # plugins, and pytest's own parts, are found by their metadata
        if info.name.partition("-")[0].lower() in DISTRIBUTIONS:
            shutil.copytree(info, packages / info.name)
    # Each branch of a task is a new container: without compiled modules, pytest would take seconds to start in each.
    subprocess.run([PYTHON, "-m", "compileall", "-q", "-j0", str(packages)], check=True)


def remove(*tags: str) -> None:
    subprocess.run(["docker", "rmi", "-f", *tags], capture_output=True, check=False, env=os.environ)
