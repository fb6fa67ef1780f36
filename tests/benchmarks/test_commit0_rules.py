"""Commit0's rules on small trees: stubs, what of a team's tree counts, the score."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from leadhand.benchmarks.commit0 import sources, stubs
from leadhand.benchmarks.commit0.hiding import copies
from leadhand.benchmarks.commit0.rows import Row, row, rows
from leadhand.benchmarks.commit0.scoring import score
from leadhand.benchmarks.commit0.tree import settle
from leadhand.core.errors import UsageError

MODULE = '''"""Kept."""
import os  # goes
LIMIT = 3

def told(a, *, b=1):
    """Do it."""
    def inner():
        return 1
    return inner()

def bare(): return 2

@decorated
async def slow():
    """Slowly."""
    return 3

class Box:
    """A box."""
    size = 1
    def __init__(self): self.x = 1
    def area(self):
        """Its area."""
        return 4
    def _grow(self): self.x += 1

class Empty:
    def only(self): return 5

if LIMIT:
    def chosen(): return 6
    OTHER = 7
'''
STUB = '''"""Kept."""
import os
LIMIT = 3

def told(a, *, b=1):
    """Do it."""
    pass

@decorated
async def slow():
    """Slowly."""
    pass

class Box:
    """A box."""
    size = 1

    def __init__(self):
        self.x = 1

    def area(self):
        """Its area."""
        pass

class Empty:
    pass
if LIMIT:
    OTHER = 7'''


def test_the_stub_rule() -> None:
    assert stubs.stub(MODULE) == (STUB, 3)


def test_which_files_are_stubbed(tmp_path: Path) -> None:
    for name in ("src/a.py", "src/__init__.py", "src/sub/b.py", "src/conftest.py", "src/tests/c.py", "src/data.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MODULE)
    assert stubs.main(str(tmp_path), "src/", "src/tests") == 6
    changed = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file() and p.read_text() == STUB}
    assert changed == {"src/a.py", "src/sub/b.py"}


def test_the_16_rows() -> None:
    assert len(rows()) == 16
    assert sum(r.ids for r in rows()) == 10_398
    assert [r.name for r in rows() if not r.sdist] == ["minitorch"]
    stub_mean = sum(r.stub_passes / r.ids for r in rows()) / 16
    assert round(stub_mean, 4) == 0.0925
    with pytest.raises(UsageError, match="no task 'flask'"):
        row("flask")


def test_copies_that_programs_bring_along_are_found_wherever_they_lie(tmp_path: Path) -> None:
    for name in (
        "sdk/third_party/jinja2/lexer.py",
        "sdk/src/cachetools/src/cachetools/keys.py",
        "data/babel/plural.txt",
        "wheels/Jinja2-3.1.4-py3-none-any.whl",
        "wheels/jinja2_time-0.2.0-py2.py3-none-any.whl",
        "wheels/PyJWT-2.8.0.tar.gz",
        "wheels/pip-23.1.2-py3-none-any.whl",
        "share/doc/tinydb.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "sdk")
    found = copies((str(tmp_path),))
    assert {name: [p.removeprefix(f"{tmp_path}/") for p in paths] for name, paths in found.items() if paths} == {
        "jinja": ["sdk/third_party/jinja2", "wheels/Jinja2-3.1.4-py3-none-any.whl"],
        "cachetools": ["sdk/src/cachetools"],
        "pyjwt": ["wheels/PyJWT-2.8.0.tar.gz"],
        "chardet": ["wheels/pip-23.1.2-py3-none-any.whl"],
    }


# --- a team's tree ---------------------------------------------------------------------------------------------

ROW = msgspec.structs.replace(row("tinydb"), src_dir="lib/", test_dir="tests/")
IDS = ("tests/test_a.py::test_one",)


@pytest.fixture
def pristine(tmp_path: Path) -> Path:
    tree = tmp_path / "pristine"
    for name, text in {
        "lib/core.py": "def f(): pass\n",
        "tests/test_a.py": "def test_one(): assert False\n",
        "tests/data/x.txt": "x\n",
        "conftest.py": "",
        "pytest.ini": "[pytest]\n",
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree


@pytest.fixture
def tree(tmp_path: Path, pristine: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "tree"))


def names(tree: Path) -> set[str]:
    return {p.relative_to(tree).as_posix() for p in tree.rglob("*") if not p.is_dir() or p.is_symlink()}


def test_work_outside_of_the_tests_is_kept_in_both_modes(tree: Path, pristine: Path) -> None:
    (tree / "lib/core.py").write_text("def f(): return 1\n")
    (tree / "lib/new.py").write_text("x = 1\n")
    for guarded in (False, True):
        changes = settle(tree, pristine, ROW, IDS, guarded)
        assert changes == ((), (), False)
        assert (tree / "lib/core.py").read_text() == "def f(): return 1\n"
        assert (tree / "lib/new.py").exists()


EDITS = {
    "an edited test": ("tests/test_a.py", "def test_one(): pass\n"),
    "a conftest of one's own": ("tests/conftest.py", "x = 1\n"),
    "a conftest beside the source": ("lib/conftest.py", "x = 1\n"),
    "pytest's settings": ("pytest.ini", "[pytest]\naddopts = -p evil\n"),
    "settings that were not there": ("tox.ini", "[pytest]\naddopts = -p evil\n"),
    "a plugin by metadata": ("evil.egg-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
    "code that every Python runs": ("sitecustomize.py", "import evil\n"),
}


@pytest.mark.parametrize(("name", "text"), EDITS.values(), ids=list(EDITS))
def test_edited_tests_are_told_in_strict_mode_and_put_back_in_guarded_mode(
    name: str, text: str, tree: Path, pristine: Path
) -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)
    assert settle(tree, pristine, ROW, IDS, guarded=False).tests == (name,)
    assert (tree / name).read_text() == text
    assert settle(tree, pristine, ROW, IDS, guarded=True).tests == (name,)
    assert names(tree) == names(pristine)
    assert settle(tree, pristine, ROW, IDS, guarded=True).tests == ()


def test_tests_that_were_removed_come_back(tree: Path, pristine: Path) -> None:
    shutil.rmtree(tree / "tests")
    assert settle(tree, pristine, ROW, IDS, guarded=True).tests == ("tests/data/x.txt", "tests/test_a.py")
    assert names(tree) == names(pristine)


@pytest.mark.parametrize("target", ["elsewhere", "nowhere", "lib"])
def test_a_link_in_place_of_the_tests_is_not_written_through(target: str, tree: Path, pristine: Path) -> None:
    shutil.copytree(tree / "tests", tree / "elsewhere")
    shutil.rmtree(tree / "tests")
    (tree / "tests").symlink_to(target)
    changes = settle(tree, pristine, ROW, IDS, guarded=True)
    assert "tests" in changes.tests
    assert not (tree / "tests").is_symlink()
    assert (tree / "tests/test_a.py").read_text() == (pristine / "tests/test_a.py").read_text()
    assert not (tree / "lib/test_a.py").exists()


def test_what_is_no_work_is_dropped_and_a_report_is_told(tree: Path, pristine: Path) -> None:
    for name in ("report.json", "test_output.txt", ".git/HEAD", "lib/__pycache__/core.cpython-310.pyc", "lib/x.pyc"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(b"\0")
    (tree / "lib/report.json").write_text("{}")
    changes = settle(tree, pristine, ROW, IDS, guarded=False)
    assert changes.report
    assert names(tree) == names(pristine) | {"lib/report.json"}


def test_binary_files_are_kept_and_told(tree: Path, pristine: Path) -> None:
    (tree / "lib/table.db").write_bytes(b"a\0b")
    changes = settle(tree, pristine, ROW, IDS, guarded=True)
    assert changes.binary == ("lib/table.db",)
    assert (tree / "lib/table.db").exists()


def test_tests_at_the_root_are_those_of_the_list(tree: Path, pristine: Path) -> None:
    chardet = msgspec.structs.replace(ROW, test_dir=".")
    (tree / "lib/core.py").write_text("x = 1\n")
    (tree / "tests/test_a.py").write_text("x = 1\n")
    assert settle(tree, pristine, chardet, IDS, guarded=True).tests == ("tests/test_a.py",)
    assert (tree / "lib/core.py").read_text() == "x = 1\n"


# --- the score -------------------------------------------------------------------------------------------------


def case(name: str, **phases: str) -> dict[str, object]:
    return {"nodeid": name, **{phase: {"outcome": outcome} for phase, outcome in phases.items()}}


def test_only_a_passed_call_counts_over_the_fixed_list() -> None:
    tests = [
        case("a", setup="passed", call="passed", teardown="failed"),
        case("b", setup="passed", call="failed"),
        case("c", setup="skipped"),
        case("d", setup="failed"),
        case("e", setup="passed", call="skipped"),  # expected to fail
        case("not in the list", call="passed"),
    ]
    grade = score(json.dumps({"tests": tests}).encode(), ["a", "b", "c", "d", "e", "missing"])
    assert (grade.passed, grade.total, grade.reward) == (1, 6, 1 / 6)
    assert grade.detail["failed"] == ["b", "c", "d", "e", "missing"]


@pytest.mark.parametrize(
    "report", [None, b"", b"{", b"[]", b'{"tests": 1}', b'{"tests": [1]}', b"\xff", b"[" * 100_000]
)
def test_no_report_is_zero(report: bytes | None) -> None:
    grade = score(report, ["a", "b"])
    assert (grade.reward, grade.passed, grade.total) == (0.0, 0, 2)


# --- upstream's repository -------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "uploadpack.allowAnySHA1InWant=true")
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


def test_trees_from_a_repository_are_files_only(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    commits = []
    for text in ("solution", "stub"):
        (origin / "a.py").write_text(text)
        (origin / f"{text}.txt").write_text(text)
        if text == "stub":
            (origin / "solution.txt").unlink()
        git(origin, "add", "-A")
        git(origin, "commit", "-q", "-m", text)
        commits.append(git(origin, "rev-parse", "HEAD").strip())
    one: Row = msgspec.structs.replace(row("minitorch"), reference_commit=commits[0], base_commit=commits[1])
    sources.clone(one, tmp_path / "reference", tmp_path / "stub", origin.as_uri())
    assert names(tmp_path / "reference") == {"a.py", "solution.txt"}
    assert names(tmp_path / "stub") == {"a.py", "stub.txt"}
    with pytest.raises(UsageError, match="cannot fetch minitorch"):
        sources.clone(one, tmp_path / "r", tmp_path / "s", (tmp_path / "nowhere").as_uri())
