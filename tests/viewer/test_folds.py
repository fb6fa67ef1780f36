"""The smaller pure parts: search, similarity, the final diff, studies, the linker."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from random import Random

import pytest
from viewer_runs import STUDY, TASKS, run_file, small_run

from leadhand.analysis.factors import factors_of
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.viewer.app import modules
from leadhand.viewer.folder import Folder
from leadhand.viewer.index import open_run
from leadhand.viewer.linker import link
from leadhand.viewer.reports import jaccard, similarity, words
from leadhand.viewer.result import Result, _compared, integrity, result
from leadhand.viewer.search import MOST, search
from leadhand.viewer.study import study_of


def test_search_finds_what_was_said_and_not_how_it_is_stored(team: Path) -> None:
    index = open_run(team)
    hits, more = search(index, "REPORT OF w7")
    assert not more
    assert {index.entry(h.seq).event.__struct_config__.tag for h in hits} == {"agent_ended", "delegation_ended"}
    assert all(h.match == "Report of w7" for h in hits)
    for name in ("kind", "message_added", "call_id", "acme/large-2/nothing", '{"command"'):
        assert search(index, name)[0] == [], name
    assert search(index, "  ")[0] == []
    hits, more = search(index, "e")
    assert (len(hits), more) == (MOST, True)


def test_search_reads_escaped_and_foreign_text(tmp_path: Path) -> None:
    small_run(tmp_path, STUDY[0], 'say "ÄÖÜ"\n\\ done', 0.5, Random(1))
    index = open_run(tmp_path)
    assert [h.seq for h in search(index, '"ÄÖÜ"\n\\ DONE')[0]] == [3]
    assert [h.seq for h in search(index, '"äöü"')[0]] == [3]


def test_similarity_of_reports() -> None:
    found = similarity([("d1", "w1", 5, "One two, three"), ("d2", "w2", 9, "three TWO four"), ("d3", "w1", 11, "")])
    assert found.pairs == ((), (0.5,), (0.0, 0.0))
    assert jaccard(words(""), words("")) == 1.0


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def test_the_diff_of_a_submission(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "same").write_text("as before\n")
    (base / "gone").write_text("one\n")
    (base / "changed").write_text("a\nb\nc\n")
    (base / "outside").symlink_to("/etc/passwd")
    given = {
        "same": b"as before\n",
        "changed": b"a\nB\nc\n",
        "new<script>.py": b"x\n",
        "blob": b"\0\1",
        "outside": b"mine\n",
        "../../etc/passwd": b"root\n",
    }
    found = {f.path: f for f in _compared(archive(tmp_path / "s.tar.gz", given), base, quoting=True)}
    assert {p: f.status for p, f in found.items()} == {
        "changed": "changed",
        "gone": "removed",
        "new<script>.py": "added",
        "blob": "added",
        "outside": "added",  # what a link of ours points to is never read
        "../../etc/passwd": "added",
    }
    assert found["changed"].text.splitlines() == ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]
    assert (found["changed"].added, found["changed"].removed) == (1, 1)
    assert found["blob"].note == "binary, 2 bytes"
    told = {f.path: f for f in _compared(tmp_path / "s.tar.gz", base, quoting=False)}
    assert {p: f.status for p, f in told.items()} == {p: f.status for p, f in found.items()}
    assert told["changed"].text == "+a\n+B\n+c"  # nothing of the workspace itself
    assert told["gone"].text == ""


def test_a_patch_is_split_by_files(tmp_path: Path) -> None:
    small_run(tmp_path, STUDY[0], "t", 0.5, Random(1))
    (tmp_path / "result.patch").write_text(
        "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hello\n"
        "diff --git a/y b/y\nindex 1..2\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    )
    found: Result = result(open_run(tmp_path))
    assert [(f.path, f.status, f.added, f.removed) for f in found.files] == [
        ("x", "added", 1, 0),
        ("y", "changed", 1, 1),
    ]


def test_what_a_run_folder_links_to_is_not_read(tmp_path: Path) -> None:
    small_run(tmp_path / "run", STUDY[0], "t", 0.5, Random(1))
    (tmp_path / "secret").write_text("diff --git a/x b/x\n@@ -0,0 +1 @@\n+secret\n")
    (tmp_path / "run" / "result.patch").symlink_to(tmp_path / "secret")
    (tmp_path / "run" / "blobs").symlink_to(tmp_path)
    archive(tmp_path / ("0" * 64), {"x": b"secret\n"})
    assert result(open_run(tmp_path / "run")).source == "none"


def test_a_changed_word_is_found_by_the_check(team: Path, tmp_path: Path) -> None:
    assert integrity(open_run(team))["status"] == "whole"
    (tmp_path / "run.json").write_bytes((team / "run.json").read_bytes())
    data = (team / "journal.jsonl").read_bytes()
    (tmp_path / "journal.jsonl").write_bytes(data.replace(b"Rebuild gridline.", b"Rebuild gridlime.", 1))
    assert integrity(open_run(tmp_path))["status"] == "damaged"


def test_a_study_averages_repeats_and_leaves_out_what_is_not_valid(tmp_path: Path) -> None:
    random = Random(2)
    for i, (task, reward) in enumerate([("a", 0.2), ("a", 0.4), ("b", 0.9)]):
        small_run(tmp_path / f"x{i}", STUDY[0], task, reward, random)
    small_run(tmp_path / "y0", STUDY[2], "a", 0.95, random)
    small_run(tmp_path / "y1", STUDY[2], "b", 0.95, random, ended=False)
    study = study_of(Folder(tmp_path).rows())
    lines = {d.design: d for d in study.designs}
    solo, team = lines[factors_of(STUDY[0]).label], lines[factors_of(STUDY[2]).label]
    assert solo.reward is not None
    assert solo.reward.mean == pytest.approx((0.3 + 0.9) / 2)
    assert solo.reward.low is not None
    assert solo.reward.low < 0.6 < solo.reward.high  # type: ignore[operator]
    assert (solo.runs, solo.counted, solo.tasks) == (3, 3, 2)
    assert (team.runs, team.counted, team.running, team.delegations) == (2, 1, 1, 2.0)
    assert solo.frontier
    assert team.frontier
    assert study.left_out == 0
    assert {(c.design, c.task): c.reward for c in study.cells}[(team.design, "b")] is None


def test_a_study_names_its_designs_and_puts_attempts_aside(tmp_path: Path) -> None:
    random = Random(2)
    listed = [{"run": f"team.a.{i}-1234", "design": "team", "task": "a", "repeat": i} for i in (1, 2)]
    (tmp_path / "study.json").write_text(json.dumps({"runs": listed}))
    for name, reward in (("team.a.1-1234", 0.6), ("team.a.1-1234.attempt-1", 0.1), ("team.a.2-1234", 0.8)):
        small_run(tmp_path / "runs" / name, STUDY[2], "task of some folder", reward, random)
    home = Folder(tmp_path).home()
    assert [(r["design"], r["task"], r["repeat"], r["attempt"]) for r in home["rows"]] == [
        ("team", "a", 1, 0),
        ("team", "a", 1, 1),
        ("team", "a", 2, 0),
    ]
    (line,) = home["study"]["designs"]
    assert line["reward"]["mean"] == pytest.approx(0.7)
    assert (line["runs"], line["counted"], home["study"]["left_out"], home["study"]["planned"]) == (3, 2, 1, 2)
    assert line["total_usd"] == pytest.approx(sum(r["usd"] for r in home["rows"]))


def test_the_runs_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a run nor a folder"):
        Folder(tmp_path / "nothing")
    run_file(tmp_path / "r", Design(lead="m/x"))
    folder = Folder(tmp_path)
    assert [r.status for r in folder.rows()] == ["running"]
    (tmp_path / "r" / "run.json").write_text("{")
    assert [r.status for r in Folder(tmp_path).rows()] == ["unreadable"]
    assert len(TASKS) == 12


def test_modules_become_one_script() -> None:
    source = {
        "a.js": b'import { b, c } from "./b.js";\nb(c);\n',
        "b.js": b"export function b(x) {}\nexport const c = 1;\n",
    }
    linked = link(source, "a.js")
    assert linked.index('$modules["b.js"]') < linked.index('$modules["a.js"]')
    assert "import" not in linked
    assert "return { b, c };" in linked
    for wrong in (
        b"export default 1;\n",
        b'import x from "./b.js";\n',
        b"export { b };\n",
        b'import { a } from "./a.js";\n',
    ):
        with pytest.raises(ValueError, match=r"understood|circle"):
            link({**source, "b.js": wrong}, "a.js")
    assert "$modules" in link(modules(), "main.js")
