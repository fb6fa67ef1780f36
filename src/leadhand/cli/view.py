"""`leadhand view`: look at runs in a browser, or write the same pages to a folder."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(view)


def view(
    folder: Annotated[
        str, typer.Argument(help="A run, a folder of runs or a study (default: $LEADHAND_RUNS, else ./runs).")
    ] = "",
    port: Annotated[int, typer.Option(help="Port to listen on, on this machine only (0: any free one).")] = 0,
    export: Annotated[str, typer.Option(help="Write static pages to this folder instead of serving them.")] = "",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Look at runs in a browser: timeline, money, every event; live while a run goes on."""
    from pathlib import Path

    from leadhand.cli.steps import say_step
    from leadhand.runs.paths import find_run, runs_root

    where = Path(folder).expanduser() if folder else runs_root()
    if folder and not where.exists():
        where = find_run(folder, runs_root()).folder
    from leadhand.viewer import export as exporting
    from leadhand.viewer import serve

    if export:
        say_step(f"writing the pages of {where}")
        count = exporting.export(where, Path(export).expanduser())
        typer.echo(f"{count} {'run' if count == 1 else 'runs'} written; open {Path(export) / 'index.html'}")
        return

    def ready(address: str) -> None:
        typer.echo(f"{address}\nCtrl-C ends it.")
        if not no_browser and _has_screen():
            import webbrowser

            webbrowser.open(address)

    serve.serve(where, port, ready)


def _has_screen() -> bool:
    """Without one, `webbrowser` would start a text browser in this terminal."""
    import os
    import sys

    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
