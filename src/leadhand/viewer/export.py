"""The same pages as static files: they open from disk or from any web host, and ask nobody for anything.

DIR/
  index.html, app.css, app.js, icon.svg
  data/home.js            the list of runs, the study
  data/r0/head.js ...     one folder a run: head, delta, rows-K, events-K, reports, result, integrity

Data files are scripts, since a page from disk may load scripts beside it and nothing else. Each hands one JSON text to
the page; none of it is ever read as code.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec

from leadhand.core.errors import UsageError
from leadhand.viewer import linker
from leadhand.viewer.app import assets, modules
from leadhand.viewer.columns import CURSOR, ROWS_PER_PART
from leadhand.viewer.folder import Folder
from leadhand.viewer.index import RunIndex
from leadhand.viewer.parts import part
from leadhand.viewer.plain import full
from leadhand.viewer.result import result

CHUNK = 1 << 20
CSP = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; connect-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)
_MARK = "leadhand-viewer"
_encode = msgspec.json.Encoder().encode


def export(source: Path, target: Path) -> int:
    """Write the pages of everything in `source`; how many runs there are. Replaces an earlier export, nothing else."""
    folder = Folder(source)
    _clear(target)
    runs = folder.runs()
    _assets(target)
    home = {**folder.home(), "places": {paths.id: f"r{i}" for i, paths in enumerate(runs)}}
    _write(target / "data", "home", "home", _encode(home))
    for i, paths in enumerate(runs):
        index = RunIndex(paths)
        index.refresh()
        index.look()
        _run(target / "data" / f"r{i}", f"r{i}", index, alone=folder.single)
    return len(runs)


def _clear(target: Path) -> None:
    page = target / "index.html"
    if target.exists() and any(target.iterdir()) and not (page.exists() and _MARK in page.read_text(errors="replace")):
        raise UsageError(f"{target} holds other files; name an empty or a new folder")
    shutil.rmtree(target / "data", ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)


def _assets(target: Path) -> None:
    found = assets()
    page = found.pop("index.html").decode()
    policy = f'<meta http-equiv="Content-Security-Policy" content="{CSP}">'
    script = '<script src="app.js" defer></script>'
    if script not in page or "<!--policy-->" not in page:
        raise ValueError("index.html has changed: the export does not know it any more")
    page = page.replace("<!--policy-->", policy).replace(script, '<script src="app.js" defer data-export></script>')
    (target / "index.html").write_text(page, encoding="utf-8")
    (target / "app.js").write_text(linker.link(modules(), "main.js"), encoding="utf-8")
    for name, data in found.items():
        (target / name).write_bytes(data)


def _run(target: Path, place: str, index: RunIndex, *, alone: bool) -> None:
    chunks = _events(target, place, index)
    _write(target, f"{place}/head", "head", _encode({**index.head(), "alone": alone, "chunks": chunks}))
    _write(target, f"{place}/delta", "delta", _encode(index.delta((0,) * len(CURSOR))))
    for k in range((len(index) + ROWS_PER_PART - 1) // ROWS_PER_PART):
        _write(target, f"{place}/rows-{k}", f"rows-{k}", _encode(part(index, f"rows-{k}")))
    for name in ("reports", "integrity"):
        _write(target, f"{place}/{name}", name, _encode(part(index, name)))
    _write(target, f"{place}/result", "result", _encode(full(result(index, quoting=False))))


def _events(target: Path, place: str, index: RunIndex) -> list[int]:
    """All journal lines, about a megabyte a file; the first event of each file."""
    firsts: list[int] = []
    lines: list[bytes] = []
    size = 0

    def flush() -> None:
        name = f"events-{len(firsts) - 1}"
        _write(target, f"{place}/{name}", name, b"[" + b",".join(lines) + b"]")

    for seq, data in index.lines():
        if not lines:
            firsts.append(seq)
        lines.append(data)
        size += len(data)
        if size >= CHUNK:
            flush()
            lines, size = [], 0
    if lines:
        flush()
    return firsts


def _write(folder: Path, key: str, name: str, data: bytes) -> None:
    """`leadhand(key, text)`: JSON in a string, so that no key or text in it can mean anything to the script."""
    folder.mkdir(parents=True, exist_ok=True)
    quoted: Any = json.dumps(data.decode("utf-8"), ensure_ascii=False).replace("\u2028", "\\u2028")
    (folder / f"{name}.js").write_text(f"leadhand({json.dumps(key)},{quoted});\n", encoding="utf-8")
