"""What a submission is made of: files, source files, bytes by language. Read from its archive's headers alone."""

from __future__ import annotations

import posixpath
import tarfile
from collections import Counter
from pathlib import Path

from leadhand.analysis.detector import is_source
from leadhand.analysis.rows import SubmissionRow

LANGUAGES: dict[str, str] = {
    **dict.fromkeys(("py", "pyx", "pyi"), "Python"),
    **dict.fromkeys(("c", "h"), "C"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh", "hxx"), "C++"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "JavaScript"),
    **dict.fromkeys(("ts", "tsx"), "TypeScript"),
    **dict.fromkeys(("sh", "bash", "zsh"), "Shell"),
    **dict.fromkeys(("pl", "pm"), "Perl"),
    **dict.fromkeys(("hs", "lhs"), "Haskell"),
    **dict.fromkeys(("ml", "mli"), "OCaml"),
    "rs": "Rust",
    "go": "Go",
    "java": "Java",
    "rb": "Ruby",
    "lua": "Lua",
    "php": "PHP",
    "zig": "Zig",
}
MOST_MEMBERS = 50_000


def language_of(label: str) -> str:
    """The language that a task's label means: "rs", "rust" and "Rust" are Rust."""
    low = label.strip().lower()
    named = {name.lower(): name for name in LANGUAGES.values()}
    return LANGUAGES.get(low) or named.get(low) or label.strip()


def submission_of(run: str, archive: Path) -> SubmissionRow | None:
    """None where there is no readable archive."""
    sizes: Counter[str] = Counter()
    files = sources = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for count, member in enumerate(tar):
                if count >= MOST_MEMBERS:
                    break
                if not member.isfile():
                    continue
                files += 1
                path = posixpath.normpath(member.name)
                if is_source(path):
                    sources += 1
                    extension = path.rpartition(".")[2].lower()
                    sizes[LANGUAGES.get(extension, extension)] += member.size
    except (OSError, tarfile.TarError, EOFError):
        return None
    language, largest = sizes.most_common(1)[0] if sizes else ("", 0)
    return SubmissionRow(run, files, sources, sum(sizes.values()), language, largest)
