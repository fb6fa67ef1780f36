"""The reference executable of an image, kept outside of it, so that no team's build can take it away.

In the image it is `./executable`, the very path that the team's own program must have.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from leadhand.benchmarks import home
from leadhand.benchmarks.programbench.instances import IMAGE_TAG, Instance
from leadhand.core.errors import UsageError
from leadhand.core.values import Value

INSIDE = "/workspace/executable"
PULL_S = 3600


class Reference(Value, frozen=True, kw_only=True):
    """`path`: the executable on this host; `image_id` names the image's content."""

    path: str
    image_id: str
    sha256: str


def _folder(image: str) -> Path:
    return home.cache() / "programbench" / image.replace("/", "_")


def read_reference(image: str) -> Reference | None:
    """What was prepared; None where nothing was."""
    try:
        found = msgspec.json.decode((_folder(image) / "reference.json").read_bytes(), type=Reference)
    except (OSError, msgspec.DecodeError):
        return None
    return found if Path(found.path).is_file() else None


def prepare(one: Instance, say: Callable[[str], None]) -> Reference:
    """Pull a task's image where it is not here, and copy its reference out. Blocks; raises `UsageError`."""
    image = f"{one.image}:{IMAGE_TAG}"
    if _docker("image", "inspect", image, check=False).returncode != 0:
        say("pulling")
        _docker("pull", "-q", "--platform", "linux/amd64", image, timeout=PULL_S)
    image_id = _docker("image", "inspect", "-f", "{{.Id}}", image).stdout.decode().strip()
    say("copying the reference")
    container = _docker("create", "--network", "none", image, "true").stdout.decode().strip()
    try:
        packed = _docker("cp", f"{container}:{INSIDE}", "-").stdout
    finally:
        _docker("rm", "-f", container, check=False)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        member = tar.extractfile("executable")
        code = member.read() if member is not None else b""
    return _keep(_folder(one.image), code, image_id)


def _keep(folder: Path, code: bytes, image_id: str) -> Reference:
    if not code:
        raise UsageError(f"the image has no reference at {INSIDE}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "executable"
    path.write_bytes(code)
    path.chmod(0o755)
    made = Reference(path=str(path), image_id=image_id, sha256=hashlib.sha256(code).hexdigest())
    (folder / "reference.json").write_bytes(msgspec.json.encode(made))
    return made


def docker_command() -> str:
    """The command that the package calls `docker`."""
    return os.environ.get("PROGRAMBENCH_DOCKER_EXECUTABLE") or "docker"


def _docker(*words: str, check: bool = True, timeout: float = 300) -> subprocess.CompletedProcess[bytes]:
    try:
        done = subprocess.run([docker_command(), *words], capture_output=True, timeout=timeout)
    except FileNotFoundError:
        raise UsageError("ProgramBench needs the docker command and an engine: install Docker") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"docker {words[0]} took longer than {timeout:g} s; try again") from None
    if check and done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["failed"]
        raise UsageError(f"docker {words[0]}: {said[-1][:300]}")
    return done
