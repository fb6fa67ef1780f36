"""Plain values that pass between rooms: messages, tool calls, usage, prices, command results. All frozen."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of all values: immutable, keyword-only, encoded without its defaults.

    Not looked at by the cyclic garbage collector: made whole and never changed, a value is in no cycle.
    """


# --- messages: the bodies of a conversation chain -------------------------------------------------------------


class ToolSpec(Value, frozen=True, kw_only=True):
    """A tool as the model sees it; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Value, frozen=True, kw_only=True):
    """One tool call of a model. `arguments` is the raw text the model wrote: it may be broken JSON.

    `id` is the provider's (it may repeat across turns); results are matched by it within one turn.
    """

    id: str
    name: str
    arguments: str


class User(Value, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """Text from the harness to the model."""

    text: str


StopReason = Literal["tool_calls", "end", "length", "refusal", "content_filter", "pause"]


class Assistant(Value, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """A model's turn: the provider's own items, verbatim, beside a small neutral view.

    `items` are sent back unchanged on the same `wire`; `text`, `calls`, `stop` are derived from them.
    `commentary` marks text that is not a final answer though it stands without a tool call.
    """

    wire: str
    items: list[Any]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason = "end"
    commentary: bool = False


class ToolResult(Value, frozen=True, kw_only=True):
    """What one tool call gave back, as the model sees it."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


class ToolResults(Value, frozen=True, kw_only=True, tag_field="role", tag="tool"):
    """All results of one turn, in call order."""

    results: tuple[ToolResult, ...]


Body = User | Assistant | ToolResults


# --- usage and money ------------------------------------------------------------------------------------------


class Usage(Value, frozen=True, kw_only=True):
    """Tokens of one attempt, split so that nothing is counted twice.

    The provider's prompt is `input + cache_read + cache_write_*` (exclusive parts, whatever the wire's own habit);
    `output` includes `reasoning`.
    """

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_30m: int = 0
    cache_write_1h: int = 0
    cache_write_12h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_30m + self.cache_write_1h + self.cache_write_12h

    @property
    def prompt(self) -> int:
        """All input tokens, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_30m=self.cache_write_30m + other.cache_write_30m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            cache_write_12h=self.cache_write_12h + other.cache_write_12h,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )


CacheTtl = Literal["", "5m", "30m", "1h", "12h"]
"""How long a provider keeps a prompt that was written to its cache; "" is the provider's default."""

DEFAULT_TTLS = ("5m", "30m")
"""Longer lifetimes are billed only where they were asked for."""


class Price(Value, frozen=True, kw_only=True):
    """Dollars per million tokens of one model. A tier above `tier_above` prompt tokens prices the whole request."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_30m: float | None = None
    cache_write_1h: float | None = None
    cache_write_12h: float | None = None
    tier_above: int | None = None
    tier: Price | None = None
    source: str = ""

    def at(self, prompt_tokens: int) -> Price:
        """The price that holds for a request with this many prompt tokens."""
        if self.tier is not None and self.tier_above is not None and prompt_tokens > self.tier_above:
            return self.tier.at(prompt_tokens)
        return self

    def cost(self, usage: Usage) -> float:
        """Dollars for `usage`. A part without its own price is billed as fresh input."""
        p = self.at(usage.prompt)

        def rate(part: float | None) -> float:
            return p.input if part is None else part

        return (
            usage.input * p.input
            + usage.cache_read * rate(p.cache_read)
            + usage.cache_write_5m * rate(p.cache_write_5m)
            + usage.cache_write_30m * rate(p.cache_write_30m)
            + usage.cache_write_1h * rate(p.cache_write_1h)
            + usage.cache_write_12h * rate(p.cache_write_12h)
            + usage.output * p.output
        ) / 1e6

    def bound(self, prompt_tokens: int, output_tokens: int, cache_ttl: str = "") -> float:
        """Dollars that a request of at most these sizes can cost at the dearest applicable price.

        `cache_ttl` is the lifetime asked for of the prompt cache; "" stands for those that providers have by default.
        """
        rates = [self, self.at(prompt_tokens)]
        writes = [f"cache_write_{ttl}" for ttl in ((cache_ttl,) if cache_ttl else DEFAULT_TTLS)]
        known: list[float | None] = [getattr(p, part) for p in rates for part in ("input", *writes)]
        dearest = max(r for r in known if r is not None)
        return (prompt_tokens * dearest + output_tokens * max(p.output for p in rates)) / 1e6


FREE = Price(input=0.0, output=0.0, cache_read=0.0, source="free")


# --- commands -------------------------------------------------------------------------------------------------


class ExecResult(Value, frozen=True, kw_only=True):
    """One shell command's outcome. `head` and `tail` are exact bytes.

    `size` counts all bytes the command wrote; when `size > len(head) + len(tail)` the middle is only in the
    sandbox's file `spill` (a path inside the sandbox, outside the submitted workspace).
    `exit_code` is the shell's; 137 after a kill. `ended`: how it ended.
    `changed`: files of the workspace that changed while it ran alone; `shared`: files that changed while it and others
    ran. Both are empty where the sandbox cannot see changes.
    """

    exit_code: int
    head: bytes
    tail: bytes = b""
    size: int = 0
    spill: str = ""
    seconds: float = 0.0
    ended: Literal["exited", "timed_out", "killed", "flooded", "runner_lost"] = "exited"
    changed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


class Limits(Value, frozen=True, kw_only=True):
    """Limits of a run. Seconds, counts, bytes; memory and processes are the sandbox's, shared by the whole team."""

    command_s: float = 180.0
    delegation_s: float = 1800.0
    run_s: float = 21600.0
    steps: int = 1000
    output_chars: int = 10_000
    memory_mb: int | None = None
    cpus: float | None = None
    processes: int | None = 2048
    file_mb: int = 1024


