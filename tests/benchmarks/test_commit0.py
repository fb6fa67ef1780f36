"""Two libraries of Commit0-Lite, really prepared and really scored; and every way to cheat that is known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import pytest
from commit0_room import SMALL, locked, pack_tree, place, prepared_root

from leadhand import sandboxes
from leadhand.benchmarks.commit0 import sources
from leadhand.benchmarks.commit0.benchmark import Commit0, Mode
from leadhand.benchmarks.commit0.prepare import prepare
from leadhand.benchmarks.commit0.prepared import VENV, Place
from leadhand.benchmarks.commit0.rows import Row, row
from leadhand.core.errors import GradingError, UsageError
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import Grade, Mount, SandboxSpec
from needs import require

pytestmark = [pytest.mark.pypi, pytest.mark.timeout(300)]

Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_root(tmp_path_factory.getbasetemp().parent)


class Scored:
    """Grades trees of one library."""

    def __init__(self, root: Path, start: StartSandbox, scratch: Path) -> None:
        self.root, self._start, self._scratch, self._count = root, start, scratch, 0

    async def __call__(self, name: str, tree: Path, change: Change | None = None, mode: Mode = "strict") -> Grade:
        self._count += 1
        folder = self._scratch / str(self._count)
        (folder / "scratch").mkdir(parents=True)
        archive = pack_tree(tree, folder / "submission.tar.gz", change)
        benchmark = Commit0(mode, self.root)
        return await benchmark.grade(benchmark.task(name), archive, self._start, folder / "scratch")


@pytest.fixture
def scored(root: Path, start: StartSandbox, tmp_path: Path) -> Scored:
    return Scored(root, start, tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize("name", SMALL)
async def test_stub_and_reference_have_the_measured_counts(name: str, scored: Scored) -> None:
    one, where = row(name), place(scored.root, name)
    stub = await scored(name, where.stub)
    assert (stub.passed, stub.total) == (one.stub_passes, one.ids)
    reference = await scored(name, where.reference)
    assert (reference.passed, reference.total) == (one.reference_passes, one.ids)
    assert reference.reward == 1.0
    guarded = await scored(name, where.reference, mode="guarded")
    assert guarded.reward == 1.0


# --- cheats ----------------------------------------------------------------------------------------------------


def forge_real_report(root: Path) -> Change:
    def change(tree: Path) -> None:
        tests = [{"nodeid": i, "call": {"outcome": "passed"}} for i in place(root, "voluptuous").ids()]
        for name in ("report.json", ".report.json"):
            (tree / name).write_text(json.dumps({"tests": tests}))

    return change


@pytest.mark.anyio
async def test_a_forged_report_is_never_read(scored: Scored) -> None:
    where = place(scored.root, "voluptuous")
    grade = await scored("voluptuous", where.stub, forge_real_report(scored.root))
    assert (grade.passed, grade.detail["forged_report"]) == (0, True)


def every_test_passes(tree: Path) -> None:
    (tree / "conftest.py").write_text(
        "import pytest\n"
        "@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n"
        "    outcome.get_result().outcome = 'passed'\n"
    )


@pytest.mark.anyio
async def test_edited_tests_count_in_strict_mode_are_told_and_do_nothing_in_guarded_mode(scored: Scored) -> None:
    where, one = place(scored.root, "cachetools"), row("cachetools")
    strict = await scored("cachetools", where.stub, every_test_passes)
    assert (strict.passed or 0) > one.stub_passes
    assert strict.detail["edited_tests"] == ["conftest.py"]
    guarded = await scored("cachetools", where.stub, every_test_passes, mode="guarded")
    assert guarded.passed == one.stub_passes
    assert guarded.detail["edited_tests"] == ["conftest.py"]


def edit_tests_inside_the_package(tree: Path) -> None:
    (tree / "voluptuous/tests/tests.py").write_text("def test_x(): pass\n")


@pytest.mark.anyio
async def test_guarded_mode_puts_tests_inside_the_package_back(scored: Scored) -> None:
    where = place(scored.root, "voluptuous")
    grade = await scored("voluptuous", where.reference, edit_tests_inside_the_package)
    assert grade.reward < 0.05
    grade = await scored("voluptuous", where.reference, edit_tests_inside_the_package, mode="guarded")
    assert grade.reward == 1.0
    assert grade.detail["edited_tests"] == ["voluptuous/tests/tests.py"]


@pytest.mark.anyio
async def test_a_binary_file_does_not_lose_the_work(scored: Scored) -> None:
    def add(tree: Path) -> None:
        (tree / "cache.db").write_bytes(b"x\0y")

    grade = await scored("cachetools", place(scored.root, "cachetools").reference, add)
    assert grade.reward == 1.0
    assert grade.detail["binary"] == ["cache.db"]
    assert grade.detail["upstream_reward"] == 153 / 215


def test_no_git_object_knows_the_solution(root: Path) -> None:
    stub = place(root, "voluptuous").stub
    for name in ("ORIG_HEAD", "FETCH_HEAD", "packed-refs", "logs/HEAD.lock"):
        assert not (stub / ".git" / name).exists()
    objects = subprocess.run(
        ["git", "-C", str(stub), "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    ).stdout
    solution = (place(root, "voluptuous").reference / "voluptuous/schema_builder.py").read_bytes()
    gone = b"invalid_msg = invalid_msg or 'mapping value'"
    assert gone in solution
    assert gone not in objects
    assert objects.count(b" commit ") == 1


SEARCH = r"""
all() { find / \( -path /proc -o -path /sys -o -path /workspace \) -prune -o "$@" -print 2>/dev/null; }
all -path '*/PACKAGE/*' -name '*.py*'
all -type f -size +0 -name '*PACKAGE*' \( -name '*.whl' -o -name '*.tar.gz' -o -name '*.zip' \)
true
"""


@pytest.mark.anyio
@pytest.mark.parametrize("name", SMALL)
async def test_a_team_finds_no_copy_and_cannot_install_one(
    name: str, root: Path, start: StartSandbox, tmp_path: Path
) -> None:
    task = Commit0(root=root).task(name)
    shutil.copytree(task.workspace, tmp_path / "workspace", symlinks=True)
    (tmp_path / "scratch").mkdir()
    spec = SandboxSpec(
        run_id="test-c0", workspace=str(tmp_path / "workspace"), scratch=str(tmp_path / "scratch"), mounts=task.mounts
    )
    sandbox = await start(spec)
    try:
        found = await sandbox.exec(SEARCH.replace("PACKAGE", row(name).package), agent="lead", timeout_s=120)
        assert found.head.decode().split() == []
        installs = f"{VENV}/bin/python -m pip install {name}; pip install {name}; pip download {name}; true"
        await sandbox.exec(installs, agent="lead", timeout_s=120)
        again = await sandbox.exec(SEARCH.replace("PACKAGE", row(name).package), agent="lead", timeout_s=120)
        assert again.head.decode().split() == []
        tests = await sandbox.exec(f"{VENV}/bin/pytest -q {row(name).test_dir} | tail -1", agent="lead", timeout_s=120)
        assert b"passed" in tests.head or b"error" in tests.head
        write = await sandbox.exec(f"touch {VENV}/x || touch /c0/py/x", agent="lead", timeout_s=60)
        assert write.exit_code != 0
        log = await sandbox.exec("git status --porcelain | head; git log --oneline", agent="lead", timeout_s=60)
        assert log.head.decode().count("Commit 0") == 1
    finally:
        await sandbox.aclose()


# --- preparing -------------------------------------------------------------------------------------------------


def left_over(root: Path) -> list[Path]:
    return [*root.glob(".cachetools*"), *(root / "scratch").glob("cachetools*/venv/bin")]


@pytest.mark.anyio
async def test_an_interrupted_preparation_leaves_nothing_and_is_done_again(root: Path) -> None:
    with locked(root / "lock"):
        where = place(root, "cachetools")
        before = where.need()
        await anyio.to_thread.run_sync(shutil.rmtree, where.folder)
        with anyio.CancelScope() as scope:

            def say(step: str) -> None:
                if step == "installing":
                    scope.cancel()

            await prepare(row("cachetools"), say, root=root)
        assert scope.cancelled_caught
        assert where.read() is None
        assert left_over(root) == []
        assert await prepare(row("cachetools"), lambda step: None, root=root)
        assert not await prepare(row("cachetools"), lambda step: None, root=root)
        after = where.need()
    assert (after.content, after.scoring) == (before.content, before.scoring)


def test_what_is_not_prepared_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leadhand bench prepare commit0/tinydb"):
        Commit0(root=tmp_path).task("tinydb")
    with pytest.raises(UsageError, match="15 of Commit0-Lite's tasks are not prepared"):
        Commit0(root=tmp_path).tasks()


@pytest.mark.anyio
async def test_minitorch_says_why_it_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="minitorch is not on PyPI"):
        await prepare(row("minitorch"), lambda step: None, root=tmp_path, source="pypi")


@pytest.mark.anyio
async def test_grading_tells_a_lost_preparation_from_a_bad_submission(
    root: Path, start: StartSandbox, tmp_path: Path
) -> None:
    task = Commit0(root=root).task("cachetools")
    assert task.grader is not None
    lost = msgspec.structs.replace(task.grader, files=str(tmp_path / "cachetools"))
    with pytest.raises(GradingError, match="is not prepared"):
        await Commit0(root=root).grade(msgspec.structs.replace(task, grader=lost), tmp_path, start, tmp_path)
    other = msgspec.structs.replace(task, grader_digest="0")
    with pytest.raises(GradingError, match="prepared otherwise"):
        await Commit0(root=root).grade(other, tmp_path, start, tmp_path)


def test_the_mode_is_part_of_the_graders_digest_and_not_of_the_tasks(root: Path) -> None:
    strict, guarded = (Commit0(mode, root).task("cachetools") for mode in ("strict", "guarded"))
    assert strict.digest == guarded.digest
    assert strict.grader_digest != guarded.grader_digest
    assert isinstance(Place(row("cachetools"), root).need().packages, tuple)


@pytest.mark.engine
@pytest.mark.anyio
async def test_the_same_counts_in_docker(root: Path, tmp_path: Path) -> None:
    """In the image that scripts/ci-engine.sh makes, which shows this host's /usr."""
    require("docker")
    image = os.environ.get("LEADHAND_TEST_IMAGE", "leadhand-test:1")

    async def docker(spec: SandboxSpec) -> Sandbox:
        usr = (Mount(source="/usr", target="/usr"), *spec.mounts)
        return await sandboxes.start(msgspec.structs.replace(spec, image=image, mounts=usr), "docker")

    scored = Scored(root, docker, tmp_path)
    where, one = place(root, "cachetools"), row("cachetools")
    assert (await scored("cachetools", where.stub)).passed == one.stub_passes
    assert (await scored("cachetools", where.reference)).passed == one.reference_passes


