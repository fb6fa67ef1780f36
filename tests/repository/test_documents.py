"""The documents are true: links lead somewhere, commands exist, and the examples run."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import get_args

import pytest

from leadhand.core.design import Design, Kind
from leadhand.core.events import AnyEvent
from leadhand.core.values import Limits
from leadhand.runs.design_file import design_from_toml

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


def test_every_setting_of_a_design_is_documented() -> None:
    page = (ROOT / "docs" / "designs.md").read_text()
    rows = set(re.findall(r"`([a-z_]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))))
    assert rows == {*Design.__struct_fields__, *Limits.__struct_fields__} - {"limits"}
    (kinds,) = re.findall(r"^\| `kinds` .*$", page, re.MULTILINE)
    assert {f"`{name}`" for name in Kind.__struct_fields__} <= set(re.findall(r"`\w+`", kinds))


def test_the_examples_of_designs_are_designs() -> None:
    page = (ROOT / "docs" / "designs.md").read_text()
    (example,) = re.findall(r"^    lead = .*?(?=^[^ \n])", page, re.MULTILINE | re.DOTALL)
    assert len(design_from_toml(textwrap.dedent(example)).kinds) == 2


def test_every_kind_of_event_is_documented() -> None:
    page = (ROOT / "docs" / "journal.md").read_text()
    first = re.findall(r"^\| (`[a-z_`, ]+`) \|", page, re.MULTILINE)
    named = {name for cell in first for name in re.findall(r"`([a-z_]+)`", cell)}
    assert {kind.__struct_config__.tag for kind in get_args(AnyEvent)} <= named
