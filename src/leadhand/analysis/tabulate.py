"""A folded run as rows of every table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from leadhand.analysis.fold import AgentTrack, AttemptTrack, CommandTrack, Fold, reward_of
from leadhand.analysis.measures import (
    DUPLICATE,
    Span,
    calls_by_phase,
    cost_by_phase,
    detected_span,
    direction,
    files_written,
    measured_span,
    phase,
    references,
    replied,
)
from leadhand.analysis.rows import (
    AgentRow,
    AttemptRow,
    CommandRow,
    DelegationRow,
    FileChangeRow,
    FindingRow,
    MessageRow,
    PhaseRow,
    RunRow,
)
from leadhand.analysis.texts import pairwise
from leadhand.benchmarks.integrity import Finding

Rows = dict[str, list[tuple[Any, ...]]]


class Label(NamedTuple):
    """Where a run stands in its study."""

    run: str
    design: str
    task: str
    repeat: int
    benchmark: str
    grader_digest: str


INVALID = ("cancelled", "infrastructure", "unfinished")
"""How a run ends that no statistic counts: it has no reward, or somebody broke it off."""


def tabulate(fold: Fold, label: Label, found: Sequence[Finding] = ()) -> Rows:
    """All rows of one run but its submission."""
    span = detected_span(fold)
    lead = fold.lead
    mean_similarity, best = pairwise([d.report for d in fold.delegations.values() if d.ended is not None])
    ended = [d.delegation for d in fold.delegations.values() if d.ended is not None]
    similarity = dict(zip(ended, best, strict=True))
    answers = replied(list(fold.mail.values()), lead)
    return {
        "runs": [_run(fold, label, lead, mean_similarity, similarity, answers, found)],
        "agents": _agents(fold, label.run),
        "attempts": _attempts(fold, label.run, span),
        "delegations": _delegations(fold, label.run, span, similarity),
        "messages": _messages(fold, label.run, lead, answers),
        "commands": _commands(fold, label.run, span),
        "file_changes": list(_file_changes(fold, label.run)),
        "phases": [_phases(fold, label.run, span)],
        "findings": [FindingRow(label.run, f.kind, f.severity, f.seq, f.agent, f.why, f.text) for f in found],
    }


def _run(
    fold: Fold,
    label: Label,
    lead: str,
    mean_similarity: float | None,
    similarity: dict[str, float | None],
    answers: dict[str, bool],
    found: Sequence[Finding],
) -> RunRow:
    status = fold.status
    graded = reward_of(fold.gradings, label.grader_digest)
    agents = list(fold.agents.values())
    workers = [a for a in agents if a.role == "worker"]
    delegations = list(fold.delegations.values())
    directions = [direction(m, lead) for m in fold.mail.values() if m.delivered is not None]
    asked = {m.mail for m in fold.mail.values() if "?" in m.text}
    heads, hands = {lead}, {a.name for a in workers}
    delivered = [d.delivered for d in delegations if d.delivered is not None]
    attempts = list(fold.attempts.values())
    theirs = [a for a in attempts if a.role == "worker"]
    return RunRow(
        run=label.run,
        design=label.design,
        task=label.task,
        repeat=label.repeat,
        benchmark=label.benchmark,
        digest=fold.digest,
        version=fold.version,
        status=status,
        **_by_the_rules(status, found),
        degraded=any(a.fault for a in agents),
        resumed=len(fold.sessions) > 1,
        reward=graded.grade.reward if graded and status != "infrastructure" else None,
        passed=graded.grade.passed if graded else None,
        total=graded.grade.total if graded else None,
        cost=fold.settled,
        unknown_cost=fold.unknown,
        minutes=fold.ended_s / 60,
        events=fold.events,
        agents=len(agents),
        workers=len(workers),
        steps=sum(a.steps for a in agents),
        tool_calls=_calls(agents),
        bash_calls=_calls(agents, "bash"),
        wait_calls=_calls(agents, "wait") + _calls(agents, "finish"),
        delegations=len(delegations),
        resumed_delegations=sum(d.resumed for d in delegations),
        rejected_delegations=sum(a.rejected.get("delegate_agent", 0) for a in agents),
        rejected_calls=sum(sum(a.rejected.values()) for a in agents),
        output_tokens=sum(a.usage.output for a in attempts),
        worker_output_tokens=sum(a.usage.output for a in theirs),
        all_tokens=sum(a.usage.total for a in attempts),
        worker_all_tokens=sum(a.usage.total for a in theirs),
        cold_tokens=sum(a.cold for a in attempts),
        cold_cost=sum(a.cold_cost for a in attempts),
        worker_cost=sum(a.cost for a in theirs),
        unread_cost=sum(d.cost for d in delegations if d.delivered is None),
        duplicate_cost=sum(d.cost for d in delegations if (similarity.get(d.delegation) or 0.0) >= DUPLICATE),
        worker_to_lead=directions.count("worker to lead"),
        lead_to_worker=directions.count("lead to worker"),
        worker_to_worker=directions.count("worker to worker"),
        messages_delivered=len(directions),
        messages_rejected=sum(a.rejected.get("send_message", 0) for a in agents),
        messages_replied=sum(answers.values()),
        questions=sum(m in asked for m in answers),
        questions_replied=sum(yes for m, yes in answers.items() if m in asked),
        assignment_chars=_mean([len(d.assignment) for d in delegations]),
        report_chars=_mean([len(d.report) for d in delegations if d.ended is not None]),
        report_similarity=mean_similarity,
        deliveries=len(fold.deliveries),
        merged_deliveries=sum(len(d) > 1 for d in fold.deliveries),
        delivered_chars=sum(len(fold.delegations[d].report) for group in fold.deliveries for d in group),
        worker_source_files=files_written(fold, hands),
        lead_source_files=files_written(fold, heads) if lead else None,
        worker_reference_runs=references(fold, hands),
        lead_reference_runs=references(fold, heads) if lead else None,
        lead_reference_after_reports=references(fold, heads, max(delivered)) if delivered else None,
        critical_worker_s=fold.idle_worked,
        **_times(fold.agents.get(lead), workers),
    )


def _by_the_rules(status: str, found: Sequence[Finding]) -> dict[str, Any]:
    """The columns that say whether a run counts, and what its task's rules have to do with it."""
    broken = sum(f.severity == "invalid" for f in found)
    return {"valid": status not in INVALID and not broken, "findings": len(found), "broken_rules": broken}


