"""mini-swe-agent as a party of `loop.py`. Runs under a Python that has mini-swe-agent 2; takes nothing of ours.

It speaks Chat Completions through litellm and runs commands with its own local environment; nothing is saved.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time

os.environ |= {"MSWEA_SILENT_STARTUP": "1", "MSWEA_COST_TRACKING": "ignore_errors", "OPENAI_API_KEY": "none"}
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


def cpu() -> float:
    return sum(
        u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def go(url: str, steps: int, size: int) -> None:
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel

    class Counted(LitellmModel):
        """Says whose turn it is, as Leadhand does, and ends by the command that mini-swe-agent wants."""

        turn = 0

        def _query(self, messages, **more):  # type: ignore[no-untyped-def]
            headers = {"x-leadhand-turn": str(self.turn), "x-leadhand-agent": "mini"}
            self.turn += 1
            return super()._query(messages, extra_headers=headers, **more)

    model = Counted(
        model_name="openai/bench",
        model_kwargs={"api_base": f"{url}/s{steps}/o{size}/l0/w0/v1", "drop_params": True},
        cost_tracking="ignore_errors",
    )
    agent = DefaultAgent(
        model, LocalEnvironment(), system_template="You work.", instance_template="{{task}}", cost_limit=0
    )
    result = agent.run("Take your steps.")
    assert model.turn == steps + 1, (model.turn, result)


parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("--steps", type=int, default=50)
parser.add_argument("--size", type=int, default=0)
given = parser.parse_args()
go(given.url, 2, given.size)
before, began = cpu(), time.perf_counter()
go(given.url, given.steps, given.size)
used, wall = cpu() - before, time.perf_counter() - began
print(json.dumps({"cpu_ms": 1000 * used / given.steps, "self_ms": 0.0, "gap_ms": 1000 * wall / given.steps}))