def upstream(root: Path, folder: Path) -> Row:
    """Upstream's repository of a library as it would be: the reference, then the stub with its specification."""
    origin = folder / "commit-0/cachetools"
    where, one = place(root, "cachetools"), row("cachetools")

    def git(*words: str) -> str:
        who = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
        done = subprocess.run(["git", "-C", str(origin), *who, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    origin.mkdir(parents=True)
    git("init", "-q")
    commits = []
    for tree in (where.reference, where.stub):
        shutil.copytree(tree, origin, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        if tree == where.stub:
            (origin / "spec.pdf.bz2").write_bytes(b"the specification\0")
        git("add", "-A", "-f")
        git("commit", "-q", "-m", "x")
        commits.append(git("rev-parse", "HEAD"))
    return msgspec.structs.replace(one, reference_commit=commits[0], base_commit=commits[1])


@pytest.mark.anyio
async def test_upstreams_repository_goes_first_where_it_can_be_reached(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await anyio.to_thread.run_sync(upstream, root, tmp_path / "host")
    (tmp_path / "commit0").mkdir()
    os.symlink(root / "archives", tmp_path / "commit0/archives")
    said = list[str]()
    monkeypatch.setattr(sources, "GIT", f"file://{tmp_path}/nowhere/{{repo}}")
    assert await prepare(one, said.append, root=tmp_path / "commit0")
    from_pypi = Place(one, tmp_path / "commit0").need()
    monkeypatch.setattr(sources, "GIT", f"file://{tmp_path}/host/{{repo}}")
    assert await prepare(one, said.append, root=tmp_path / "commit0", again=True)
    from_git = Place(one, tmp_path / "commit0").need()
    assert (from_pypi.source, from_git.source) == ("pypi", "git")
    assert set(from_git.files) - set(from_pypi.files) == {"spec.pdf.bz2"}
    assert {k: v for k, v in from_git.files.items() if k != "spec.pdf.bz2"} == from_pypi.files
    # What is reached and does not have the commit is no reason to give up.
    gone = msgspec.structs.replace(one, base_commit="0" * 40)
    assert await prepare(gone, said.append, root=tmp_path / "commit0", again=True)
    assert any(line.startswith("from PyPI: cannot fetch cachetools") for line in said)
    assert Place(gone, tmp_path / "commit0").need().source == "pypi"


def test_what_a_repository_downloads_comes_from_the_release(tmp_path: Path) -> None:
    for name in ("babel/global.dat", "babel/locale-data/de.dat", "babel/core.py"):
        (tmp_path / "release" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "release" / name).write_text("x")
    sources.add(tmp_path / "release", sources.GENERATED["babel"], tmp_path / "one", tmp_path / "two")
    for tree in ("one", "two"):
        found = {p.relative_to(tmp_path / tree).as_posix() for p in (tmp_path / tree).rglob("*") if p.is_file()}
        assert found == {"babel/global.dat", "babel/locale-data/de.dat"}
