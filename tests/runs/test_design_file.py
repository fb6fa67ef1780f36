"""A design file: what is written is what runs, and whatever is not a setting is refused with the nearest that is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadhand.core.design import Design, Kind
from leadhand.core.errors import UsageError
from leadhand.core.values import Limits
from leadhand.runs.design_file import design_from_toml

SMALL = 'lead = "p/strong"\nbudget_usd = 2.5\n'

FULL = """
lead = "p/strong"
worker = "p/cheap"
workers = 16
lead_reasoning = "high"
guidance = "PV"
schedule = "notify"
messaging = "plus"
at_finish = "refuse"
budget_usd = "none"
budget_visibility = "team"
report_chars = 5000

[limits]
steps = 50
command_s = 60

[[kinds]]
name = "implementer"
model = "p/strong"
count = 4

[[kinds]]
name = "planner"
count = 12
role = "You only plan."
"""


def test_a_small_file_is_a_design_with_the_defaults() -> None:
    assert design_from_toml(SMALL) == Design(lead="p/strong", budget_usd=2.5)


def test_every_part_of_a_file_reaches_the_design() -> None:
    assert design_from_toml(FULL) == Design(
        lead="p/strong",
        worker="p/cheap",
        workers=16,
        lead_reasoning="high",
        guidance="PV",
        schedule="notify",
        messaging="plus",
        at_finish="refuse",
        budget_usd=None,
        budget_visibility="team",
        report_chars=5000,
        limits=Limits(steps=50, command_s=60.0),
        kinds=(
            Kind(name="implementer", model="p/strong", count=4),
            Kind(name="planner", count=12, role="You only plan."),
        ),
    )


@pytest.mark.parametrize(
    ("override", "changed"),
    [
        ("schedule=pull", {"schedule": "pull"}),
        ("workers=3", {"workers": 3}),
        ("workers = 3", {"workers": 3}),
        ("workers=none", {"workers": None}),
        ("budget_usd=none", {"budget_usd": None}),
        ("budget_usd=0", {"budget_usd": 0.0}),
        ("lead=q/other=x", {"lead": "q/other=x"}),
        ("lead_reasoning=none", {"lead_reasoning": "none"}),
        ("solo=true", {"solo": True}),
        ("limits.steps=7", {"limits": Limits(steps=7)}),
        ("limits.run_s=1.5", {"limits": Limits(run_s=1.5)}),
    ],
)
def test_an_override_is_typed_like_its_setting(override: str, changed: dict[str, object]) -> None:
    expected = Design(**{"lead": "p/strong", "budget_usd": 2.5, **changed})  # type: ignore[arg-type]
    assert design_from_toml(SMALL, [override]) == expected


def test_later_overrides_win_and_kinds_go_by_name() -> None:
    design = design_from_toml(FULL, ["kinds.planner.count=3", "workers=6", "workers=7"])
    assert design.workers == 7
    assert [k.count for k in design.kinds] == [4, 3]


def test_a_lead_and_a_budget_may_come_from_overrides() -> None:
    assert design_from_toml("", ["lead=p/m", "budget_usd=1"]) == Design(lead="p/m", budget_usd=1.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SMALL + "shedule = 'push'", "there is no setting 'shedule'; did you mean 'schedule'?"),
        (SMALL + "steps = 5", "there is no setting 'steps'; did you mean 'limits.steps'?"),
        (SMALL + "[limits]\nstep = 5", "there is no setting 'limits.step'; did you mean 'limits.steps'?"),
        (SMALL + "[[kinds]]\nname='a'\nmodell='x'", "there is no setting 'kinds.modell'; did you mean 'kinds.model'?"),
        (SMALL + "limits = 5", "limits must be a table"),
        (SMALL + "kinds = [3]", "kinds must be a table"),
        (SMALL + "schedule = 'soon'", "schedule: invalid enum value 'soon'"),
        (SMALL + "workers = 'many'", "workers: expected `int | null`, got `str`"),
        (SMALL + "workers = 21", "workers must be 1 to 20"),
        (SMALL + "[limits]\nsteps = 0", "limits.steps must be at least 1"),
        (SMALL + "[[kinds]]\ncount = 2", "missing required field `name`"),
        (SMALL + "lead = 'twice'", "is not TOML"),
        ("budget_usd = 1", 'names no lead: add lead = "provider/model"'),
        ("lead = 'p/m'", "has no budget"),
        ("x = " + "[" * 9000, "is not TOML"),
        ("lead = 'none'\nbudget_usd = 1\nlimits = 'none'", "limits must be a table"),
    ],
)
def test_what_is_not_a_design_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        design_from_toml(text, name="team.toml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("schedule", "write key=value"),
        ("=3", "write key=value"),
        ("limits.=3", "write key=value"),
        ("shedule=push", "did you mean 'schedule'?"),
        ("limits.stepz=3", "did you mean 'limits.steps'?"),
        ("a.b.c.d=1", "there is no setting 'a.b.c.d'"),
        ("lead.name=x", "there is no setting 'lead.name'"),
        ("kinds.planner.count=2", "there is no kind of worker 'planner'; kinds: none"),
        ("workers=two", "workers: expected"),
        ("limits=3", "limits must be a table"),
        ("workers=" + "[" * 9000, "workers: expected"),
    ],
)
def test_an_override_that_fits_nothing_is_refused(override: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        design_from_toml(SMALL, [override])
    assert words in str(caught.value)


@pytest.mark.parametrize("override", ["limits.steps=3", "kinds.planner.count=3"])
@pytest.mark.parametrize("broken", ["limits = 5", "kinds = 'x'", "kinds = ['x']", "kinds = [['x']]"])
def test_an_override_of_a_broken_table_is_refused(broken: str, override: str) -> None:
    with pytest.raises(UsageError, match="must be a table"):
        design_from_toml(SMALL + broken, [override])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_is_a_design_or_an_error_of_ours(text: str, overrides: list[str]) -> None:
    try:
        design = design_from_toml(SMALL + text, overrides)
    except UsageError:
        return
    assert isinstance(design, Design)
