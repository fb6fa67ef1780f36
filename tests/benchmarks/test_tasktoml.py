"""Task folders: what loads, what is refused and in which words, and what a digest covers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from leadhand.benchmarks.folder import SHIPPED, FolderBenchmark, fill_prompt, find_task, load_task, shipped
from leadhand.core.errors import UsageError

ELF = SHIPPED / "numerus" / "reference" / "executable"
FULL = """
prompt_file = "prompt.md"
workspace = "start"
setup = "make deps"
network = true

[limits]
command_s = 5
steps = 7

[reference]
executable = "orig"
target = "/opt/orig"
link = "bin/orig"

[grader]
command = "python3 $GRADER/grade.py"
files = "tests"
timeout_s = 9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "mine"
    (root / "start").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "start" / "README").write_text("hello")
    (root / "tests" / "grade.py").write_text("print(1)")
    (root / "prompt.md").write_text("Build it in {workspace} like {reference}.\n")
    (root / "cases.jsonl").write_text('{"name":"a","stdout":"x"}\n')
    shutil.copyfile(ELF, root / "orig")
    (root / "task.toml").write_text(FULL)
    return root


def test_a_full_task_loads_with_every_setting(folder: Path) -> None:
    task = load_task(folder)
    assert task.id == "mine"
    assert task.prompt == "Build it in {workspace} like {reference}."
    assert (task.workspace, task.setup, task.network) == (str(folder / "start"), "make deps", True)
    assert (task.limits.command_s, task.limits.steps, task.limits.run_s) == (5, 7, 21600)
    (mount,) = task.mounts
    assert (mount.source, mount.target, mount.link) == (str(folder / "orig"), "/opt/orig", "bin/orig")
    assert task.reference == "/opt/orig"
    assert task.grader is not None
    assert (task.grader.files, task.grader.timeout_s) == (str(folder / "tests"), 9)
    assert load_task(folder / "task.toml") == task


