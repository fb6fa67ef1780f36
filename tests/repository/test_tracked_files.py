"""What is committed runs anywhere: it names no machine, no registry's host, and locks what it depends on."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
DEVELOPMENT = "requirements-dev.lock"
LOCKS = ("requirements.lock", DEVELOPMENT)

# Built from pieces, so that this file does not mention them either.
MACHINE = [
    "/" + "work/",
    "/" + r"home/\w+/",
    "/root/" + r"\.(pyenv|cache)",
    "/" + "opt/(pypi|wheels)",
    "files" + r"\.pythonhosted",
    "pypi" + r"\.org",
    "deb" + r"\.debian\.org",
    "registry" + r"\.npmjs",
]
SECRET = [r"\bsk-[A-Za-z0-9_-]{20,}", r"\bAKIA[0-9A-Z]{16}\b", "-----BEGIN " + r"[A-Z ]*PRIVATE KEY-----"]
UNWANTED = re.compile("|".join(MACHINE))
UNWANTED_OUTSIDE_TESTS = re.compile("|".join(MACHINE + SECRET))


@cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return tuple(path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file())


def test_no_tracked_file_names_a_machine_a_registry_or_a_secret() -> None:
    """Tests hold made-up keys, to show that keys get nowhere."""
    found = []
    for path in tracked():
        name = path.relative_to(ROOT)
        pattern = UNWANTED if name.parts[0] == "tests" else UNWANTED_OUTSIDE_TESTS
        found += [f"{name}: {mention}" for mention in unwanted(path.read_bytes(), pattern)]
    assert found == []


def test_the_search_finds_what_it_looks_for() -> None:
    for text in ("see /" + "work/main", "https://pypi" + ".org/simple", "key = sk-" + "a1B2" * 6):
        assert unwanted(text.encode(), UNWANTED_OUTSIDE_TESTS) != []


def test_no_lock_with_addresses_is_tracked() -> None:
    assert [path.name for path in tracked() if path.name in {"uv.lock", "poetry.lock", ".env"}] == []


def test_no_tracked_file_is_large() -> None:
    assert [str(path.relative_to(ROOT)) for path in tracked() if path.stat().st_size > 2_000_000] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_a_hash_for_everything(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    assert [entry.partition(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert len(entries) == sum(map(len, locked(lock).values()))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_satisfies_what_the_project_asks_for(lock: str) -> None:
    pins = locked(lock)
    unmet = [str(asked) for asked in asked_for(development=lock == DEVELOPMENT) if not met(asked, pins)]
    assert unmet == [], "run `make lock`"


def test_both_locks_agree() -> None:
    running, development = (locked(lock) for lock in LOCKS)
    assert {name: development.get(name) for name in running} == running


def unwanted(content: bytes, pattern: re.Pattern[str]) -> list[str]:
    return [match.group() for match in pattern.finditer(content.decode(errors="replace"))]


def locked(lock: str) -> dict[str, set[str]]:
    """Canonical name to pinned versions: more than one where another Python needs another version."""
    pins: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", (ROOT / lock).read_text(), re.MULTILINE):
        pins.setdefault(canonicalize_name(name), set()).add(version)
    return pins


def asked_for(*, development: bool) -> list[Requirement]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, extras = settings["project"], settings["project"]["optional-dependencies"]
    lines = [*settings["build-system"]["requires"], *project["dependencies"], *extras["bwrap"]]
    if development:
        lines += [line for extra in extras.values() for line in extra]
        lines += [line for group in settings["dependency-groups"].values() for line in group if isinstance(line, str)]
    # What refers to this project's own extras ("leadhand[...]") is in the list already.
    return [asked for line in lines if (asked := Requirement(line)).name != project["name"]]


def met(asked: Requirement, pins: dict[str, set[str]]) -> bool:
    versions = pins.get(canonicalize_name(asked.name), set())
    return bool(versions) and all(asked.specifier.contains(version, prereleases=True) for version in versions)
