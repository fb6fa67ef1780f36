"""How much a model may be asked to think, checked before a run: a wrong setting would fail each of its calls."""

from __future__ import annotations

from leadhand.core.errors import UsageError
from leadhand.models.catalog import split_name

OPENAI = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
ANTHROPIC = ("none", "low", "medium", "high", "xhigh", "max")
GEMINI = ("none", "minimal", "low", "medium", "high", "xhigh")
BUDGET = "budget:N"
"""N thinking tokens, for models that know no effort."""

_BUDGET_ONLY = ("claude-3", "haiku-4", "sonnet-4-0", "sonnet-4-2", "sonnet-4-5", "opus-4-0", "opus-4-1", "opus-4-2")
_LEAST_BUDGET = 1024


def reasoning_settings(name: str) -> tuple[str, ...]:
    """What `provider/model` takes, beside "" (its default). `openai-chat` takes any word: its servers differ."""
    provider, _, model = name.partition("/")
    match provider:
        case "openai":
            return OPENAI
        case "anthropic" | "bedrock":
            return ("none", BUDGET) if any(part in model for part in _BUDGET_ONLY) else (*ANTHROPIC, BUDGET)
        case "gemini":
            return (*GEMINI, BUDGET)
        case _:
            return ()


def check_reasoning(name: str, reasoning: str, max_output_tokens: int = 16_000) -> None:
    """Raises `UsageError` naming what the model takes. Scripted models take anything."""
    if not reasoning or name.startswith("scripted/"):
        return
    info, _ = split_name(name)
    if info.name == "openai-chat":
        if not reasoning.isalpha() or not reasoning.isascii():
            raise UsageError(f"reasoning {reasoning!r} is not one word such as low, medium or high")
        return
    takes = reasoning_settings(name)
    if reasoning in takes and reasoning != BUDGET:
        return
    kind, _, number = reasoning.partition(":")
    if kind == "budget" and BUDGET in takes and number.isdecimal():
        if _LEAST_BUDGET <= int(number) < max_output_tokens:
            return
        raise UsageError(
            f"a thinking budget must be at least {_LEAST_BUDGET} and below the output cap of {max_output_tokens} tokens"
        )
    raise UsageError(f"{name} does not take reasoning {reasoning!r}; it takes {', '.join(takes)}")
