"""Which source files a shell command writes, and whether it runs the reference executable: read from its text.

Lower bounds, as the paper's counts are: what a script writes when it runs cannot be seen in the command that runs it.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import NamedTuple

from leadhand.analysis.shell import Simple, read
from leadhand.core.values import Task

SOURCE = frozenset(
    """py pyx pyi c h cc cpp cxx hpp hh hxx rs go java kt kts scala hs lhs ml mli js mjs cjs jsx ts tsx rb pl pm php lua
    sh bash zsh swift m mm cs fs fsx vb r jl nim zig d dart ex exs erl clj cljs lisp scm el asm s f f90 f95 pas v vhd
    sql awk sed tcl y l lex yy re proto cu cl vue svelte html css scss""".split()  # noqa: SIM905
)
_NOT_SUBMITTED = re.compile(r"(^|/)(target|build|dist|node_modules|__pycache__|\.git|vendor|\.venv|venv|out|bin)/")
_NOT_PRODUCT = re.compile(r"(^|/)(tests?|testdata|fixtures|examples?|notes?|docs?)/", re.IGNORECASE)
_CHECKING = re.compile(
    r"^((run_?)?tests?|check|compare|verify|bench|fuzz|difftest|conftest)([_\-.]|all).*$|^.*[_\-.](test|tests|spec)\.\w+$"
)
_SCRATCH = re.compile(r"^(/tmp|/var|/dev|/proc|/home|/root|/scratch|~)(/|$)")
REQUESTED = frozenset({"compile.sh"})
"""Files that the benchmark asks for: writing one is not yet implementing (the paper's figure 28 leaves them out)."""

_PREFIXES = frozenset(
    """sudo env time timeout nice nohup exec export local declare command builtin then do else if while until ! xargs
    """.split()  # noqa: SIM905
)
_INTERPRETERS = re.compile(r"^(python[\d.]*|pypy3?|node|perl|ruby|php|bun|deno|lua)$")
_WRITE_IN_CODE = re.compile(
    r"""open\(\s*(?:r|f|rf|fr)?(?P<q>['"])(?P<a>[^'"]+)(?P=q)\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax]"""
    r"""|Path\(\s*(?:r|f)?(?P<r>['"])(?P<b>[^'"]+)(?P=r)\s*\)\s*\.\s*(?:write_text|write_bytes|open\(\s*['"][wax])"""
    r"""|(?:(?:write|append)File(?:Sync)?|createWriteStream)\(\s*(?P<s>['"`])(?P<c>[^'"`]+)(?P=s)"""
    r"""|(?:File\.write|File\.open|IO\.write|file_put_contents)\(?\s*(?P<t>['"])(?P<d>[^'"]+)(?P=t)"""
    r"""|open\(?\s*(?:my\s+)?\$?\w+\s*,\s*['"]\s*>{1,2}\s*(?P<e>[^'",]*)['"](?:\s*,\s*['"](?P<f>[^'"]+)['"])?"""
)
_STARTS = re.compile(r"subprocess|os\.system|popen|check_output|exec(?:File)?Sync|spawn|system\(|`")
_NAMED = re.compile(
    r"""^\s*(\w+)\s*=\s*(?:Path\(\s*)?(?:r|f)?(['"])(?P<path>[^'"\n]+)\2\s*\)?\s*;?\s*$""", re.MULTILINE
)
_WRITE_TO_NAME = re.compile(
    r"""open\(\s*(?P<a>\w+)\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax]|\b(?P<b>\w+)\.write_(?:text|bytes)\("""
    r"""|(?:writeFileSync|writeFile|appendFileSync)\(\s*(?P<c>\w+)\s*,"""
)
_LOOP = re.compile(r"""\bfor\s+(?P<name>\w+)\s+in\s+[\[(](?P<items>[^\])]{0,500})[\])]""")
_QUOTED = re.compile(r"""['"]([^'"\n]+)['"]""")
_PATCHED = re.compile(r"^(?:\+\+\+ (?:b/)?(?P<a>[^\t\n]+)|\*\*\* (?:Add|Update) File: (?P<b>[^\n]+))", re.MULTILINE)
_SHEBANG = re.compile(r"^#!.*\b(python|perl|ruby|node|bash|sh|php|lua|awk)", re.IGNORECASE)
_NEW_PROJECT = frozenset({("cargo", "new"), ("cargo", "init"), ("dotnet", "new"), ("npm", "init"), ("stack", "new")})


_DEEPEST = 6
_LONGEST_VALUE, _LONGEST_EXPANDED = 300, 20_000
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)


