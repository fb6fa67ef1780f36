"""What users ask, and what is printed. The models' prices are the table's own."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import typer
from advisor_evidence import LUNA, PAIR, PLANNERS, SOL, SOLO, own_runs_of
from typer.testing import CliRunner

from leadhand.advisor.advise import advise, design_of, predict
from leadhand.advisor.values import Estimate, Question
from leadhand.advisor.words import text_of
from leadhand.cli import advise as command
from leadhand.core.design import Design, check
from leadhand.core.errors import UsageError
from leadhand.study.file import load
from leadhand.study.grid import designs_of

app = typer.Typer()
command.register(app)


@app.command()
def other() -> None:
    """Makes `advise` a subcommand, as in the program."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEADHAND_RUNS", raising=False)


def asked(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["advise", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def section(text: str, title: str) -> str:
    return text.partition(f"\n{title}\n")[2].partition("\n\n")[0]


def test_one_dollar_and_five_minutes_a_task_sol_and_luna() -> None:
    text = asked("--models", f"{SOL},{LUNA}", "--max-usd", "1", "--max-minutes", "5", "--like", "programbench")
    assert text.startswith("Run a team: gpt-5.6-sol leading")
    assert "delegating planning only" in text.splitlines()[0]
    assert "keep $1 and 5 minutes with 80% confidence" in section(text, "Why")
    assert "arXiv 2610.17471" in section(text, "Sources")
    assert "minutes a task: " in section(text, "What would change it")
    assert "leading 16 gpt-5.6-luna" in text
    # Nothing is known of other tasks: then only a single agent is sure enough to keep the limits.
    text = asked("--models", f"{SOL},{LUNA}", "--max-usd", "1", "--max-minutes", "5")
    assert text.startswith("Run a single agent (solo): gpt-5.6-sol alone")
    assert "For your tasks: no evidence." in text
    assert "- nothing was ever run on your tasks" in section(text, "Extrapolated")


def test_no_limit_opus_only() -> None:
    text = asked("--models", "anthropic/claude-opus-4-8")
    first = text.splitlines()[0]
    assert "claude-opus-4-8" in first
    assert "gpt" not in section(text, "Alternatives")
    assert "each doubling of the cost has to bring 2 points" in section(text, "Why")
    assert "claude-opus-4-8 leading claude-opus-4-8 was never seen; priced from the price table" in text
    assert "claude-opus-4-8 leading up to 5 claude-opus-4-8" in section(text, "Alternatives"), (
        "the team beside the agent"
    )


def test_one_cheap_local_model() -> None:
    name = "openai-chat/qwen3-coder"
    with pytest.raises(UsageError, match=r"no price is known for openai-chat/qwen3-coder; give one with --price"):
        asked("--models", name)
    text = asked("--models", name, "--price", f"{name}=0,0")
    assert ", free, " in text.splitlines()[1]
    assert "qwen3-coder: no figure and no run, placed by its price" in section(text, "Extrapolated")
    assert "each doubling of the minutes has to bring" in text
    assert "$" not in section(text, "Alternatives")


def test_is_a_team_worth_it_for_my_repo(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    text = asked("--like", str(tmp_path / "shop"), "--models", ",".join(PAIR), "--max-usd", "3")
    assert "For repository shop: no evidence. Everything below is extrapolated" in text
    assert "above 0 with" in section(text, "Why"), "how sure it is that the team is better"
    assert "if gpt-5.6-sol alone earned above 0." in section(text, "What would change it")
    assert "Next experiment: " in text
    assert "- written to advised.toml: put your own tasks below tasks/, a folder each, then `leadhand" in text
    study = (tmp_path / "advised.toml").read_text()
    assert "tasks of yours below tasks/" in study


def test_the_papers_advice_in_the_papers_setting() -> None:
    text = asked("--models", ",".join(PAIR), "--like", "programbench")
    assert text.startswith("Run a team: gpt-5.6-sol leading 16 gpt-5.6-luna, delegating planning only")
    lift = section(text, "What the numbers rest on").partition("- lift over solo: ")[2]
    assert "16 Luna planners is within 1.4 points of the all-Sol team [1: abstract]" in lift
    disputed = section(text, "Disputed")
    assert "cheap planners pay when the strong lead still decides and writes" in disputed
    assert "a cheapened planner costs more than it saves" in disputed


def test_solo_for_easy_tasks_with_its_source() -> None:
    text = asked("--models", ",".join(PAIR), "--like", "easy")
    assert text.startswith("Run a single agent (solo): gpt-5.6-sol alone")
    assert "a team does not pay here" in section(text, "Why")
    assert "teams lose where a single agent does well" in section(text, "What the numbers rest on")
    assert "TeamBench, arXiv 2605.07073" in section(text, "Sources")
    assert "if gpt-5.6-sol alone earned below 0." in section(text, "What would change it")


def test_a_reward_to_reach() -> None:
    cheap = advise(Question(models=PAIR, like="programbench", min_reward=0.45))
    dear = advise(Question(models=PAIR, like="programbench", min_reward=0.58))
    assert cheap.choice.usd.mean < dear.choice.usd.mean
    assert "cheapest that reaches a reward of 0.45" in cheap.why[0]
    assert dear.experiment is not None
    assert dear.experiment.gain == 0.0
    easy = advise(Question(models=PAIR, like="easy", min_reward=0.5))
    assert "one agent is enough, and a team costs more" in easy.why[1]
    never = advise(Question(models=PAIR, like="programbench", min_reward=0.99))
    assert "none of 19 designs reaches a reward of 0.99" in never.why[0]
    assert "expected to earn most" in never.why[0]
    assert never.choice.design == advise(Question(models=PAIR, like="programbench")).choice.design
    limited = advise(Question(models=PAIR, like="programbench", min_reward=0.99, max_usd=1.0))
    assert "reaches a reward of 0.99 and keeps $1 with 80% confidence" in limited.why[0]


def test_limits_that_nothing_keeps() -> None:
    answer = advise(Question(models=(f"{SOL}@medium",), like="programbench", max_usd=0.01))
    assert answer.fitting == 0
    assert "none of 6 designs keeps $0.01 with 80% confidence" in answer.why[0]
    assert "one agent comes nearer to the limits than a team" in answer.why[1]
    assert answer.choice.design.solo
    hurried = advise(Question(models=PAIR, like="programbench", max_minutes=0.05))
    assert hurried.fitting == 0
    assert "none of 19 designs keeps 0.05 minutes" in hurried.why[0]
    assert "does not pay" not in hurried.why[1]
    assert hurried.experiment is None
    assert "Next experiment: none; nothing that could be run is likely to change this advice." in text_of(hurried)


def test_own_runs_turn_the_advice_and_are_named() -> None:
    """Here the published advice is wrong: the team loses 12 points."""
    question = Question(models=PAIR, like="mine")
    before = advise(question)
    assert before.choice.design.has_lead
    own = [*own_runs_of(SOLO, 20, 0.6, 0.40), *own_runs_of(PLANNERS, 20, 0.48, 0.50)]
    after = advise(question, own)
    assert after.choice.design == SOLO
    assert after.choice.runs == 20
    assert after.choice.reward.mean == pytest.approx(0.6, abs=0.05)
    assert after.choice.reward.high - after.choice.reward.low < 0.4 * (
        before.choice.reward.high - before.choice.reward.low
    )
    text = text_of(after)
    assert "For mine: 40 own runs" in text
    assert "reward: 20 own runs, 20 own runs of other designs or tasks" in text
    assert "Extrapolated" not in text


def test_own_runs_of_a_model_without_a_price_are_left_out() -> None:
    unknown = own_runs_of(SOLO, 5, 0.6, 0.4)
    unknown = [type(r)(**{**{f: getattr(r, f) for f in r.__struct_fields__}, "design": DARK}) for r in unknown]
    assert advise(Question(models=PAIR, like="mine"), unknown).own_runs == 0


DARK = type(SOLO)(lead="openai/nobody-sells-this", solo=True)


def test_the_next_experiment_is_a_study_that_loads(tmp_path: Path) -> None:
    asked("--models", ",".join(PAIR), "--like", "programbench", "--max-usd", "1")
    study = load(tmp_path / "advised.toml")
    designs = designs_of(study)
    assert 1 <= len(designs) <= 2
    assert study.tasks.source == ("programbench",)
    # The tasks are named where they are known here (ProgramBench's package is), so that the next time others are taken.
    assert bool(study.tasks.first) != bool(study.tasks.ids)
    assert isinstance(study.budget_usd, float)
    assert all(d.budget_usd is not None and 0 < d.budget_usd <= study.budget_usd for d in designs.values())
    assert all(d.lead_reasoning in ("", "medium") for d in designs.values())


def test_a_file_of_ones_own_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "advised.toml").write_text("mine = 1\n")
    with pytest.raises(UsageError, match="was not written by advise"):
        asked("--models", ",".join(PAIR))
    assert (tmp_path / "advised.toml").read_text() == "mine = 1\n"
    asked("--models", ",".join(PAIR), "--study-file", "next.toml")
    asked("--models", ",".join(PAIR), "--study-file", "next.toml")
    assert (tmp_path / "next.toml").exists()


def test_json_holds_the_whole_answer() -> None:
    answer = json.loads(asked("--models", ",".join(PAIR), "--like", "programbench", "--json", "--no-study"))
    choice = answer["choice"]
    assert choice["reward"]["low"] < choice["reward"]["mean"] < choice["reward"]["high"]
    assert choice["evidence"][0]["published"][0]["scope"]
    assert answer["experiment"]["study"].startswith("# Written by `leadhand advise`.")
    assert not Path("advised.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--models", "sol"), "'sol' could be openai/gpt-6.1-sol or openai/gpt-5.6-sol"),
        (("--models", "nonsense"), "'nonsense' is not a model"),
        (("--models", SOL, "--max-usd", "0"), "--max-usd must be above 0"),
        (("--models", SOL, "--min-reward", "2"), "--min-reward must be above 0 and at most 1"),
        (("--models", SOL, "--max-usd", "nan"), "--max-usd must be above 0"),
        (("--models", SOL, "--worth", "-1"), "--worth must be 0 to 100 points"),
        (("--models", SOL, "--worth", "nan"), "--worth must be 0 to 100 points"),
        (("--models", f"{SOL}@ultra"), "does not take reasoning 'ultra'"),
        (("--models", SOL, "--past", "nowhere"), "no folder .*nowhere"),
    ],
)
def test_complaints(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        asked(*arguments)


def test_without_a_key_models_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setattr(command, "_models_with_key", lambda: ())
    with pytest.raises(UsageError, match="no models: name those you can use"):
        asked()


def test_a_name_that_nobody_knows_is_said_to_be_unknown() -> None:
    answer = advise(Question(models=PAIR, like="progarmbench"))
    assert "'progarmbench' is no benchmark, study, task or folder that is known here" in answer.known


def test_for_run_and_for_study_plan() -> None:
    """What `run --auto` starts, and what a forecast asks."""
    limited = design_of(advise(Question(models=PAIR, like="programbench", max_usd=1.0)), 5.0)
    assert limited.budget_usd == 1.0
    check(limited)
    assert design_of(advise(Question(models=PAIR, like="programbench")), 5.0).budget_usd == 5.0
    known = predict({"solo": SOLO, "team": PLANNERS}, "programbench")
    assert known["solo"].usd.mean < known["team"].usd.mean < 1.0
    assert known["team"].lift is not None
    assert known["team"].lift.mean > 0


def test_a_forecast_for_any_design() -> None:
    """Peers and the best of several too: reward, dollars and minutes with intervals, and what they rest on."""
    best = Design(lead=SOL, strategy="best-of-k", k=4, guidance="PIV", selector="oracle")
    eight = Design(lead=SOL, strategy="best-of-k", k=8, guidance="PIV", selector="oracle")
    peers = Design(lead=SOL, strategy="peers", k=4)
    strange = Design(lead=SOL, worker="anthropic/claude-haiku-4-5", workers=9, guidance="V", messaging="on")
    found = predict({"solo": SOLO, "best": best, "eight": eight, "peers": peers, "strange": strange}, "programbench")
    for p in found.values():
        for e in (p.reward, p.usd, p.minutes):
            assert e.low < e.mean < e.high
        assert [g.number for g in p.evidence][:3] == ["reward", "dollars", "minutes"]
        assert p.evidence[0].published
    assert found["best"].usd.mean == pytest.approx(4 * found["solo"].usd.mean, rel=0.25)
    assert found["eight"].usd.mean == pytest.approx(2 * found["best"].usd.mean, rel=0.05)
    assert found["solo"].reward.mean < found["best"].reward.mean < found["eight"].reward.mean
    assert found["solo"].lift is None
    lift = found["best"].evidence[3]
    assert (lift.number, lift.published, lift.own) == ("lift over solo", (), 0)
    assert "no figure and no run" in found["best"].extrapolated[0]
    assert any("5-agent peer team" in c.where for c in found["peers"].evidence[3].published)
    assert "never seen with gpt-5.6-sol" in found["peers"].extrapolated[0]
    assert "gpt-5.6-sol leading claude-haiku-4-5 was never seen" in found["strange"].extrapolated[0]


def test_own_runs_of_other_shapes_are_evidence_for_them() -> None:
    best = Design(lead=SOL, lead_reasoning="medium", strategy="best-of-k", k=4, guidance="PIV", selector="oracle")
    own = [*own_runs_of(SOLO, 20, 0.5, 0.4), *own_runs_of(best, 20, 0.7, 1.6)]
    found = predict({"best": best}, "mine", own)["best"]
    assert found.runs == 20
    assert found.extrapolated == ()
    assert found.lift is not None
    assert found.lift.mean == pytest.approx(0.2, abs=0.06)
    assert found.evidence[3].own == 20
    answer = advise(Question(models=PAIR, like="mine"), own)
    assert text_of(answer).startswith("Run several and keep the best: best of 4 gpt-5.6-sol")
    assert "over one of its agents alone" in answer.why[1]


def test_a_lone_task_is_known_from_its_own_runs() -> None:
    """Runs of the one task are repeats: they say what is earned there, not on tasks like it."""
    own = [msgspec.structs.replace(r, task="numerus") for r in own_runs_of(SOLO, 20, 0.9, 0.4, setting="task numerus")]
    rewards = [r.reward for r in own]
    found = predict({"solo": SOLO}, "numerus", own)["solo"]
    assert found.reward.mean == pytest.approx(sum(rewards) / len(rewards), abs=0.03)
    assert found.reward.high - found.reward.low < 0.2
    few = predict({"solo": SOLO}, "numerus", own[:3])["solo"]
    assert few.reward.high - few.reward.low > found.reward.high - found.reward.low


def test_what_an_experiment_finds_counts_where_it_was_asked_for(tmp_path: Path) -> None:
    """Shipped tasks are folders, whose runs stand under their study."""
    ran = [
        msgspec.structs.replace(r, task="satchel", setting="study advised-1", study="advised-1")
        for r in own_runs_of(SOLO, 4, 0.6, 0.4)
    ]
    answer = advise(Question(models=PAIR, like="shipped"), ran)
    assert "shipped: 4 own runs" in answer.known
    asked("--models", ",".join(PAIR), "--like", "shipped")
    study = load(tmp_path / "advised.toml")
    assert set(study.tasks.ids) == {"satchel", "gridline", "numerus"}
    assert study.name.startswith("advised-")


def test_commit0_has_one_name() -> None:
    for name in ("commit0", "commit0-lite", "commit0-lite-guarded"):
        answer = advise(Question(models=PAIR, like=name))
        assert answer.known == "commit0-lite: 2 published figures"


def test_a_lone_task_is_repeated(tmp_path: Path) -> None:
    text = asked("--models", ",".join(PAIR), "--like", "numerus")
    assert "times each on that task" in text
    study = load(tmp_path / "advised.toml")
    assert study.tasks.source == ("numerus",)
    assert study.repeats > 1
    assert study.tasks.first is None


def test_tasks_that_no_study_can_name_are_to_be_put_in(tmp_path: Path) -> None:
    asked("--models", ",".join(PAIR), "--like", "terminal-bench-2.1")
    text = (tmp_path / "advised.toml").read_text()
    assert load(tmp_path / "advised.toml").tasks.source == ("tasks/*",)
    assert "of yours below tasks/" in text


def test_names_cannot_control_a_terminal() -> None:
    text = text_of(advise(Question(models=PAIR, like="evil\x1b[2J\nRun a team: nonsense")))
    assert "\x1b" not in text
    assert not any(line.startswith("Run a team: nonsense") for line in text.splitlines())


def test_what_spans_a_factor_of_a_hundred_is_called_unknown() -> None:
    answer = advise(Question(models=PAIR))
    numbers = text_of(answer).splitlines()[1]
    assert "unknown" not in numbers
    wide = Estimate(mean=0.7, low=0.004, high=86.0)
    choice = msgspec.structs.replace(answer.choice, usd=wide, minutes=msgspec.structs.replace(wide, low=0.8))
    numbers = text_of(msgspec.structs.replace(answer, choice=choice)).splitlines()[1]
    assert numbers.endswith("unknown, between less than a cent and $86 a task, unknown, between 0.8 and 86 minutes")
