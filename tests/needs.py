"""What a test needs of the machine: without it the test is skipped, in CI it fails."""

from __future__ import annotations

import os

import pytest

from leadhand import sandboxes
from leadhand.core.errors import UsageError


def require(kind: str) -> None:
    """Skip, or in CI fail, where this kind of sandbox cannot be had."""
    try:
        sandboxes.choose(kind)
    except UsageError as failure:
        if os.environ.get("CI"):
            pytest.fail(f"no {kind} in CI: {failure}")
        pytest.skip(str(failure))
