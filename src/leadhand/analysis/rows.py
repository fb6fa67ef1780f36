"""The tables' rows. Their types are the schema: nothing is ever inferred from data, so no rare value can be lost.

Times are seconds of active time from the run's start (the gap between two sessions of a resumed run is left out).
`run` is the run's folder name. None means "not known" or "does not exist", never 0.
"""

from __future__ import annotations

import types
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import polars as pl


class RunRow(NamedTuple):
    """One run: outcome, money, time, and everything that is counted per run.

    The lead's columns are the solo agent's in a solo run, and None in a group without a lead (peers, candidates): there
    the `agents` table tells them apart. `findings`: what was seen of things that the task's rules forbid;
    `broken_rules`: those that make the run invalid.
    """

    run: str
    design: str
    task: str
    repeat: int
    benchmark: str
    digest: str
    version: str
    status: str
    valid: bool
    findings: int
    broken_rules: int
    degraded: bool
    resumed: bool
    reward: float | None
    passed: int | None
    total: int | None
    cost: float
    unknown_cost: float
    minutes: float
    events: int
    agents: int
    workers: int
    steps: int
    tool_calls: int
    bash_calls: int
    wait_calls: int
    delegations: int
    resumed_delegations: int
    rejected_delegations: int
    rejected_calls: int
    output_tokens: int
    worker_output_tokens: int
    all_tokens: int
    worker_all_tokens: int
    cold_tokens: int
    cold_cost: float
    worker_cost: float
    unread_cost: float
    duplicate_cost: float
    worker_to_lead: int
    lead_to_worker: int
    worker_to_worker: int
    messages_delivered: int
    messages_rejected: int
    messages_replied: int
    questions: int
    questions_replied: int
    assignment_chars: float | None
    report_chars: float | None
    report_similarity: float | None
    deliveries: int
    merged_deliveries: int
    delivered_chars: int
    worker_source_files: int
    lead_source_files: int | None
    worker_reference_runs: int
    lead_reference_runs: int | None
    lead_reference_after_reports: int | None
    lead_model_s: float | None
    lead_tool_s: float | None
    lead_idle_s: float | None
    lead_limited_s: float | None
    worker_model_s: float
    worker_tool_s: float
    worker_limited_s: float
    critical_worker_s: float


class AgentRow(NamedTuple):
    """One agent. Seconds are booked once: in a model call, in a command, waiting for workers, held back by limits."""

    run: str
    agent: str
    role: str
    model: str
    reasoning: str
    worker_kind: str
    started_s: float
    ended_s: float | None
    status: str
    fault: str
    steps: int
    attempts: int
    failed_attempts: int
    output_tokens: int
    all_tokens: int
    cost: float
    unknown_cost: float
    tool_calls: int
    bash_calls: int
    rejected_calls: int
    delegations: int
    source_writes: int
    source_files: int
    reference_runs: int
    model_s: float
    tool_s: float
    idle_s: float
    limited_s: float


class AttemptRow(NamedTuple):
    """One model call. Token columns are `Usage`'s own; `cold` are prompt tokens that the agent's last call had sent
    already and that were not read from the cache; `cold_cost` is what that added.
    """

    run: str
    attempt: int
    agent: str
    role: str
    model: str
    served: str
    tries: int
    waited_s: float
    started_s: float
    ended_s: float | None
    outcome: str
    input: int
    cache_read: int
    cache_write_5m: int
    cache_write_30m: int
    cache_write_1h: int
    cache_write_12h: int
    output: int
    reasoning: int
    cost: float
    unknown_cost: float
    cold: int
    cold_cost: float
    delegation: str
    phase: str


class DelegationRow(NamedTuple):
    """One accepted `delegate_agent` call. `similarity`: the highest Jaccard index with an earlier report of the run."""

    run: str
    delegation: str
    worker: str
    worker_kind: str
    resumed: bool
    phase: str
    started_s: float
    ended_s: float | None
    delivered_s: float | None
    status: str
    assignment_chars: int
    report_chars: int
    similarity: float | None
    cost: float


class MessageRow(NamedTuple):
    """One accepted message. `replied`: the lead wrote to that worker before the worker sent anything else."""

    run: str
    mail: str
    sender: str
    to: str
    direction: str
    chars: int
    question: bool
    sent_s: float
    delivered_s: float | None
    replied: bool | None


class CommandRow(NamedTuple):
    """One shell command. `source_writes` and `reference` are read from its text; `changed` is the sandbox's record."""

    run: str
    agent: str
    call: str
    started_s: float
    seconds: float | None
    exit_code: int | None
    ended: str
    chars: int
    output_bytes: int
    source_writes: int
    reference: bool
    changed: int
    phase: str


class FileChangeRow(NamedTuple):
    """One source file written by one command. `how`: `detected` in its text, or `measured` by the sandbox."""

    run: str
    agent: str
    call: str
    at_s: float
    path: str
    how: str


class PhaseRow(NamedTuple):
    """One run's phases (DESIGN.md section 5): planning before the first source write, verification after the last."""

    run: str
    first_write_s: float | None
    last_write_s: float | None
    measured_first_write_s: float | None
    measured_last_write_s: float | None
    ended_s: float
    calls_P: int
    calls_I: int
    calls_V: int
    cost_P: float
    cost_I: float
    cost_V: float


class SubmissionRow(NamedTuple):
    """What was handed in, by file name: `language` has the most bytes among source files that were not asked for."""

    run: str
    files: int
    source_files: int
    source_bytes: int
    language: str
    language_bytes: int


class FindingRow(NamedTuple):
    """One thing that a task's rules forbid, and the journal's event that shows it (`benchmarks.integrity`)."""

    run: str
    kind: str
    severity: str
    seq: int
    agent: str
    why: str
    text: str


class AsideRow(NamedTuple):
    """A folder whose result does not count and whose dollars do. `why`: an archived `attempt` of the run `attempt_of`,
    or a run that was `dropped` from its study.
    """

    run: str
    why: str
    attempt_of: str
    design: str
    task: str
    repeat: int
    status: str
    cost: float
    unknown_cost: float
    minutes: float
    steps: int


ROWS: dict[str, type[NamedTuple]] = {
    "runs": RunRow,
    "agents": AgentRow,
    "attempts": AttemptRow,
    "delegations": DelegationRow,
    "messages": MessageRow,
    "commands": CommandRow,
    "file_changes": FileChangeRow,
    "phases": PhaseRow,
    "submissions": SubmissionRow,
    "findings": FindingRow,
    "aside": AsideRow,
}

_TYPES: dict[type, pl.DataType] = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean()}


def schema(row: type[Any]) -> dict[str, pl.DataType]:
    """The polars schema of a row type, from its annotations."""
    return {name: _TYPES[_bare(hint)] for name, hint in get_type_hints(row).items()}


def _bare(hint: Any) -> type:
    if get_origin(hint) in (Union, types.UnionType):
        (only,) = (a for a in get_args(hint) if a is not type(None))
        return only  # type: ignore[no-any-return]
    return hint  # type: ignore[no-any-return]


def frame(table: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows as a data frame of the table's own schema."""
    columns = schema(ROWS[table])
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return pl.DataFrame(
        [pl.Series(name, column, dtype) for (name, dtype), column in zip(columns.items(), values, strict=True)]
    )
