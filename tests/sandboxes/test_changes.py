"""File changes: seen by the kernel, counted to a command that ran alone, else shared."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from leadhand.sandboxes.changes import Changes
from leadhand.testing.sandbox_contract import sh

from .conftest import Start


def test_files_written_moved_made_and_removed_are_seen(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "f").write_text("x")
    changes = Changes(str(tmp_path))
    assert changes.take() == ()
    (tmp_path / "old" / "f").write_text("y")
    (tmp_path / "a b").write_text("")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "g").write_text("1")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("1")
    assert changes.take() == ("a b", "deep/er/g", "old/f")
    (tmp_path / "a b").rename(tmp_path / "deep" / "c")
    (tmp_path / "deep" / "er" / "g").write_text("2")
    (tmp_path / "old" / "f").unlink()
    (tmp_path / "link").symlink_to("nowhere")
    assert changes.take() == ("a b", "deep/c", "deep/er/g", "link", "old/f")
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new" / "h").write_text("")
    assert changes.take() == ("new/h",)
    (tmp_path / "new" / "h").read_text()
    assert changes.take() == ()
    changes.close()
    assert changes.take() == ()


def test_a_flood_of_events_loses_nothing_for_later(tmp_path: Path) -> None:
    changes = Changes(str(tmp_path))
    for number in range(9000):
        (tmp_path / f"{number}").write_text("")
        (tmp_path / f"{number}").unlink()
    (tmp_path / "late").mkdir()
    assert len(changes.take()) == 1000
    (tmp_path / "late" / "f").write_text("")
    assert changes.take() == ("late/f",)
    changes.close()


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["bwrap", "local"], indirect=True)
async def test_changes_are_a_commands_own_only_if_it_ran_alone(setup: Start) -> None:
    async with setup() as sandbox:
        alone = await sh(sandbox, "mkdir -p src; echo x >src/a.py; echo y >/tmp/none")
        assert (alone.changed, alone.shared) == (("src/a.py",), ())
        assert (await sh(sandbox, "cat src/a.py; ls")).changed == ()
        seen = {}

        async def run(agent: str, other: str) -> None:
            command = f"touch {agent}; until [ -e {other} ]; do sleep 0.01; done"
            seen[agent] = await sh(sandbox, command, agent=agent)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "w1", "w2")
            tasks.start_soon(run, "w2", "w1")
        for result in seen.values():
            assert result.changed == ()
        assert {path for result in seen.values() for path in result.shared} == {"w1", "w2"}
