"""Script modules as one plain script: a browser loads no modules from `file://`.

Our modules keep to three forms, which this understands: `import { a, b } from "./x.js";`, `export function` (or
`class`, `const`, `async function`), and no default exports. Anything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r"^import \{([^}]*)\} from \"\./([\w-]+\.js)\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) ([\w$]+))", re.MULTILINE)
_LEFT = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)


def link(modules: Mapping[str, bytes], entry: str) -> str:
    """One classic script that does what `<script type="module" src=entry>` would do."""
    order: list[str] = []
    _visit(entry, modules, order, ())
    parts = ['"use strict";', "const $modules = {};"]
    parts += [_wrapped(name, modules[name].decode()) for name in order]
    return "\n".join(parts) + "\n"


def _visit(name: str, modules: Mapping[str, bytes], order: list[str], path: tuple[str, ...]) -> None:
    if name in path:
        raise ValueError(f"modules import each other in a circle: {' -> '.join((*path, name))}")
    if name in order:
        return
    for _, target in _IMPORT.findall(modules[name].decode()):
        _visit(target, modules, order, (*path, name))
    order.append(name)


def _wrapped(name: str, source: str) -> str:
    """A module as a function of its imports; what it exports is kept under its name."""
    imports = "\n".join(
        f"const {{ {', '.join(' : '.join(part.split(' as ')).strip() for part in names.split(',') if part.strip())} }}"
        f' = $modules["{target}"];'
        for names, target in _IMPORT.findall(source)
    )
    body = _IMPORT.sub("", source)
    exported = _EXPORT.findall(body)
    body = _EXPORT.sub("", body)
    if _LEFT.search(body):
        raise ValueError(f"{name} has an import or export of a form that is not understood")
    return f'$modules["{name}"] = (() => {{\n{imports}\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'
