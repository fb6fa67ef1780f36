"""`python -m benchmarks`: which there are. `make bench BENCH=NAME ARGS="..."` runs one."""

from __future__ import annotations

import ast
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    told = ast.get_docstring(ast.parse(path.read_text())) or ""
    print(f"{path.stem:12}{' '.join(told.split(chr(10) * 2)[0].split())}")
