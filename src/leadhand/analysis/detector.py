"""Which source files a shell command writes, and whether it runs the reference executable: read from its text.

Lower bounds, as the paper's counts are: what a script writes when it runs cannot be seen in the command that runs it.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import NamedTuple

from leadhand.analysis.shell import Simple, read

SOURCE = frozenset(
    """py pyx pyi c h cc cpp cxx hpp hh hxx rs go java kt kts scala hs lhs ml mli js mjs cjs jsx ts tsx rb pl pm php lua
    sh bash zsh swift m mm cs fs fsx vb r jl nim zig d dart ex exs erl clj cljs lisp scm el asm s f f90 f95 pas v vhd
    sql awk sed tcl y l lex yy re proto cu cl vue svelte html css scss""".split()  # noqa: SIM905
)
_NOT_SUBMITTED = re.compile(r"(^|/)(target|build|dist|node_modules|__pycache__|\.git|vendor|\.venv|venv|out|bin)/")
_NOT_PRODUCT = re.compile(r"(^|/)(tests?|testdata|fixtures|examples?|notes?|docs?)/", re.IGNORECASE)
_SCRATCH = re.compile(r"^(/tmp|/var|/dev|/proc|/home|/root|~)(/|$)")
REQUESTED = frozenset({"compile.sh"})
"""Files that the benchmark asks for: writing one is not yet implementing (the paper's figure 28 leaves them out)."""

_PREFIXES = frozenset(
    "sudo env time timeout nice nohup exec command builtin then do else if while until ! xargs".split()  # noqa: SIM905
)
_INTERPRETERS = re.compile(r"^(python[\d.]*|pypy3?|node|perl|ruby|php|bun|deno|lua)$")
_WRITE_IN_CODE = re.compile(
    r"""open\(\s*(?:r|f|rf|fr)?(['"])(?P<a>[^'"]+)\1\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax]"""
    r"""|Path\(\s*(?:r|f)?(['"])(?P<b>[^'"]+)\3\s*\)\s*\.\s*(?:write_text|write_bytes|open\(\s*['"][wax])"""
    r"""|(?:writeFileSync|writeFile|appendFileSync|appendFile|createWriteStream)\(\s*(['"`])(?P<c>[^'"`]+)\4"""
    r"""|(?:File\.write|File\.open|IO\.write|file_put_contents)\(?\s*(['"])(?P<d>[^'"]+)\5"""
    r"""|open\(?\s*(?:my\s+)?\$?\w+\s*,\s*(['"])\s*>{1,2}\s*(?P<e>[^'",]*)\6(?:\s*,\s*(['"])(?P<f>[^'"]+)\8)?"""
)
_NAMED = re.compile(
    r"""^\s*(\w+)\s*=\s*(?:Path\(\s*)?(?:r|f)?(['"])(?P<path>[^'"\n]+)\2\s*\)?\s*;?\s*$""", re.MULTILINE
)
_WRITE_TO_NAME = re.compile(
    r"""open\(\s*(?P<a>\w+)\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax]|\b(?P<b>\w+)\.write_(?:text|bytes)\("""
    r"""|(?:writeFileSync|writeFile|appendFileSync)\(\s*(?P<c>\w+)\s*,"""
)
_LOOP = re.compile(r"""\bfor\s+(?P<name>\w+)\s+in\s+[\[(](?P<items>[^\])]*)[\])]""")
_QUOTED = re.compile(r"""['"]([^'"\n]+)['"]""")
_PATCHED = re.compile(r"^(?:\+\+\+ (?:b/)?(?P<a>[^\t\n]+)|\*\*\* (?:Add|Update) File: (?P<b>[^\n]+))", re.MULTILINE)
_SHEBANG = re.compile(r"^#!.*\b(python|perl|ruby|node|bash|sh|php|lua|awk)", re.IGNORECASE)
_NEW_PROJECT = frozenset({("cargo", "new"), ("cargo", "init"), ("dotnet", "new"), ("npm", "init"), ("stack", "new")})


class Seen(NamedTuple):
    """What one command does, as far as its text tells. `sources` are the source files written, as it names them."""

    sources: tuple[str, ...] = ()
    reference: bool = False


@lru_cache(maxsize=4096)
def look(command: str, reference: tuple[str, ...] = ()) -> Seen:
    """`reference`: the paths under which the task's reference executable can be run."""
    sources: dict[str, None] = {}
    ran = False
    where = ""
    before: Simple | None = None
    for simple in read(command):
        words = _bare(simple.words)
        if words[:1] == ["cd"] and len(words) > 1:
            where = words[1] if words[1].startswith(("/", "~")) else posixpath.join(where, words[1])
        if words and words[0] in ("bash", "sh") and (inner := _inline(words, simple)):
            deeper = look(inner, reference)
            ran |= deeper.reference
            sources.update(dict.fromkeys(_under(where, p) for p in deeper.sources))
        body = simple.stdin or (before.stdin if before is not None and simple.piped else None) or ""
        for path in _written(words, simple, body):
            full = _under(where, path)
            if is_source(full) or (_is_script(full) and _SHEBANG.match(body)):
                sources[full] = None
        ran |= _runs(words, reference)
        before = simple
    return Seen(tuple(sources), ran)


def is_source(path: str) -> bool:
    """Whether a file of this path is part of the program: no output, note, fixture, scratch or requested file."""
    path = path.strip()
    base = posixpath.basename(path)
    _, dot, extension = base.rpartition(".")
    if not dot or extension.lower() not in SOURCE or base in REQUESTED:
        return False
    return not (_SCRATCH.match(path) or _NOT_SUBMITTED.search(path) or _NOT_PRODUCT.search(path))


def _is_script(path: str) -> bool:
    """A file without extension may be a program too (its first line then says so)."""
    base = posixpath.basename(path)
    return "." not in base and base not in REQUESTED and not _SCRATCH.match(path)


def _under(where: str, path: str) -> str:
    return path if not where or path.startswith(("/", "~", "$")) else posixpath.normpath(posixpath.join(where, path))


def _bare(words: list[str]) -> list[str]:
    """Without assignments, keywords and wrappers in front of the command."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "timeout" or (word in ("nice", "xargs") and at + 1 < len(words)):
            at += 1
            while at < len(words) and (words[at].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?", words[at])):
                at += 1
        elif word in _PREFIXES or re.match(r"^[A-Za-z_]\w*=", word):
            at += 1
        else:
            break
    return words[at:]


def _inline(words: list[str], simple: Simple) -> str:
    """The script that `bash -c` or `bash <<EOF` runs."""
    for i, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[i + 1]
    return simple.stdin or "" if all(w.startswith("-") for w in words[1:]) else ""


def _written(words: list[str], simple: Simple, body: str) -> list[str]:
    """Every path that one simple command writes to, as far as its text tells."""
    paths = list(simple.writes)
    if not words:
        return paths
    name, rest = posixpath.basename(words[0]), words[1:]
    plain = [w for w in rest if not w.startswith("-")]
    if name == "tee":
        paths += plain
    elif _in_place(name, rest):
        paths += _after_script(rest)
    elif name in ("cp", "mv", "install", "rsync"):
        paths += _copied(rest, plain)
    elif name == "dd":
        paths += [w[3:] for w in rest if w.startswith("of=")]
    elif name in ("curl", "wget"):
        paths += [rest[i + 1] for i, w in enumerate(rest[:-1]) if w in ("-o", "-O", "--output")]
    elif name in ("patch", "apply_patch") or (name == "git" and "apply" in plain[:1]):
        paths += _patched(body) or [w for w in plain[:1] if name == "patch"]
    elif name in ("ed", "ex"):
        paths += plain
    elif (name, plain[0] if plain else "") in _NEW_PROJECT:
        paths += ["src/main.rs" if name == "cargo" else "main.cs"]
    elif _INTERPRETERS.match(name):
        paths += _in_code(rest, body)
    if name == "touch":
        return [p for p in paths if p in simple.writes]
    return paths


def _in_place(name: str, rest: list[str]) -> bool:
    """sed -i, perl -pi."""
    pattern = {"sed": r"-[a-zA-Z]*i|--in-place", "gsed": r"-[a-zA-Z]*i|--in-place", "perl": r"-[a-z]*i"}.get(name)
    return pattern is not None and any(re.match(pattern, w) for w in rest)


def _after_script(rest: list[str]) -> list[str]:
    """The files of sed or perl: what follows its script (given by -e, or the first plain word)."""
    files: list[str] = []
    scripted = skip = False
    for word in rest:
        if skip:
            skip, scripted = False, True
        elif word in ("-e", "-f", "--expression") or re.match(r"^-[a-zA-Z]*e$", word):
            skip = True
        elif word.startswith("-") or word == "":
            continue
        elif not scripted:
            scripted = True
        else:
            files.append(word)
    return files


def _copied(rest: list[str], plain: list[str]) -> list[str]:
    target = next((rest[i + 1] for i, w in enumerate(rest[:-1]) if w in ("-t", "--target-directory")), "")
    if target:
        return [posixpath.join(target, posixpath.basename(p)) for p in plain if p != target]
    if len(plain) < 2:
        return []
    *sources, last = plain
    if len(sources) > 1 or last.endswith("/") or posixpath.splitext(posixpath.basename(last))[1] == "":
        return [last, *(posixpath.join(last, posixpath.basename(s)) for s in sources)]
    return [last]


def _patched(body: str) -> list[str]:
    return [(m["a"] or m["b"]).strip() for m in _PATCHED.finditer(body)]


def _in_code(rest: list[str], body: str) -> list[str]:
    """Files written by code given inline (`-c`, `-e`, `-`, a heredoc)."""
    code = body
    for i, word in enumerate(rest[:-1]):
        if re.fullmatch(r"-\w*[ceE]", word) or word == "--eval":
            code += "\n" + rest[i + 1]
    if not code:
        return []
    paths = [p for m in _WRITE_IN_CODE.finditer(code) for g in "abcdef" if (p := (m[g] or "").strip())]
    names: dict[str, list[str]] = {}
    for named in _NAMED.finditer(code):
        names.setdefault(named[1], []).append(named["path"])
    for loop in _LOOP.finditer(code):
        names.setdefault(loop["name"], []).extend(_QUOTED.findall(loop["items"]))
    for m in _WRITE_TO_NAME.finditer(code):
        paths += names.get(m["a"] or m["b"] or m["c"], [])
    return paths


def _runs(words: list[str], reference: tuple[str, ...]) -> bool:
    """Whether the command word is the reference (also behind wrappers that run their argument)."""
    if not words or not reference:
        return False
    candidates = [words[0]]
    if words[0] in ("strace", "ltrace", "valgrind", "gdb", "qemu-x86_64", "script", "stdbuf", "xargs", "sh", "bash"):
        candidates += [w for w in words[1:] if not w.startswith("-")][:1]
    return any(_same(c, r) for c in candidates for r in reference)


def _same(word: str, reference: str) -> bool:
    return posixpath.normpath(word) == posixpath.normpath(reference)
