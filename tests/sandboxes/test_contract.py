"""Every backend passes the contract, and refuses the escapes where it claims isolation."""

from __future__ import annotations

import pytest

from leadhand.testing.sandbox_contract import CHECKS, Check, Setup, missing, needed
from leadhand.testing.sandbox_escapes import CHECKS as ESCAPES


@pytest.mark.anyio
@pytest.mark.parametrize("check", [*CHECKS, *ESCAPES], ids=lambda c: c.__name__)
async def test_contract(check: Check, setup: Setup) -> None:
    if needed(check):
        async with setup() as sandbox:
            absent = missing(check, sandbox)
        if absent:
            pytest.skip(f"not enforced here: {', '.join(absent)}")
    await check(setup)
