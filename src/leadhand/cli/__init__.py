"""The command line: parse arguments, print. No logic."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `leadhand` command: errors of ours are one line and an exit code, never a traceback."""
    from leadhand.cli.app import app
    from leadhand.cli.extras import remedy
    from leadhand.core.errors import LeadhandError, UsageError

    try:
        app()
    except LeadhandError as error:
        print(f"leadhand: {error}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except ModuleNotFoundError as error:
        if not (said := remedy(error)):
            raise
        print(f"leadhand: {said}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
