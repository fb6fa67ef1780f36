"""A team, peers and best-of-k in one study on a shipped task: real sandboxes, commands and graders, a killed driver."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sessions import assert_whole, outcomes, rewards, settled, unknown
from study_files import HERE, Provider

from leadhand.core.events import CandidateKept, Entry, NoteAdded, RunEnded, Selected
from leadhand.core.journal import read_journal
from leadhand.core.values import Price
from leadhand.study import results
from leadhand.study.layout import StudyPaths, read_record
from leadhand.testing.provider.process import in_process

pytestmark = pytest.mark.timeout(400)

PRICE = Price(input=1.0, output=5.0)
STUDY = """\
name = "strategies"
repeats = 1
sandbox = "bwrap"
concurrency = 1
budget_usd = 400.0

[tasks]
source = ["satchel"]

[base]
lead = "openai-chat/strong"
workers = 4
schedule = "push"
budget_usd = 100.0
k = 4
selector_command = '''./compile.sh >/dev/null 2>&1; echo "-$(./check.sh | grep -c ^DIFFERS)"'''

[vary]
strategy = ["peers", "best-of-k"]

[prices]
"*" = "1,5"

[base_urls]
"*" = "{url}"
"""


@pytest.fixture(scope="module")
def strategies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    bill = tmp_path_factory.mktemp("provider") / "bill.jsonl"
    with in_process("strategy_scripts:scripts", bill=bill, pythonpath=str(HERE)) as url:
        yield Provider(url, bill)


def so_far(journal: Path) -> list[Entry]:
    """What a live journal holds, but for a line that is being written."""
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    return [msgspec.json.decode(line, type=Entry) for line in lines]


def test_three_strategies_in_one_study_whose_driver_is_killed(
    strategies: Provider, paths: StudyPaths, tmp_path: Path
) -> None:
    file = tmp_path / "strategies.toml"
    file.write_text(STUDY.format(url=strategies.url))
    program = [sys.executable, "-W", "error", str(HERE / "study_cli.py"), "study"]

    def start() -> subprocess.Popen[bytes]:
        command = [*program, "run", str(file), "--folder", str(paths.folder), "--plain"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def journal(design: str) -> Path:
        (run,) = (r.run for r in read_record(paths).runs if r.design == design)
        return paths.run(run).journal

    def kill_after(design: str, kind: type) -> None:
        """The driver, as soon as a run's journal holds such an event: in the middle of what that design does."""
        process = start()
        while process.poll() is None:
            if paths.study_json.exists() and any(isinstance(e.event, kind) for e in so_far(journal(design))):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL, said.decode()
        assert not any(isinstance(e.event, RunEnded) for e in so_far(journal(design)))
        assert settled(paths) <= strategies.usd(PRICE) + 1e-6
        assert strategies.usd(PRICE) <= settled(paths) + unknown(paths) + 1e-6

    kill_after("peers", NoteAdded)
    kill_after("best-of-k", CandidateKept)
    process = start()
    said, _ = process.communicate()
    assert process.returncode == 0, said.decode()

    assert_whole(paths)
    assert not [name for name in outcomes(paths) if ".attempt-" in name]
    assert settled(paths) <= strategies.usd(PRICE) + 1e-6
    assert strategies.usd(PRICE) <= settled(paths) + unknown(paths) + 1e-6
    found = {design: reward for (design, _, _), reward in rewards(paths).items()}
    assert 0 < found.pop("solo_minimal") < 0.6  # type: ignore[operator]
    assert found == {"base": 1.0, "peers": 1.0, "best-of-k": 1.0}
    entries = read_journal(journal("best-of-k"))
    (chosen,) = [e.event for e in entries if isinstance(e.event, Selected)]
    assert (chosen.chosen, chosen.scores["s2"], sorted(chosen.scores)) == ("s2", 0.0, ["s1", "s2", "s3", "s4"])
    kept = [e.agent for e in entries if isinstance(e.event, CandidateKept)]
    assert sorted(kept) == ["s1", "s2", "s3", "s4"]
    _check_tables(paths, program, tmp_path)


def _check_tables(paths: StudyPaths, program: list[str], cwd: Path) -> None:
    """`strategy` and `k` stand in study.json, in the results and in the exported rows."""
    designs = json.loads(paths.study_json.read_bytes())["study"]["designs"]
    # Settings at their default (a team; k = 4) are left out.
    assert {name: (d.get("strategy", "team"), d.get("k", 4)) for name, d in designs.items()} == {
        "solo_minimal": ("team", 4),
        "base": ("team", 4),
        "peers": ("peers", 4),
        "best-of-k": ("best-of-k", 4),
    }
    assert "workers" not in designs["peers"]
    assert "selector_command" not in designs["base"]
    found = {r.design: r for r in results.rows(read_record(paths), outcomes(paths))}
    solo = found["solo_minimal"]
    for name in ("base", "peers", "best-of-k"):
        lift = found[name].lift
        assert lift is not None
        assert solo.reward is not None
        assert (lift.control, lift.mean) == ("solo_minimal", pytest.approx(1 - solo.reward))
    done = subprocess.run([*program, "export", str(paths.folder)], cwd=cwd, capture_output=True, text=True, check=True)
    rows = {r["design"]: r for r in csv.DictReader(io.StringIO(done.stdout))}
    assert {name: (r["strategy"], r["k"], r["worker"], r["solo"]) for name, r in rows.items()} == {
        "solo_minimal": ("team", "", "", "True"),
        "base": ("team", "", "openai-chat/strong", "False"),
        "peers": ("peers", "4", "", "False"),
        "best-of-k": ("best-of-k", "4", "", "False"),
    }
    assert sum(float(r["cost"]) for r in rows.values()) == pytest.approx(settled(paths), abs=1e-9)
