"""The rehearsed lead: looks round, delegates the planning of four areas, writes, builds, verifies, mends, finishes."""

from __future__ import annotations

import pprint
import re
from collections.abc import Callable
from pathlib import Path

from leadhand.benchmarks.rehearsal.areas import AREAS
from leadhand.benchmarks.rehearsal.seeing import outputs, tables, thinking
from leadhand.testing.scripted import Call, Seen, Step, bash, call, do, finish, reports

PARTS = Path(__file__).parent / "parts"
ORIGINAL = re.compile(r"The original is (\S+);")

MISTAKE = 'else f"{fraction} {to\\[1\\]}"'
MENDED = 'else f"{fraction} {to[0]}"'


def original(seen: Seen) -> str:
    found = ORIGINAL.search(seen.prompt)
    return found[1] if found else "./executable"


def lead(seen: Seen) -> Step:
    """The next step of the lead; after its last stage it can only finish."""
    return STAGES[min(seen.turn, len(STAGES) - 1)](seen)


# --- before the reports ---------------------------------------------------------------------------------------


def look(seen: Seen) -> Step:
    return do(bash("ls -la; cat README.md"), text="First the workspace and the documentation.", delay_s=thinking(seen))


def try_original(seen: Seen) -> Step:
    x = original(seen)
    commands = f"{x}; echo exit $?; {x} spell hi; {x} weigh -l; {x} date 1; {x} stamp hi; command -v python3 gcc bash"
    return do(
        bash(commands), text="A first taste of the original, and what there is to build with.", delay_s=thinking(seen)
    )


def delegate(seen: Seen) -> Step:
    text = part("assignment")
    return do(
        *(call("delegate_agent", assignment=text.format(area=area, original=original(seen)).strip()) for area in AREAS),
        text="Four tools that share nothing: one worker plans each, at the same time.",
        delay_s=thinking(seen, 0.6, 1.0),
    )


def frame(seen: Seen) -> Step:
    return do(
        written("compile.sh", part("compile.sh"), executable=True),
        written("src/common.py", part("common.py")),
        written("src/main.py", part("main.py")),
        written(".gitignore", "executable\n"),
        text="Meanwhile the frame: the build, what the tools share, and the door.",
        delay_s=thinking(seen, 0.6, 1.0),
    )


def prepare_check(seen: Seen) -> Step:
    text = part("check.sh").replace("@ORIGINAL@", original(seen))
    return do(
        written("check.sh", text, executable=True),
        text="And a script that compares ours with the original.",
        delay_s=thinking(seen, 0.6, 1.0),
    )


def wait(seen: Seen) -> Step:
    return do(call("wait", mode="all"), text="Now I need the reports.", delay_s=thinking(seen))


# --- from the reports -----------------------------------------------------------------------------------------


def reported(seen: Seen) -> dict[str, dict[str, object]]:
    """The tables of the reports that have reached the lead, by area."""
    return {area: table for area, table in tables(list(reports(seen).values())).items() if area in AREAS}


def write(*areas: str) -> Callable[[Seen], Step]:
    def step(seen: Seen) -> Step:
        found = reported(seen)
        calls = [written(f"src/{area}.py", source(area, found[area])) for area in areas if area in found]
        missing = [area for area in areas if area not in found]
        if missing:
            calls.append(bash(f"echo 'no table for: {' '.join(missing)}'"))
        return do(*calls, text=f"From the reports: {' and '.join(areas)}.", delay_s=thinking(seen, 0.8, 1.2))

    return step


def build(seen: Seen) -> Step:
    command = "./compile.sh && ls -l executable && ./executable stamp hi; git status --short 2>/dev/null | head"
    return do(bash(command), text="Build it.", delay_s=thinking(seen))


def verify(seen: Seen) -> Step:
    return do(bash("./check.sh"), text="Verify: the same arguments to both.", delay_s=thinking(seen))


def mend(seen: Seen) -> Step:
    """A fraction below one takes the singular, as the comparison has shown; whatever else differs is looked at."""
    if re.search(r"^DIFFERS weigh .*\n  original: \d+/\d+ ", outputs(seen)[-1], re.MULTILINE):
        return do(
            bash(f"sed -i 's|{MISTAKE}|{MENDED}|' src/weigh.py && grep -n fraction src/weigh.py"),
            text="A fraction below one takes the singular: my mistake, mended here.",
            delay_s=thinking(seen, 0.6, 1.0),
        )
    return do(bash("wc -l src/*.py"), text="Nothing here that I can mend.", delay_s=thinking(seen))


def verify_again(seen: Seen) -> Step:
    return do(bash("./compile.sh && ./check.sh"), text="Build and verify again.", delay_s=thinking(seen))


def done(seen: Seen) -> Step:
    last = outputs(seen)[-1].strip().splitlines() or ["nothing was checked"]
    missing = [area for area in AREAS if area not in reported(seen)]
    gaps = f" Not implemented, for want of a report: {', '.join(missing)}." if missing else ""
    return finish(
        f"satchel is rebuilt from {len(AREAS) - len(missing)} reports; {last[-1]}.{gaps}", delay_s=thinking(seen)
    )


STAGES: tuple[Callable[[Seen], Step], ...] = (
    look,
    try_original,
    delegate,
    frame,
    prepare_check,
    wait,
    write("spell", "weigh"),
    write("date", "stamp"),
    build,
    verify,
    mend,
    verify_again,
    done,
)


# --- texts ----------------------------------------------------------------------------------------------------


def part(name: str) -> str:
    return (PARTS / f"{name}.txt").read_text(encoding="utf-8")


def source(area: str, table: dict[str, object]) -> str:
    """An area's source file: the table of its report on top, the logic below."""
    return f"{area.upper()} = {pprint.pformat(table, width=110, compact=True, sort_dicts=False)}\n{part(area + '.py')}"


def written(path: str, text: str, *, executable: bool = False) -> Call:
    """The command that writes a file."""
    folder = f"mkdir -p {path.rpartition('/')[0]} && " if "/" in path else ""
    mode = f"chmod +x {path}\n" if executable else ""
    return bash(f"{folder}cat > {path} <<'END_OF_FILE'\n{text}END_OF_FILE\n{mode}")
