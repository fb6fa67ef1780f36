"""The tools of peers: the log of notes, and slots.

The log and the slots are a fold of the journal, and between looking at them and appending to it nothing is awaited: so
a slot is claimed by exactly one, and notes have one order for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core import clean, framing
from leadhand.core.agent import Later, Outcome, Rejected, TeamTool
from leadhand.core.errors import SandboxError, SandboxLost
from leadhand.core.events import NoteAdded, SlotClaimed
from leadhand.core.harness import Harness
from leadhand.core.state import Note
from leadhand.core.tools import Arguments, Claim, ReadNotes, WriteNote

SLOT_CHARS = 200


class PeerTools:
    """Carries out the peers' tools. Each handler looks first whether the journal already knows the call's effect."""

    def __init__(self, harness: Harness) -> None:
        self._h = harness

    def of(self, agent: str) -> Mapping[str, TeamTool]:
        """The handlers as one peer calls them."""

        async def write_note(key: str, arguments: Arguments) -> Outcome | Later:
            assert isinstance(arguments, WriteNote)
            return await self._write(agent, key, arguments)

        async def read_notes(key: str, arguments: Arguments) -> Outcome | Later:
            assert isinstance(arguments, ReadNotes)
            return self._read(agent, arguments)

        async def claim(key: str, arguments: Arguments) -> Outcome | Later:
            assert isinstance(arguments, Claim)
            return self._claim(agent, key, arguments)

        return {"write_note": write_note, "read_notes": read_notes, "claim": claim}

    async def _write(self, author: str, key: str, arguments: WriteNote) -> Outcome:
        state = self._h.state
        note = next((n for n in state.notes if n.call == key), None)
        if note is None:
            if not arguments.text.strip():
                raise Rejected("the note is empty")
            self._h.record(author, NoteAdded(note=f"n{len(state.notes) + 1}", text=arguments.text, call=key))
            note = state.notes[-1]
        await self._keep(note)
        return Outcome(f"{note.id} is in the log")

    async def _keep(self, note: Note) -> None:
        """A note as a file in the sandbox, where the whole of a long one can be read."""
        try:
            await self._h.sandbox.write(self._path(note), framing.plain(note.text).encode())
        except SandboxLost:
            raise
        except (SandboxError, OSError):
            pass  # the log is in the journal; the file is a convenience

    def _path(self, note: Note) -> str:
        return f"{self._h.sandbox.info.scratch}/notes/{note.id}.txt"

    def _read(self, reader: str, arguments: ReadNotes) -> Outcome:
        state, design = self._h.state, self._h.design
        if arguments.all:
            shown = state.notes
        else:
            shown = [n for n in state.notes[state.agents[reader].read :] if n.author != reader]
        texts = framing.notes([(n, self._path(n)) for n in shown], design.report_chars, design.merged_chars)
        return Outcome("\n\n".join((texts or "[no new notes]", self._slots())), notes=len(state.notes))

    def _slots(self) -> str:
        taken = "; ".join(f"{slot}: {owner}" for slot, (owner, _) in sorted(self._h.state.slots.items()))
        return f"[claimed: {taken or 'nothing yet'}]"

    def _claim(self, agent: str, key: str, arguments: Claim) -> Outcome:
        """Give the slot to the first who asks. One whose owner ended without finishing is free again."""
        slot = " ".join(framing.plain(clean.text(arguments.slot)).split()).casefold()
        if not slot:
            raise Rejected("the slot has no name")
        if len(slot) > SLOT_CHARS:
            raise Rejected(f"name the slot in at most {SLOT_CHARS} characters")
        held = self._h.state.slots.get(slot)
        if held is None or (held.owner != agent and self._abandoned(held.owner)):
            self._h.record(agent, SlotClaimed(slot=slot, call=key))
            return Outcome(f"{slot} is yours")
        if held.owner != agent:
            return Outcome(f"{slot} is taken: {held.owner} has it")
        return Outcome(f"{slot} is yours" if held.call == key else f"{slot} is yours already")

    def _abandoned(self, owner: str) -> bool:
        ended = self._h.state.agents[owner].ended
        return ended is not None and ended.status != "finished"
