"""Every adapter, streamed and not, and the scripted double, against the same contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from leadhand.core.errors import ModelError
from leadhand.core.ports import Model, Reply, Request
from leadhand.models import open_model
from leadhand.testing import model_contract
from leadhand.testing.model_contract import CHECKS, Setup
from leadhand.testing.provider import Provider, running
from leadhand.testing.scripted import Script, ScriptedModel

WIRES = ("openai-chat", "openai", "anthropic", "bedrock", "gemini")


def over_http(name: str, stream: bool) -> Setup:
    @asynccontextmanager
    async def setup(scripts: Mapping[str, Script]) -> AsyncIterator[Model]:
        async with running(Provider(scripts)) as base_url:
            model = open_model(f"{name}/some-model", base_url=base_url, env={}, stream=stream)
            try:
                yield model
            finally:
                await model.aclose()

    return setup


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
async def test_adapter(check, name: str, stream: bool) -> None:
    await check(over_http(name, stream))


@pytest.mark.anyio
@pytest.mark.parametrize("check", [c for c in CHECKS if "way" not in c.__name__], ids=lambda c: c.__name__)
async def test_scripted_model(check) -> None:
    @asynccontextmanager
    async def setup(scripts: Mapping[str, Script]) -> AsyncIterator[Model]:
        yield ScriptedModel(scripts)

    await check(setup)


@pytest.mark.anyio
async def test_the_contract_can_fail() -> None:
    """A model that classifies every fault the same, and drops all calls but the first, is found out."""

    class Bad(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            try:
                reply = await super().complete(request)
            except ModelError as error:
                raise ModelError("server", str(error)) from None
            cut = reply.message.calls[:1]
            return Reply(message=type(reply.message)(wire="x", items=[], calls=cut), usage=reply.usage)

    @asynccontextmanager
    async def setup(scripts: Mapping[str, Script]) -> AsyncIterator[Model]:
        yield Bad(scripts)

    for check in (model_contract.three_turns_with_parallel_calls, model_contract.faults_are_classified):
        with pytest.raises(AssertionError):
            await check(setup)