class Mount(Value, frozen=True, kw_only=True):
    """A host file or folder shown read-only inside the sandbox at `target`.

    `link` (relative to the workspace) becomes a symbolic link to where the backend really shows it: `local` has no
    mounts and shows a copy elsewhere (see `SandboxInfo.paths`). `copy`: instead of being shown it is copied into a
    `whole` sandbox, over whatever is at `target`, and can be written there.
    """

    source: str
    target: str
    link: str = ""
    copy: bool = False


class Build(Value, frozen=True, kw_only=True):
    """How an image is made where it is not there: from the Dockerfile in `folder` (of the host), within `timeout_s`."""

    folder: str
    timeout_s: float = 600.0


class SandboxSpec(Value, frozen=True, kw_only=True):
    """What a sandbox is started from.

    `workspace` is a host folder whose content the sandbox starts with (copied by the caller for `bwrap` and `local`,
    which bind it; put into the container by `docker`). `scratch` is a host folder for reports and spilled outputs.
    `whole` (docker alone): all of the image's own file system can be written, work happens in its WORKDIR (or in
    `workdir`), and what is collected is every change of it, as a layer. `layer`: such an archive, to begin with.
    """

    run_id: str
    workspace: str
    scratch: str
    limits: Limits = Limits()
    network: bool = False
    mounts: tuple[Mount, ...] = ()
    image: str = ""
    env: dict[str, str] = {}
    user: str = ""
    build: Build | None = None
    whole: bool = False
    workdir: str = ""
    layer: str = ""


class SandboxInfo(Value, frozen=True, kw_only=True):
    """What was started: goes into the journal, so that `resume` and `reap` find it again."""

    kind: str
    id: str
    workspace: str
    scratch: str
    limits: Limits = Limits()
    not_enforced: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    network: bool = False
    image: str = ""
    paths: dict[str, str] = {}

    def path(self, target: str) -> str:
        """Where the mount asked for at `target` really is inside this sandbox."""
        return self.paths.get(target, target)


# --- tasks and grades -----------------------------------------------------------------------------------------


class Grader(Value, frozen=True, kw_only=True):
    """How a submission is graded, in one of two ways, always in a fresh sandbox with the submission as its workspace.

    `command` runs there with `files` (a host folder) read-only at /grader; the last line it prints on stdout is JSON:
    {"reward": 0..1, "passed": n, "total": m}. Or `cases` (a host file of JSON lines): `build` must yield `program`,
    which is then run once per case and compared on the host, so that expected outputs never enter the sandbox.
    """

    command: str = ""
    files: str = ""
    cases: str = ""
    build: str = "chmod +x ./compile.sh && ./compile.sh"
    program: str = "./executable"
    case_timeout_s: float = 10.0
    timeout_s: float = 600.0
    options: dict[str, str] = {}


class Task(Value, frozen=True, kw_only=True):
    """What is to be built or fixed. `prompt` may hold {workspace} and {reference}, filled in by the run.

    `workspace` is a host folder whose content the team starts with ("" = empty); `digest` covers prompt, workspace,
    mounts, limits and set-up; the grader has a digest of its own, so that a better grader can grade old runs again.
    `labels` (language, difficulty, ...) are for choosing and grouping tasks; no agent sees them. `isolated`: the task
    needs a closed sandbox, with the workspace at /workspace (`bwrap`, `docker`). `user`: whom commands run as in an
    image that has users of its own. `finish_check`: the command that tries the team's work in a clean copy of its
    workspace, where a design asks for that; "" where the task has none. `env`: variables of all commands. `build`,
    `whole`, `workdir`: see `SandboxSpec`. `solution`: a host folder with what is known to be right, to try the grader
    with; no team sees it.
    """

    id: str
    prompt: str
    benchmark: str = "folder"
    workspace: str = ""
    setup: str = ""
    limits: Limits = Limits()
    network: bool = False
    image: str = ""
    mounts: tuple[Mount, ...] = ()
    reference: str = ""
    grader: Grader | None = None
    digest: str = ""
    grader_digest: str = ""
    labels: dict[str, str] = {}
    isolated: bool = False
    user: str = ""
    finish_check: str = ""
    env: dict[str, str] = {}
    build: Build | None = None
    whole: bool = False
    workdir: str = ""
    solution: str = ""


class Grade(Value, frozen=True, kw_only=True):
    """The grader's answer. `reward` is in [0, 1]; counts are None where the grader does not count."""

    reward: float
    passed: int | None = None
    total: int | None = None
    detail: dict[str, Any] = {}
    seconds: float = 0.0
