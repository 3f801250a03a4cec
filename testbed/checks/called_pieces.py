"""Which pieces of a file's code someone calls as the ABI says, by what its tables say of their first instruction.

Who can be called from outside is called, whatever its first row says: that row may be its author's mistake. Of other
code the first row decides. It is not called if it begins with a frame: a part of a function that lies elsewhere, a
helper with a convention of its own. What a table says is the kernel's frame, and not a function's, nobody calls, nor
code whose first row counts from an argument: its frame is given. So is nameless code of which a no-operation is said to
make a frame: GCC puts one before a landing pad that would begin a part, since offset 0 stands for none (gcc/except.cc).
Code with an undefined return address is called by nobody. What is asked for by its address is called, also where
nothing names it, such as a linker's stubs; and what code with rows calls and nothing else tells of, as in a stripped
file.

What others return to, its runs show: its address was put over a return address, as tracers do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from testbed.arch import Arch
from testbed.checks.static_rows import called_without_rows
from testbed.contract.rows import (
    ExpressionRule,
    Offset,
    RegisterPlus,
    RowTable,
    Undefined,
    UnwindRow,
    ValExpression,
)
from testbed.conventions import platform
from testbed.image import Image, Symbol
from testbed.micro.code_scan import size_of_filling
from testbed.micro.functions import CodePiece, pieces_of, with_merged
from testbed.words.errors import UnwindError
from testbed.words.table_formats import AT_CALLS

_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}")


def pieces_for(
    image: Image, tables: Mapping[str, RowTable | UnwindError], asked: Sequence[str] = ()
) -> tuple[CodePiece, ...]:
    """The pieces of a file; ``is_entry`` where someone calls them. ``asked`` are names and addresses, ``0x1000``."""
    known = _known(tables)
    exported = {symbol.address for symbol in image.symbols if symbol.is_function and not symbol.local}

    def is_called(piece: CodePiece) -> bool:
        rows = _rows_at(known, piece.start)
        if (
            size_of_filling(image, piece.start) >= piece.end - piece.start
            or _is_kernels(rows, image.arch)
            or _computes_a_signals(known, piece)
            or _is_given(rows, image.arch)
            or _is_not_called(rows)
            or _is_start(_rows_at(known, min(piece.start + _MARK, piece.end - 1)))
        ):
            return False
        if piece.start in exported or not rows:
            return True
        if not any(_is_entrys(row, image.arch) for row in rows) or _has_own_column(rows, image.arch):
            return False
        filling = 0 if piece.names else size_of_filling(image, piece.start)
        behind = _rows_at(known, piece.start + filling) if filling else ()
        return not behind or any(row.cfa == _first_cfa(image.arch) for row in behind)

    pieces = [
        replace(piece, is_entry=piece.is_entry and is_called(piece)) for piece in with_merged(image, pieces_of(image))
    ]
    addresses = {int(name, 16): image.arch.word_mask for name in asked if _ADDRESS.fullmatch(name)}
    added = tuple(_at_addresses(image, pieces, {**called_without_rows(image, tables), **addresses}))
    return tuple(sorted((*_cut(pieces, added), *added), key=lambda piece: piece.start))


def _at_addresses(image: Image, pieces: Sequence[CodePiece], ends: Mapping[int, int]) -> Iterator[CodePiece]:
    """Code by its address, if it is in no piece of its section: up to its end, the next one or the section's end.

    A function whose symbol has no size, as `_init`, is said to reach over the linker's stubs behind its section.
    """
    starts = (*ends, *(piece.start for piece in pieces))
    for address in sorted(ends):
        section = next((s for s in image.sections.values() if s.address <= address < s.address + len(s.data)), None)
        executable = any(s.executable and s.address <= address < s.address + len(s.data) for s in image.segments)
        if section is None or not executable:
            continue
        if not any(section.address <= piece.start <= address < piece.end for piece in pieces):
            following = (section.address + len(section.data), *(start for start in starts if start > address))
            name = next((symbol.name for symbol in image.symbols if symbol.address == address), "")
            yield CodePiece(address, min(ends[address], *following), name, is_entry=True)


def _cut(pieces: Sequence[CodePiece], added: Sequence[CodePiece]) -> Iterator[CodePiece]:
    """Pieces that end where one that was added begins: none lies over another."""
    for piece in pieces:
        yield replace(piece, end=min((piece.end, *(each.start for each in added if each.start > piece.start))))


def judged_parts(
    parts: Sequence[CodePiece], tables: Mapping[str, RowTable | UnwindError], arch: Arch
) -> tuple[CodePiece, ...]:
    """The split-off parts that are checked: none where a stack begins or a frame that no call leaves, whoever jumps."""
    known = _known(tables)
    rows_at = [(part, _rows_at(known, part.start)) for part in parts]
    return tuple(
        part
        for part, rows in rows_at
        if not (_is_not_called(rows) or _is_kernels(rows, arch) or _has_own_column(rows, arch))
    )


def is_returned_to(
    returns: Collection[int], came_back: int, tables: Mapping[str, RowTable | UnwindError], arch: Arch
) -> bool:
    """Whether nobody calls code of which no run ``came_back``: each ended by a return to what a call had answered.

    ``returns`` are those. What leaves by a push and a return was called, if its row there says so.
    """
    rows = [row for at in returns for row in _rows_at(_known(tables), at)]
    return bool(returns) and not came_back and all(_is_entrys(row, arch) for row in rows)


def _known(tables: Mapping[str, RowTable | UnwindError]) -> list[RowTable]:
    return [table for name, table in tables.items() if isinstance(table, RowTable) and name not in AT_CALLS]


_MARK = 4  # bytes of what begins a function and does nothing: endbr64, bti, a no-operation


def _is_start(rows: Sequence[UnwindRow]) -> bool:
    """Whether some row says that nobody called."""
    return any(isinstance(row.registers.get(row.return_address), Undefined) for row in rows)


def _is_kernels(rows: Sequence[UnwindRow], arch: Arch) -> bool:
    """Whether all rows say a frame that no call leaves: a signal's, or one with the return address at another place.

    `.debug_frame` has no mark of a signal's frame.
    """

    def is_so(row: UnwindRow) -> bool:
        moved = arch.link is None and row.registers.get(row.return_address) != Offset(-arch.word)
        return row.cfa != _first_cfa(arch) and (row.signal_frame or moved)

    return bool(rows) and all(is_so(row) for row in rows)


def _is_given(rows: Sequence[UnwindRow], arch: Arch) -> bool:
    """Whether some row counts the CFA from an argument: of a frame that is given, wherever that lies."""
    return any(isinstance(row.cfa, RegisterPlus) and row.cfa.register in platform(arch).arguments for row in rows)


def _computes_a_signals(tables: Sequence[RowTable], piece: CodePiece) -> bool:
    """Whether a row of some code says a signal's frame whose CFA is computed: of who was interrupted."""
    return any(
        row.signal_frame and isinstance(row.cfa, ExpressionRule | ValExpression)
        for table in tables
        for row in table.between(piece.start, piece.end)
    )


