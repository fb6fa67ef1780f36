"""Unpacking a submission that a hostile team has written."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadhand.benchmarks import submission
from leadhand.benchmarks.submission import BadSubmission, unpack
from leadhand.core.chain import canonical
from leadhand.core.errors import GradingError

Entry = tuple[str, bytes, str]  # name, type, link target or content
FILE, LINK, HARD, FOLDER, FIFO = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE


def archive(path: Path, entries: list[Entry], mode: int = 0o644) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, value in entries:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, mode
            if kind == FILE:
                data = value.encode()
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
            else:
                member.linkname = value
                tar.addfile(member)
    return path


Unpacked = Callable[[list[Entry]], tuple[Path, tuple[str, ...]]]


@pytest.fixture
def unpacked(tmp_path: Path) -> Unpacked:
    def run(entries: list[Entry]) -> tuple[Path, tuple[str, ...]]:
        left_out = unpack(archive(tmp_path / "s.tar.gz", entries), tmp_path / "in" / "work")
        return tmp_path / "in" / "work", left_out

    return run


def test_files_folders_and_inner_links_come_out_as_they_went_in(unpacked: Unpacked) -> None:
    root, left_out = unpacked(
        [
            (".", FOLDER, ""),
            ("./src", FOLDER, ""),
            ("./src/a.c", FILE, "int"),
            ("./b", LINK, "src/a.c"),
            ("c", HARD, "src/a.c"),
        ]
    )
    assert left_out == ()
    assert (root / "b").read_text() == (root / "c").read_text() == "int"
    assert (root / "b").is_symlink()


@pytest.mark.parametrize(
    "entries",
    [
        [("/tmp/x-leadhand", FILE, "x")],
        [("../x", FILE, "x")],
        [("a/../../x", FILE, "x")],
        [("out", LINK, "/etc/passwd")],
        [("out", LINK, "../..")],
        [("d", FOLDER, ""), ("d/out", LINK, "../../x")],
        [("out", HARD, "/etc/passwd")],
        [("out", HARD, "../../etc/passwd")],
        [("pipe", FIFO, "")],
        [("device", tarfile.CHRTYPE, "")],
        [("device", tarfile.BLKTYPE, "")],
    ],
)
def test_what_leads_out_is_left_out_and_the_rest_is_kept(unpacked: Unpacked, entries: list[Entry]) -> None:
    root, left_out = unpacked([*entries, ("kept", FILE, "kept")])
    assert left_out == (entries[-1][0],)
    assert (root / "kept").read_text() == "kept"
    assert not os.path.lexists(root / entries[-1][0].lstrip("/"))
    assert {p.name for p in root.parent.iterdir()} == {"work"}


def test_nothing_is_written_through_a_link(unpacked: Unpacked, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    root, _ = unpacked(
        [("a", LINK, "../../victim"), ("a/b", FILE, "evil"), ("c", LINK, "../../victim/c"), ("c", FILE, "x")]
    )
    assert list((tmp_path / "victim").iterdir()) == []
    assert (root / "c").read_text() == "x"
    assert not (root / "c").is_symlink()


def test_links_that_only_together_lead_out_are_left_out(unpacked: Unpacked) -> None:
    """d/e/x leads to the root, so d/e/x/../.. is outside though it does not look so."""
    root, left_out = unpacked(
        [
            ("d/e/f", FILE, ""),
            ("d/e/x", LINK, "../.."),
            ("y", LINK, "d/e/x/../.."),
            ("z", LINK, "y"),
            ("w", LINK, "d/e/f"),
        ]
    )
    assert {"y", "z"} >= set(left_out) >= {"y"}
    assert (root / "w").exists()
    assert not (root / "z").exists()


def test_a_copy_of_the_reference_is_left_out_under_any_name(tmp_path: Path) -> None:
    path = archive(tmp_path / "s.tar.gz", [("a/b", FILE, "reference"), ("own", FILE, "own")])
    left_out = unpack(path, tmp_path / "w", forbidden=[hashlib.sha256(b"reference").hexdigest()])
    assert left_out == ("a/b",)
    assert not (tmp_path / "w" / "a" / "b").exists()


def test_names_that_cannot_be_written_here_are_left_out_and_can_be_stored(unpacked: Unpacked) -> None:
    """A team can nest folders beyond what one path may name: no way to make the grading fail."""
    deep = "/".join(["d" * 200] * 30)
    _, left_out = unpacked(
        [(deep, FILE, "x"), ("n" * 300, FILE, "x"), (deep, LINK, "x"), ("l", LINK, "t" * 5000), ("b\udcff", FIFO, "")]
    )
    assert left_out == (deep, "n" * 300, deep, "b\\xff", "l")
    assert canonical(left_out)


def test_setuid_and_strange_modes_are_dropped(tmp_path: Path) -> None:
    unpack(archive(tmp_path / "s.tar.gz", [("a", FILE, "x")], mode=0o6711), tmp_path / "w")
    assert (tmp_path / "w" / "a").stat().st_mode & 0o7777 == 0o755


def test_a_bomb_is_stopped_by_what_comes_out_of_it(tmp_path: Path) -> None:
    path = archive(tmp_path / "s.tar.gz", [("zeros", FILE, "\0" * 5_000_000)])
    assert path.stat().st_size < 50_000
    with pytest.raises(BadSubmission, match="larger"):
        unpack(path, tmp_path / "w", max_bytes=1_000_000)
    many = archive(tmp_path / "many.tar.gz", [("a", FILE, "x" * 600), *[(f"h{i}", HARD, "a") for i in range(5)]])
    with pytest.raises(BadSubmission, match="larger"):
        unpack(many, tmp_path / "v", max_bytes=2_000)


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_ENTRIES", 3)
    with pytest.raises(BadSubmission, match="more than 3"):
        unpack(archive(tmp_path / "s.tar.gz", [(str(i), FOLDER, "") for i in range(4)]), tmp_path / "w")


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"not gzip", lambda b: b""])
def test_an_archive_that_cannot_be_read_is_a_grading_error(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = archive(tmp_path / "s.tar.gz", [("a", FILE, "".join(str(i) for i in range(9000)))])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(GradingError, match="cannot be unpacked"):
        unpack(path, tmp_path / "w")


NAMES = st.lists(st.sampled_from(["a", "b", "..", ".", "", "/"]), min_size=1, max_size=4).map("/".join)
ENTRIES = st.lists(st.tuples(NAMES, st.sampled_from([FILE, LINK, HARD, FOLDER]), NAMES), max_size=8)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=ENTRIES)
def test_no_archive_touches_anything_outside_its_folder(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]
) -> None:
    base = tmp_path_factory.mktemp("any")
    (base / "deep" / "er").mkdir(parents=True)
    root = base / "deep" / "er" / "work"
    unpack(archive(base / "s.tar.gz", entries), root)
    outside = {p.relative_to(base).as_posix() for p in base.rglob("*") if root not in p.parents}
    assert outside == {"s.tar.gz", "deep", "deep/er", "deep/er/work"}
    for path in root.rglob("*"):
        assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
