"""Everything a model could write to break a page, in one run."""

from __future__ import annotations

from pathlib import Path

from viewer_runs import LEAD, WORKER, Maker, run_file

from leadhand.core.design import Design
from leadhand.core.events import (
    AgentEnded,
    AttemptFailed,
    AttemptStarted,
    CallRejected,
    DelegationEnded,
    DelegationStarted,
    ToolStarted,
    Warned,
)
from leadhand.core.values import ToolResults, User

SCRIPT = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
TAGS = f'{SCRIPT}</pre></textarea>--><svg onload="window.hacked=3">&lt;b&gt;{{{{7*7}}}}'
ANSI = (
    "\x1b[2J\x1b[31mred\x1b[0m \x1b]0;owned\x07\x1b]8;;http://evil.example\x07link\x1b]8;;\x07" + "\x1b[1;31m" * 40_000
)
RIGHT = "\u202egnp.exe\u202c \u2066isolate\u2069 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627"
UNSEEN = "zero\u200bwidth\ufeff\u2060\U000e0041tag nul\x00 bell\x07 back\x08"
LONG = "A" * 5_000_000
FILE = "src/<img src=x onerror=alert(1)>.py"
PROTO = '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 2}}, "command": "ls"}'
DEEP = '{"command": "ls", "x": ' + "[" * 50_000 + "]" * 50_000 + "}"


def hostile_run(folder: Path) -> Path:
    run_file(folder, Design(lead=LEAD, worker=WORKER, workers=1), task=f"task {SCRIPT}")
    maker = Maker(folder)
    maker.begin()
    maker.event(0.15, "", Warned(text=f"warned {TAGS}"))
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.3, "lead", User(text=f"{TAGS}\n{RIGHT}\n{UNSEEN}"))
    now = 1.0
    for text in (TAGS, ANSI, RIGHT, UNSEEN):
        (key,) = maker.reply(now, "lead", LEAD, text, [("bash", {"command": f"echo {text} > '{FILE}'"})], 0.5)
        result = maker.command(now + 0.5, key, text, 0.2)
        maker.add(now + 0.8, "lead", ToolResults(results=(result,)))
        now += 1.0
    keys = maker.reply(now, "lead", LEAD, "", [("bash", PROTO), ("write_note", DEEP), ("bash", DEEP)], 0.5)
    done = [maker.command(now + 0.5, key, "", 0.1) for key in keys]
    maker.add(now + 0.9, "lead", ToolResults(results=tuple(done)))
    now += 1.0
    (key,) = maker.reply(now, "lead", LEAD, LONG, [("delegate_agent", {"assignment": TAGS})], 0.5)
    maker.event(now + 0.5, "lead", ToolStarted(call=key, tool="delegate_agent"))
    maker.join(now + 0.5, "w1", "worker", WORKER)
    started = DelegationStarted(delegation="d1", worker="w1", call=key, assignment=TAGS + RIGHT, conventions=UNSEEN)
    maker.event(now + 0.5, "lead", started)
    maker.add(now + 0.5, "w1", User(text=TAGS), assigns="d1")
    maker.event(now + 0.6, "lead", CallRejected(call="lead.9.0", tool=SCRIPT, reason=TAGS))
    maker.event(now + 0.7, "w1", AttemptStarted(attempt=99, head="none", model=WORKER, prompt_bound=1, output_bound=1))
    maker.event(now + 0.8, "w1", AttemptFailed(attempt=99, fault="server", error=TAGS + ANSI[:200], maybe_billed=True))
    maker.event(now + 1, "w1", AgentEnded(status="finished", text=TAGS))
    maker.event(now + 1, "w1", DelegationEnded(delegation="d1", worker="w1", status="finished", report=TAGS + LONG))
    maker.add(now + 1.1, "lead", User(text=f"report {TAGS}"), delivers=("d1",))
    maker.end(now + 2, 0.5, text=TAGS)
    (folder / "result.patch").write_text(
        f"diff --git a/{FILE} b/{FILE}\nnew file mode 100644\n@@ -0,0 +1,3 @@\n+{TAGS}\n+{RIGHT}\n+{'B' * 300_000}\n"
    )
    return folder
