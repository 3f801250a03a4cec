"""A source assembled again with an advice, and the rows that it has then: what is said to be tried is this text.

What an advice comes to is found on the table, in memory; what is written of it stands among other directives, in the
words of the source. So the claim that a correction makes nothing wrong is made of the text itself, as it was assembled:
the rows are held against what was true when the code was executed. That does not change, for no directive moves code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from testbed.checks.frame_states import FrameState, state_of
from testbed.checks.inputs import folders_named, is_preprocessed, preprocessed_text, program_file, read_program
from testbed.checks.model import Repair, SourceEdit
from testbed.checks.options import CheckOptions
from testbed.checks.own_sources import Sources, sources_of
from testbed.checks.readers import Readers
from testbed.checks.source_edits import NoPatch, patched
from testbed.checks.static_rows import is_another_frame
from testbed.checks.tried_function import TriedFunction
from testbed.contract.rows import RowTable, Undefined, UnwindRow
from testbed.image import Image, Section
from testbed.words.errors import TestbedError
from testbed.words.table_formats import BY_SECTION

MadeRight = frozenset[tuple[int, str]]  # (pc, thing)
ToldRepairs = Sequence[tuple[Repair | None, MadeRight]]
_TOGETHER = "together with what is advised above"
ALL_TOGETHER = "together with all that is advised of this function"
_RowAt = Callable[[int], UnwindRow | None]  # by a pc of the code as it was executed


@dataclass(frozen=True, eq=False)
class TextTrial:
    """What a text is held against: the function as it was executed with the states ``before`` any repair, the section
    of the table, and the repairs that are told already. At pcs that are ``kept`` rows stay as they are."""

    table: str
    function: TriedFunction
    before: Sequence[FrameState]
    told: ToldRepairs = ()
    kept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class TriedSource:
    """The source that was checked, ``text`` instead of its own if that is not None, and the ``image`` made of it."""

    path: Path
    text: str | None
    options: CheckOptions
    readers: Readers
    image: Image

    @property
    def sources(self) -> Sources:
        """It, and what lies beside it; preprocessed where the preprocessor reads it."""
        flags = self.options.flags
        expand = partial(preprocessed_text, self.path, self.image.arch.name, flags, self.text)
        its = expand if is_preprocessed(self.path, flags) else None
        return sources_of(self.path, self.text, its, tuple(folders_named(flags)))

    def tries(self, edits: Sequence[SourceEdit]) -> bool:
        """Can these edits be tried as such? Those of another file, or of all uses of a macro, cannot."""
        return bool(edits) and all(
            not each.is_macros_own and Path(each.file).resolve() == self.path.resolve() for each in edits
        )

    def confirmed(self, repair: Repair, trial: TextTrial) -> tuple[Repair | None, MadeRight]:
        """A repair with what its text makes right. It is tried by itself, then with those that are told before it.

        None where that makes nothing right, or anything wrong that was right.
        """
        others = [edit for each, right in trial.told if right and each for edit in each.edits]
        for beside in ((), others) if others else ((),):
            right = self.made_right((*beside, *repair.edits), trial)
            right -= frozenset[tuple[int, str]]().union(*(its for _, its in trial.told if beside))
            if right:
                why = "; ".join(filter(None, (repair.why, _TOGETHER if beside else "")))
                return replace(repair, repaired=len({pc for pc, _ in right}), why=why), right
        return None, frozenset()

    def moved(
        self, repair: Repair, moves: Iterable[Sequence[SourceEdit]], its: MadeRight, trial: TextTrial
    ) -> tuple[Repair, MadeRight] | None:
        """A repair by lines that stand too early or too late: moved, they make all right that is wrong; gone they do
        not, or the rows say less. The last edit of a move is where they belong."""
        for edits in (each for each in moves if self.tries(each)):
            right = self.made_right(edits, trial)
            if its <= right and (not its <= self.made_right(edits[:-1], trial) or self._says_more(edits, trial)):
                repaired = len({pc for pc, _ in right})
                return replace(repair, repaired=repaired, edits=tuple(edits), no_patch="", why=""), right
        return None

    def _says_more(self, edits: Sequence[SourceEdit], trial: TextTrial) -> bool:
        """Does a table say something else with the last of some edits than without it, and all of that is right?"""
        with_it, without = (self._rows(each, trial.table) for each in (edits, edits[:-1]))
        function, more = trial.function, False
        for i, each in enumerate(function.tried):
            row, other = (at(each.pc) if at else None for at in (with_it, without))
            if row and other and (row.cfa, row.registers) != (other.cfa, other.registers):
                more = True
                if function.wrong(i, state_of(row, function.convention)):
                    return False
        return more

    def made_right(self, edits: Sequence[SourceEdit], trial: TextTrial) -> MadeRight:
        """What some edits make right; nothing where they make something wrong, or change rows of another frame."""
        row_at, right, function = self._rows(edits, trial.table), set[tuple[int, str]](), trial.function
        if row_at is None:
            return frozenset()
        for span in function.spans:
            pcs = [pc for pc in trial.kept if span.start <= pc < span.end]
            for row in map(row_at, [span.start] if is_another_frame(span.row, function.arch) else pcs):
                if row and state_of(row, function.convention) != span.state:
                    return frozenset()
        for i, each in enumerate(function.tried):
            row = row_at(each.pc) or row_at(each.pc + each.size - 1)
            was = function.wrong(i, trial.before[i])
            now = function.wrong(i, state_of(row, function.convention)) if row else None
            ends = isinstance(
                trial.before[i].get(function.return_address(i)), Undefined
            )  # of that nothing else is told
            if now is None or (now - was and not ends):
                return frozenset()
            right |= {(each.pc, thing) for thing in was - now}
        return frozenset(right)

    def _rows(self, edits: Sequence[SourceEdit], table: str) -> _RowAt | None:
        """The rows of a section with some edits; None where the source cannot be assembled so, or has other code."""
        text = self.path.read_text("utf-8", "surrogateescape") if self.text is None else self.text
        try:
            with program_file(self.path, self.options.arch, self.options.flags, patched(text, edits)) as file:
                image = read_program(file, self.path, self.options.arch)
                found = self.readers.tables(image, (BY_SECTION[table].name,)).get(BY_SECTION[table].name)
        except (NoPatch, TestbedError):
            return None
        moved = {
            (old.address, old.address + len(old.data)): new.address - old.address
            for name, old in self.image.sections.items()
            if (new := image.sections.get(name)) is not None and _holds_as_much(old, new)
        }

        def at(pc: int) -> UnwindRow | None:
            by = next((by for (start, end), by in moved.items() if start <= pc < end), None)
            return found.at(pc + by) if isinstance(found, RowTable) and by is not None else None

        return at


def _holds_as_much(old: Section, new: Section) -> bool:
    return bool(old.address) and len(old.data) == len(new.data)
