"""mini-swe-agent's `.traj.json` (formats 1 and 1.1): text blocks, tool calls, and OpenAI's Responses items."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import msgspec

from leadhand.analysis.exchange.trajectory import Call, Result, Trajectory, Turn
from leadhand.core.errors import UsageError
from leadhand.core.values import Usage

FORMAT = "mini-swe-agent-1.1"
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command|sh)\s*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>(-?\d+)</returncode>")

Json = dict[str, Any]


def read_traj(data: bytes, name: str = "") -> Trajectory:
    """A trajectory from a file's bytes; `raw` keeps every message as it was. Raises `UsageError`."""
    try:
        found = msgspec.json.decode(data, type=Json)
        messages, info = found["messages"], found.get("info") or {}
        turns = _turns([m for m in messages if isinstance(m, dict)])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{name or 'input'} is not a mini-swe-agent trajectory: {error}") from error
    stats = info.get("model_stats") or {}
    config = info.get("config") or {}
    return Trajectory(
        id=str(found.get("instance_id") or name),
        agent="mini-swe-agent",
        version=str(info.get("mini_version") or ""),
        model=str((config.get("model") or {}).get("model_name") or ""),
        turns=tuple(turns),
        status=str(info.get("exit_status") or ""),
        submission=str(info.get("submission") or ""),
        cost=_number(stats.get("instance_cost")),
        info={k: v for k, v in found.items() if k != "messages"},
    )


def _turns(messages: list[Json]) -> list[Turn]:
    turns: list[Turn] = []
    for m in messages:
        if m.get("object") == "response" or m.get("role") == "assistant":
            turns.append(_agent(m))
        elif turns and turns[-1].source == "agent" and (result := _result(m, turns[-1])) is not None:
            last = turns[-1]
            turns[-1] = msgspec.structs.replace(last, results=(*last.results, result), raw=(*last.raw, m))
        else:
            source = "system" if m.get("role") in ("system", "developer") else "user"
            turns.append(Turn(source=source, text=_text(m.get("content")), at=_at(m), raw=(m,)))  # type: ignore[arg-type]
    return turns


def _agent(m: Json) -> Turn:
    extra = m.get("extra") or {}
    response = m if m.get("object") == "response" else extra.get("response") or {}
    text, calls = _items(m["output"]) if m.get("object") == "response" else (_text(m.get("content")), _calls(m))
    return Turn(
        source="agent",
        text=text,
        calls=tuple(calls),
        usage=_usage(response.get("usage") or {}),
        cost=_number(extra.get("cost")),
        model=str(response.get("model") or ""),
        at=_at(m),
        raw=(m,),
    )


def _items(output: list[Json]) -> tuple[str, list[Call]]:
    """Text and calls of Responses items."""
    texts = [
        str(part.get("text") or "")
        for item in output
        if item.get("type") == "message"
        for part in item.get("content") or []
    ]
    calls = [
        Call(id=str(i.get("call_id")), name=str(i.get("name")), arguments=str(i.get("arguments")))
        for i in output
        if i.get("type") == "function_call"
    ]
    return "".join(texts), calls


def _calls(m: Json) -> list[Call]:
    """From `tool_calls`; else from the actions that were parsed; else from the text's shell block."""
    made = [
        Call(id=str(c.get("id")), name=str(c["function"]["name"]), arguments=str(c["function"]["arguments"]))
        for c in m.get("tool_calls") or []
    ]
    if made:
        return made
    actions = (m.get("extra") or {}).get("actions")
    if actions is None:
        actions = [{"command": b} for b in _BLOCK.findall(_text(m.get("content")))[:1]]
    return [Call(id=f"action-{i}", name="bash", arguments=_command(a)) for i, a in enumerate(actions)]


def _command(action: Any) -> str:
    command = action.get("command", "") if isinstance(action, dict) else str(action)
    return msgspec.json.encode({"command": command}).decode()