def _times(head: AgentTrack | None, workers: list[AgentTrack]) -> dict[str, Any]:
    """The columns that say where the lead's and the workers' seconds went; None where there is no lead."""
    parts = ("model", "tool", "idle", "limited")
    times: dict[str, Any] = {f"lead_{part}_s": _seconds(head, part) if head else None for part in parts}
    return times | {f"worker_{p}_s": sum(_seconds(w, p) for w in workers) for p in ("model", "tool", "limited")}


def _mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _calls(agents: Iterable[AgentTrack], tool: str = "") -> int:
    if tool:
        return sum(a.calls.get(tool, 0) for a in agents)
    return sum(sum(a.calls.values()) for a in agents)


def _seconds(agent: AgentTrack, doing: str) -> float:
    return agent.seconds.get(doing, 0.0)


def _agents(fold: Fold, run: str) -> list[tuple[Any, ...]]:
    attempts: dict[str, list[AttemptTrack]] = {a: [] for a in fold.agents}
    commands: dict[str, list[CommandTrack]] = {a: [] for a in fold.agents}
    called = Counter(d.worker for d in fold.delegations.values())
    for attempt in fold.attempts.values():
        attempts[attempt.agent].append(attempt)
    for command in fold.commands.values():
        commands[command.agent].append(command)
    return [_agent(run, a, attempts[n], commands[n], called[n]) for n, a in fold.agents.items()]


