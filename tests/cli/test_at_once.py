"""What is wrong with names and models is said before anything slow is loaded, and with what takes it instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leadhand.cli.app import app
from leadhand.cli.extras import EXTRAS

STUDY = '[tasks]\nsource = ["shipped"]\n[base]\nlead = "openai/gpt-5.6-sol"\nbudget_usd = 1.0\n'
BARE = f"import sys; sys.modules.update(dict.fromkeys({list(EXTRAS)})); import leadhand.cli; leadhand.cli.main()"
"""The program on a machine without any extra: whatever needs one says so."""


def bare(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {
        k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith(("AWS_", "LEADHAND_"))
    }
    command = [sys.executable, "-c", BARE, *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study file, and one run of a rehearsed team."""
    folder = tmp_path_factory.mktemp("at-once")
    (folder / "mine.toml").write_text(STUDY)
    done = CliRunner().invoke(app, ["demo", "--plain", "--runs", str(folder / "runs")])
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("advise",), "no models: name those you can use"),
        (("advise", "--like", "nope"), "'nope' is no benchmark, study, task or folder that is known here"),
        (("advise", "--models", "openai/gpt-5.6-sool"), "did you mean openai/gpt-5.6-sol?"),
        (("compare", "a", "b"), "no run 'a' in "),
        (("show", "satchel"), "the newest run of that task is 20"),
        (("grade", "satchel"), "`leadhand grade satchel --reference --untouched` tries a task's grader"),
        (("grade", "nobody"), "no run 'nobody' in "),
        (("compare", "last", "last"), "name two"),
        (("analyse", "nowhere"), "there is no nowhere; give a study folder"),
        (("analyse", "mine.toml"), "mine.toml is a study file: `leadhand study plan`"),
        (("report", "last"), "last is a single run: `leadhand show last` takes it"),
        (("design", "show", "mine.toml"), "is a study file, not a design: `leadhand study plan mine.toml` takes it"),
    ],
)
def test_without_the_extras_a_mistake_is_named(arguments: tuple[str, ...], says: str, folder: Path) -> None:
    done = bare(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("leadhand: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("analyse", "runs"), "analysis"),
        (("advise", "--models", "openai/gpt-5.6-sol"), "analysis"),
        (("view", "--no-browser"), "view"),
    ],
)
def test_a_missing_extra_is_named_with_both_remedies(arguments: tuple[str, ...], extra: str, folder: Path) -> None:
    done = bare(*arguments, cwd=folder)
    assert done.returncode == 2
    assert f"is not installed: pip install 'leadhand[{extra}]' (in a checkout: make install)" in done.stderr


@pytest.mark.parametrize("form", ["--traj", "--atif"])
def test_a_run_is_exported_without_the_extras(form: str, folder: Path) -> None:
    done = bare("export", "last", form, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{")


def test_a_budget_of_nothing_is_said_to_buy_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")
    runs = ["--runs", str(tmp_path)]
    done = CliRunner().invoke(
        app, ["run", "numerus", "--lead", "openai/gpt-5.6-sol", "--solo", "--max-usd", "0", "--plain", *runs]
    )
    assert "a budget of $0 buys no call\n" in done.stderr
    assert "out_of_budget" in done.stdout
    shown = CliRunner().invoke(app, ["show", *runs])
    (folder,) = [p for p in tmp_path.iterdir() if p.is_dir()]
    assert shown.stdout.endswith(f"\n\n{folder}\n")