def _result(m: Json, turn: Turn) -> Result | None:
    """A message as the result of one of the turn's calls; None if it is something else."""
    open_calls = turn.calls[len(turn.results) :]
    if m.get("role") == "tool":
        call, text = str(m.get("tool_call_id")), _text(m.get("content"))
    elif m.get("type") == "function_call_output":
        call, text = str(m.get("call_id")), _text(m.get("output"))
    elif m.get("role") == "user" and open_calls and open_calls[0].id.startswith("action-"):
        call, text = open_calls[0].id, _text(m.get("content"))
    else:
        return None
    code = (m.get("extra") or {}).get("returncode")
    found = _RETURN_CODE.search(text)
    if code is None and found:
        code = int(found[1])
    return Result(call_id=call, text=text, exit_code=code if isinstance(code, int) else None)


def _usage(u: Json) -> Usage | None:
    """Chat or Responses usage; inclusive prompt counts become exclusive parts."""
    if not u:
        return None
    prompt = int(u.get("prompt_tokens") or u.get("input_tokens") or 0)
    details = u.get("prompt_tokens_details") or u.get("input_tokens_details") or {}
    out = u.get("completion_tokens_details") or u.get("output_tokens_details") or {}
    cached = min(prompt, int(details.get("cached_tokens") or 0))
    return Usage(
        input=prompt - cached,
        cache_read=cached,
        output=int(u.get("completion_tokens") or u.get("output_tokens") or 0),
        reasoning=int(out.get("reasoning_tokens") or 0),
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(p.get("text") or "") if isinstance(p, dict) else str(p) for p in content)
    return "" if content is None else str(content)


def _at(m: Json) -> str:
    seconds = _number((m.get("extra") or {}).get("timestamp") or m.get("created_at"))
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds") if seconds else ""


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# --- out ---------------------------------------------------------------------------------------------------------


def to_traj(t: Trajectory) -> bytes:
    """The first agent's trajectory in format 1.1; workers have no place there. Messages read from one stay as is."""
    messages = [m for turn in t.turns for m in (turn.raw or _messages(turn))]
    if t.agent == "mini-swe-agent" and t.info:
        return _encode({**t.info, "messages": messages})
    agents = t.everyone()
    info = {
        "model_stats": {
            "instance_cost": sum(a.cost or 0.0 for a in agents),
            "api_calls": sum(a.steps for a in agents),
        },
        "config": {"model": {"model_name": t.model}, "agent_type": t.agent},
        "mini_version": t.version,
        "exit_status": t.status,
        "submission": t.submission,
    }
    return _encode({"info": info, "messages": messages, "trajectory_format": FORMAT, "instance_id": t.id})


def _messages(turn: Turn) -> list[Json]:
    stamp = datetime.fromisoformat(turn.at).timestamp() if turn.at else None
    if turn.source != "agent":
        return [_without_none({"role": turn.source, "content": turn.text, "extra": {"timestamp": stamp}})]
    extra: Json = {
        "timestamp": stamp,
        "cost": turn.cost,
        "actions": [_action(c) for c in turn.calls if c.name == "bash"],
    }
    if turn.usage is not None:
        extra["response"] = {"model": turn.model, "usage": _chat_usage(turn.usage)}
    said: Json = {"role": "assistant", "content": turn.text, "extra": extra}
    if turn.calls:
        said["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in turn.calls
        ]
    results = [
        {"role": "tool", "tool_call_id": r.call_id, "content": r.text, "extra": {"returncode": r.exit_code}}
        for r in turn.results
    ]
    return [_without_none(said), *map(_without_none, results)]


def _action(call: Call) -> Json:
    try:
        command = msgspec.json.decode(call.arguments).get("command", "")
    except (msgspec.DecodeError, AttributeError):
        command = ""
    return {"command": command, "tool_call_id": call.id}


def _chat_usage(u: Usage) -> Json:
    return {
        "prompt_tokens": u.prompt,
        "completion_tokens": u.output,
        "total_tokens": u.total,
        "prompt_tokens_details": {"cached_tokens": u.cache_read},
        "completion_tokens_details": {"reasoning_tokens": u.reasoning},
    }


def _without_none(m: Json) -> Json:
    extra = {k: v for k, v in m.get("extra", {}).items() if v is not None}
    return {k: v for k, v in m.items() if k != "extra"} | ({"extra": extra} if extra else {})


def _encode(value: Json) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
