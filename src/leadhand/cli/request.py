"""From command-line options to a `Request`: what is asked for, with nothing resolved yet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec

from leadhand.benchmarks.folder import find_task, shipped
from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design, Guidance, Schedule
from leadhand.core.errors import UsageError
from leadhand.core.values import Price, Task
from leadhand.models import parse_price
from leadhand.runs.design_file import design_from_toml
from leadhand.runs.spec import Request

DEFAULT_USD = 5.0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `leadhand run`, as typed."""

    what: str
    repo: str = ""
    lead: str = ""
    worker_model: str = ""
    solo: bool = False
    workers: int | None = None
    max_workers: int | None = None
    guidance: str = ""
    schedule: str = ""
    max_usd: str = ""
    design: str = ""
    settings: tuple[str, ...] = ()
    max_minutes: float | None = None
    sandbox: str = "auto"
    network: bool = False
    setup: str = ""
    base_url: tuple[str, ...] = ()
    price: tuple[str, ...] = ()
    wording: str = ""
    auto: bool = False


def request_of(o: Options) -> Request:
    """Raises `UsageError` for options that do not fit together."""
    if o.workers is not None and o.max_workers is not None:
        raise UsageError("--workers fixes the team's size and --max-workers caps it: give one of the two")
    if o.solo and (o.workers is not None or o.max_workers is not None or o.worker_model):
        raise UsageError("--solo has no workers: leave --workers, --max-workers and --worker-model out")
    design = design_of(o)
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


def design_of(o: Options) -> Design:
    """The advisor's design with --auto; else the file's, then the options given, then `-s`; later ones win."""
    if o.auto:
        from leadhand.cli.advise import advised_design

        return advised_design(o, DEFAULT_USD)
    text = read_design_file(o.design) if o.design else ""
    if not o.lead and not o.design and not any(s.partition("=")[0].strip() == "lead" for s in o.settings):
        raise UsageError("no lead model: name one with --lead PROVIDER/MODEL, such as openai/gpt-5.6-sol")
    budget = [] if re.search(r"^\s*budget_usd\s*=", text, re.MULTILINE) else [f"budget_usd={DEFAULT_USD:g}"]
    return design_from_toml(text, [*budget, *_given(o), *o.settings], name=o.design or "the design")


def read_design_file(path: str) -> str:
    """The text of a design file. Raises `UsageError`."""
    try:
        return Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"cannot read the design {path}: {why}; give the path of a TOML file") from None


def _given(o: Options) -> list[str]:
    """The options that were given, as overrides of a design."""
    overrides = {
        "lead": o.lead,
        "worker": o.worker_model,
        "solo": "true" if o.solo else "",
        "workers": "none" if o.max_workers is not None else _text(o.workers),
        "max_workers": _text(o.max_workers),
        "guidance": _guidance(o.guidance) if o.guidance else "",
        "schedule": _schedule(o.schedule) if o.schedule else "",
        "budget_usd": budget_of(o.max_usd) if o.max_usd else "",
        "limits.run_s": "" if o.max_minutes is None else repr(_positive(o.max_minutes, "--max-minutes") * 60),
    }
    return [f"{key}={value}" for key, value in overrides.items() if value]


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _guidance(text: str) -> str:
    """Stages in any order, as the design writes them."""
    found = "".join(s for s in "PIV" if s in text) if set(text) <= set("PIV") else text
    if found not in get_args(Guidance):
        raise UsageError(f"--guidance {text!r} is none: write minimal, or the stages to delegate (any of P, I, V)")
    return found


def _schedule(text: str) -> str:
    if text not in get_args(Schedule):
        raise UsageError(f"--schedule {text!r} is none: choose one of {', '.join(get_args(Schedule))}")
    return text


def budget_of(text: str) -> str:
    """Dollars, or `none` for no limit, as a design writes it."""
    if text.lower() == "none":
        return "none"
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise UsageError(f"--max-usd {text!r} is not an amount in dollars; write a number, or none for no limit")
    return repr(amount)


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
