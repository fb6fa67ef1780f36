"""What the fake provider says on `satchel`: a team of four, four peers, four candidates, and a solo agent, rehearsed
without a model's delays. Two of the candidates leave areas out; s2 is right; s3 leaves its mistake in.
"""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.benchmarks.rehearsal import equals, rehearsal
from leadhand.testing.scripted import Script, hurried


def quickly(scripts: Mapping[str, Script]) -> dict[str, Script]:
    return {agent: hurried(script) for agent, script in scripts.items()}


def scripts() -> dict[str, Script]:
    alone = {"solo": equals.candidate(2), "s4": equals.candidate(1)}
    return quickly({**rehearsal(), **equals.peers(), **equals.candidates(), **alone})
