"""Line tables: which source line each address was made from. Versions 2 to 5.

A *row* says ``address -> (file, line, column)`` and holds until the next row of its sequence; ``end_sequence``
gives the first address behind the last one. Line 0: made by the compiler, from no line.

Source: DWARF 5, section 6.2 (line number information); DWARF 4, section 6.2.4 (the older header).
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from testbed.image.debug.entries import CompilationUnit
from testbed.image.debug.forms import Attribute, AttributeValue, Cursor, cursor, read_form
from testbed.words.printable import printable

MAX_FILES = 1 << 16
MAX_ROWS = 1 << 22


@dataclass(frozen=True, slots=True)
class Line:
    """One place in a source: ``file`` as the compiler was given it, "" if unknown; ``line`` 0: no line."""

    file: str
    line: int
    column: int = 0
    discriminator: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def name(self) -> str:
        """The file's base name."""
        return posixpath.basename(self.file)


@dataclass(frozen=True, slots=True)
class LineRow:
    """``[start, end)`` was made from ``line``."""

    start: int
    end: int
    line: Line


@dataclass(frozen=True, eq=False)
class LineTable:
    """The rows of one unit, sorted by start, and its files by number.

    Rows without code stand in ``empty``: a debugger that is told to stop at such a line stops where they begin.
    """

    rows: tuple[LineRow, ...] = field(repr=False)
    files: Mapping[int, str]
    empty: tuple[LineRow, ...] = field(default=(), repr=False)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(row.start for row in self.rows)

    def at(self, address: int) -> Line | None:
        i = bisect_right(self._starts, address) - 1
        return self.rows[i].line if i >= 0 and address < self.rows[i].end else None

    def begins(self, address: int) -> bool:
        i = bisect_right(self._starts, address) - 1
        if i < 0 or self.rows[i].start != address:
            return False
        before, here = self.rows[i - 1] if i else None, self.rows[i].line
        return before is None or before.end != address or (before.line.file, before.line.line) != (here.file, here.line)


@dataclass(slots=True)
class _LineHeader:
    version: int
    offset_size: int
    address_size: int
    program: int = 0
    unit: int = 1  # minimum_instruction_length
    operations: int = 1  # maximum_operations_per_instruction: more than one on VLIW machines only
    line_base: int = 0
    line_range: int = 1
    opcode_base: int = 1
    lengths: tuple[int, ...] = ()
    files: dict[int, str] = field(default_factory=dict)


def read_lines(unit: CompilationUnit) -> LineTable:
    """The line table of a unit; empty if it names none. Raises DebugInfoError for damage."""
    top = unit.top
    offset = top.number(Attribute.STMT_LIST) if top is not None else None
    if offset is None or top is None:
        return LineTable((), {})
    folder = top.text(Attribute.COMP_DIR) or ""
    name = top.text(Attribute.NAME) or ""
    at = cursor(unit.image, ".debug_line", offset)
    end, offset_size = at.initial_length()
    at = cursor(unit.image, ".debug_line", at.offset, end)
    header = _header(unit, at, offset_size, folder, name)
    rows = _run(at, header, unit)
    rows.sort(key=lambda row: row.start)
    filled, empty = (tuple(row for row in rows if (row.start == row.end) == none) for none in (False, True))
    return LineTable(filled, header.files, empty)


def joined(folder: str, name: str) -> str:
    """A file's name with its folder, made plain (no ``..``); empty without a name."""
    return posixpath.normpath(posixpath.join(folder, name)) if name else ""


def _header(unit: CompilationUnit, at: Cursor, offset_size: int, folder: str, name: str) -> _LineHeader:
    version = at.unsigned(2)
    if not 2 <= version <= 5:
        raise at.error(f"line table version {version} is none of 2 to 5", at.offset - 2)
    header = _LineHeader(version, offset_size, unit.address_size)
    if version >= 5:
        header.address_size = at.unsigned(1)
        at.take(1)  # the size of segment selectors
        if header.address_size not in (4, 8):
            raise at.error(f"addresses of {header.address_size} bytes")
    length = at.unsigned(offset_size)
    header.program = at.offset + length
    if header.program > at.end:
        raise at.error("the header reaches past its table")
    header.unit = at.unsigned(1)
    header.operations = at.unsigned(1) if version >= 4 else 1
    at.take(1)  # default_is_stmt: breakpoints only
    header.line_base, header.line_range, header.opcode_base = at.signed(1), at.unsigned(1), at.unsigned(1)
    if not header.line_range or not header.opcode_base or header.operations != 1:
        raise at.error("line_range or opcode_base is 0, or this is a VLIW table")
    header.lengths = tuple(at.take(header.opcode_base - 1))
    if version >= 5:
        _files_5(unit, at, header, folder)
    else:
        _files_4(at, header, folder, name)
    at.offset = header.program
    return header


def _files_5(unit: CompilationUnit, at: Cursor, header: _LineHeader, folder: str) -> None:
    folders = [joined(folder, path) for path, _ in _names(unit, at, header)]
    at.account.spend("unpacked", sum(map(len, folders)), at.offset)
    if folders:  # the first one is the unit's own, which may be relative: -ffile-prefix-map
        folders[0] = joined("", folder) or folders[0]
    for number, (path, index) in enumerate(_names(unit, at, header)):
        header.files[number] = joined(folders[index] if index < len(folders) else "", path)
        at.account.spend("unpacked", len(header.files[number]), at.offset)


