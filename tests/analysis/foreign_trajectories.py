"""Trajectories as mini-swe-agent writes them, one of each of its formats."""

from __future__ import annotations

from typing import Any


def toolcalls() -> dict[str, Any]:
    """Format 1.1 with tool calls, as mini-swe-agent 2 writes it, with fields that we know nothing of."""
    return {
        "info": {
            "model_stats": {"instance_cost": 0.05, "api_calls": 2},
            "config": {"model": {"model_name": "openai/gpt-5.5"}, "agent_type": "minisweagent.agents.default"},
            "mini_version": "2.2.6",
            "exit_status": "Submitted",
            "submission": "diff",
            "future": [1],
        },
        "messages": [
            {"role": "system", "content": "You are."},
            {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": '{"command": "pwd"}'}},
                ],
                "extra": {
                    "actions": [{"command": "ls", "tool_call_id": "c1"}, {"command": "pwd", "tool_call_id": "c2"}],
                    "cost": 0.02,
                    "timestamp": 1_770_000_000.5,
                    "response": {
                        "model": "gpt-5.5-2026-04-23",
                        "usage": {
                            "prompt_tokens": 100,
                            "completion_tokens": 20,
                            "prompt_tokens_details": {"cached_tokens": 60},
                            "completion_tokens_details": {"reasoning_tokens": 5},
                        },
                    },
                },
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": "<returncode>0</returncode>\na",
                "extra": {"returncode": 0},
            },
            {"role": "tool", "tool_call_id": "c2", "content": "<returncode>1</returncode>\n/"},
            {"role": "assistant", "content": "Done.", "reasoning_content": "hm", "extra": {"cost": 0.03}},
            {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "cmatrix",
        "unknown_root": {"a": 1},
    }


def responses() -> dict[str, Any]:
    """The same agent on OpenAI's Responses API."""
    return {
        "info": {"model_stats": {"instance_cost": 0.03, "api_calls": 1}, "mini_version": "2.2.8"},
        "messages": [
            {"role": "user", "content": "Do it."},
            {
                "object": "response",
                "model": "gpt-5.5",
                "created_at": 1_770_000_000,
                "usage": {
                    "input_tokens": 100,
                    "input_tokens_details": {"cached_tokens": 25},
                    "output_tokens": 40,
                    "output_tokens_details": {"reasoning_tokens": 30},
                },
                "output": [
                    {"type": "reasoning", "summary": []},
                    {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
                    {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command":"ls"}'},
                ],
                "extra": {"cost": 0.03},
            },
            {"type": "function_call_output", "call_id": "c1", "output": "<returncode>2</returncode>"},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    }


def textual() -> dict[str, Any]:
    """Version 1: a shell block in the text, the observation as a user message."""
    return {
        "info": {"model_stats": {"instance_cost": 1.0, "api_calls": 1}},
        "messages": [
            {"role": "system", "content": "You are."},
            {"role": "user", "content": "Do it."},
            {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls -la\n```"},
            {"role": "user", "content": "<returncode>0</returncode>\nfiles"},
            {"role": "user", "content": "a nudge that is no result"},
        ],
        "trajectory_format": "mini-swe-agent-1",
    }
