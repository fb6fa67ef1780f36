"""Runs on a user's repository: a copy goes in, a branch and a diff come out, nothing else is touched."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_cli import HERE, PRICE, Done, Leadhand

from leadhand.core.events import MessageAdded
from leadhand.core.journal import read_journal
from leadhand.core.values import ToolResults, User
from leadhand.runs.paths import all_runs
from leadhand.testing.provider import in_process

HOOK = "#!/bin/sh\ntouch HOOKED\n"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with in_process("e2e_teams:EDITOR", pythonpath=str(HERE)) as url:
        yield url


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with what is awkward: secrets, ignored and untracked files, hooks that lie in the tree."""
    top = tmp_path / "project"
    top.mkdir()
    files = {
        "AGENTS.md": "Always say please.\n",
        "kept.txt": "kept\n",
        "gone.txt": "gone\n",
        ".env": "TRACKED=secret-1\n",
        ".env.example": "TRACKED=\n",
        ".gitignore": "ignored\n.env.local\n",
        "sub/kept": "sub\n",
    }
    for name, text in files.items():
        top.joinpath(name).parent.mkdir(exist_ok=True)
        top.joinpath(name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "Somebody")
    git(top, "config", "user.email", "somebody@example.org")
    git(top, "add", "-A", "-f")
    git(top, "commit", "-q", "-m", "first")
    git(top, "config", "core.hooksPath", "hooks")
    top.joinpath("ignored").write_text("ignored\n")
    top.joinpath("sub", ".env.local").write_text("LOCAL=secret-2\n")
    return top


