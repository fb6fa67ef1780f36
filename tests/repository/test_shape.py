"""The shape of the source: small files, small functions, no cycles, a core that needs next to nothing."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FILES = sorted(SOURCE.rglob("*.py"))
CORE = sorted((SOURCE / "leadhand" / "core").rglob("*.py"))

MOST_LINES_OF_A_FILE = 500
MOST_LINES_OF_A_FUNCTION = 80
CORE_MAY_IMPORT = {"anyio", "msgspec", "leadhand", *sys.stdlib_module_names}

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))


@each_file
def test_a_file_can_be_read_in_one_sitting(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= MOST_LINES_OF_A_FILE


@each_file
def test_a_function_fits_on_a_page(file: Path) -> None:
    assert too_long(tree(file)) == {}


def test_core_needs_only_the_standard_library_anyio_and_msgspec() -> None:
    foreign = {
        (str(file.relative_to(SOURCE)), origin)
        for file in CORE
        for origin, _ in imported(tree(file), module_name(file))
        if origin.partition(".")[0] not in CORE_MAY_IMPORT
    }
    assert foreign == set()


def test_no_module_imports_itself_in_a_circle() -> None:
    """Counts imports inside of functions too; those under TYPE_CHECKING are never carried out, and do not count."""
    assert circle(import_graph(FILES)) == []


def test_the_checks_see_what_they_look_for() -> None:
    long = "def f():\n" + "    pass\n" * MOST_LINES_OF_A_FUNCTION
    assert too_long(ast.parse(long)) == {"f": MOST_LINES_OF_A_FUNCTION + 1}
    text = (
        "import a.b\nfrom . import c\nfrom ..d import e\ndef f():\n    from g import h\nif TYPE_CHECKING:\n    import t"
    )
    assert set(imported(ast.parse(text), "p.q.r")) == {("a.b", ""), ("p.q", "c"), ("p.d", "e"), ("g", "h")}
    assert needed(ast.parse(text), "p.q.r", {"p.q", "p.q.c", "p.d", "g.h", "x"}) == {"p.q.c", "p.d", "g.h"}
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) != []


def too_long(module: ast.Module) -> dict[str, int]:
    lengths = {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return {name: lines for name, lines in lengths.items() if lines > MOST_LINES_OF_A_FUNCTION}


def imported(module: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """What `module` imports: (absolute module, "") or (absolute module, member); `name` is the module's own."""
    for node in carried_out(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(name.split(".")[: -node.level]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            yield from ((origin, alias.name) for alias in node.names)


def carried_out(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is in it, without what stands under `if TYPE_CHECKING`."""
    yield node
    skipped = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else []
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from carried_out(child)


def import_graph(files: list[Path]) -> dict[str, set[str]]:
    """Module to the modules that it imports. A package's `__init__` stands under the package's name."""
    names = {module_name(file).removesuffix(".__init__"): file for file in files}
    return {name: needed(tree(file), module_name(file), names.keys()) - {name} for name, file in names.items()}


def needed(module: ast.Module, name: str, ours: Collection[str]) -> set[str]:
    """Which of our modules `module` imports: of `from package import module` that module, not the package."""
    found = set()
    for origin, member in imported(module, name):
        submodule = f"{origin}.{member}"
        found.add(submodule if submodule in ours else origin)
    return found & set(ours)


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts)


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(), filename=str(file))
