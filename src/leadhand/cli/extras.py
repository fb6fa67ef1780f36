"""What to do where a library of an optional part is not installed."""

from __future__ import annotations

EXTRAS = {
    **dict.fromkeys(("matplotlib", "numpy", "polars", "scipy"), "analysis"),
    **dict.fromkeys(("starlette", "uvicorn"), "view"),
}
"""Which extra a module comes with."""


def remedy(error: ModuleNotFoundError) -> str:
    """What is missing, and how it is installed; "" where it is nothing of ours."""
    module = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(module)
    how = f"pip install 'leadhand[{extra}]' (in a checkout: make install)"
    return f"{module} is not installed: {how}" if extra else ""