def test_a_task_needs_no_more_than_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('id = "x"\nprompt = "Do it."')
    task = load_task(tmp_path)
    assert (task.id, task.prompt, task.workspace, task.grader, task.grader_digest) == ("x", "Do it.", "", None, "")


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        ('prompt = "x', "", "not valid TOML"),
        ("", "prompt", "exactly one of prompt and prompt_file"),
        ('prompt = "x"\nprompt_file = "prompt.md"', "prompt", "exactly one"),
        ('prompt_file = "nowhere.md"', "prompt_file", "create it or correct the path"),
        ('prompt_file = "cases.jsonl/x"', "prompt_file", "create it"),
        ('promt = "x"', "promt", "unknown key; known here: id, prompt,"),
        ('id = "a/b"\nprompt = "x"', "id", "use letters"),
        ("prompt = 3", "prompt", "Expected `str`"),
        ('prompt = "x"\nworkspace = "prompt.md"', "workspace", "no folder"),
        ('prompt = "x {reference}"', "prompt", "no [reference]"),
        ('prompt = "x"\n[limits]\nsteps = 0', "limits.steps", "positive"),
        ('prompt = "x"\n[limits]\nrun_s = nan', "limits.run_s", "positive"),
        ('prompt = "x"\n[limits]\nrun_s = -1', "limits.run_s", "positive"),
        ('prompt = "x"\n[limits]\nsteps = "many"', "limits.steps", "Expected `int`"),
        ('prompt = "x"\n[limits]\nstep = 1', "limits.step", "known here: command_s"),
        ('prompt = "x"\n[reference]\ntarget = "/x"', "reference.executable", "is missing"),
        ('prompt = "x"\n[reference]\nexecutable = "prompt.md"', "reference.executable", "not an ELF"),
        ('prompt = "x"\n[reference]\nexecutable = "orig"\ntarget = "x"', "reference.target", "absolute"),
        ('prompt = "x"\n[reference]\nexecutable = "orig"\nlink = "../x"', "reference.link", "inside the workspace"),
        ('prompt = "x"\n[grader]\ntimeout_s = 3', "grader.command", "exactly one of command and cases"),
        ('prompt = "x"\n[grader]\ncommand = "x"\ncases = "cases.jsonl"', "grader.command", "exactly one"),
        ('prompt = "x"\n[grader]\ncommand = "x"\nbuild = "y"', "grader.build", "remove it"),
        ('prompt = "x"\n[grader]\ncases = "cases.jsonl"\nfiles = "tests"', "grader.files", "remove it"),
        ('prompt = "x"\n[grader]\ncases = "none.jsonl"', "grader.cases", "create it"),
        ('prompt = "x"\n[grader]\ncommand = "x"\ntimeout_s = inf', "grader.timeout_s", "positive"),
        ('prompt = "x"\ngrader = 3', "grader", "Expected `object`"),
    ],
)
def test_a_bad_task_is_refused_in_one_line_with_file_key_and_remedy(
    folder: Path, text: str, key: str, remedy: str
) -> None:
    (folder / "task.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load_task(folder)
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith(f"{folder / 'task.toml'}: {key}")
    assert remedy in said


def test_a_bad_prompt_file_is_refused(folder: Path) -> None:
    (folder / "prompt.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="save it as UTF-8"):
        load_task(folder)
    (folder / "prompt.md").write_text(" \n")
    with pytest.raises(UsageError, match="is empty"):
        load_task(folder)


def test_a_folder_without_task_toml_is_no_task(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file; a task is a folder with a task\.toml"):
        load_task(tmp_path)


def change_prompt(root: Path) -> None:
    (root / "prompt.md").write_text("Other {reference}")


def change_workspace(root: Path) -> None:
    (root / "start" / "README").write_text("changed")


def add_link(root: Path) -> None:
    (root / "start" / "link").symlink_to("README")


def change_mode(root: Path) -> None:
    (root / "start" / "README").chmod(0o755)


def add_empty_folder(root: Path) -> None:
    (root / "start" / "empty").mkdir()


def change_reference(root: Path) -> None:
    with (root / "orig").open("ab") as stream:
        stream.write(b"x")


def change_limits(root: Path) -> None:
    (root / "task.toml").write_text(FULL.replace("steps = 7", "steps = 8"))


@pytest.mark.parametrize(
    "change",
    [change_prompt, change_workspace, add_link, change_mode, add_empty_folder, change_reference, change_limits],
)
def test_whatever_the_team_can_see_changes_the_task_digest_only(folder: Path, change: Callable[[Path], None]) -> None:
    before = load_task(folder)
    change(folder)
    after = load_task(folder)
    assert after.digest != before.digest
    assert after.grader_digest == before.grader_digest


def test_whatever_the_grade_depends_on_changes_the_grader_digest_only(folder: Path) -> None:
    digests = {load_task(folder).grader_digest}
    digest = load_task(folder).digest
    (folder / "tests" / "grade.py").write_text("print(2)")
    digests.add(load_task(folder).grader_digest)
    (folder / "task.toml").write_text(FULL.replace("timeout_s = 9", "timeout_s = 10"))
    digests.add(load_task(folder).grader_digest)
    head = FULL.partition("[grader]")[0]
    (folder / "task.toml").write_text(head + '[grader]\ncases = "cases.jsonl"')
    digests.add(load_task(folder).grader_digest)
    (folder / "cases.jsonl").write_text('{"name":"a","stdout":"y"}\n')
    digests.add(load_task(folder).grader_digest)
    assert len(digests) == 5
    assert load_task(folder).digest == digest


def test_a_digest_does_not_depend_on_where_the_folder_is_or_on_the_mode_of_the_reference(
    folder: Path, tmp_path: Path
) -> None:
    before = load_task(folder)
    elsewhere = tmp_path / "elsewhere" / "mine"
    shutil.copytree(folder, elsewhere)
    (elsewhere / "orig").chmod(0o755)
    after = load_task(elsewhere)
    assert (after.digest, after.grader_digest) == (before.digest, before.grader_digest)


def test_tasks_are_found_by_shipped_name_or_by_path(folder: Path) -> None:
    assert shipped() == ("gridline", "numerus", "satchel")
    assert find_task("numerus").id == "numerus"
    assert find_task(str(folder)).id == "mine"
    with pytest.raises(UsageError, match=r"no task 'nothing': .* gridline, numerus, satchel"):
        find_task("nothing")
    assert [t.id for t in FolderBenchmark([load_task(folder)]).tasks()] == ["mine"]


def test_a_prompt_is_filled_in_once_and_other_braces_stay() -> None:
    said = fill_prompt("{workspace} {reference} {x} {} {{", workspace="/w{reference}", reference="/r")
    assert said == "/w{reference} /r {x} {} {{"