def _agent(
    run: str, a: AgentTrack, mine: list[AttemptTrack], commands: list[CommandTrack], delegations: int
) -> AgentRow:
    return AgentRow(
        run=run,
        agent=a.name,
        role=a.role,
        model=a.model,
        reasoning=a.reasoning,
        worker_kind=a.worker_kind,
        started_s=a.started,
        ended_s=a.ended,
        status=a.status,
        fault=a.fault,
        steps=a.steps,
        attempts=len(mine),
        failed_attempts=a.failed,
        output_tokens=sum(t.usage.output for t in mine),
        all_tokens=sum(t.usage.total for t in mine),
        cost=sum(t.cost for t in mine),
        unknown_cost=sum(t.uncertain for t in mine),
        tool_calls=sum(a.calls.values()),
        bash_calls=a.calls.get("bash", 0),
        rejected_calls=sum(a.rejected.values()),
        delegations=delegations,
        source_writes=sum(bool(c.seen.sources) for c in commands),
        source_files=len({p for c in commands for p in c.seen.sources}),
        reference_runs=sum(c.seen.reference for c in commands),
        model_s=_seconds(a, "model"),
        tool_s=_seconds(a, "tool"),
        idle_s=_seconds(a, "idle"),
        limited_s=_seconds(a, "limited"),
    )


def _attempts(fold: Fold, run: str, span: Span) -> list[tuple[Any, ...]]:
    return [
        AttemptRow(
            run,
            a.attempt,
            a.agent,
            a.role,
            a.model,
            a.served,
            a.tries,
            a.waited,
            a.started,
            a.ended,
            a.outcome,
            a.usage.input,
            a.usage.cache_read,
            a.usage.cache_write_5m,
            a.usage.cache_write_30m,
            a.usage.cache_write_1h,
            a.usage.cache_write_12h,
            a.usage.output,
            a.usage.reasoning,
            a.cost,
            a.uncertain,
            a.cold,
            a.cold_cost,
            a.delegation,
            phase(a.started, span),
        )
        for a in fold.attempts.values()
    ]


def _delegations(fold: Fold, run: str, span: Span, similarity: dict[str, float | None]) -> list[tuple[Any, ...]]:
    return [
        DelegationRow(
            run=run,
            delegation=d.delegation,
            worker=d.worker,
            worker_kind=d.worker_kind,
            resumed=d.resumed,
            phase=phase(d.started, span),
            started_s=d.started,
            ended_s=d.ended,
            delivered_s=d.delivered,
            status=d.status,
            assignment_chars=len(d.assignment),
            report_chars=len(d.report),
            similarity=similarity.get(d.delegation),
            cost=d.cost,
        )
        for d in fold.delegations.values()
    ]


def _messages(fold: Fold, run: str, lead: str, answers: dict[str, bool]) -> list[tuple[Any, ...]]:
    return [
        MessageRow(
            run=run,
            mail=m.mail,
            sender=m.sender,
            to=m.to,
            direction=direction(m, lead),
            chars=len(m.text),
            question="?" in m.text,
            sent_s=m.sent,
            delivered_s=m.delivered,
            replied=answers.get(m.mail),
        )
        for m in fold.mail.values()
    ]


def _commands(fold: Fold, run: str, span: Span) -> list[tuple[Any, ...]]:
    return [
        CommandRow(
            run=run,
            agent=c.agent,
            call=c.call,
            started_s=c.started,
            seconds=c.seconds,
            exit_code=c.exit_code,
            ended=c.how,
            chars=len(c.text),
            output_bytes=c.size,
            source_writes=len(c.seen.sources),
            reference=c.seen.reference,
            changed=len(c.changed),
            phase=phase(c.started, span),
        )
        for c in fold.commands.values()
    ]


def _file_changes(fold: Fold, run: str) -> Iterable[tuple[Any, ...]]:
    for c in fold.commands.values():
        at = c.started if c.ended is None else c.ended
        for path in c.seen.sources:
            yield FileChangeRow(run, c.agent, c.call, at, path, "detected")
        for path in c.changed:
            yield FileChangeRow(run, c.agent, c.call, at, path, "measured")


def _phases(fold: Fold, run: str, span: Span) -> PhaseRow:
    calls, costs = calls_by_phase(fold.delegations.values(), span), cost_by_phase(fold, span)
    measured = measured_span(fold)
    return PhaseRow(
        run=run,
        first_write_s=span.first,
        last_write_s=span.last,
        measured_first_write_s=measured.first,
        measured_last_write_s=measured.last,
        ended_s=fold.ended_s,
        calls_P=calls["P"],
        calls_I=calls["I"],
        calls_V=calls["V"],
        cost_P=costs["P"],
        cost_I=costs["I"],
        cost_V=costs["V"],
    )