def _is_not_called(rows: Sequence[UnwindRow]) -> bool:
    """Whether some row says that nobody called, or in another way: in which register he left the return address, or
    that it is to be computed."""
    others = Undefined | RegisterPlus | ExpressionRule | ValExpression
    return any(isinstance(row.registers.get(row.return_address), others) for row in rows)


def _has_own_column(rows: Sequence[UnwindRow], arch: Arch) -> bool:
    """Whether some row has the return address in another register's column than a call's."""
    return any(row.return_address not in (arch.return_address, arch.link, arch.pc) for row in rows)


def _rows_at(tables: Sequence[RowTable], pc: int) -> Sequence[UnwindRow]:
    return [row for table in tables if (row := table.at(pc)) is not None]


def _first_cfa(arch: Arch) -> RegisterPlus:
    return RegisterPlus(arch.sp, arch.entry_cfa)


def _is_entrys(row: UnwindRow, arch: Arch) -> bool:
    """Whether a row is that of a function's first instruction: nothing is saved but what a call saves."""
    saved = {name for name, rule in row.registers.items() if isinstance(rule, Offset)}
    by_call = set() if arch.link else {row.return_address}
    return row.cfa == _first_cfa(arch) and saved <= by_call


def with_names(image: Image, pieces: Sequence[CodePiece]) -> Image:
    """The image with every piece as a function, by its address where it has no name."""
    named = {symbol.address for symbol in image.symbols if symbol.is_function and symbol.size}
    added = [
        Symbol(piece.name or f"{piece.start:#x}", piece.start, piece.end - piece.start, True, local=True)
        for piece in pieces
        if piece.start not in named
    ]
    symbols = sorted((*image.symbols, *added), key=lambda symbol: symbol.address)
    return replace(image, symbols=tuple(symbols))