class Seen(NamedTuple):
    """What one command does, as far as its text tells. `sources` are the source files written, as it names them."""

    sources: tuple[str, ...] = ()
    reference: bool = False


@lru_cache(maxsize=4096)
def look(command: str, reference: tuple[str, ...] = (), depth: int = 0) -> Seen:
    """`reference`: the paths under which the task's reference can be run. `depth`: how many scripts are around this."""
    sources: dict[str, None] = {}
    ran = False
    where = ""
    names: dict[str, str] = {}
    before: Simple | None = None
    for simple in read(command):
        words = [_expanded(w, names) for w in _bare(simple.words, names)]
        if words[:1] == ["cd"] and len(words) > 1:
            where = words[1] if words[1].startswith(("/", "~")) else posixpath.join(where, words[1])
        for inner in _scripts(words, simple) if depth < _DEEPEST else ():
            deeper = look(_expanded(inner, names), reference, depth + 1)
            ran |= deeper.reference
            sources.update(dict.fromkeys(_under(where, p) for p in deeper.sources))
        body = _fed(words, simple, before)
        for path in _written(words, [_expanded(w, names) for w in simple.writes], body):
            full = _under(where, path)
            if is_source(full) or (_is_script(full) and _SHEBANG.match(body)):
                sources[full] = None
        ran |= _runs(words, reference) or _starts(words, body, reference)
        before = simple
    return Seen(tuple(sources), ran)


def _fed(words: list[str], simple: Simple, before: Simple | None) -> str:
    """The text that goes into a command: a heredoc, what the command before it pipes, or what it prints itself."""
    if simple.stdin is None and before is not None and simple.piped:
        return before.stdin or " ".join(w for w in before.words[1:] if w.startswith("#!"))
    if simple.stdin is None and words[:1] in (["echo"], ["printf"]):
        return "\n".join(w for w in words[1:] if w.startswith("#!"))
    return simple.stdin or ""


def _expanded(text: str, names: dict[str, str]) -> str:
    """With the variables that the command itself set to plain text."""
    if "$" not in text or not names or len(text) > _LONGEST_EXPANDED:
        return text
    return _VARIABLE.sub(lambda m: names.get(m[1] or m[2], m[0]), text)


def is_source(path: str) -> bool:
    """Whether a file of this path is part of the program: no output, note, fixture, scratch or requested file."""
    path = path.strip()
    base = posixpath.basename(path)
    _, dot, extension = base.rpartition(".")
    if not dot or extension.lower() not in SOURCE or base in REQUESTED or _CHECKING.match(base):
        return False
    return not (_SCRATCH.match(path) or _NOT_SUBMITTED.search(path) or _NOT_PRODUCT.search(path))


def _is_script(path: str) -> bool:
    """A file without extension may be a program too (its first line then says so)."""
    base = posixpath.basename(path)
    return "." not in base and base not in REQUESTED and not _SCRATCH.match(path)


def _under(where: str, path: str) -> str:
    return path if not where or path.startswith(("/", "~", "$")) else posixpath.normpath(posixpath.join(where, path))


