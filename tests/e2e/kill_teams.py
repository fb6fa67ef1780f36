"""The team of the kill test: a lead and two workers. Each command leaves lines in a log that nothing resets."""

from __future__ import annotations

from leadhand.testing.scripted import Call, Seen, Step, bash, call, do, finish, reports


def ran(name: str) -> Call:
    """A command that says that it has begun and that it has ended, in a file outside the workspace."""
    return bash(f"echo begun {name} >> /scratch/ran; sleep 0.02; echo ended {name} >> /scratch/ran; echo {name}")


DONE = "echo yes > /workspace/done; echo done: $(cat /workspace/done)"


def lead(seen: Seen) -> Step:
    match seen.turn:
        case 0:
            return do(
                ran("lead.0"),
                call("delegate_agent", assignment="Do your part."),
                call("delegate_agent", assignment="Do your part."),
            )
        case 1:
            return do(ran("lead.1.0"), ran("lead.1.1"))
        case 2:
            return do(call("wait", mode="all"))
        case 3:
            return do(bash(DONE), ran("lead.3"))
        case 4:
            return do(call("delegate_agent", assignment="Once more.", worker="w1"))
    if "done: yes" not in seen.text:  # a kill came between: the harness told so and left the repeating to us
        return do(bash(DONE))
    done = reports(seen)
    return finish(f"done after {len(done)} reports")


def worker(seen: Seen) -> Step:
    if seen.turn in (3, 5) or seen.turn > 5:
        return finish(f"{seen.agent} reports")
    return do(ran(f"{seen.agent}.{seen.turn}"))


SCRIPTS = {"lead": lead, "w1": worker, "w2": worker}
