"""The documents are true: links lead somewhere, commands exist, and the examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text())
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (document.parent / link).exists()] == []


@each_document
def test_make_knows_every_target_that_is_named(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^ {4}|`)make ([a-z]+)", document.read_text(), re.MULTILINE))
    assert named <= targets


@each_document
def test_python_examples_run(document: Path) -> None:
    for example in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
        done = subprocess.run([sys.executable, "-W", "error", "-c", example], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_tree_in_the_readme_is_the_tree() -> None:
    text = (ROOT / "README.md").read_text()
    drawn = set(re.findall(r"^      ([a-z]+)/ ", text, re.MULTILINE))
    package = ROOT / "src" / "leadhand"
    assert drawn == {path.parent.name for path in package.glob("*/__init__.py")}
    assert all((ROOT / name).is_dir() for name in re.findall(r"^    ([a-z]+)/ ", text, re.MULTILINE))
