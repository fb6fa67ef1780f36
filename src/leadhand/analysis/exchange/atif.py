"""Harbor's Agent Trajectory Interchange Format (ATIF): written as 1.7, read from any 1.x."""

from __future__ import annotations

from typing import Any

import msgspec

from leadhand.analysis.exchange.trajectory import Call, Result, Trajectory, Turn
from leadhand.core.errors import UsageError
from leadhand.core.values import Usage

VERSION = "ATIF-v1.7"

Json = dict[str, Any]


def to_atif(t: Trajectory) -> bytes:
    """One document; workers are embedded, and the results of delegations refer to them."""
    return msgspec.json.format(msgspec.json.encode(_document(t, t.info.get("run") or t.id)), indent=2) + b"\n"


def _document(t: Trajectory, session: str) -> Json:
    turns = t.turns or (Turn(source="system"),)  # the format wants at least one step
    steps = [_step(i, turn) for i, turn in enumerate(turns, start=1)]
    usages = [turn.usage for turn in t.turns if turn.usage is not None]
    return _filled(
        schema_version=VERSION,
        session_id=str(session),
        trajectory_id=t.id,
        agent=_filled(name=t.agent, version=t.version or "unknown", model_name=t.model or None),
        steps=steps,
        final_metrics=_filled(
            total_prompt_tokens=sum(u.prompt for u in usages),
            total_completion_tokens=sum(u.output for u in usages),
            total_cached_tokens=sum(u.cache_read for u in usages),
            total_cost_usd=_total(t),
            total_steps=len(steps),
            extra=_filled(own_cost_usd=t.cost) if t.workers else None,
        ),
        extra=_filled(status=t.status, submission=t.submission, reward=t.reward, info=t.info or None),
        subagent_trajectories=[_document(w, session) for w in t.workers] or None,
    )


def _total(t: Trajectory) -> float | None:
    """Harbor's total is that of the agent and of its subagents; None where nothing is known of any."""
    known = [x.cost for x in t.everyone() if x.cost is not None]
    return sum(known) if known else None


def _own(final: Json, workers: list[Json]) -> float | None:
    """The agent's own part of its total. One that is less than its subagents' can only be its own alone."""
    total: float | None = final.get("total_cost_usd")
    own: float | None = (final.get("extra") or {}).get("own_cost_usd")
    if own is not None or total is None or not workers:
        return total if own is None else own
    theirs = sum((w.get("final_metrics") or {}).get("total_cost_usd") or 0.0 for w in workers)
    return total - theirs if total >= theirs else total


def _step(number: int, turn: Turn) -> Json:
    agent = turn.source == "agent"
    results = [
        _filled(
            source_call_id=r.call_id if any(c.id == r.call_id for c in turn.calls) else None,
            content=r.text,
            subagent_trajectory_ref=[{"trajectory_id": r.worker}] if r.worker else None,
            extra={"exit_code": r.exit_code} if r.exit_code is not None else None,
        )
        for r in turn.results
    ]
    return _filled(
        step_id=number,
        timestamp=turn.at or None,
        source=turn.source,
        message=turn.text,
        model_name=(turn.model or None) if agent else None,
        tool_calls=[_call(c) for c in turn.calls] or None if agent else None,
        observation={"results": results} if results else None,
        metrics=_metrics(turn) if agent else None,
        is_copied_context=True if turn.copied else None,
        extra={"messages": list(turn.raw)} if turn.raw else None,
    )


def _call(c: Call) -> Json:
    """Arguments as an object; where the model's text is no plain object, the text itself is kept beside it."""
    try:
        parsed = msgspec.json.decode(c.arguments)
    except msgspec.DecodeError:
        parsed = None
    exact = isinstance(parsed, dict) and msgspec.json.encode(parsed).decode() == c.arguments
    return _filled(
        tool_call_id=c.id,
        function_name=c.name,
        arguments=parsed if isinstance(parsed, dict) else {},
        extra=None if exact else {"arguments_text": c.arguments},
    )


