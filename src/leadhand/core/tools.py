"""The tools as models see them, and their arguments as the harness reads them.

Definitions depend on the design alone and are byte-stable over a run, so that provider caches hit.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from leadhand.core import clean
from leadhand.core.clean import plain_data
from leadhand.core.design import Design
from leadhand.core.events import Role
from leadhand.core.values import ToolCall, ToolSpec, Value


class Bash(Value, frozen=True, kw_only=True):
    command: str
    timeout_s: float | None = None


class Finish(Value, frozen=True, kw_only=True):
    text: str


class Delegate(Value, frozen=True, kw_only=True):
    assignment: str
    worker: str | None = None
    kind: str | None = None
    conventions: str | None = None


class Wait(Value, frozen=True, kw_only=True):
    mode: Literal["any", "all"] = "any"
    timeout_s: float | None = None


class ReadReport(Value, frozen=True, kw_only=True):
    delegation: str


class ListWorkers(Value, frozen=True, kw_only=True):
    pass


class CancelWorker(Value, frozen=True, kw_only=True):
    worker: str


class SendMessage(Value, frozen=True, kw_only=True):
    to: str
    text: str


class WriteNote(Value, frozen=True, kw_only=True):
    text: str


class ReadNotes(Value, frozen=True, kw_only=True):
    all: bool = False


class Claim(Value, frozen=True, kw_only=True):
    slot: str


Arguments = (
    Bash
    | Finish
    | Delegate
    | Wait
    | ReadReport
    | ListWorkers
    | CancelWorker
    | SendMessage
    | WriteNote
    | ReadNotes
    | Claim
)

ARGUMENTS: dict[str, type[Arguments]] = {
    "bash": Bash,
    "finish": Finish,
    "delegate_agent": Delegate,
    "wait": Wait,
    "read_report": ReadReport,
    "list_workers": ListWorkers,
    "cancel_worker": CancelWorker,
    "send_message": SendMessage,
    "write_note": WriteNote,
    "read_notes": ReadNotes,
    "claim": Claim,
}

LEAD_ONLY = frozenset({"delegate_agent", "wait", "read_report", "list_workers", "cancel_worker"})
EXTRA: dict[str, tuple[str, ...]] = {
    "blocking": (),
    "push": ("wait",),
    "notify": ("wait", "read_report", "cancel_worker"),
    "pull": ("wait", "read_report", "list_workers", "cancel_worker"),
}
_ARRIVES = {
    "blocking": "Returns the worker's report when the worker is done. Calls made in one turn run concurrently.",
    "push": "Returns at once; the report is appended to the result of your next tool call after the worker is done.",
    "notify": "Returns at once; you are told in one line when the worker is done and then call read_report.",
    "pull": "Returns at once; ask with list_workers, wait or read_report whether the worker is done.",
}


_UNREADABLE = "the arguments of {tool} cannot be read: {error}. Send one JSON object."


class BadCall(Exception):
    """A call that cannot be read; the text tells the model what to change."""


def names(design: Design, role: Role) -> tuple[str, ...]:
    """The tools of a role, in the order the model sees them."""
    mail = () if design.messaging == "off" else ("send_message",)
    match role:
        case "solo":
            return ("bash", "finish")
        case "worker":
            return ("bash", *mail, "finish")
        case "peer":
            return ("bash", "write_note", "read_notes", "claim", "finish")
        case "lead":
            return ("bash", "delegate_agent", *EXTRA[design.schedule], *mail, "finish")


def specs(design: Design, role: Role) -> tuple[ToolSpec, ...]:
    return tuple(_spec(name, design) for name in names(design, role))


def parse(call: ToolCall, allowed: tuple[str, ...]) -> Arguments:
    """The arguments of a call. Raises `BadCall` for an unknown tool, broken JSON or arguments that do not fit."""
    if call.name not in allowed:
        raise BadCall(f"there is no tool {call.name[:80]!r}; the tools are {', '.join(allowed)}")
    kind = ARGUMENTS[call.name]
    try:
        return msgspec.json.decode(call.arguments or "{}", type=kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadCall(_UNREADABLE.format(tool=call.name, error=error)) from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _leniently(call, kind)


def _leniently(call: ToolCall, kind: type[Arguments]) -> Arguments:
    """What models get almost right: line breaks and tabs inside strings, half a surrogate pair."""
    try:
        loose = plain_data(json.loads(call.arguments, strict=False))
        return msgspec.convert(loose, type=kind, strict=False)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadCall(_UNREADABLE.format(tool=call.name, error=clean.text(str(error)))) from None


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _spec(name: str, design: Design) -> ToolSpec:
    match name:
        case "bash":
            seconds = {"type": "number", "description": f"At most {design.limits.command_s:g} (the default)."}
            return ToolSpec(
                name=name,
                description="Run a bash command. Each call is a new shell in your working directory; files persist, "
                "shell variables and cd do not. Returns stdout and stderr together, and the exit code.",
                parameters=_object(("command",), command=_text("The command."), timeout_s=seconds),
            )
        case "finish":
            return ToolSpec(
                name=name,
                description="End your work. Call it alone, when nothing is left to do.",
                parameters=_object(("text",), text=_text("Your final report.")),
            )
        case "delegate_agent":
            return _delegate(design)
        case "wait":
            return ToolSpec(
                name=name,
                description="Sleep until a worker is done (mode any) or all are (mode all), or a message arrives.",
                parameters=_object(
                    (),
                    mode={"type": "string", "enum": ["any", "all"], "description": "Default any."},
                    timeout_s={"type": "number", "description": "Wake up after so many seconds at the latest."},
                ),
            )
        case "read_report":
            return ToolSpec(
                name=name,
                description="Read the report of a delegation that has ended.",
                parameters=_object(("delegation",), delegation=_text("Its id, such as d1.")),
            )
        case "list_workers":
            return ToolSpec(name=name, description="List your workers and what each is doing.", parameters=_object(()))
        case "cancel_worker":
            return ToolSpec(
                name=name,
                description="Stop a running worker. Files it was editing may be half done.",
                parameters=_object(("worker",), worker=_text("Its id, such as w1.")),
            )
        case "send_message":
            return ToolSpec(
                name=name,
                description="Send a message to a running agent; it sees it with its next tool result.",
                parameters=_object(
                    ("to", "text"), to=_text("lead, or a worker's id such as w1."), text=_text("The message.")
                ),
            )
        case "write_note":
            return ToolSpec(
                name=name,
                description="Add a note to the log that all of you share. It cannot be changed or taken back.",
                parameters=_object(("text",), text=_text("What the others should know, with how you know it.")),
            )
        case "read_notes":
            whole = {"type": "boolean", "description": "The whole log, not only what you have not read."}
            return ToolSpec(
                name=name,
                description="Read the notes of the others that you have not read yet, and who has claimed what.",
                parameters=_object((), all=whole),
            )
        case "claim":
            return ToolSpec(
                name=name,
                description="Claim a piece of work, so that no other does the same. Only one of you can have it; "
                "if it is taken, you are told by whom.",
                parameters=_object(("slot",), slot=_text("Its name in a few words, such as: date parsing.")),
            )
    raise KeyError(name)


def _delegate(design: Design) -> ToolSpec:
    cap = design.cap
    size = (
        f"Your team has exactly {cap} workers, w1 to w{cap}; use all of them."
        if design.workers is not None
        else f"You can have up to {cap} workers."
    )
    properties = {
        "assignment": _text("What the worker is to do and report. It knows nothing but this text and the files."),
        "worker": _text("Id of a worker to give this to, with all it remembers. Leave out for a new worker."),
        "conventions": _text("Optional. Conventions that this and every later assignment carries."),
    }
    if len(design.kinds) > 1:
        kinds = [k.name for k in design.kinds]
        properties["kind"] = {"type": "string", "enum": kinds, "description": "Which kind of worker."}
    return ToolSpec(
        name="delegate_agent",
        description=f"Give a worker an assignment. {size} Workers share your files and cannot delegate. "
        + _ARRIVES[design.schedule],
        parameters=_object(("assignment",), **properties),
    )