def _names(unit: CompilationUnit, at: Cursor, header: _LineHeader) -> list[tuple[str, int]]:
    """One table of (path, folder's number): each entry has at least one byte, so damage cannot make it endless."""
    formats = [(at.uleb(), at.uleb()) for _ in range(at.unsigned(1))]
    count = at.uleb()
    if count > MAX_FILES or (count and not formats):
        raise at.error(f"{count} names in a line table's header")
    out = []
    for _ in range(count):
        at.account.spend("entries", 1, at.offset)
        path, index = "", 0
        for content, form in formats:
            value = read_form(at, form, 0, header)
            if content == 1:  # DW_LNCT_path
                path = _text(unit, value)
            elif content == 2 and isinstance(value.raw, int):  # DW_LNCT_directory_index
                index = value.raw
        out.append((path, index))
    return out


def _text(unit: CompilationUnit, value: AttributeValue) -> str:
    if isinstance(value.raw, bytes):
        return printable(value.raw.decode("utf-8", "replace"))
    return unit.text(value) or ""


def _files_4(at: Cursor, header: _LineHeader, folder: str, name: str) -> None:
    folders = [folder]
    while path := at.string():
        folders.append(joined(folder, path))
        at.account.spend("unpacked", len(folders[-1]), at.offset)
    header.files[0] = joined(folder, name)  # a call_file of 0 means "not known"; the unit's own name serves
    while path := at.string():
        index, _, _ = at.uleb(), at.uleb(), at.uleb()  # folder, time, size
        header.files[len(header.files)] = joined(folders[index] if index < len(folders) else "", path)
        at.account.spend("unpacked", len(path) + (len(folders[index]) if index < len(folders) else 0), at.offset)
        if len(header.files) > MAX_FILES:
            raise at.error(f"more than {MAX_FILES} files")


@dataclass(slots=True)
class _LineState:
    address: int = 0
    file: int = 1
    line: int = 1
    column: int = 0
    discriminator: int = 0


def _run(at: Cursor, header: _LineHeader, unit: CompilationUnit) -> list[LineRow]:
    """The rows that the line number program makes: each opcode is at least one byte, so it ends."""
    image, files = unit.image, header.files
    mask = (1 << (8 * header.address_size)) - 1
    rows: list[LineRow] = []
    pending: list[tuple[int, Line]] = []  # of the sequence that is not yet ended
    state = _LineState()

    def emit() -> None:
        line = Line(files.get(state.file, ""), state.line, state.column, state.discriminator)
        at.account.spend("entries", 1, at.offset)
        pending.append((state.address, line))
        state.discriminator = 0
        if len(rows) + len(pending) > MAX_ROWS:
            raise at.error(f"more than {MAX_ROWS} rows")

    def close() -> None:
        ends = [*(address for address, _ in pending[1:]), state.address][: len(pending)]  # a sequence may have no rows
        code = image.arch.code_address
        for (start, line), end in zip(pending, ends, strict=True):
            if start <= end and image.covers(code(start)) and image.covers(max(code(end) - 1, code(start))):
                rows.append(LineRow(code(start), code(end), line))
        pending.clear()

    while at.left > 0:
        at.account.spend("steps", 1, at.offset)
        opcode = at.unsigned(1)
        if opcode >= header.opcode_base:
            adjusted = opcode - header.opcode_base
            state.address = state.address + adjusted // header.line_range * header.unit & mask
            state.line += header.line_base + adjusted % header.line_range
            emit()
            continue
        match opcode:
            case 0:
                if _extended(at, state):
                    close()
                    state = _LineState()
            case 1:  # copy
                emit()
            case 2:  # advance_pc
                state.address = state.address + at.uleb() * header.unit & mask
            case 3:  # advance_line
                state.line += at.sleb()
            case 4:  # set_file
                state.file = at.uleb()
            case 5:  # set_column
                state.column = at.uleb()
            case 8:  # const_add_pc
                state.address = state.address + (255 - header.opcode_base) // header.line_range * header.unit & mask
            case 9:  # fixed_advance_pc
                state.address = state.address + at.unsigned(2) & mask
            case _:  # what only breakpoints ask, or unknown: the header says how many operands to pass over
                for _ in range(header.lengths[opcode - 1]):
                    at.uleb()
    if pending:
        raise at.error("the last sequence has no end")
    return rows


def _extended(at: Cursor, state: _LineState) -> bool:
    """An extended opcode; True for the end of the sequence."""
    length = at.uleb()
    end = at.offset + length
    if length == 0 or end > at.end:
        raise at.error(f"an extended opcode of {length} bytes")
    match at.unsigned(1):
        case 1:
            at.offset = end
            return True
        case 2:  # set_address
            state.address = at.unsigned(length - 1)
        case 4:  # set_discriminator
            state.discriminator = at.uleb()
    at.offset = end
    return False
