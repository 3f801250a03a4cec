"""Who calls a function of the file, and what of a finding only matters between the two: contracts of their own.

A local function may change a callee-saved register for good, as a helper of hand-written code does whose callers have
saved it. Seen from each of its callers nothing is lost: what their own callers had lies in their frames. So it is where
each caller has a row, at its call, that says a slot for the register, and does not count its CFA from it; or has none;
or is such a function itself. Likewise nobody sees that code has no row which only code without rows calls.

A place whose address the file's data holds has callers that are not known. Of a file that was compiled without tables,
and is no source whose author could write one, there is no more to say; nor of a function that its compiler, or a
linker, has marked as one that cannot be unwound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from testbed.checks.model import FindingKind, Severity, TableFinding
from testbed.checks.true_rows import ObservedRow
from testbed.contract.rows import Offset, RegisterPlus, RowTable, Undefined
from testbed.image import Image
from testbed.micro.code_scan import scan
from testbed.micro.functions import CodePiece
from testbed.micro.relocations import dynamic_relocations
from testbed.micro.stack_moves import register_use, stack_move_at
from testbed.words.table_formats import BY_SECTION, Directives

_SaidAndTrue = tuple[RowTable, Mapping[int, ObservedRow]]
_MARKED = "it was compiled without a table, or marked as code that throws nothing: -funwind-tables writes one"
_LEFT_OUT = "this build leaves out what the source says of rows: {} stands for nothing"
_MOSTLY_BARE = "most of the file's functions have no row at all: compilers write them by -funwind-tables"
_CUTS_THE_STACK = "it calls nothing, and each run leaves by another stack, as where an exception is raised"
_PRIVATE = "only a contract of its own loses {}: each caller has saved it"
_UNCALLED = "nothing calls it from code that has rows"
_OF_LINKERS = frozenset(section for section, its in BY_SECTION.items() if its.directives is Directives.SAVES)


@dataclass(frozen=True, eq=False)
class FileCalls:
    """The direct calls and jumps between the ``pieces`` of a file, looked for when they are asked for."""

    image: Image
    pieces: Sequence[CodePiece] = field(repr=False)
    is_source: bool
    left_out: str = ""  # `left_out_by_the_build`
    _bare: dict[str, bool] = field(default_factory=dict, init=False, repr=False)  # by table

    def as_seen(self, finding: TableFinding, table: RowTable, true: Mapping[int, ObservedRow]) -> TableFinding:
        """A finding, as a note where nobody sees what it tells of. ``true``: also what a caller's rows do not tell."""
        seen, piece, bare = finding.consequence, self._piece(finding.pc), finding.bare
        if seen is None or piece is None:
            return finding
        # Of code that brings no entry a linker makes one that says no more, and none before the first.
        is_linked = not self.image.relocatable and finding.table in _OF_LINKERS and bare
        is_marked = is_linked or finding.kind is FindingKind.CANNOT_UNWIND
        is_local = piece.start not in self._exported and piece.start not in self._held
        is_unseen = is_local and all(self._is_private(piece, name, (table, true), frozenset()) for name in seen.gone)
        is_uncalled = is_local and finding.kind is FindingKind.NO_ROW and not self._is_called_with_rows(piece, table)
        unadvised = (
            (is_marked and not self.is_source, _MARKED),
            (bare and bool(self.left_out), _LEFT_OUT.format(self.left_out)),
            (bare and not self.is_source and self._are_mostly_bare(table), _MOSTLY_BARE),
            (bare and self._cuts_the_stack(piece, true), _CUTS_THE_STACK),
        )
        advised = (
            (is_unseen and bool(seen.gone), _PRIVATE.format(", ".join(seen.gone))),
            (is_uncalled and bare, _UNCALLED),
        )
        what = next((what for holds, what in (*unadvised, *advised) if holds), "")
        repair = None if any(holds for holds, _ in unadvised) else finding.repair
        noted = replace(finding, repair=repair, consequence=replace(seen, severity=Severity.NOTE, what=what))
        return noted if what else finding

    def _cuts_the_stack(self, piece: CodePiece, true: Mapping[int, ObservedRow]) -> bool:
        """Does what was executed of code that calls nothing end with another stack's SP, or before that, as OCaml's
        `caml_stack_overflow` does? Nobody comes back to who called it, or has asked for him."""
        own = [each for pc, each in true.items() if piece.start <= pc < piece.end]
        code = scan(self.image, piece.start, piece.end)
        last = max((each.pc for each in own), default=piece.start)
        if code.calls or any(each.returns for each in own):
            return False
        return any(self._gives_sp(pc) for pc in (last, last + code.sizes.get(last, 0)))

    def _gives_sp(self, pc: int) -> bool:
        """Does an instruction give SP a value that is no sum of it and a constant?"""
        if (use := register_use(self.image, pc)) is None or self.image.arch.sp not in use.writes:
            return False
        return use.loads or stack_move_at(self.image, pc) is not None

    def _are_mostly_bare(self, table: RowTable) -> bool:
        """Have most functions of the file no row in a table? That is how it was built, and no mistake of theirs."""
        if table.source not in self._bare:
            starts = [piece.start for piece in self.pieces if piece.is_entry]
            self._bare[table.source] = sum(table.at(start) is None for start in starts) * 2 > len(starts)
        return self._bare[table.source]

    def begins_a_stack(self, finding: TableFinding) -> bool:
        """Is it of code that is only jumped to, and of which the table says that nobody called it?"""
        piece = self._piece(finding.pc)
        return finding.kind is FindingKind.CANNOT_UNWIND and piece is not None and not piece.is_entry

    def _is_private(self, piece: CodePiece, name: str, rows: _SaidAndTrue, asked: frozenset[int]) -> bool:
        """Whether a register that a function loses is one that each of its callers has saved."""
        if piece.start in asked:
            return True
        calls, jumps = self._calls[piece.start], self._jumps[piece.start]
        if piece.start in self._exported or piece.start in self._held or not (calls or jumps):
            return False
        asked |= {piece.start}
        unsaved = [self._piece(place) for place in calls if not self._has_saved(name, rows, place)]
        unsaved += [jumper for jumper in jumps if rows[0].at(jumper.start) is not None]
        return all(each is not None and self._is_private(each, name, rows, asked) for each in unsaved)

    def _has_saved(self, name: str, rows: _SaidAndTrue, place: int) -> bool:
        """Whether a caller's own caller has a register yet, by the row at its call; without a row nobody asks.

        A save that happened, seen anywhere in the caller, and that its rows do not tell of is the caller's mistake.
        """
        table, true = rows
        row, piece = table.at(place), self._piece(place)
        if row is None or piece is None:
            return row is None
        there = (its.places.get(name) for pc, its in true.items() if piece.start <= pc < piece.end)
        is_saved = any(offset < 0 for each in there if each for offset in each.offsets)
        counted_from = isinstance(row.cfa, RegisterPlus) and row.cfa.register == name
        return (is_saved or isinstance(row.registers.get(name), Offset | Undefined)) and not counted_from

    def _is_called_with_rows(self, piece: CodePiece, table: RowTable) -> bool:
        places = (*self._calls[piece.start], *(jumper.start for jumper in self._jumps[piece.start]))
        return any(table.at(place) is not None for place in places)

    def _piece(self, pc: int) -> CodePiece | None:
        """The piece of code at a place."""
        at = bisect_right(self._starts, pc) - 1
        return self.pieces[at] if at >= 0 and pc < self.pieces[at].end else None

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [piece.start for piece in self.pieces]

    @cached_property
    def _exported(self) -> frozenset[int]:
        return frozenset(symbol.address for symbol in self.image.symbols if symbol.is_function and not symbol.local)

    @cached_property
    def _scanned(self) -> tuple[Mapping[int, list[int]], Mapping[int, list[CodePiece]]]:
        calls: defaultdict[int, list[int]] = defaultdict(list)
        jumps: defaultdict[int, list[CodePiece]] = defaultdict(list)
        for piece in self.pieces:
            code = scan(self.image, piece.start, piece.end)
            for place, target in code.calls.items():
                if target is not None:
                    calls[target].append(place)
            for target in code.jumps:
                if not piece.start <= target < piece.end:
                    jumps[target].append(piece)
        return calls, jumps

    @property
    def _calls(self) -> Mapping[int, list[int]]:
        return self._scanned[0]

    @property
    def _jumps(self) -> Mapping[int, list[CodePiece]]:
        return self._scanned[1]

    @cached_property
    def _held(self) -> frozenset[int]:
        """The places whose addresses words of data hold, or are to."""
        word, mask = self.image.arch.word, np.uint64(self.image.arch.code_mask)
        found = {each.addend & int(mask) for each in dynamic_relocations(self.image) if each.addend}
        for section in _data(self.image):
            words = np.frombuffer(section[: len(section) // word * word], f"<u{word}").astype(np.uint64) & mask
            found.update(words[np.isin(words, np.array(self._starts, np.uint64))].tolist())
        return frozenset(found)


def _data(image: Image) -> Iterator[bytes]:
    """The bytes of loaded sections that hold no code; the others lie nowhere."""
    code = [(each.address, each.address + each.size) for each in image.segments if each.executable]
    for section in image.sections.values():
        if section.address and not any(start <= section.address < end for start, end in code):
            yield section.data
