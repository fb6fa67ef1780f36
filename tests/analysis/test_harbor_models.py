"""Issue 8, point 6: our ATIF by Harbor's own models.

Harbor wants Python 3.12 and brings much that is not needed here; its models of a trajectory need pydantic alone and run
on 3.11 as well. So its wheel is unpacked beside our environment, not installed into it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from foreign_trajectories import responses, textual, toolcalls
from uv import find_uv_bin

from leadhand.analysis.exchange.atif import to_atif
from leadhand.analysis.exchange.export import encoded
from leadhand.analysis.exchange.run import of_run
from leadhand.analysis.exchange.traj import read_traj
from leadhand.analysis.simulated import grid, write_study
from leadhand.runs.paths import RunPaths

pytestmark = [pytest.mark.pypi, pytest.mark.timeout(300)]

DATA = Path(__file__).parent / "data"
MODELS = """
import json, sys
from pathlib import Path
from harbor.models.trajectories import Trajectory
for name in sys.argv[1:]:
    try:
        read = Trajectory.model_validate_json(Path(name).read_bytes())
    except ValueError as error:
        print(json.dumps(str(error)))
    else:
        steps = [len(t.steps) for t in [read, *(read.subagent_trajectories or [])]]
        print(json.dumps({"steps": steps, "usd": read.final_metrics and read.final_metrics.total_cost_usd}))
print(json.dumps(Trajectory.model_json_schema()))
"""


@pytest.fixture(scope="session")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Harbor's wheel, by its hash, unpacked."""
    folder = tmp_path_factory.mktemp("harbor")
    wanted = ["--require-hashes", "--requirement", str(DATA / "harbor.txt"), "--no-deps", "--no-build"]
    command = [find_uv_bin(), "pip", "install", "--quiet", "--python-version", "3.12", "--target", str(folder), *wanted]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    if found.returncode:
        why = f"Harbor's package cannot be had: {found.stderr.strip()[-300:]}"
        pytest.fail(f"{why} (in CI)") if os.environ.get("CI") else pytest.skip(why)
    return folder


def validated(harbor: Path, *files: Path) -> tuple[list[Any], dict[str, Any]]:
    """What Harbor's models say of each file (an error as text), and their own JSON schema."""
    done = subprocess.run(
        [sys.executable, "-c", MODELS, *map(str, files)],
        env={**os.environ, "PYTHONPATH": str(harbor)},
        capture_output=True,
        text=True,
        check=True,
    )
    *said, schema = map(json.loads, done.stdout.splitlines())
    return said, schema


def test_exported_runs_are_harbors(harbor: Path, tmp_path: Path) -> None:
    """A solo agent, teams with resumed workers and with messages, peers and candidates."""
    designs = [grid()[0], grid()[10], grid()[31], *grid()[-3:-1]]
    write_study(tmp_path / "study", designs, tasks=1, repeats=1)
    folders = [p for p in sorted((tmp_path / "study/runs").iterdir()) if ".attempt" not in p.name]
    files = [tmp_path / f"{p.name}.json" for p in folders]
    for folder, file in zip(folders, files, strict=True):
        file.write_bytes(encoded(RunPaths(folder), "atif"))
    said, _ = validated(harbor, *files)
    for folder, found in zip(folders, said, strict=True):
        assert isinstance(found, dict), found
        told = of_run(RunPaths(folder))
        assert len(found["steps"]) == len(told.everyone())
        assert found["usd"] == pytest.approx(sum(t.cost or 0.0 for t in told.everyone())), "its subagents' cost too"


def test_a_foreign_trajectory_that_we_pass_on_is_harbors(harbor: Path, tmp_path: Path) -> None:
    files = []
    for made in (toolcalls, responses, textual):
        files.append(tmp_path / f"{made.__name__}.json")
        files[-1].write_bytes(to_atif(read_traj(json.dumps(made()).encode())))
    said, _ = validated(harbor, *files)
    assert all(isinstance(found, dict) for found in said), said


def test_harbors_models_do_refuse(harbor: Path, tmp_path: Path) -> None:
    """What the schema alone lets pass: a result of a call that was never made, steps that are not numbered on."""
    read = json.loads(to_atif(read_traj(json.dumps(toolcalls()).encode())))
    wrong = []
    for change in ("call", "number"):
        document = json.loads(json.dumps(read))
        step = next(s for s in document["steps"] if s.get("observation"))
        if change == "call":
            step["observation"]["results"][0]["source_call_id"] = "never"
        else:
            step["step_id"] = 40
        wrong.append(tmp_path / f"{change}.json")
        wrong[-1].write_text(json.dumps(document))
    said, _ = validated(harbor, *wrong)
    assert "never" in said[0]
    assert isinstance(said[1], str)


def test_the_schema_that_other_tests_use_is_the_models_own(harbor: Path) -> None:
    """`atif.schema.json` is what the models give, without the words."""
    _, schema = validated(harbor)
    assert _bare(schema) == json.loads((DATA / "atif.schema.json").read_text())


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    words = ("title", "description", "default")
    return {k: _bare(v) for k, v in schema.items() if k not in words or isinstance(v, dict)}
