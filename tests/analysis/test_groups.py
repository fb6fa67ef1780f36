"""Designs without a lead (peers, best of k) in tables and statistics: who did what, controls, what is reachable."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.analysis.compare import compare, pairs, summarise
from leadhand.analysis.factors import base_of, factors_from, factors_of
from leadhand.analysis.fold import Fold
from leadhand.analysis.places import Places
from leadhand.analysis.rows import RunRow
from leadhand.analysis.study import read_study
from leadhand.analysis.tabulate import Label, Rows, tabulate
from leadhand.analysis.tidy import read_scores
from leadhand.analysis.writing import JournalWriter
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.events import Role, SandboxStarted, Selected
from leadhand.core.values import Price, SandboxInfo, Usage

PRICES = {"m": Price(input=1.0, output=1.0)}
HEAD = "task,design,reward,cost,lead,worker,solo,guidance,schedule,workers,cap,messaging,context,strategy,k,selector\n"


def rows_of(w: JournalWriter) -> Rows:
    return tabulate(
        Fold(PRICES, ("/ref/x", "executable", "./executable", "/workspace/executable")).apply(w.entries),
        Label("r", "d", "t", 1, "b", ""),
    )


def group(role: Role, names: tuple[str, ...], workspaces: dict[str, SandboxInfo]) -> JournalWriter:
    """Each writes two source files (one by its absolute path) and runs the reference; the last one a file more."""
    w = JournalWriter()
    for agent, info in workspaces.items():
        w.add(agent, SandboxStarted(info=info))
    for name in names:
        w.agent(name, role, "m")
        at = (workspaces[""].scratch + f"/peers/{name}") if role == "peer" else workspaces[name].workspace
        commands = [f"cat > {at}/src/a.c <<E\nx\nE", "echo x > src/a.c; tee b.c", f"{at}/executable --help", "ls"]
        commands += [f"echo > {workspaces[next(iter(workspaces))].scratch}/n.c"]
        commands += ["echo x > last.c"] if name == names[-1] else []
        for command in commands:
            keys = w.step(name, "m", Usage(input=100), ("bash", {"command": command}), seconds=1.0)
            w.command(name, keys[0], 1.0)
            w.results(name)
        w.end_agent(name)
    w.add("", Selected(chosen=names[0], selector="first"))
    w.end("finished", 0.5)
    return w


def local(folder: str) -> SandboxInfo:
    return SandboxInfo(kind="local", id=folder, workspace=f"/w/{folder}/workspace", scratch=f"/w/{folder}/scratch")


def peers(scratch: str = "/scratch", workspace: str = "/workspace") -> JournalWriter:
    return group("peer", ("p1", "p2"), {"": SandboxInfo(kind="bwrap", id="r", workspace=workspace, scratch=scratch)})


def candidates() -> JournalWriter:
    return group("solo", ("s1", "s2"), {"s1": local("s1"), "s2": local("s2")})


@pytest.mark.parametrize(
    "made", [peers(), peers("/w/r/scratch", "/w/r/workspace"), candidates()], ids=["bwrap", "local", "best of k"]
)
def test_nobody_leads_and_each_has_what_it_did(made: JournalWriter) -> None:
    rows = rows_of(made)
    (run,) = rows["runs"]
    assert isinstance(run, RunRow)
    assert (run.agents, run.workers, run.delegations) == (2, 0, 0)
    assert (run.worker_source_files, run.lead_source_files, run.worker_reference_runs) == (0, None, 0)
    assert (run.lead_reference_runs, run.lead_model_s, run.lead_idle_s, run.worker_model_s) == (None, None, None, 0)
    one, two = rows["agents"]
    assert (one.source_files, two.source_files) == (2, 3)
    assert (one.source_writes, two.source_writes) == (2, 3)
    assert (one.reference_runs, two.reference_runs) == (1, 1)
    assert one.model_s == pytest.approx(5.0)
    written = {(r.agent, r.path) for r in rows["file_changes"]}
    assert {path for agent, path in written if agent == one.agent} == {"src/a.c", "b.c"}


def test_a_place_is_no_longer_one_that_begins_alike() -> None:
    places = Places()
    places.add(local("a"))
    assert places.seen("echo > /w/a/workspace/x.c", ()).sources == ("x.c",)
    assert places.seen("echo > /w/a/workspace2/x.c", ()).sources == ("/w/a/workspace2/x.c",)
    assert places.seen("echo > /w/a/scratch/x.c", ()).sources == ()
    assert places.seen("cd /w/a/workspace && echo > y.c", ()).sources == ("y.c",)


def test_a_solo_agent_is_its_own_lead() -> None:
    w = JournalWriter()
    w.agent("solo", "solo", "m")
    (run,) = rows_of(w)["runs"]
    assert (run.lead_source_files, run.lead_model_s) == (0, 0.0)


# --- factors ---------------------------------------------------------------------------------------------------


def test_strategy_and_k_are_read_from_a_csv(tmp_path: Path) -> None:
    """As `leadhand study export` writes them: also where the columns of teams are empty or hold defaults."""
    path = tmp_path / "x.csv"
    path.write_text(
        HEAD + "a,solo,0.4,1,m,,True,minimal,,,0,off,brief,team,,\n"
        "a,p3,0.5,3,m,,False,minimal,,,0,off,brief,peers,3,\n"
        "a,best,0.6,3,m,,False,minimal,,,0,off,brief,best-of-k,3,tests\n"
        "a,bound,0.9,3,m,,False,minimal,,,0,off,brief,best-of-k,3,oracle\n"
        "a,team,0.5,2,m,m,False,minimal,push,,5,off,brief,team,,\n"
    )
    s = read_scores(path)
    f = s.factors
    assert [f[d].size for d in ("p3", "best", "bound", "team")] == [
        "3 peers",
        "best of 3 by tests",
        "best of 3 by oracle",
        "",
    ]
    assert [f[d].group for d in s.designs] == [False, True, True, True, False]
    assert [f[d].reachable for d in s.designs] == [True, True, True, False, True]
    assert (f["p3"].worker, f["p3"].schedule, f["p3"].cap, f["team"].cap) == ("", "", None, 5)
    assert pairs(s) == [("p3", "solo"), ("best", "solo"), ("bound", "solo"), ("team", "solo")]
    assert {c.design: round(c.reward.value, 9) for c in compare(s, pairs(s))}["p3"] == 0.1


def test_an_unknown_strategy_is_an_error() -> None:
    with pytest.raises(UsageError, match="'pears' is none of team, peers, best-of-k"):
        factors_from({"lead": "m", "guidance": "PIV", "strategy": "pears"}, "x")


def test_effort_is_part_of_the_model(tmp_path: Path) -> None:
    """A team is not compared with the solo agent of another effort."""
    path = tmp_path / "x.csv"
    path.write_text(
        "task,design,reward,lead,lead_reasoning,guidance,workers\n"
        "a,low,0.4,m,low,PIV,0\na,high,0.6,m,high,PIV,0\na,team,0.7,m,high,P,4\n"
    )
    s = read_scores(path)
    assert pairs(s) == [("team", "high")]
    assert s.factors["team"].homogeneous


def test_the_control_of_a_group_is_its_models_solo_agent_and_the_studys_own_goes_first() -> None:
    solos = [factors_of(Design(lead="p/m", solo=True, guidance=g)) for g in ("minimal", "PIV")]  # type: ignore[arg-type]
    every = {f.label: f for f in solos}
    best = Design(lead="p/m", strategy="best-of-k", k=2, selector="oracle", guidance="PIV")
    found = base_of(factors_of(best), every)
    assert found is not None
    assert found.guidance == "PIV"
    named = base_of(factors_of(best, "best", control=solos[0].label), every)
    assert named == solos[0]
    assert base_of(factors_of(best, "best", control="never run"), every) is None
    assert factors_of(best).label == "m · best of 2 by oracle PIV · upper bound"


def test_a_team_that_is_checked_at_its_finish_is_compared_with_a_solo_agent_that_is() -> None:
    solos = [factors_of(Design(lead="p/m", solo=True, guidance="PIV", finish_check=c)) for c in (False, True)]
    every = {f.label: f for f in solos}
    assert list(every) == ["m · solo PIV", "m · solo PIV · finish check"]
    for checked in (False, True):
        found = base_of(factors_of(Design(lead="p/m", guidance="P", finish_check=checked)), every)
        assert found is not None
        assert found.finish_check is checked
    only = {solos[0].label: solos[0]}
    assert base_of(factors_of(Design(lead="p/m", guidance="P", finish_check=True)), only) == solos[0]


# --- the frontier ----------------------------------------------------------------------------------------------


def test_an_oracle_is_on_no_frontier_and_keeps_nobody_from_it(tmp_path: Path) -> None:
    """It is better than the team at a lower cost; without it the team is on the frontier in every draw."""
    path = tmp_path / "x.csv"
    rows = [
        f"t{i},{d},{r + i / 100},{c},m,m,{d == 'solo'},PIV,push,,5,off,brief,{s},{k},{chosen}\n"
        for i in range(5)
        for d, r, c, s, k, chosen in (
            ("solo", 0.3, 1, "team", "", ""),
            ("team", 0.5, 4, "team", "", ""),
            ("bound", 0.8, 2, "best-of-k", 2, "oracle"),
        )
    ]
    path.write_text(HEAD + "".join(rows))
    found = {s.design: s for s in summarise(read_scores(path))}
    assert {d: s.frontier for d, s in found.items()} == {"solo": 1.0, "team": 1.0, "bound": None}
    assert {d: s.on_frontier for d, s in found.items()} == {"solo": True, "team": True, "bound": None}
    assert found["bound"].reward is not None


def test_a_study_names_its_designs_and_controls(tmp_path: Path) -> None:
    """In its own order, those of which nothing was started too; and its tasks' labels become tiers."""
    import msgspec

    from leadhand.analysis.collect import scores_of
    from leadhand.analysis.simulated import grid, write_study
    from leadhand.analysis.study import Listed, Planned, StudyFile
    from leadhand.analysis.tables import read_tables

    designs = {"zz": grid()[0], "team": grid()[6], "best": grid()[-1]}
    write_study(tmp_path, [designs["zz"], designs["best"]], tasks=2, repeats=1)
    names = {"00": "zz", "01": "best"}
    listed = tuple(
        Listed(run=p.name, design=names[p.name[:2]], task=f"task-{p.name[3:6]}")
        for p in sorted((tmp_path / "runs").iterdir())
        if ".attempt" not in p.name
    )
    plan = Planned(
        tasks=("task-000", "task-001"),
        repeats=1,
        designs=designs,
        controls={"team": "zz", "best": "zz"},
        labels={"task-000": {"difficulty": "hard", "repository": "a/b"}, "task-001": {"difficulty": "unlabelled"}},
    )
    (tmp_path / "study.json").write_bytes(msgspec.json.encode(StudyFile(runs=listed, study=plan)))
    study = read_study(tmp_path)
    scores = scores_of(study, read_tables(study))
    assert scores.designs == ("zz", "team", "best")
    assert scores.factors["team"].known
    assert pairs(scores) == [("team", "zz"), ("best", "zz")]
    assert scores.tiers == {"task-000": "hard"}
    assert scores.clusters == {"task-000": "a/b"}
