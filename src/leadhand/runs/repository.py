"""Runs on a user's own repository: a copy goes in, a branch and a diff come out, the user's tree is never touched.

git runs here only with the user's own `.git`, never with one that agents could have written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from leadhand.core.errors import UsageError
from leadhand.runs.spec import Repository

_SECRET = (".env", ".env.*", "*.env")
_HARMLESS = ("*.example", "*.sample", "*.template", "*.dist")
MOST_INSTRUCTIONS = 20_000
"""Characters of AGENTS.md that go into the prompt."""

# No hook and no monitor: `core.hooksPath` may lie in the tree, where agents can write what it would run.
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_AUTHOR = ("-c", "user.name=Leadhand", "-c", "user.email=leadhand@localhost", "-c", "commit.gpgsign=false")


def inspect(path: Path) -> Repository:
    """The repository that holds `path`. Raises `UsageError` where there is none."""
    if shutil.which("git") is None:
        raise UsageError("git is not installed; --repo needs it")
    try:
        top = _git(path, "rev-parse", "--show-toplevel").strip()
    except (UsageError, OSError):
        raise UsageError(f"{path} is not inside a git repository; run `git init` there, or leave --repo out") from None
    head = _git(Path(top), "rev-parse", "--verify", "-q", "HEAD", check=False).strip()
    return Repository(path=top, head=head)


def instructions(repo: Repository) -> str:
    """What the repository's AGENTS.md says to whoever works on it, as an addition to the prompt; "" without one."""
    file = Path(repo.path) / "AGENTS.md"
    if "AGENTS.md" not in _listed(Path(repo.path)) or file.is_symlink() or not file.is_file():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(text) > MOST_INSTRUCTIONS:
        text = f"{text[:MOST_INSTRUCTIONS]}\n[... the rest is in AGENTS.md ...]"
    return f"\nThe repository's own instructions for agents (AGENTS.md):\n\n{text}\n" if text else ""


def digest_of(repo: Repository, prompt: str) -> str:
    """The task's digest: the prompt's, and everything of the repository that the team is given."""
    sha = hashlib.sha256(prompt.encode())
    for name, file in _given(Path(repo.path)):
        content = os.readlink(file).encode() if file.is_symlink() else hashlib.sha256(file.read_bytes()).digest()
        executable = not file.is_symlink() and os.access(file, os.X_OK)
        sha.update(b"%d %d %s\0" % (executable, len(content), name.encode("utf-8", "surrogateescape")) + content)
    return sha.hexdigest()[:32]


def is_secret(name: str) -> bool:
    """Files that never go into a sandbox, tracked or not."""
    base = name.rsplit("/", 1)[-1]
    return any(fnmatch(base, p) for p in _SECRET) and not any(fnmatch(base, p) for p in _HARMLESS)


def copy(repo: Repository, destination: Path) -> int:
    """Copy tracked and untracked-but-not-ignored files, never `.env`; the number of files."""
    count = 0
    for name, source in _given(Path(repo.path)):
        target = destination / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        count += 1
    return count


def _given(top: Path) -> Iterator[tuple[str, Path]]:
    """What a team is given of the working tree: (name, file or link), sorted by name."""
    for name in sorted(_listed(top)):
        source = top / name
        if not is_secret(name) and (source.is_symlink() or source.is_file()):
            yield name, source


