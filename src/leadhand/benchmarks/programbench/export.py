"""A run as `programbench eval` and `programbench submit` take it: TO/TASK/submission.tar.gz and TO/TASK/TASK.traj.json.

The trajectory has the shape of mini-swe-agent's (`mini-swe-agent-1.1`); each message names its agent, because there
may be a team.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import leadhand
from leadhand.core.chain import Message
from leadhand.core.events import (
    AgentStarted,
    AttemptReplied,
    Collected,
    Entry,
    MessageAdded,
    RunEnded,
)
from leadhand.core.ledger import ledger_of
from leadhand.core.values import Assistant, Price, ToolResults, User

FORMAT = "mini-swe-agent-1.1"


def export(
    entries: Sequence[Entry],
    prices: Mapping[str, Price],
    config: Mapping[str, Any],
    task: str,
    submission: Path,
    to: Path,
) -> Path:
    """Write one run below the folder `to`; the task's folder there. Older files of the same task are replaced."""
    folder = to / task
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(submission, folder / "submission.tar.gz")
    told = trajectory(entries, prices, config, task)
    (folder / f"{task}.traj.json").write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
    return folder


def trajectory(
    entries: Sequence[Entry], prices: Mapping[str, Price], config: Mapping[str, Any], task: str
) -> dict[str, Any]:
    """The whole run as one list of messages, in the journal's order."""
    spent = ledger_of(entries, prices)
    ended = next((e.event for e in reversed(entries) if isinstance(e.event, RunEnded)), None)
    packed = next((e.event for e in reversed(entries) if isinstance(e.event, Collected)), None)
    messages = [m for entry in entries for m in _messages(entry, prices)]
    status = ended.status if ended is not None else "unfinished"
    messages.append({"role": "exit", "content": ended.text if ended else "", "extra": {"exit_status": status}})
    return {
        "info": {
            "model_stats": {
                "instance_cost": spent.settled,
                "api_calls": sum(s.steps for s in spent.agents.values()),
            },
            "config": dict(config),
            "mini_version": f"leadhand {leadhand.__version__}",
            "exit_status": status,
            "submission": packed.blob if packed is not None else "",
        },
        "messages": messages,
        "trajectory_format": FORMAT,
        "instance_id": task,
    }


def _messages(entry: Entry, prices: Mapping[str, Price]) -> list[dict[str, Any]]:
    """What one event adds, as messages."""
    about = {"agent": entry.agent, "timestamp": entry.at}
    match entry.event:
        case AgentStarted(root=root) if root is not None:
            return [{"role": "system", "content": root.system, **about}]
        case MessageAdded() as e:
            return [{**m, **about} for m in _body(e.message)]
        case AttemptReplied() as e:
            usage = {f: getattr(e.usage, f) for f in e.usage.__struct_fields__}
            price = prices.get(e.model)
            extra: dict[str, Any] = {"model": e.model, "usage": usage}
            if price is not None:
                extra["cost"] = price.cost(e.usage)
            return [{**m, **about, "extra": {**m.get("extra", {}), **extra}} for m in _body(e.message)]
    return []


def _body(message: Message) -> list[dict[str, Any]]:
    match message.body:
        case User(text=text):
            return [{"role": "user", "content": text}]
        case Assistant(text=text, calls=calls):
            actions = [{"tool": c.name, "arguments": c.arguments, "tool_call_id": c.id} for c in calls]
            return [{"role": "assistant", "content": text, "extra": {"actions": actions}}]
        case ToolResults(results=results):
            return [
                {"role": "tool", "content": r.text, "tool_call_id": r.call_id, "extra": {"is_error": r.is_error}}
                for r in results
            ]
