"""The command line: parse arguments, print. No logic."""

from __future__ import annotations

import sys

EXTRAS = dict.fromkeys(("matplotlib", "numpy", "polars", "scipy"), "analysis")
"""Which extra a module comes with."""


def main() -> None:
    """Entry point of the `leadhand` command: errors of ours are one line and an exit code, never a traceback."""
    from leadhand.cli.app import app
    from leadhand.core.errors import LeadhandError, UsageError

    try:
        app()
    except LeadhandError as error:
        print(f"leadhand: {error}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        print(f"leadhand: {module} is not installed: pip install 'leadhand[{EXTRAS[module]}]'", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
