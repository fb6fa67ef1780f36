"""A run out, any trajectory in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from leadhand.analysis.exchange.atif import read_atif, to_atif
from leadhand.analysis.exchange.run import of_run
from leadhand.analysis.exchange.traj import read_traj, to_traj
from leadhand.analysis.exchange.trajectory import Trajectory
from leadhand.core.errors import UsageError
from leadhand.runs.paths import RunPaths


def encoded(paths: RunPaths, form: Literal["atif", "traj"]) -> bytes:
    """A run in another tool's format."""
    trajectory = of_run(paths)
    return to_atif(trajectory) if form == "atif" else to_traj(trajectory)


class _Kind(msgspec.Struct):
    schema_version: str = ""


def read_trajectory(path: Path) -> Trajectory:
    """A `.traj.json` or an ATIF document, told apart by their content. Raises `UsageError`."""
    try:
        data = path.read_bytes()
        kind = msgspec.json.decode(data, type=_Kind)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"cannot read {path} as a trajectory: {error}") from error
    return read_atif(data, path.name) if kind.schema_version else read_traj(data, path.name)
