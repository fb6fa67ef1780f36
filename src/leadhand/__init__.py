"""Leadhand runs teams of coding agents and measures what every team design earns and costs."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"
__all__ = ["Design", "Result", "Task", "__version__", "run", "start"]

if TYPE_CHECKING:
    from leadhand.api import Result, run, start
    from leadhand.core.design import Design
    from leadhand.core.values import Task


def __getattr__(name: str) -> Any:
    """The public names, loaded when they are used: `import leadhand` itself stays quick."""
    from importlib import import_module

    places = {
        "run": "leadhand.api",
        "start": "leadhand.api",
        "Result": "leadhand.api",
        "Design": "leadhand.core.design",
        "Task": "leadhand.core.values",
    }
    if name not in places:
        raise AttributeError(f"module 'leadhand' has no attribute {name!r}")
    return getattr(import_module(places[name]), name)
