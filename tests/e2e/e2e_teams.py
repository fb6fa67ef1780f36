"""Teams that the fake provider plays in these tests."""

from __future__ import annotations

from pathlib import Path

import leadhand.benchmarks
from leadhand.testing.scripted import Seen, Step, bash, call, do, finish, reports

GOLD = Path(leadhand.benchmarks.__file__).parent / "tasks" / "numerus" / "gold" / "compile.sh"


def lead(seen: Seen) -> Step:
    """Delegates the study of the program, writes it from what was reported, builds, tries, finishes."""
    match seen.turn:
        case 0:
            return do(
                call("delegate_agent", assignment="Find out how the program reads numbers."),
                call("delegate_agent", assignment="Find out how the program prints numbers."),
            )
        case 1:
            return do(call("wait", mode="all"))
        case 2:
            assert set(reports(seen)) == {"w1", "w2"}
            return do(bash(f"cat > compile.sh <<'GOLD'\n{GOLD.read_text()}\nGOLD"))
        case 3:
            return do(bash("rm -f executable && bash compile.sh && ./executable 2024; env"))
    return finish("built from what w1 and w2 reported")


def worker(seen: Seen) -> Step:
    return do(bash("ls -l . executable; cat README.md")) if seen.turn == 0 else finish(f"{seen.agent} knows")


NUMERUS = {"lead": lead, "w1": worker, "w2": worker}


def slow(seen: Seen) -> Step:
    """Writes the answer, then is busy for a long time, once."""
    return [do(bash("echo yes > done")), do(bash("sleep 60 # busy")), finish("done")][seen.turn]


SLOW = {"solo": slow}

SOLO = {"solo": [do(bash("echo yes > done")), finish("done")]}

EDITOR = {
    "solo": [
        do(bash("cat AGENTS.md; ls -a; git log --oneline; echo new > new.txt; echo changed >> kept.txt; rm gone.txt")),
        do(bash("ln -s /etc/passwd out; ln -s ../../.. up; mkdir -p sub/.git/hooks; echo x > sub/.git/config")),
        do(
            bash(
                "echo 'touch /tmp/pwned' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; git add new.txt"
            )
        ),
        do(bash("echo SECRET=mine > .env; echo SECRET=mine > sub/.env.local; printf 'x' > sub/kept; mkfifo pipe")),
        do(bash("mkdir hooks; printf '#!/bin/sh\\ntouch HOOKED\\n' > hooks/post-merge; chmod +x hooks/post-merge")),
        finish("done"),
    ]
}
