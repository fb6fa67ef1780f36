"""From command-line options to a `Request`: what is asked for, with nothing resolved yet."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec

from leadhand.benchmarks.folder import find_task, shipped
from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design, Schedule
from leadhand.core.errors import UsageError
from leadhand.core.values import Limits, Price, Task
from leadhand.models import parse_price
from leadhand.runs.spec import Request


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `leadhand run`, as typed."""

    what: str
    repo: str = ""
    lead: str = ""
    worker_model: str = ""
    solo: bool = False
    workers: int | None = None
    max_workers: int | None = None
    guidance: str = "minimal"
    schedule: str = "push"
    max_usd: str = "5"
    max_minutes: float | None = None
    sandbox: str = "auto"
    network: bool = False
    setup: str = ""
    base_url: tuple[str, ...] = ()
    price: tuple[str, ...] = ()
    wording: str = ""


def request_of(o: Options) -> Request:
    """Raises `UsageError` for options that do not fit together."""
    if not o.lead:
        raise UsageError("no lead model: name one with --lead PROVIDER/MODEL, such as openai/gpt-5.6-sol")
    if o.workers is not None and o.max_workers is not None:
        raise UsageError("--workers fixes the team's size and --max-workers caps it: give one of the two")
    if o.solo and (o.workers is not None or o.max_workers is not None or o.worker_model):
        raise UsageError("--solo has no workers: leave --workers, --max-workers and --worker-model out")
    limits = Limits() if o.max_minutes is None else Limits(run_s=_positive(o.max_minutes, "--max-minutes") * 60)
    design = _design(o, limits)
    return Request(
        task=task_of(o.what, o.repo),
        design=design,
        sandbox=o.sandbox,
        network=o.network,
        setup=o.setup,
        base_urls=_base_urls(o.base_url, design),
        prices=_prices(o.price, design),
        repository=str(Path(o.repo).expanduser().absolute()) if o.repo else "",
        wording=str(Path(o.wording).expanduser().absolute()) if o.wording else "",
    )


def _design(o: Options, limits: Limits) -> Design:
    given = {
        "lead": o.lead,
        "worker": o.worker_model,
        "solo": o.solo,
        "workers": o.workers,
        "max_workers": 5 if o.max_workers is None else o.max_workers,
        "guidance": "".join(s for s in "PIV" if s in o.guidance) if set(o.guidance) <= set("PIV") else o.guidance,
        "schedule": o.schedule,
        "budget_usd": budget_of(o.max_usd),
        "limits": limits,
    }
    try:
        return msgspec.convert(given, Design, from_attributes=True)
    except msgspec.ValidationError as error:
        raise UsageError(_remedy(str(error), o)) from None


def _remedy(error: str, o: Options) -> str:
    """A complaint about a setting, with what may be written instead."""
    if "$.guidance" in error:
        return f"--guidance {o.guidance!r} is none: write minimal, or the stages to delegate (any of P, I, V)"
    if "$.schedule" in error:
        return f"--schedule {o.schedule!r} is none: choose one of {', '.join(get_args(Schedule))}"
    return error


def budget_of(text: str) -> float | None:
    """Dollars, or `none` for no limit."""
    if text.lower() == "none":
        return None
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise UsageError(f"--max-usd {text!r} is not an amount in dollars; write a number, or none for no limit")
    return amount


def _positive(number: float, option: str) -> float:
    if not 0 < number < float("inf"):
        raise UsageError(f"{option} must be above 0")
    return number


def task_of(what: str, repo: str) -> Task:
    """A shipped task, a task folder, or a prompt."""
    if not what.strip():
        raise UsageError("the prompt is empty; say what is to be done")
    if what in shipped() or _is_there(what):
        if repo:
            raise UsageError("--repo goes with a prompt, not with a task folder")
        return find_task(what)
    if not repo and not any(c.isspace() for c in what.strip()):
        return find_task(what)  # raises with the list of tasks: one word is a name that was mistyped
    name = Path(repo).expanduser().absolute().name if repo else "prompt"
    return Task(id=name, benchmark="prompt", prompt=what.strip() + "\n", digest=digest(canonical([name, what])))


def _is_there(path: str) -> bool:
    """Whether this names something on disk. A prompt can be too long for a name, or begin with a "~" of nobody."""
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _base_urls(given: tuple[str, ...], design: Design) -> dict[str, str]:
    """`URL` for every model of the design, or `MODEL=URL` for one."""
    urls: dict[str, str] = {}
    for text in given:
        name, equals, url = text.partition("=")
        if equals and "://" not in name:
            if name not in design.models:
                raise UsageError(f"--base-url names {name!r}, but the models are {', '.join(design.models)}")
            urls[name] = url
        else:
            urls |= {model: text for model in design.models if model not in urls}
    return urls


def _prices(given: tuple[str, ...], design: Design) -> dict[str, Price]:
    prices = dict(parse_price(text) for text in given)
    for name in prices:
        if name not in design.models:
            raise UsageError(f"--price names {name!r}, but the models are {', '.join(design.models)}")
    return prices