def git(top: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(top), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def tree(top: Path) -> dict[str, bytes]:
    """Every file of the working tree and of the index, by name."""
    files = {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}
    return {name: data for name, data in files.items() if not name.startswith(".git/") or name == ".git/HEAD"}


def worked(leadhand: Leadhand, repo: Path, server: str, *more: str) -> Done:
    return leadhand(
        *("run", "Change this and that.", "--repo", str(repo), "--solo", "--lead", "openai-chat/fake"),
        *("--price", PRICE, "--base-url", server, "--sandbox", "bwrap", *more),
    )


def test_the_result_is_a_branch_and_a_diff_and_the_tree_is_untouched(
    leadhand: Leadhand, repo: Path, server: str, tmp_path: Path
) -> None:
    before, head = tree(repo), git(repo, "rev-parse", "HEAD")
    done = worked(leadhand, repo, server)
    assert done.code == 0, done.err
    (run,) = all_runs(tmp_path / "runs")
    assert tree(repo) == before
    assert git(repo, "rev-parse", "HEAD") == head
    assert git(repo, "status", "--porcelain") == ""
    branch = f"leadhand/{run.id}"
    assert f"leadhand apply {run.id}" in done.out
    changes = git(repo, "diff", "--name-status", "HEAD", branch).splitlines()
    assert sorted(changes) == ["A\thooks/post-merge", "A\tnew.txt", "D\tgone.txt", "M\tkept.txt", "M\tsub/kept"]
    assert git(repo, "show", f"{branch}:.env") == "TRACKED=secret-1\n"
    assert run.patch.read_text().count("diff --git") == 5
    told = "".join(_told(run.journal))
    assert "Always say please." in told
    assert ".env.example" in told
    assert "secret-" not in told
    for file in run.folder.rglob("*"):
        assert not file.is_file() or b"secret-" not in file.read_bytes(), file


def _told(journal: Path) -> Iterator[str]:
    for entry in read_journal(journal):
        if isinstance(entry.event, MessageAdded):
            match entry.event.message.body:
                case User() as u:
                    yield u.text
                case ToolResults() as r:
                    yield from (x.text for x in r.results)


def test_apply_merges_into_a_clean_tree_and_runs_no_hook_of_the_agents(
    leadhand: Leadhand, repo: Path, server: str, tmp_path: Path
) -> None:
    worked(leadhand, repo, server)
    done = leadhand("apply", "last")
    assert done.code == 0, done.err
    assert "merged leadhand/" in done.out
    assert git(repo, "rev-parse", "HEAD") == git(repo, "rev-parse", f"leadhand/{all_runs(tmp_path / 'runs')[0].id}")
    assert repo.joinpath("kept.txt").read_text() == "kept\nchanged\n"
    assert not repo.joinpath("gone.txt").exists()
    assert repo.joinpath(".env").read_text() == "TRACKED=secret-1\n"
    assert repo.joinpath("sub", ".env.local").read_text() == "LOCAL=secret-2\n"
    assert git(repo, "status", "--porcelain") == ""
    assert repo.joinpath("hooks", "post-merge").read_text() == HOOK
    assert not repo.joinpath("HOOKED").exists()
    assert not Path("/tmp/pwned").exists()


def test_a_dirty_tree_goes_in_as_it_is_and_gets_the_diff_on_top(leadhand: Leadhand, repo: Path, server: str) -> None:
    repo.joinpath("kept.txt").write_text("kept\nmine\n")
    repo.joinpath("untracked.txt").write_text("mine\n")
    done = worked(leadhand, repo, server)
    assert done.code == 0, done.err
    assert repo.joinpath("kept.txt").read_text() == "kept\nmine\n"
    done = leadhand("apply", "last")
    assert done.code == 0, done.err
    assert "applied the diff" in done.out
    assert repo.joinpath("kept.txt").read_text() == "kept\nmine\nchanged\n"
    assert repo.joinpath("new.txt").read_text() == "new\n"
    assert repo.joinpath("untracked.txt").read_text() == "mine\n"
    assert git(repo, "log", "--oneline").count("\n") == 1, "nothing was committed"


def test_what_does_not_fit_any_more_is_refused_and_changes_nothing(leadhand: Leadhand, repo: Path, server: str) -> None:
    worked(leadhand, repo, server)
    repo.joinpath("kept.txt").write_text("something else\n")
    before = tree(repo)
    done = leadhand("apply", "last")
    assert done.code == 2
    assert "does not fit" in done.err
    assert tree(repo) == before
    git(repo, "commit", "-q", "-a", "-m", "second")
    done = leadhand("apply", "last")
    assert done.code == 2
    assert "merge it by hand" in done.err
    assert tree(repo) == before
    assert git(repo, "status", "--porcelain") == ""


def test_a_repository_without_a_commit(leadhand: Leadhand, server: str, tmp_path: Path) -> None:
    top = tmp_path / "fresh"
    (top / "sub").mkdir(parents=True)
    for name in ("kept.txt", "gone.txt", "AGENTS.md", "sub/kept"):
        top.joinpath(name).write_text("x\n")
    git(top, "init", "-q", "-b", "main")
    done = worked(leadhand, top, server)
    assert done.code == 0, done.err
    assert leadhand("apply", "last").code == 0
    assert top.joinpath("new.txt").read_text() == "new\n"


def test_two_states_of_a_repository_are_two_tasks(leadhand: Leadhand, repo: Path, server: str) -> None:
    def digest() -> str:
        return str(worked(leadhand, repo, server, "--dry-run", "--json").json["digest"])

    first = digest()
    assert digest() == first
    repo.joinpath("ignored").write_text("of no matter\n")
    repo.joinpath("sub", ".env.local").write_text("of no matter\n")
    assert digest() == first
    repo.joinpath("kept.txt").write_text("changed\n")
    assert digest() != first


def test_runs_that_lie_in_the_repository_are_no_part_of_it(leadhand: Leadhand, repo: Path, server: str) -> None:
    def digest(*more: str) -> str:
        asked = ("run", "Do it.", "--repo", ".", "--solo", "--lead", "openai-chat/fake", "--price", PRICE, "--json")
        place = ("--base-url", server, "--sandbox", "bwrap", "--runs", "runs")
        return str(leadhand(*asked, *place, *more, cwd=repo).json.get("digest", ""))

    before = digest("--dry-run")
    digest()
    assert len(all_runs(repo / "runs")) == 1
    assert git(repo, "status", "--porcelain") == ""
    assert digest("--dry-run") == before
