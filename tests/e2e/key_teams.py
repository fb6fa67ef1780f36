"""A team that looks for the key while its provider sends the key back in every way it can (`test_keys`)."""

from __future__ import annotations

from functools import partial

from leadhand.testing.provider import Raw
from leadhand.testing.scripted import Seen, Step, bash, call, do

KEY = "correct_horse.battery~staple-of-9"
"""Looks like no provider's keys: what takes it out must know it, not guess it."""

SEARCH = (
    "env; cat /proc/self/environ /proc/1/environ /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; "
    "find / -xdev -name .env -exec cat {} + 2>/dev/null; cat ../../.env ../../../.env 2>/dev/null"
)


def refused(status: int) -> Raw:
    error = {"message": f"Incorrect API key provided: {KEY}", "type": KEY, "code": KEY, "param": KEY}
    return Raw(status=status, body={"error": error}, headers={"x-request-id": f"req-{KEY}", "retry-after": "0"})


def lead(seen: Seen, search: str) -> Step:
    match seen.turn:
        case 0:
            return do(bash(search), call("delegate_agent", assignment="x"))
        case 1:
            return do(call("wait", mode="all"))
    return refused(500)


def worker(seen: Seen, search: str) -> Step:
    return do(bash(search)) if seen.turn == 0 else refused(401)


BWRAP = {"lead": partial(lead, search=SEARCH), "w1": partial(worker, search=SEARCH)}
# `local` isolates nothing (and says so): what a sandbox is given is its environment.
LOCAL = {"lead": partial(lead, search="env"), "w1": partial(worker, search="env")}
