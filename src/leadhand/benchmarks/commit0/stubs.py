"""Commit0's stub rule ("combined"): `python3.12 stubs.py TREE SRC_DIR TEST_DIR` prints how many functions it emptied.

Runs as a script under Python 3.12, whose `ast.unparse` the published stubs were written with: nothing but the standard
library is imported.

For every .py file below SRC_DIR that is no test, `__init__`, `__main__` or conftest: a function with a docstring keeps
its signature and docstring and does nothing; one without is taken out; methods named `__x__` stay. Comments go.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

KEPT = ("__init__", "__main__", "conftest.py")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Stub(ast.NodeTransformer):
    """Empties one module. `count` is the number of functions that were left with their docstring alone."""

    def __init__(self) -> None:
        self.count = 0

    def visit_FunctionDef(self, node: Function) -> ast.AST | None:
        if node.name.startswith("__") and node.name.endswith("__"):
            return node
        if ast.get_docstring(node, clean=False) is None:
            return None
        node.body = [node.body[0], ast.Pass()]
        self.count += 1
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        if all(isinstance(child, ast.Pass) for child in node.body):
            node.body = [ast.Pass()]
        return node


def is_test(path: Path, tests: Path) -> bool:
    """Whether a file lies below the test folder, in a folder that is named after tests."""
    if not path.is_relative_to(tests):
        return False
    return any("test" in name.lower() for name in (tests.name, *path.relative_to(tests).parent.parts))


def sources(tree: Path, src_dir: str, test_dir: str) -> Iterator[Path]:
    """The files that the rule applies to, sorted."""
    tests = Path(os.path.normpath(tree / test_dir))
    for path in sorted((tree / src_dir).rglob("*.py")):
        if not any(kept in path.relative_to(tree).as_posix() for kept in KEPT) and not is_test(path, tests):
            yield path


def stub(source: str) -> tuple[str, int]:
    """A module's text without its solutions, and the number of functions to be written again."""
    rule = Stub()
    return ast.unparse(rule.visit(ast.parse(source))), rule.count


def main(tree: str, src_dir: str, test_dir: str) -> int:
    count = 0
    for path in sources(Path(tree), src_dir, test_dir):
        text, functions = stub(path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        count += functions
    return count


if __name__ == "__main__":
    sys.stdout.write(f"{main(*sys.argv[1:4])}\n")
