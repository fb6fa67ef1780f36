"""One model call: reserve, attempt, settle; retry what the fault table says is worth it.

Every attempt is journalled before it is sent and after it ended, so that no cent is spent unseen.
"""

from __future__ import annotations

import math
from itertools import count
from random import Random

import anyio
import msgspec

from leadhand.core.clean import NotJson, plain_data, round_trip
from leadhand.core.compaction import make_room
from leadhand.core.design import share_of
from leadhand.core.errors import POLICY, Fault, ModelError
from leadhand.core.events import AttemptFailed, AttemptReplied, AttemptStarted, CheckEnded
from leadhand.core.harness import End, Harness
from leadhand.core.journal import Journal
from leadhand.core.ports import Reply, Request
from leadhand.core.state import AgentState, State
from leadhand.core.values import Usage

_GRACE_S = 30.0  # how long an adapter may overrun its own deadline before it is cut


def settle_cut(journal: Journal, state: State) -> None:
    """Record what a killed session left in flight: attempts may have been billed, so they are unknown spend."""
    for attempt, held in list(state.ledger.open.items()):
        cut = AttemptFailed(attempt=attempt, fault="cut", error="the harness was killed", maybe_billed=True)
        journal.append(held.agent, cut)
    for agent in state.agents.values():
        if agent.checking:
            journal.append(agent.name, CheckEnded(check=agent.checking, outcome="interrupted"))


class Unlimited:
    """A limiter that admits everything: for one run alone on its key, and for tests."""

    async def admit(self, model: str) -> None:
        pass

    def observe(self, model: str, retry_after_s: float | None) -> None:
        pass


def fits(budget: float | None, committed: float, bound: float, *, worker: bool) -> bool:
    """Whether an attempt that can cost `bound` dollars may start, given what may already be owed."""
    if budget is None:
        return True
    return committed + bound <= share_of(budget, worker=worker)


def backoff(tries: int, retry_after_s: float | None, random: Random) -> float:
    """Seconds before the next attempt: full jitter up to 2^tries (at most 60), and never before Retry-After.

    After Retry-After the jitter spans up to a quarter of it, so that those told at once do not come back at once.
    """
    most = min(60.0, 2.0**tries)
    if retry_after_s is None or not math.isfinite(retry_after_s) or retry_after_s < 0:
        return random.uniform(0.0, most)
    return retry_after_s + random.uniform(0.0, min(most, 0.25 * retry_after_s + 1.0))


async def ask(h: Harness, agent: AgentState, cache_key: str) -> End | None:
    """Get the model's next reply into the agent's conversation; or how the agent ends if that cannot be.

    Where the prompt does not fit and the design allows it, room is made instead, and nothing was replied yet.
    """
    if agent.overflowed == agent.conversation.head and make_room(h, agent):
        return None
    if agent.steps >= h.design.limits.steps:
        return End("out_of_steps")
    for tries in count(1):
        asked = anyio.current_time()
        await h.limiter.admit(agent.model)
        attempt = await _reserve(h, agent, tries, asked)
        if attempt is None:
            return End("out_of_budget")
        try:
            reply = await _attempt(h, agent, attempt, cache_key)
        except ModelError as error:
            end = await _failed(h, agent, attempt, tries, error)
            if end is not None:
                return None if end.status == "out_of_context" and make_room(h, agent) else end
        else:
            message = agent.conversation.link(reply.message)
            h.record(
                agent.name,
                AttemptReplied(
                    attempt=attempt,
                    message=message,
                    usage=reply.usage,
                    model=reply.model,
                    request_id=reply.request_id,
                ),
            )
            h.settled.notify()
            return None
    raise AssertionError("unreachable")


