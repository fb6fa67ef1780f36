"""Prompt caches as the providers keep them: which part of a prompt was read, which was written, which was neither.

A prompt is a list of blocks in the provider's order; what counts is a prefix of whole blocks that is equal byte for
byte. Token counts are `rough_tokens` of the blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from leadhand.core.values import Usage, Value
from leadhand.testing.provider.asked import Asked, Block
from leadhand.testing.scripted import rough_tokens

TTL_S = {"5m": 300.0, "30m": 1800.0, "1h": 3600.0, "12h": 43200.0}


class CacheRule(Value, frozen=True, kw_only=True):
    """How one provider caches.

    `explicit`: only where the request says so (Anthropic), with a look-back of `look_back` blocks before each
    breakpoint. Otherwise every prefix is kept for `ttl`. `step`: reads are whole multiples of it. `writes_billed`: new
    tokens of a cached prefix are billed as writes. `routed`: only requests with the same `prompt_cache_key` meet.
    `tail`: tokens at the end of every prompt that are never cached (the opening of the answer).
    """

    explicit: bool = False
    minimum: int = 1024
    step: int = 1
    ttl: str = "5m"
    look_back: int = 20
    writes_billed: bool = False
    routed: bool = False
    tail: int = 0


RULES: dict[str, CacheRule] = {
    # As recorded of gpt-5.6-sol: of 4036 tokens 4017 were read, 16 written and 3 neither, by no multiple of anything.
    "openai": CacheRule(ttl="30m", writes_billed=True, routed=True, tail=3),
    "openai-chat": CacheRule(ttl="30m", writes_billed=True, routed=True, tail=3),
    "anthropic": CacheRule(explicit=True, writes_billed=True),
    "bedrock": CacheRule(explicit=True, writes_billed=True),
    "gemini": CacheRule(minimum=2048),
}


class PromptCache:
    """Entries are (model, routing key, hash of the prefix) with the moment they expire. A read renews its entry."""

    def __init__(self, clock: Callable[[], float], rules: dict[str, CacheRule] | None = None) -> None:
        self._clock = clock
        self._rules = RULES if rules is None else rules
        self._expires: dict[tuple[str, str, bytes], float] = {}

    def usage(self, asked: Asked, output: int) -> Usage:
        """What this request is billed; its prefixes are in the cache afterwards."""
        rule = self._rules.get(asked.wire)
        sizes = [0]
        for block in asked.blocks:
            sizes.append(sizes[-1] + rough_tokens(len(block.data)))
        if rule is None:
            return Usage(input=sizes[-1], output=output)
        ids = [(asked.model, asked.key if rule.routed else "", h) for h in _prefixes(asked.blocks)]
        if rule.explicit:
            return self._explicit(rule, asked.blocks, ids, sizes, output)
        return self._automatic(rule, asked.cache_ttl or rule.ttl, ids, sizes, output)

    def _automatic(
        self, rule: CacheRule, ttl: str, ids: Sequence[tuple[str, str, bytes]], sizes: Sequence[int], output: int
    ) -> Usage:
        prompt = sizes[-1]
        if prompt < rule.minimum:
            return Usage(input=prompt + rule.tail, output=output)
        hit = self._longest(ids, sizes, rule.minimum, len(ids), 0)
        read = sizes[hit] // rule.step * rule.step
        for n in range(1, len(sizes)):
            if sizes[n] >= rule.minimum:
                self._keep(ids[n - 1], ttl)
        if not rule.writes_billed:
            return Usage(input=prompt - read + rule.tail, cache_read=read, output=output)
        written = prompt - read
        long = ttl == "12h"
        return Usage(
            input=rule.tail,
            cache_read=read,
            cache_write_30m=0 if long else written,
            cache_write_12h=written if long else 0,
            output=output,
        )

    def _explicit(
        self,
        rule: CacheRule,
        blocks: Sequence[Block],
        ids: Sequence[tuple[str, str, bytes]],
        sizes: Sequence[int],
        output: int,
    ) -> Usage:
        marks = [n for n, block in enumerate(blocks, 1) if block.ttl and sizes[n] >= rule.minimum]
        hit = max((self._longest(ids, sizes, rule.minimum, n, n - rule.look_back) for n in marks), default=0)
        written = {"5m": 0, "1h": 0}
        start = hit
        for n in marks:
            if n > start:
                written[blocks[n - 1].ttl] += sizes[n] - sizes[start]
                start = n
            self._keep(ids[n - 1], blocks[n - 1].ttl)
        end = max([hit, *marks])
        return Usage(
            input=sizes[-1] - sizes[end],
            cache_read=sizes[hit],
            cache_write_5m=written["5m"],
            cache_write_1h=written["1h"],
            output=output,
        )

    def _longest(
        self, ids: Sequence[tuple[str, str, bytes]], sizes: Sequence[int], minimum: int, upto: int, down_to: int
    ) -> int:
        """The most blocks, at most `upto` and more than `down_to`, that are in the cache; 0 if none."""
        now = self._clock()
        for n in range(upto, max(down_to, 0), -1):
            if sizes[n] < minimum:
                return 0
            if self._expires.get(ids[n - 1], 0.0) > now:
                return n
        return 0

    def _keep(self, id: tuple[str, str, bytes], ttl: str) -> None:
        self._expires[id] = max(self._expires.get(id, 0.0), self._clock() + TTL_S[ttl])


def _prefixes(blocks: Sequence[Block]) -> list[bytes]:
    """A hash for each prefix of whole blocks."""
    running = hashlib.sha256()
    out: list[bytes] = []
    for block in blocks:
        running.update(len(block.data).to_bytes(8, "big") + block.data)
        out.append(running.digest())
    return out
