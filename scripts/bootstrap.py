#!/usr/bin/env python3
"""Make `.venv` as the lock says, with nothing but python3 (on Debian and Ubuntu: without pip and venv).

    bootstrap.py        what running needs: requirements.lock
    bootstrap.py dev    what tests and checks need: requirements-dev.lock, a superset

    some pip  ->  uv, by hash, in .tools/  ->  .venv, by hash  ->  this project, editable

Where pip comes from: python3 itself, its bundled wheel, or Debian's package of that wheel, which needs no root.
Honours what pip and uv honour: PIP_INDEX_URL, UV_INDEX_URL, UV_DEFAULT_INDEX, PIP_CERT, SSL_CERT_FILE, proxies.
Does nothing over the network where everything is installed already. Runs on old Pythons far enough to say so.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
UV_PINS = ROOT / "scripts" / "uv.lock.txt"
LOCKS = {"run": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
VENV = ROOT / ".venv"
DEBIAN_WHEELS = "usr/share/python-wheels/pip-*.whl"
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
OLDEST = (3, 11)
QUIET_PIP = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
# Debian's pip reads the system's certificates while it is imported: where there are none it fails, whatever it is told.
PIP_FROM_WHEEL = """
import runpy, sys
wheel, certificates = sys.argv.pop(1), sys.argv.pop(1)
sys.path.insert(0, wheel)
import pip._vendor.certifi
if certificates:
    pip._vendor.certifi.where = lambda: certificates
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


def main(purpose: str = "run") -> None:
    check_python()
    lock = LOCKS[purpose]
    env = environment()
    uv = installed_uv(env)
    if not (VENV / "bin" / "python").exists():
        run([uv, "venv", "--quiet", "--python", sys.executable, VENV], env)
    install = {**env, "VIRTUAL_ENV": str(VENV)}
    if not same(VENV / lock.name, lock):
        run([uv, "pip", "install", "--quiet", "--require-hashes", "--requirement", lock], install)
        shutil.copyfile(lock, VENV / lock.name)
    # The build backend is in the lock, so that this needs no network.
    run([uv, "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ROOT], install)


def check_python() -> None:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        wanted = ".".join(map(str, OLDEST))
        stop(
            f"Leadhand needs Python {wanted} or newer; {sys.executable} is {found}.",
            "Name a newer one, for example: make PYTHON=python3.12 demo",
        )


def environment() -> dict[str, str]:
    """Our environment, with what was said to pip also said to uv, and the other way round."""
    env = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", **QUIET_PIP}
    index = next((env[name] for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL") if env.get(name)), "")
    if index:
        env.setdefault("PIP_INDEX_URL", index)
        if not env.get("UV_INDEX_URL"):
            env.setdefault("UV_DEFAULT_INDEX", index)
    certificates = env.get("SSL_CERT_FILE") or env.get("PIP_CERT")
    if certificates:
        env.setdefault("PIP_CERT", certificates)
        env.setdefault("SSL_CERT_FILE", certificates)
    return env


def installed_uv(env: dict[str, str]) -> Path:
    """The pinned uv; fetched where it is missing or another one is pinned now."""
    uv, installed = TOOLS / "uv" / "bin" / "uv", TOOLS / "uv" / UV_PINS.name
    if uv.exists() and same(installed, UV_PINS):
        return uv
    shutil.rmtree(TOOLS / "uv", ignore_errors=True)
    pip = find_pip(env)
    flags = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    run([*pip, "install", *flags, "--target", uv.parent.parent, "--requirement", UV_PINS], env)
    shutil.copyfile(UV_PINS, installed)
    return uv


def find_pip(env: dict[str, str]) -> list[str | Path]:
    """A command that is pip. Nothing is installed into the system. May add certificates to `env`."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    wheels = glob.glob("/" + DEBIAN_WHEELS)
    ensurepip = importlib.util.find_spec("ensurepip")
    if ensurepip and ensurepip.origin:
        wheels += glob.glob(str(Path(ensurepip.origin).parent / "_bundled" / "pip-*.whl"))
    wheels = wheels or debian_pip(env)
    return [sys.executable, "-c", PIP_FROM_WHEEL, wheels[0], env.get("SSL_CERT_FILE", "")]


def debian_pip(env: dict[str, str]) -> list[str]:
    """The wheel in Debian's package python3-pip-whl, unpacked below .tools; apt checks its signature."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        stop(f"{sys.executable} has neither pip nor ensurepip.", "Install pip or venv for it, then try again.")
    debs = TOOLS / "debian"
    debs.mkdir(parents=True, exist_ok=True)
    download = ["python3-pip-whl"]
    if "SSL_CERT_FILE" not in env and not SYSTEM_CERTIFICATES.exists():
        download.append("ca-certificates")
    apt_download(download, debs)
    for deb in debs.glob("*.deb"):
        run(["dpkg-deb", "--extract", deb, debs], env)
    authorities = sorted(debs.glob("usr/share/ca-certificates/mozilla/*.crt"))
    if authorities:
        bundle = debs / "certificates.pem"
        bundle.write_text("\n".join(a.read_text() for a in authorities))
        env.update(PIP_CERT=str(bundle), SSL_CERT_FILE=str(bundle))
    return [str(wheel) for wheel in debs.glob(DEBIAN_WHEELS)]


def apt_download(packages: list[str], into: Path) -> None:
    """Download without root: where apt has no package lists of its own, with private ones."""
    quiet = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root"]
    if subprocess.run([*quiet, "download", *packages], cwd=into, capture_output=True).returncode == 0:
        return
    for folder in ("lists/partial", "cache/archives/partial"):
        (into / folder).mkdir(parents=True, exist_ok=True)
    private = [*quiet, "-o", f"Dir::State::Lists={into}/lists", "-o", f"Dir::Cache={into}/cache"]
    run([*private, "update"], dict(os.environ), into)
    run([*private, "download", *packages], dict(os.environ), into)
    shutil.rmtree(into / "lists")
    shutil.rmtree(into / "cache")


def same(installed: Path, wanted: Path) -> bool:
    return installed.exists() and installed.read_bytes() == wanted.read_bytes()


def run(command: list[str | Path], env: dict[str, str], cwd: Path = ROOT) -> None:
    words = [str(word) for word in command]
    print("+", " ".join(word for word in words if word != PIP_FROM_WHEEL), flush=True)
    code = subprocess.run(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL).returncode
    if code:
        stop(
            f"`{words[0]}` failed with exit code {code}.",
            "Its own words are above; nothing outside this folder changed.",
        )


def stop(what: str, remedy: str) -> None:
    sys.exit(f"\n{what}\n{remedy}")


if __name__ == "__main__":
    main(*sys.argv[1:])