def _metrics(turn: Turn) -> Json | None:
    u = turn.usage
    if u is None:
        return {"cost_usd": turn.cost} if turn.cost is not None else None
    return _filled(
        prompt_tokens=u.prompt,
        completion_tokens=u.output,
        cached_tokens=u.cache_read,
        cost_usd=turn.cost,
        extra={"usage": msgspec.to_builtins(u)},
    )


def _filled(**fields: Any) -> Json:
    return {k: v for k, v in fields.items() if v is not None}


# --- in ----------------------------------------------------------------------------------------------------------


def read_atif(data: bytes, name: str = "") -> Trajectory:
    """A trajectory from a document's bytes. Raises `UsageError`."""
    try:
        found = msgspec.json.decode(data, type=Json)
        if not str(found["schema_version"]).startswith("ATIF-v1."):
            raise ValueError(f"schema_version {found['schema_version']!r} is not ATIF-v1.x")
        return _trajectory(found, name)
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{name or 'input'} is not an ATIF document: {error}") from error


def _trajectory(d: Json, name: str) -> Trajectory:
    agent, extra, final = d["agent"], d.get("extra") or {}, d.get("final_metrics") or {}
    version = str(agent.get("version") or "")
    turns = tuple(_turn(s) for s in d["steps"])
    return Trajectory(
        id=str(d.get("trajectory_id") or d.get("session_id") or name),
        agent=str(agent.get("name") or ""),
        version="" if version == "unknown" else version,
        model=str(agent.get("model_name") or ""),
        turns=() if turns == (Turn(source="system"),) else turns,
        status=str(extra.get("status") or ""),
        submission=str(extra.get("submission") or ""),
        cost=_own(final, d.get("subagent_trajectories") or []),
        reward=extra.get("reward"),
        workers=tuple(_trajectory(w, "") for w in d.get("subagent_trajectories") or []),
        info=extra.get("info") or {},
    )


def _turn(s: Json) -> Turn:
    metrics, extra = s.get("metrics") or {}, s.get("extra") or {}
    return Turn(
        source=s["source"],
        text=_text(s.get("message")),
        calls=tuple(_read_call(c) for c in s.get("tool_calls") or []),
        results=tuple(_read_result(r) for r in (s.get("observation") or {}).get("results") or []),
        usage=_usage(metrics),
        cost=metrics.get("cost_usd"),
        model=str(s.get("model_name") or ""),
        at=str(s.get("timestamp") or ""),
        copied=bool(s.get("is_copied_context")),
        raw=tuple(extra.get("messages") or ()),
    )


def _read_call(c: Json) -> Call:
    text = (c.get("extra") or {}).get("arguments_text")
    arguments = text if text is not None else msgspec.json.encode(c["arguments"]).decode()
    return Call(id=str(c["tool_call_id"]), name=str(c["function_name"]), arguments=arguments)


def _read_result(r: Json) -> Result:
    refs = r.get("subagent_trajectory_ref") or []
    return Result(
        call_id=str(r.get("source_call_id") or ""),
        text=_text(r.get("content")),
        exit_code=(r.get("extra") or {}).get("exit_code"),
        worker=str(refs[0].get("trajectory_id") or "") if refs else "",
    )


def _usage(m: Json) -> Usage | None:
    exact = (m.get("extra") or {}).get("usage")
    if exact is not None:
        return msgspec.convert(exact, Usage)
    if m.get("prompt_tokens") is None and m.get("completion_tokens") is None:
        return None
    prompt, cached = int(m.get("prompt_tokens") or 0), int(m.get("cached_tokens") or 0)
    return Usage(input=max(0, prompt - cached), cache_read=cached, output=int(m.get("completion_tokens") or 0))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(p.get("text") or "") for p in content)
    return "" if content is None else str(content)