def _bare(words: list[str], names: dict[str, str]) -> list[str]:
    """Without keywords and wrappers in front of the command; assignments there go into `names`."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "timeout" or (word in ("nice", "xargs") and at + 1 < len(words)):
            at += 1
            while at < len(words) and (words[at].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?", words[at])):
                at += 1
        elif assigned := _ASSIGNED.match(word):
            names[assigned[1]] = _expanded(assigned[2], names)[:_LONGEST_VALUE]
            at += 1
        elif word in _PREFIXES:
            at += 1
        else:
            break
    return words[at:]


def _scripts(words: list[str], simple: Simple) -> list[str]:
    """Scripts that run with this command: its command substitutions, and what `bash -c` or `bash <<EOF` is given."""
    found = list(simple.inner)
    if words and posixpath.basename(words[0]) in ("bash", "sh"):
        given = next((words[i + 1] for i, w in enumerate(words[:-1]) if re.fullmatch(r"-[a-z]*c", w)), "")
        found.append(given or (simple.stdin or "" if all(w.startswith("-") for w in words[1:]) else ""))
    return [script for script in found if script]


def _written(words: list[str], redirected: list[str], body: str) -> list[str]:
    """Every path that one simple command writes to, as far as its text tells."""
    paths = list(redirected)
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
    elif name == "find" and "-exec" in rest:
        paths += _executed(rest)
    elif name == "git" and plain[:1] in (["checkout"], ["restore"]):
        paths += rest[rest.index("--") + 1 :] if "--" in rest else plain[1:]
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
    return paths


def _executed(rest: list[str]) -> list[str]:
    """What `find -exec` writes, where it is told which names to find."""
    named = [rest[i + 1] for i, w in enumerate(rest[:-1]) if w == "-name"]
    command = [named[-1] if w == "{}" and named else w for w in rest[rest.index("-exec") + 1 :] if w not in ("+", ";")]
    return _written(command, [], "")


def _in_place(name: str, rest: list[str]) -> bool:
    """sed -i, perl -pi."""
    pattern = {"sed": r"-[a-zA-Z]*i|--in-place", "gsed": r"-[a-zA-Z]*i|--in-place", "perl": r"-[a-z0-9]*i"}.get(name)
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
    code = _code(rest, body)
    if not code:
        return []
    paths = [p for m in _WRITE_IN_CODE.finditer(code) for g in "abcdef" if (p := (m[g] or "").strip())]
    names: dict[str, list[str]] = {}
    for named in _NAMED.finditer(code):
        names.setdefault(named[1], []).append(named["path"])
    for loop in _LOOP.finditer(code):
        names.setdefault(loop["name"], []).extend(_QUOTED.findall(loop["items"]))
    for m in _WRITE_TO_NAME.finditer(code):
        # A name that the code does not set to plain text: any source file that it mentions may be meant.
        paths += names.get(m["a"] or m["b"] or m["c"]) or [q for q in _QUOTED.findall(code) if is_source(q)]
    return paths


def _code(rest: list[str], body: str) -> str:
    """The code that an interpreter is given inline."""
    given = [rest[i + 1] for i, w in enumerate(rest[:-1]) if re.fullmatch(r"-\w*[cerE]", w) or w == "--eval"]
    return "\n".join([body, *given]).strip("\n")


def _runs(words: list[str], reference: tuple[str, ...]) -> bool:
    """Whether the command word is the reference (also behind wrappers that run their argument)."""
    if not words or not reference:
        return False
    candidates = [words[0]]
    if words[0] in ("strace", "ltrace", "valgrind", "gdb", "qemu-x86_64", "script", "stdbuf", "xargs", "sh", "bash"):
        candidates += [w for w in words[1:] if not w.startswith("-")][:1]
    return any(_same(c, r) for c in candidates for r in reference)


def _starts(words: list[str], body: str, reference: tuple[str, ...]) -> bool:
    """Whether inline code of an interpreter starts the reference."""
    if not words or not reference or not _INTERPRETERS.match(posixpath.basename(words[0])):
        return False
    code = _code(words[1:], body)
    return bool(_STARTS.search(code)) and any(r in code for r in reference)


def _same(word: str, reference: str) -> bool:
    return posixpath.normpath(word) == posixpath.normpath(reference)


def reference_paths(task: Task) -> tuple[str, ...]:
    """How commands may name the task's reference: its path, and the link to it in the workspace.

    Never the name of what the team itself builds: runs of the rebuilt program are no runs of the reference.
    """
    if not task.reference:
        return ()
    inside = task.reference.removeprefix("/workspace/")
    names = [task.reference] + ([inside, f"./{inside}"] if inside != task.reference else [])
    for mount in task.mounts:
        if mount.target == task.reference and mount.link:
            names += [mount.link, f"./{mount.link}", f"/workspace/{mount.link}"]
    return tuple(dict.fromkeys(names))
