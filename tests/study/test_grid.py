"""Factors to designs, solo controls, names, order."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.design import Design, Guidance
from leadhand.core.errors import UsageError
from leadhand.study.file import StudyFile, find_file, load, shipped
from leadhand.study.grid import control, control_of, designs_of, in_order, label

BASE = {"lead": "openai/strong", "worker": "openai/weak", "budget_usd": 1.0}
GUIDANCE = ["minimal", "P", "I", "V", "PI", "PV", "IV", "PIV"]


def study(**more: object) -> StudyFile:
    settings: dict[str, object] = {"name": "s", "tasks": {"source": ("shipped",)}, "base": BASE, **more}
    import msgspec

    return msgspec.convert(settings, StudyFile)


@given(
    st.lists(st.sampled_from(GUIDANCE), unique=True, min_size=1),
    st.lists(st.integers(1, 20), unique=True, min_size=1, max_size=5),
    st.lists(st.sampled_from(["blocking", "push", "notify", "pull"]), unique=True, min_size=1),
)
def test_a_full_grid_is_every_combination_once(guidance: list[str], workers: list[int], schedules: list[str]) -> None:
    designs = designs_of(study(grid={"guidance": guidance, "workers": workers, "schedule": schedules}))
    teams = [d for d in designs.values() if not d.solo]
    found = {(d.guidance, d.workers, d.schedule) for d in teams}
    assert found == set(product(guidance, workers, schedules))
    assert len(teams) == len(found)


@given(st.lists(st.sampled_from(GUIDANCE), unique=True, min_size=1), st.sampled_from([5, 20]))
def test_every_team_has_its_control_and_there_is_no_other(guidance: list[str], cap: int) -> None:
    designs = designs_of(study(base={**BASE, "max_workers": cap}, grid={"guidance": guidance}))
    controls = {control_of(n, designs) for n, d in designs.items() if not d.solo}
    assert "" not in controls
    assert controls == {n for n, d in designs.items() if d.solo}
    for name, design in designs.items():
        if not design.solo:
            solo = designs[control_of(name, designs)]
            assert solo.guidance == ("minimal" if design.guidance == "minimal" else "PIV")
            assert (solo.lead, solo.budget_usd, solo.limits) == (design.lead, design.budget_usd, design.limits)


def test_controls_are_per_lead_and_effort() -> None:
    found = designs_of(
        study(
            grid={
                "lead": ["openai/strong", "openai/other"],
                "lead_reasoning": ["low", "high"],
                "guidance": ["minimal", "P", "PIV"],
            }
        )
    )
    solos = [d for d in found.values() if d.solo]
    assert {(d.lead, d.lead_reasoning, d.guidance) for d in solos} == set(
        product(["openai/strong", "openai/other"], ["low", "high"], ["minimal", "PIV"])
    )
    assert len(solos) == 8
    assert "strong_low_solo_PIV" in found


def test_a_control_that_is_asked_for_by_name_is_not_added_again() -> None:
    found = designs_of(study(grid={"guidance": ["P"]}, designs={"alone": {"solo": True, "guidance": "PIV"}}))
    assert [n for n, d in found.items() if d.solo] == ["alone"]
    assert control_of("P", found) == "alone"


def test_controls_can_be_switched_off() -> None:
    found = designs_of(study(grid={"guidance": ["P"]}, solo_controls=False))
    assert list(found) == ["P"]
    assert control_of("P", found) == ""


def test_one_factor_at_a_time() -> None:
    found = designs_of(study(vary={"guidance": ["P", "PIV"], "workers": [2, 4]}, solo_controls=False))
    assert list(found) == ["base", "P", "PIV", "2w", "4w"]
    assert found["2w"].guidance == "minimal"
    assert found["P"].workers is None


def test_equal_designs_are_one() -> None:
    found = designs_of(
        study(vary={"guidance": ["minimal", "P"]}, designs={"plan": {"guidance": "P"}}, solo_controls=False)
    )
    assert list(found) == ["base", "P"]


def test_a_level_may_set_several_things() -> None:
    found = designs_of(
        study(
            models={"sol": "openai/strong", "luna": "openai/weak"},
            base={"budget_usd": 1.0},
            grid={"team": [{"lead": "sol"}, {"lead": "sol", "worker": "luna"}], "guidance": ["P"]},
        )
    )
    assert list(found) == ["solo_PIV", "sol_P", "sol+luna_P"]
    assert found["sol+luna_P"].worker == "openai/weak"


def test_kinds_may_be_named_by_short_names() -> None:
    kinds = [{"name": "plan", "model": "luna", "count": 12}, {"name": "write", "count": 4}]
    found = designs_of(study(models={"luna": "openai/weak"}, designs={"two": {"kinds": kinds, "workers": 16}}))
    assert [k.model for k in found["two"].kinds] == ["openai/weak", ""]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"grid": {"guidence": ["P"]}}, "guidence is no setting"),
        ({"designs": {"x": {"workers": 99}}}, "design x: workers must be 1 to 20"),
        ({"designs": {"x": {"wrkers": 3}}}, "wrkers"),
        ({"designs": {"x": {"schedule": "later"}}}, "design x"),
        ({"base": {"budget_usd": 1.0}}, "no lead"),
        ({"base": {"lead": "openai/x"}}, "no budget"),
        ({"designs": {"a b": {"guidance": "P"}}}, "is not a name"),
        ({"grid": {"guidance": ["P"]}, "designs": {"P": {"workers": 3}}}, "two designs are called 'P'"),
        ({"designs": {"x": {"solo": True, "guidance": "P"}}}, "design x"),
    ],
)
def test_what_cannot_run_is_named(more: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        designs_of(study(**more))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels() -> None:
    assert label({"guidance": "P", "workers": 4}) == "P_4w"
    assert label({"lead": "openai/gpt-5.6-sol", "worker": "openai/gpt-5.6-luna"}) == "gpt-5-6-sol+gpt-5-6-luna"
    assert label({"max_workers": 20, "schedule": "pull"}) == "cap20_pull"
    assert label({}) == "base"
    assert label({"worker": "openai/luna", "guidance": "P"}) == "worker-luna_P"
    assert label({"budget_usd": 1.0}) == "usd-1"
    assert label({"budget_usd": None}) == label({"budget_usd": "none"}) == "usd-none"
    assert label({"kinds": [{"name": "plan", "count": 12}, {"name": "write"}]}) == "12plan+write"


def test_controls_that_differ_in_what_bounds_them_say_so() -> None:
    found = designs_of(study(vary={"budget_usd": [3.0, "none"], "limits": [{"steps": 5}], "lead_reasoning": ["low"]}))
    assert {n for n, d in found.items() if d.solo} == {
        "solo_minimal",
        "low_solo_minimal",
        "solo_minimal_usd-3",
        "solo_minimal_usd-none",
        "solo_minimal_steps-5",
    }
    assert control_of("usd-3", found) == "solo_minimal_usd-3"


@given(
    st.lists(st.integers(), unique=True, min_size=1, max_size=6),
    st.integers(1, 3),
    st.integers(),
    st.integers(0, 60),
)
def test_wherever_it_stops_what_is_done_is_paired_but_for_one_task(
    tasks: list[int], repeats: int, seed: int, stop: int
) -> None:
    designs = ["solo", "a", "b"]
    order = in_order(designs, tasks, repeats, seed)
    assert sorted(order) == sorted(product(designs, tasks, range(1, repeats + 1)))
    assert [r for _, _, r in order] == sorted(r for _, _, r in order)
    done = order[:stop]
    whole = [k for k in dict.fromkeys((t, r) for _, t, r in done) if len([d for d, t, r in done if (t, r) == k]) == 3]
    assert len({(t, r) for _, t, r in done}) - len(whole) <= 1


def test_the_order_of_tasks_is_the_same_in_each_repeat_and_goes_by_the_seed() -> None:
    tasks = list(range(20))
    order = [t for _, t, _ in in_order(["a"], tasks, 2, 7)]
    assert order[:20] == order[20:] != tasks
    assert order == [t for _, t, _ in in_order(["a"], tasks, 2, 7)]
    assert order != [t for _, t, _ in in_order(["a"], tasks, 2, 8)]


@pytest.mark.parametrize("name", shipped())
def test_shipped_studies_hold_together(name: str) -> None:
    file = load(find_file(name))
    designs = designs_of(file)
    assert all(control_of(n, designs) for n, d in designs.items() if not d.solo)
    assert all(d.budget_usd is not None for d in designs.values())
    assert file.about
    assert file.tasks.count


def test_the_papers_experiments_are_shipped() -> None:
    def guidance(name: str) -> set[Guidance]:
        return {d.guidance for d in designs_of(load(find_file(name))).values() if not d.solo}

    main = load(find_file("sol-terra-luna"))
    assert (main.tasks.count, main.repeats, len(designs_of(main))) == (200, 3, 5 * 5 + 3 * 2)
    sizes = designs_of(load(find_file("sizes")))
    assert {d.workers for d in sizes.values() if d.workers} == {2, 4, 8, 16}
    assert {d.max_workers for d in sizes.values() if not d.workers and not d.solo} == {5, 20}
    lite = designs_of(load(find_file("commit0-lite")))
    assert {(d.guidance, d.schedule) for d in lite.values() if not d.solo} == set(
        product(["minimal", "P", "I", "V", "PIV"], ["blocking", "push"])
    )
    assert {d.messaging for d in designs_of(load(find_file("messaging"))).values()} == {"off", "on", "plus"}
    thirty = load(find_file("families-30"))
    assert (thirty.tasks.per, thirty.tasks.each, thirty.tasks.count) == ("difficulty", 10, 30)
    assert guidance("opus-haiku") == {"minimal", "P", "I", "V", "PIV"}


def test_a_control_of_a_control_is_itself() -> None:
    solo = control(Design(lead="openai/x", guidance="V", budget_usd=2.0))
    assert control(solo) == solo


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense = 1\n[tasks]\nsource = ['x']", "nonsense: unknown key"),
        ("[tasks]\nsource = ['x']\nsorce = 1", "tasks.sorce: unknown key"),
        ("[tasks]\nsource = []", "tasks.source: is empty"),
        ("repeats = 0\n[tasks]\nsource = ['x']", "repeats"),
        ("repeats = 'three'\n[tasks]\nsource = ['x']", "repeats"),
        ("budget_usd = -1.0\n[tasks]\nsource = ['x']", "budget_usd"),
        ("[tasks]\nsource = ['x']\nper = 'tier'", "tasks.per"),
        ("this is not toml", "not valid TOML"),
        ("name = 'x'", "tasks"),
    ],
)
def test_a_broken_file_is_named_with_its_key(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_study_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="sol-terra-luna"):
        find_file("no-such-study")


# --- strategies ------------------------------------------------------------------------------------------------------

LEADS = {"lead": "openai/strong", "budget_usd": 1.0}
RUNS = {**LEADS, "worker": "openai/weak", "schedule": "pull", "max_workers": 3, "k": 3, "selector": "oracle"}


def strategies(designs: dict[str, Design]) -> dict[str, tuple[str, int]]:
    return {n: (d.strategy, d.k) for n, d in designs.items() if not d.solo}


def test_strategy_and_k_are_factors_of_a_grid() -> None:
    """A team has no k and peers have no schedule: there each design has what its strategy has, once."""
    found = designs_of(
        study(
            base={**LEADS, "worker": "openai/weak", "selector": "oracle"},
            grid={
                "strategy": ["team", "peers", "best-of-k"],
                "k": [2, 4],
                "schedule": ["push", "pull"],
                "guidance": ["minimal", "PIV"],
            },
        )
    )
    assert strategies(found) == {
        **{f"team_{s}_{g}": ("team", 4) for s in ("push", "pull") for g in ("minimal", "PIV")},
        **{f"{k}-peers_{g}": ("peers", k) for k in (2, 4) for g in ("minimal", "PIV")},
        **{f"best-of-{k}_{g}": ("best-of-k", k) for k in (2, 4) for g in ("minimal", "PIV")},
    }
    assert {d.schedule for n, d in found.items() if n.startswith("team_pull")} == {"pull"}
    assert {d.worker for d in found.values() if d.has_lead} == {"openai/weak"}
    assert all(d.selector == ("oracle" if d.strategy == "best-of-k" else "tests") for d in found.values())
    assert {control_of(n, found) for n in strategies(found)} == {"solo_minimal", "solo_PIV"}


def test_strategy_is_a_factor_by_itself() -> None:
    found = designs_of(study(base=RUNS, vary={"strategy": ["peers", "best-of-k"], "guidance": ["P"]}))
    assert strategies(found) == {
        "base": ("team", 4),
        "peers": ("peers", 3),
        "best-of-k": ("best-of-k", 3),
        "P": ("team", 4),
    }
    assert (found["base"].schedule, found["base"].max_workers) == ("pull", 3)
    assert found["best-of-k"] == Design(
        lead="openai/strong", strategy="best-of-k", k=3, selector="oracle", budget_usd=1.0
    )
    assert control_of("best-of-k", found) == control_of("base", found) == "solo_minimal"


def test_a_strategy_may_be_named() -> None:
    found = designs_of(
        study(
            base=RUNS,
            designs={
                "alike": {"strategy": "peers", "k": 5},
                "dear": {"strategy": "best-of-k", "budget_usd": 3.0},
                "solo": {"solo": True},
            },
        )
    )
    assert strategies(found) == {"alike": ("peers", 5), "dear": ("best-of-k", 3)}
    # What a best of three is given, its solo control is given too.
    assert found[control_of("dear", found)].budget_usd == 3.0
    assert found["solo"].solo


def test_levels_of_a_table_may_be_strategies() -> None:
    how = [{"workers": 4}, {"strategy": "peers", "k": 2}, {"strategy": "best-of-k", "k": 5, "selector": "oracle"}]
    found = designs_of(study(base=LEADS, grid={"how": how, "lead": ["openai/strong", "openai/other"]}))
    assert [n for n, d in found.items() if not d.solo] == [
        f"{how}_{lead}" for how in ("4w", "2-peers", "best-of-5_oracle") for lead in ("strong", "other")
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"designs": {"x": {"strategy": "peers", "schedule": "pull"}}}, "design x: strategy 'peers' has no lead"),
        ({"designs": {"x": {"k": 3}}}, "design x: strategy 'team' knows no k"),
        (
            {"designs": {"x": {"strategy": "team", "k": 3}, "y": {"strategy": "peers"}}},
            "design x: strategy 'team' knows",
        ),
        ({"base": {**LEADS, "k": 3}}, "design base: strategy 'team' knows no k"),
        (
            {"vary": {"strategy": ["peers"]}, "base": {**LEADS, "guidance": "P"}},
            "design peers: guidance 'P' needs a lead",
        ),
        ({"vary": {"strategy": ["best-of-k"]}, "base": LEADS}, "design best-of-k: selector 'tests' needs"),
        ({"vary": {"strategy": ["best-of-3"]}, "base": LEADS}, "design best-of-3"),
        ({"designs": {"x": {"strategy": "peers", "k": 1}}, "base": LEADS}, "k must be 2 to 20"),
    ],
)
def test_what_does_not_go_with_a_strategy_is_refused(more: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        designs_of(study(**more))
    assert says in str(caught.value)


def test_labels_of_strategies() -> None:
    assert label({"strategy": "best-of-k", "k": 3, "guidance": "PIV"}) == "best-of-3_PIV"
    assert label({"k": 3, "strategy": "peers"}) == "3-peers"
    assert label({"strategy": "team", "k": 3}) == "team_k3"
    assert label({"strategy": "best-of-k", "selector": "oracle"}) == "best-of-k_oracle"
