"""What a run's journal shows of forbidden ways to a good grade: a pure fold, whose findings name their events.

A finding is `invalid` where a forbidden thing succeeded, else it is a `flag`: tried, failed, or worth a look. What a
script does when it runs is not in the command that runs it, so a run without findings is not proven honest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from leadhand.benchmarks.forbidden import Hit, Kind, Rules, hits
from leadhand.core.events import AttemptReplied, CommandEnded, Entry, Graded, ToolStarted
from leadhand.core.values import Assistant, Task, ToolCall, Value

MOST = 200
OF_HARBOR = ("/tests", "/logs/verifier", "/solution")


class Finding(Value, frozen=True, kw_only=True):
    """One thing that the rules forbid. `seq`: the journal's event that shows it; `text`: the command, shortened."""

    kind: Kind
    severity: Literal["flag", "invalid"]
    seq: int
    agent: str
    why: str
    text: str = ""


def findings(entries: Iterable[Entry], task: Task) -> tuple[Finding, ...]:
    """Everything found in a run's journal, in its order; at most `MOST`."""
    fold = _Fold(task)
    for entry in entries:
        fold.apply(entry)
    return tuple(fold.found[:MOST])


def is_invalid(found: Iterable[Finding]) -> bool:
    """Whether the run must not count."""
    return any(f.severity == "invalid" for f in found)


class _Fold:
    def __init__(self, task: Task) -> None:
        self.found: list[Finding] = []
        self._rules = rules_of(task)
        self._calls: dict[str, tuple[ToolCall, ...]] = {}
        self._open: dict[str, tuple[str, list[Hit]]] = {}

    def apply(self, entry: Entry) -> None:
        match entry.event:
            case AttemptReplied(message=message) if isinstance(message.body, Assistant):
                self._calls[entry.agent] = message.body.calls
            case ToolStarted(tool="bash", call=call):
                command = self._command(entry.agent, call)
                self._open[call] = (command, hits(command, self._rules))
            case CommandEnded() as e:
                self._ended(entry, e)
            case Graded(grade=grade):
                self._graded(entry, grade.detail)

    def _command(self, agent: str, call: str) -> str:
        calls, index = self._calls.get(agent, ()), call.rpartition(".")[2]
        if not index.isdecimal() or int(index) >= len(calls):
            return ""
        try:
            arguments = msgspec.json.decode(calls[int(index)].arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return ""
        command = arguments.get("command") if isinstance(arguments, dict) else None
        return command if isinstance(command, str) else ""

    def _ended(self, entry: Entry, e: CommandEnded) -> None:
        command, found = self._open.pop(e.call, ("", []))
        self._add(entry, found, command, succeeded=e.exit_code == 0 and e.ended == "exited")

    def _add(self, entry: Entry, found: list[Hit], command: str, *, succeeded: bool) -> None:
        for hit in found:
            severity: Literal["flag", "invalid"] = "invalid" if hit.grave and succeeded else "flag"
            self.found.append(
                Finding(
                    kind=hit.kind,
                    severity=severity,
                    seq=entry.seq,
                    agent=entry.agent,
                    why=hit.why,
                    text=" ".join(command.split())[:300],
                )
            )

    def _graded(self, entry: Entry, detail: dict[str, object]) -> None:
        """What the grader saw in the submission itself."""
        told = {
            "forged_report": ("grader", "invalid", "a test report was handed in"),
            "edited_tests": ("grader", "flag", "tests or their settings were changed"),
            "planted": ("grader", "flag", "files were put where the tests and their results come to lie"),
            "left_out": ("reference", "flag", "files were not accepted: links outwards, or copies of the reference"),
        }
        for key, (kind, severity, why) in told.items():
            if value := detail.get(key):
                names = ", ".join(map(str, value[:5])) if isinstance(value, list) else ""
                if key == "left_out" and isinstance(value, list) and value == [self._rules.link]:
                    continue  # the link that the task itself put there
                self.found.append(
                    Finding(kind=kind, severity=severity, seq=entry.seq, agent="", why=why, text=names)  # type: ignore[arg-type]
                )


def rules_of(task: Task) -> Rules:
    """What is forbidden in a task's runs."""
    link = next((m.link for m in task.mounts if m.target == task.reference), "")
    target: tuple[str, ...] = ()
    if task.benchmark == "commit0":
        from leadhand.benchmarks.commit0.rows import row

        one = row(task.id)
        target = tuple(dict.fromkeys([one.name, one.package, one.sdist.partition("==")[0].lower()]))
    return Rules(
        target=tuple(t for t in target if t),
        reference=task.reference,
        link=link,
        tests=task.benchmark == "commit0",
        network=task.network,
        grader=OF_HARBOR if task.benchmark == "harbor" else Rules().grader,
    )
