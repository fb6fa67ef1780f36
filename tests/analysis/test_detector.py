"""Issue 8, point 5: precision and recall on a labelled set; first and last write against what really changed."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from leadhand.analysis.detector import is_source, look

DATA = Path(__file__).parent / "data"
REFERENCE = ("/reference/executable", "reference", "./reference")


def lines(name: str) -> list[str]:
    text = (DATA / name).read_text()
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def labelled() -> list[tuple[str, str]]:
    return [(label, c.replace("\\n", "\n")) for label, _, c in (line.partition("\t") for line in lines("commands.txt"))]


def rates(letter: str) -> tuple[float, float, int]:
    """Precision, recall, number of positives."""
    found = []
    for label, command in labelled():
        seen = look(command, REFERENCE)
        found.append((letter in label, bool(seen.sources) if letter == "w" else seen.reference))
    hits = sum(truth and said for truth, said in found)
    said, true = sum(s for _, s in found), sum(t for t, _ in found)
    return hits / said, hits / true, true


def test_the_set_is_large_enough() -> None:
    assert len(labelled()) >= 300
    assert {label for label, _ in labelled()} == {"w", "r", "wr", "-"}


@pytest.mark.parametrize("letter", ["w", "r"])
def test_precision_and_recall(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    precision, recall, positives = rates(letter)
    print(f"{letter}: precision {precision:.3f}, recall {recall:.3f} of {positives}")
    assert precision >= 0.99
    assert recall >= 0.92


def sessions(name: str) -> list[list[str]]:
    result: list[list[str]] = []
    for line in lines(name):
        if line == "--":
            result.append([])
        else:
            result[-1].append(line.replace("\\n", "\n").replace("\\\n", "\\n"))
    return result


def tree(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts)
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def is_code(folder: Path, name: str) -> bool:
    """A source file by its name, or a program by its first line."""
    path = folder / name
    script = "." not in path.name and path.is_file() and path.read_bytes().startswith(b"#!")
    return is_source(name) or script


def replay(commands: list[str], folder: Path) -> list[bool]:
    """Whether each command really changed (or made) a source file."""
    changed = []
    for command in commands:
        before = tree(folder)
        subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, timeout=30, stdin=subprocess.DEVNULL)
        after = tree(folder)
        changed.append(any(before.get(n) != h and is_code(folder, n) for n, h in after.items()))
    return changed


def ends(flags: list[bool]) -> tuple[int | None, int | None]:
    at = [i for i, flag in enumerate(flags) if flag]
    return (at[0], at[-1]) if at else (None, None)


@pytest.mark.parametrize("name", ["sessions.txt", "unseen.txt"])
def test_first_and_last_write_agree_with_what_really_changed(name: str, tmp_path: Path) -> None:
    agreed = total = 0
    wrong = []
    for number, commands in enumerate(sessions(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        truth = ends(replay(commands, folder))
        said = ends([bool(look(c).sources) for c in commands])
        agreed += sum(t == s for t, s in zip(truth, said, strict=True))
        total += 2
        if truth != said:
            wrong.append((number, truth, said))
    assert total >= 40
    assert agreed / total >= 0.95, wrong


@pytest.mark.parametrize(
    "command",
    [
        "'" * 100_000,
        '"' * 100_001,
        "$(" * 50_000,
        "`" * 99_999,
        "<<" * 50_000,
        "bash <<E\n" * 20_000,
        "python3 - <<E\n" + "open(" * 40_000,
        "python3 -c '" + "for a in [" * 15_000 + "'",
        "".join(f"A{i}=$A{i - 1}$A{i - 1}\n" for i in range(1, 5_000)),
    ],
    ids=lambda c: c[:12],
)
def test_hostile_text_ends_soon(command: str) -> None:
    look(command, REFERENCE)  # the suite's own time limit is the assertion: exponential text would not return


def test_names_are_as_the_command_gives_them() -> None:
    assert look("cd src && cat > a.py <<E\nx\nE").sources == ("src/a.py",)
    assert look("D=lib; cat > $D/b.c; echo >> ${D}/c.c").sources == ("lib/b.c", "lib/c.c")