def _listed(top: Path) -> set[str]:
    return set(_git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")) - {""}


def start_history(workspace: Path) -> None:
    """Give the agents a git history of one commit, so that they can look at their own diff."""
    _git(workspace, "init", "-q", "-b", "main")
    _git(workspace, "add", "-A", "-f")
    _git(workspace, *_AUTHOR, "commit", "-q", "--allow-empty", "--no-verify", "-m", "The state that you start from")


def branch_name(run_id: str) -> str:
    return f"leadhand/{run_id}"


def snapshot(repo: Repository, workspace: Path, run_id: str) -> Repository:
    """Remember what the team is given, as a commit: HEAD itself, or a snapshot on top where the copy holds more.

    A ref of its own keeps the commit from garbage collection; no branch, no file of the user changes. It must not be
    `refs/leadhand/RUN`: git would take the branch's name for it.
    """
    top = Path(repo.path)
    base = repo.head
    tree = _tree(top, workspace, repo.head, everything=True)
    if not base or tree != _git(top, "rev-parse", f"{base}^{{tree}}").strip():
        parents = [base] if base else []
        base = _commit(top, tree, parents, "Snapshot of the working tree that Leadhand started from")
    _git(top, "update-ref", f"refs/leadhand-base/{run_id}", base)
    return Repository(path=repo.path, head=repo.head, base=base)


def publish(repo: Repository, result: Path, run_id: str, patch: Path) -> str:
    """Make the branch `leadhand/RUN` in the user's repository and write the diff; the branch's commit.

    The branch is what the team was given (`snapshot`), then the team's work in `result`. Nothing is checked out.
    """
    top = Path(repo.path)
    tree = _tree(top, result, repo.base)
    commit = _commit(top, tree, [repo.base], f"Leadhand run {run_id}")
    patch.write_bytes(_git_bytes(top, "diff", "--binary", "--no-ext-diff", "--no-textconv", repo.base, commit))
    _git(top, "update-ref", f"refs/heads/{branch_name(run_id)}", commit)
    return commit


def apply(repo: Repository, run_id: str, patch: Path) -> str:
    """Bring a run's work into the user's tree.

    A merge where the tree is clean and the team was given just what HEAD was; else the diff, on top of what is there.
    """
    top = Path(repo.path)
    branch = branch_name(run_id)
    if not patch.exists():
        raise UsageError(f"run {run_id} has no result to apply; `leadhand show {run_id}` says how it ended")
    if not patch.stat().st_size:
        return "nothing to apply: the team changed no file"
    if not _git(top, "rev-parse", "--verify", "-q", f"refs/heads/{branch}", check=False).strip():
        raise UsageError(f"branch {branch} is gone from {top}; apply {patch} by hand with `git apply`")
    if repo.head == repo.base and not _git(top, "status", "--porcelain", "--untracked-files=no").strip():
        done = _run(top, "merge", "--no-edit", "--no-overwrite-ignore", f"refs/heads/{branch}")
        if done.returncode != 0:
            _run(top, "merge", "--abort")
            raise UsageError(f"{branch} does not merge cleanly into {top}; merge it by hand: git merge {branch}")
        return f"merged {branch}"
    done = _run(top, "apply", "--whitespace=nowarn", str(patch))
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"the diff does not fit the changed tree ({(why or ['git apply failed'])[0]}); commit your changes first"
        )
    return f"applied the diff of {branch} to the working tree"


def _tree(top: Path, folder: Path, seed: str, *, everything: bool = False) -> str:
    """The tree object of a folder's content, as a change of the tree-ish `seed`.

    What the team never saw (secrets, submodules) stays as in `seed`, and is never added to it. New files that are
    ignored are left out, unless `everything` is wanted; tracked ones never are. A `.git` in the folder is the agents'
    own and is removed.
    """
    for nested in list(folder.rglob(".git")):
        if nested.is_dir() and not nested.is_symlink():
            shutil.rmtree(nested, ignore_errors=True)
        else:
            nested.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        env = {"GIT_INDEX_FILE": str(Path(scratch) / "index"), "GIT_WORK_TREE": str(folder)}
        if seed:
            _git(top, "read-tree", seed, env=env)
        _git(top, "-c", "core.autocrlf=false", "add", "-A", *(("-f",) if everything else ()), env=env)
        made = [n for n in _git(top, "ls-files", "-z", env=env).split("\0") if n and is_secret(n)]
        if made:
            _git(top, "update-index", "--force-remove", "--", *made, env=env)
        for entry in _unseen(top, seed):
            _git(top, "update-index", "--add", "--cacheinfo", entry, env=env)
        return _git(top, "write-tree", env=env).strip()


def _unseen(top: Path, seed: str) -> list[str]:
    """Entries of `seed` that were never copied, as `mode,object,path`."""
    if not seed:
        return []
    entries = []
    for line in _git(top, "ls-tree", "-r", "-z", "--full-tree", seed).split("\0"):
        if not line:
            continue
        head, name = line.split("\t", 1)
        mode, _, sha = head.split()
        if mode == "160000" or is_secret(name):
            entries.append(f"{mode},{sha},{name}")
    return entries


def _commit(top: Path, tree: str, parents: list[str], message: str) -> str:
    flags = [flag for parent in parents for flag in ("-p", parent)]
    return _git(top, *_AUTHOR, "commit-tree", tree, *flags, "-m", message).strip()


def _git(folder: Path, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> str:
    done = _run(folder, *arguments, env=env)
    if check and done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise UsageError(f"git {arguments[0]} failed in {folder}: {why.splitlines()[-1]}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _git_bytes(folder: Path, *arguments: str) -> bytes:
    return _run(folder, *arguments).stdout


def _run(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    if env and "GIT_WORK_TREE" in env:
        git_dir = subprocess.run(
            ["git", *_QUIET, "-C", str(folder), "rev-parse", "--absolute-git-dir"],
            capture_output=True,
            env=kept,
            check=True,
        ).stdout.decode("utf-8", "surrogateescape")
        kept |= {"GIT_DIR": git_dir.rstrip("\n")}
        folder = Path(env["GIT_WORK_TREE"])
    return subprocess.run(["git", *_QUIET, "-C", str(folder), *arguments], capture_output=True, env=kept | (env or {}))