async def _reserve(h: Harness, agent: AgentState, tries: int, asked: float) -> int | None:
    """Wait for room in the budget and start an attempt in it. None when there will be none.

    It waits only while another call of the run is in flight, since only that can give something back.
    """
    prompt, output = agent.prompt_bound(), h.design.max_output_tokens
    ledger = h.state.ledger
    ttl = str(agent.conversation.root.settings.get("cache_ttl", ""))
    bound = ledger.bound(agent.model, prompt, output, ttl)

    def room() -> bool:
        return fits(h.design.budget_usd, ledger.committed, bound, worker=agent.role == "worker")

    await h.settled.until(lambda: room() or not ledger.open)
    if not room():
        return None
    attempt = h.state.attempts + 1
    h.record(
        agent.name,
        AttemptStarted(
            attempt=attempt,
            head=agent.conversation.head,
            model=agent.model,
            prompt_bound=prompt,
            output_bound=output,
            tries=tries,
            waited_s=round(anyio.current_time() - asked, 6),
            cache_ttl=ttl,
        ),
    )
    return attempt


async def _attempt(h: Harness, agent: AgentState, attempt: int, cache_key: str) -> Reply:
    request = Request(
        model=agent.model,
        agent=agent.name,
        conversation=agent.conversation,
        max_output_tokens=h.design.max_output_tokens,
        reasoning=agent.reasoning,
        cache_key=cache_key,
    )
    try:
        with anyio.fail_after(request.timeout_s + _GRACE_S):
            return sound(await h.models[agent.model].complete(request))
    except TimeoutError:
        text = f"no answer in {request.timeout_s + _GRACE_S:.0f} s"
        raise ModelError("timeout", text, maybe_billed=True) from None
    except ModelError:
        raise
    except BaseException as error:
        # Cancelled, or the adapter broke: the provider may have answered and billed.
        cut = AttemptFailed(attempt=attempt, fault="cut", error=type(error).__name__, maybe_billed=True)
        h.record(agent.name, cut)
        h.settled.notify()
        raise


def sound(reply: Reply) -> Reply:
    """A reply as the journal will give it back, so that a resumed run sends the same bytes.

    Raises `ModelError` for an adapter's reply that cannot be written: it was billed all the same.
    """
    usage = billed(reply)
    try:
        items = plain_data(reply.message.items)
        whole = msgspec.structs.replace(reply, message=msgspec.structs.replace(reply.message, items=items))
        sound = round_trip(whole, Reply)
    except (NotJson, AttributeError, TypeError) as error:
        text = f"a reply that cannot be recorded: {error}"
        raise ModelError("malformed", text, usage=usage, maybe_billed=usage is None) from None
    if usage is None:
        raise ModelError("malformed", "a reply whose usage makes no sense", maybe_billed=True)
    return sound


def billed(source: Reply | ModelError) -> Usage | None:
    """The usage that came with a reply or a fault, if it is one: whole tokens, none below zero."""
    usage = getattr(source, "usage", None)
    if not isinstance(usage, Usage):
        return None
    return usage if all(isinstance(n, int) and n >= 0 for n in msgspec.structs.astuple(usage)) else None


async def _failed(h: Harness, agent: AgentState, attempt: int, tries: int, error: ModelError) -> End | None:
    fault: Fault = error.fault if error.fault in POLICY else "malformed"
    policy, usage = POLICY[fault], billed(error)
    again = policy.retry and tries <= h.design.retries
    pause = backoff(tries, error.retry_after_s, h.random) if again else None
    h.record(
        agent.name,
        AttemptFailed(
            attempt=attempt,
            fault=fault,
            error=str(error)[:2000],
            maybe_billed=error.maybe_billed,
            usage=usage,
            retry_in_s=None if pause is None else round(pause, 3),
            request_id=error.request_id,
        ),
    )
    h.settled.notify()
    if fault in ("rate_limit", "overload"):
        h.limiter.observe(agent.model, error.retry_after_s)
    if pause is not None:
        await anyio.sleep(pause)
        return None
    text = f"{fault}: {error}"[:2000]
    return End(policy.ends_as, text, fault=text if policy.ends_as == "failed" else "")
