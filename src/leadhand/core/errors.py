"""Errors, and one table that says what each class of model fault means for retry, grade and validity."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from leadhand.core.values import Usage


class LeadhandError(Exception):
    """Every error that Leadhand raises on purpose. The text is one line and names the remedy."""


class UsageError(LeadhandError):
    """A bad specification, found before money is spent. Exit code 2, no traceback."""


class JournalError(LeadhandError):
    """A journal that cannot be read or written; the text names file and line."""


class SandboxError(LeadhandError):
    """The sandbox itself failed. A command that exits non-zero is a result, never this error."""


class SandboxLost(SandboxError):
    """The sandbox is gone (dead container, dead namespace, lost workspace): the run ends as `infrastructure`."""


class RunnerLost(SandboxError):
    """One agent's shell runner died and was replaced; its agent is told, the sandbox lives on."""


class GradingError(LeadhandError):
    """The grader could not grade (infrastructure). Never turned into reward 0."""


Fault = Literal[
    "rate_limit",  # slow down; Retry-After may say for how long
    "quota",  # the money or quota of the key is gone; waiting does not help
    "overload",  # the provider is overloaded (503, 529)
    "server",  # the provider failed (500, an error inside a 200 stream)
    "timeout",  # no answer within the deadline, or a stalled stream was cut
    "connection",  # refused, reset, DNS
    "malformed",  # an answer that is not what the wire promises
    "context_length",  # the prompt does not fit
    "content_filter",  # blocked by the provider before the model answered
    "invalid_key",  # 401, 403
    "bad_request",  # 400, 404, 413, 422: asking again gives the same
]


class Policy(NamedTuple):
    """What a class of fault means. `ends_as`: the agent's end when it is not retried or retries ran out."""

    retry: bool
    ends_as: Literal["failed", "out_of_context", "refused"]


POLICY: dict[Fault, Policy] = {
    "rate_limit": Policy(True, "failed"),
    "quota": Policy(False, "failed"),
    "overload": Policy(True, "failed"),
    "server": Policy(True, "failed"),
    "timeout": Policy(True, "failed"),
    "connection": Policy(True, "failed"),
    "malformed": Policy(True, "failed"),
    "context_length": Policy(False, "out_of_context"),
    "content_filter": Policy(False, "refused"),
    "invalid_key": Policy(False, "failed"),
    "bad_request": Policy(False, "failed"),
}
assert set(POLICY) == set(get_args(Fault))


class ModelError(LeadhandError):
    """One attempt failed.

    `usage` is what the provider said it billed in spite of the failure (None: it said nothing).
    `maybe_billed` is True where the request may have been served and billed though no answer was read
    (timeout, reset after sending, broken body): the reservation is then kept as unknown spend.
    """

    def __init__(
        self,
        fault: Fault,
        message: str,
        *,
        maybe_billed: bool = False,
        usage: Usage | None = None,
        retry_after_s: float | None = None,
        status: int | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.fault: Fault = fault
        self.maybe_billed = maybe_billed
        self.usage = usage
        self.retry_after_s = retry_after_s
        self.status = status
        self.request_id = request_id
