"""The page: one file, nothing from elsewhere, hostile names harmless; the command line around it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from leadhand.analysis.simulated import grid, write_study
from leadhand.cli.analyse import register
from leadhand.core.errors import UsageError
from leadhand.report.evidence import Evidence
from leadhand.report.load import load
from leadhand.report.write import Written, write_report

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
EXCERPT = Path(__file__).parents[1] / "analysis" / "data"


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    return made


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Two solo and four team designs: every figure is drawn in test_figures, here it is about the page."""
    folder = tmp_path_factory.mktemp("small")
    designs = [d for d in grid() if d.lead == "sim/strong" and (d.solo or (d.worker == "" and d.max_workers == 5))]
    write_study(folder, designs[:6], tasks=4, repeats=2)
    return load(folder)


@pytest.fixture(scope="module")
def written(small: Evidence, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write_report(small, tmp_path_factory.mktemp("report"))


class Tags(HTMLParser):
    """What a browser would see: elements with their attributes, and script bodies."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def parsed(path: Path) -> Tags:
    tags = Tags()
    tags.feed(path.read_text())
    return tags


def test_the_page_needs_nothing_from_elsewhere(written: Written) -> None:
    for tag, attributes in parsed(written.page).tags:
        for name in ("src", "href", "xlink:href", "action", "data"):
            value = attributes.get(name) or ""
            assert value == "" or value.startswith("#") or value.startswith("data:"), (tag, value)
    text = written.page.read_text()
    assert "@import" not in text
    assert not re.search(r"url\((?!#|&quot;#)", text)


def test_the_page_tells_the_whole_story(written: Written) -> None:
    text = written.page.read_text()
    for part in (
        "Which simulated team",
        "class=answer",
        "id=claims",
        "The frontier",
        "All designs",
        "Caveats",
        "Method",
    ):
        assert part in text
    assert text.count("<svg") == len(list((written.page.parent / "figures").glob("*.svg"))) >= 15
    assert "Figures 3 and 6 of the paper are not described" in text
    assert "What was handed in (paper: figure 28): needs submissions stored with their runs." in text


def test_ids_are_unique(written: Written) -> None:
    ids = [a["id"] for _, a in parsed(written.page).tags if a.get("id")]
    twice = {i for i in ids if ids.count(i) > 1}
    assert {i for i in twice if "-row" not in str(i)} == set()


def test_the_data_behind_the_marks_is_the_tables(written: Written) -> None:
    text = written.page.read_text()
    data = json.loads(re.search(r"id=data>(.*?)</script>", text, re.DOTALL)[1])  # type: ignore[index]
    tables = written.page.parent / "tables"
    assert data["cost"]["labels"][0] == "Design"
    first = data["cost"]["rows"][0][0]
    assert first in (tables / "cost.csv").read_text().splitlines()[1]
    assert {p.stem for p in (written.page.parent / "figures").glob("*.svg")} == set(data)


def test_every_table_is_there_as_text_csv_and_latex(written: Written) -> None:
    tables = written.page.parent / "tables"
    stems = {p.stem for p in tables.iterdir()}
    assert len(stems) == written.exhibits
    for stem in stems:
        assert all((tables / f"{stem}.{form}").stat().st_size for form in ("txt", "csv", "tex"))
    tex = (tables / "efficiency.tex").read_text()
    assert r"\toprule" in tex
    assert "$\\Delta$" in tex
    assert not re.search(r"(?<!\\)[%#_]", tex.replace("tab:efficiency", "")), "unescaped LaTeX"


def test_hostile_names_are_text(tmp_path: Path) -> None:
    rows = [f'"{HOSTILE}{i}",{d},{0.1 * i:.1f},1' for i in range(5) for d in (f'"{HOSTILE}"', "plain")]
    path = tmp_path / "x.csv"
    path.write_text("task,design,reward,cost\n" + "\n".join(rows) + "\n")
    page = write_report(load(path), tmp_path / "out").page
    tags = parsed(page).tags
    assert not [t for t, _ in tags if t == "img"]
    assert len([t for t, _ in tags if t == "script"]) == 2
    assert "<img src=x" not in page.read_text()


def test_a_csv_gets_a_report_that_says_what_it_cannot_show(app: typer.Typer, tmp_path: Path) -> None:
    found = CliRunner().invoke(
        app, ["report", str(EXCERPT / "gpt-5-5.csv"), "--tasks", str(EXCERPT / "tasks.csv"), "--missing-zero",
              "--out", str(tmp_path)]
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert found.stderr.startswith(f"reading {EXCERPT / 'gpt-5-5.csv'}\nexhibit 1 of ")
    assert "not shown: When the lead delegates (needs journals" in found.output
    text = (tmp_path / "index.html").read_text()
    assert "counts as 0" in text
    assert "not tested" in text


def test_analyse_prints_numbers_and_json(app: typer.Typer) -> None:
    what = ["analyse", str(EXCERPT / "gpt-5-5.csv"), "--tasks", str(EXCERPT / "tasks.csv"), "--missing-zero"]
    text = CliRunner().invoke(app, what).stdout
    assert "0.691  0.652  0.731" in text
    assert "Mean reward by difficulty" in text
    found = json.loads(CliRunner().invoke(app, [*what, "--json", "--paper"]).stdout)
    assert len(found["comparisons"]) == 3
    assert found["designs"][0]["reward"]["n"] == 200


def test_analyse_tests_a_saving(app: typer.Typer) -> None:
    what = ["analyse", str(EXCERPT / "gpt-5-5.csv"), "--base", "20260508_mini-v2.2.6_gpt-5-5-xhigh", "--saving", "50"]
    assert "At least 50 % cheaper and at most 1.4 points worse" in CliRunner().invoke(app, what).stdout
    missing = CliRunner().invoke(app, [*what[:2], "--saving", "50"])
    assert isinstance(missing.exception, UsageError)


def test_an_unknown_design_lists_what_there_is(app: typer.Typer) -> None:
    found = CliRunner().invoke(app, ["analyse", str(EXCERPT / "gpt-5-5.csv"), "--base", "nobody"])
    assert isinstance(found.exception, UsageError)
    assert "20260507_mini-v2.2.6_gpt-5-5-high" in str(found.exception)


def test_export_and_compare(app: typer.Typer, study: Path, tmp_path: Path) -> None:
    run = next(p for p in sorted((study / "runs").iterdir()) if "-000-1" in p.name)
    for form in ("--atif", "--traj"):
        out = tmp_path / f"x{form}.json"
        assert CliRunner().invoke(app, ["export", str(run), form, "-o", str(out)]).exit_code == 0
    both = CliRunner().invoke(app, ["compare", str(run), str(tmp_path / "x--atif.json")]).stdout
    assert re.search(r"output tokens +([\d,]+) +\1\n", both)
    neither = CliRunner().invoke(app, ["export", str(run)])
    assert isinstance(neither.exception, UsageError)


def test_compare_pairs_two_files_over_their_tasks(app: typer.Typer, tmp_path: Path) -> None:
    for name, rewards in (("a", (0.5, 0.7, 0.9)), ("b", (0.4, 0.5, 0.9))):
        rows = "".join(f"t{i},{name},{r}\n" for i, r in enumerate(rewards))
        (tmp_path / f"{name}.csv").write_text("task,design,reward\n" + rows)
    found = CliRunner().invoke(app, ["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert "A: a − B: b   +10.0" in found.output
    mixed = CliRunner().invoke(app, ["compare", str(tmp_path / "a.csv"), "last"])
    assert isinstance(mixed.exception, UsageError)


def test_registering_the_commands_imports_nothing_heavy() -> None:
    code = (
        "import sys, typer; from leadhand.cli.analyse import register; register(typer.Typer());"
        "print([m for m in ('polars', 'numpy', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
