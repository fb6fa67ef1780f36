"""Resolve a request: everything that can be wrong is found here, before a folder is made or money is spent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

import leadhand
from leadhand import guidance, models, sandboxes
from leadhand.benchmarks.folder import fill_prompt
from leadhand.core.chain import Root
from leadhand.core.crew import briefing
from leadhand.core.design import Design, Kind, check
from leadhand.core.errors import UsageError
from leadhand.core.events import Role
from leadhand.core.harness import Prompts, root_of
from leadhand.core.state import Delegation
from leadhand.core.values import Limits, Task
from leadhand.runs import repository
from leadhand.runs.spec import Lock, Request, RunFile, identity


def plan(
    request: Request, keys: Mapping[str, str], chosen: tuple[str, str] | None = None, *, keyless: bool = False
) -> RunFile:
    """The request with its lock. Raises `UsageError` in one line that names the remedy.

    `chosen` is the sandbox (kind, reason) where it was chosen before: looking for one takes a while. `keyless`: nothing
    will be asked, so a key may be missing.
    """
    check(request.design)
    task, design = request.task, request.design
    design = msgspec.structs.replace(design, limits=_tighter(design, request))
    now = datetime.now(UTC)
    for name in design.models:  # opening connects to nothing, but finds unknown names and missing keys
        where = request.base_urls.get(name, "")
        if not (keyless and models.missing_key(name, base_url=where, env=keys)):
            models.open_model(name, base_url=where, env=keys)
    for name, reasoning, cache_ttl in _asked(design):
        models.check_reasoning(name, reasoning, design.max_output_tokens)
        models.check_cache_ttl(name, cache_ttl)
    prices = {name: models.find_price(name, now, request.prices) for name in design.models}
    kind, reason = chosen or sandboxes.choose(request.sandbox, task.image)
    if task.isolated and kind == "local":
        raise UsageError(f"task {task.id} needs a closed sandbox: --sandbox bwrap or docker, not local")
    if task.whole:
        _check_whole(task, design, kind, request)
    elif task.user and kind != "docker":
        raise UsageError(f"task {task.id} needs its own image, for which {kind} is no place: --sandbox docker")
    if design.strategy == "best-of-k" and design.selector == "oracle" and task.grader is None:
        raise UsageError(f"selector 'oracle' needs a grader, and the task {task.id!r} has none: select by tests")
    if design.finish_check and not task.finish_check:
        raise UsageError(
            f"finish_check tries the build of a task that is graded by one (grader.cases, programbench), "
            f"and the task {task.id!r} has none: leave finish_check out"
        )
    repo = repository.inspect(Path(request.repository)) if request.repository else None
    if repo is not None:
        task = msgspec.structs.replace(
            task, prompt=task.prompt + repository.instructions(repo), digest=repository.digest_of(repo, task.digest)
        )
    folder = Path(request.wording) if request.wording else guidance.TEXTS
    prompts = guidance.prompts(design, task.prompt, "{workspace}", folder)
    network = request.network or task.network
    lock = Lock(
        digest=identity(design, task, prompts, kind, network, request.setup or task.setup, request.repeat),
        version=leadhand.__version__,
        created=now.isoformat(timespec="seconds"),
        task=msgspec.structs.replace(task, network=network, setup=request.setup or task.setup),
        design=design,
        prompts=prompts,
        prices=prices,
        sandbox=kind,
        sandbox_reason=reason,
        repository=repo,
    )
    return RunFile(request=request, lock=lock)


def _check_whole(task: Task, design: Design, kind: str, request: Request) -> None:
    """What a task that is a whole image cannot do without, and cannot have."""
    if kind != "docker":
        raise UsageError(
            f"task {task.id} is an image of its own, for which {kind} is no place: start Docker, or set DOCKER_HOST"
        )
    if design.strategy == "peers":
        raise UsageError(f"task {task.id} is a whole image, of which peers can have no copies: use another strategy")
    if request.setup:
        raise UsageError(
            f"task {task.id} is an image of its own, with which --setup does not go: change its Dockerfile"
        )


def _asked(design: Design) -> list[tuple[str, str, str]]:
    """Every model with the effort that the design asks of it, and the lifetime of its prompt cache."""
    workers = [] if design.solo else [(k.model, k.reasoning, k.cache_ttl) for k in design.worker_kinds]
    return [(design.lead, design.lead_reasoning, design.lead_cache_ttl), *workers]


def _tighter(design: Design, request: Request) -> Limits:
    """The design's limits, where the task's own are tighter these."""
    mine, theirs = design.limits, request.task.limits
    return msgspec.structs.replace(
        mine,
        command_s=min(mine.command_s, theirs.command_s),
        run_s=min(mine.run_s, theirs.run_s),
        delegation_s=min(mine.delegation_s, theirs.delegation_s),
        steps=min(mine.steps, theirs.steps),
        memory_mb=mine.memory_mb or theirs.memory_mb,
        cpus=mine.cpus or theirs.cpus,
        processes=theirs.processes if mine.processes is None else mine.processes,
    )


class Preview(NamedTuple):
    """What `--dry-run` shows of one kind of agent."""

    agent: str
    model: str
    root: Root
    first_message: str


def preview(run: RunFile) -> list[Preview]:
    """The exact prompts and tools of each agent, with the sandbox's paths filled in."""
    task = run.lock.task
    workspace = (task.workdir or sandboxes.image_workdir(task.image) or "<its WORKDIR>") if task.whole else "/workspace"
    return _agents(run.lock.design, run.lock.prompts, task.reference, workspace)


def preview_of(design: Design) -> list[Preview]:
    """The same where there is no task yet."""
    return _agents(design, guidance.prompts(design, "<the task>", "{workspace}"), "", "/workspace")


def _agents(design: Design, wording: Prompts, reference: str, workspace: str) -> list[Preview]:
    home = f"/scratch/peers/{design.heads[0]}" if design.strategy == "peers" else workspace
    prompts = filled(wording, home, reference)

    def agent(name: str, role: Role, kind: Kind, first: str) -> Preview:
        root = root_of(design, prompts, role, kind.model, kind.reasoning, kind.cache_ttl)
        return Preview(name, kind.model, root, first)

    head = Kind(name="", model=design.lead, reasoning=design.lead_reasoning, cache_ttl=design.lead_cache_ttl)

    if not design.has_lead:
        heads, role = design.heads, design.roles[0]
        name = heads[0] if len(heads) == 1 else f"{heads[0]} (and likewise to {heads[-1]})"
        return [agent(name, role, head, prompts.task)]
    shown = [agent("lead", "lead", head, prompts.task)]
    given = Delegation(id="d1", worker="w1", call="", assignment="<the lead's assignment>", resumed=False)
    # A forked worker goes on in the lead's own conversation.
    role = "lead" if design.context == "fork" else "worker"
    for kind in design.worker_kinds:
        name = f"worker of kind {kind.name}" if kind.name else "worker"
        shown.append(agent(name, role, kind, briefing(prompts, design, kind.name, given)))
    return shown


def filled(prompts: Prompts, workspace: str, reference: str) -> Prompts:
    """The wording with the sandbox's own paths in it."""
    texts = {
        part: fill_prompt(getattr(prompts, part), workspace=workspace, reference=reference)
        for part in ("lead", "worker", "role", "task")
    }
    return msgspec.structs.replace(prompts, **texts)
