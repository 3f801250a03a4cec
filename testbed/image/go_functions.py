"""The functions that `.gopclntab` names: in a stripped Go program its only names.

Go's linker writes the table for the runtime, which cannot do without it; `strip` leaves it alone. Here it is read for
names and for where functions begin; what it says of frames is not asked::

    magic 4, 0 0, instruction size 1, pointer size P 1; then P each: functions, files, [text,] names, units, files,
    tables, functions. A function is a pair (entry, record): addresses in Go 1.16 and 1.17, else 4 bytes from `text`.
    A record begins with its entry again, then 4 bytes: where its name is.

In a file that may lie anywhere the section has another name, and in a Mach-O file; an ELF file has the address of the
code as a relocation. In a library for C (`-buildmode=c-shared`) the table is no section at all: it lies inside of
`.data.rel.ro`, where it is found by its header.

Source: Go, debug/gosym/pclntab.go.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from testbed.image.model import Section, Symbol
from testbed.words.budget import Account
from testbed.words.printable import printable

SECTION, _MODULE, _RELOCATIONS = ".gopclntab", ".go.module", ".rela.dyn"
_OTHER_NAMES = {".data.rel.ro.gopclntab": SECTION, "__gopclntab": SECTION, "__go_module": _MODULE}
_INSIDE, _MARKS = ".data.rel.ro", frozenset({".note.go.buildid", ".go.buildinfo"})
_GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_HEADER = re.compile(rb"[\xfa\xf0\xf1]\xff\xff\xff\0\0[\x01\x02\x04][\x04\x08]")
_MOST_HEADERS = 64  # that only look like one
_TEXT = 22  # the word of `.go.module` that says where the code begins, if the header does not (from Go 1.26 on)
_MOST_OF_A_NAME = 1 << 12


class GoFunctionTable(NamedTuple):
    """The table, open. ``wide``: entries are addresses, as in Go 1.16 and 1.17."""

    data: bytes
    magic: int
    word: int
    text: int
    functions: int
    names: int
    tables: int
    pairs: int

    @property
    def wide(self) -> bool:
        return self.magic == _GO_1_16


class GoEntry(NamedTuple):
    """A function: the addresses ``[start, end)``, and where its record and its name are in the section."""

    start: int
    end: int
    record: int
    name: int


def by_usual_names(sections: Mapping[str, Section]) -> Mapping[str, Section]:
    """The sections of a file, and those of Go by the names that they have in most files, too."""
    usual = {_OTHER_NAMES.get(name.rpartition(",")[2], name): each for name, each in sections.items()}
    if SECTION not in usual and not _MARKS.isdisjoint(usual) and _INSIDE in usual:
        usual.update(_table_inside(usual))
    return {**usual, **sections}


def _table_inside(sections: Mapping[str, Section]) -> dict[str, Section]:
    """The first header in a section of more than the table whose first function has a record that says so."""
    whole = sections[_INSIDE]
    for found in islice(_HEADER.finditer(whole.data), _MOST_HEADERS):
        at = found.start()
        table = Section(SECTION, whole.address + at, whole.offset + at, whole.data[at:])
        try:
            opened = function_table({**sections, SECTION: table})
            first = next(functions(opened))
            (entry,) = struct.unpack_from("<Q" if opened.wide else "<I", opened.data, first.record)
        except (struct.error, ValueError, StopIteration):
            continue
        if opened.text * (not opened.wide) + entry == first.start:
            return {SECTION: table}
    return {}


def function_table(sections: Mapping[str, Section]) -> GoFunctionTable:
    """The table of a file that has one. Raises struct.error or ValueError where it is none that is known here."""
    section = sections[SECTION]
    data = section.data
    magic, padding, _, size = struct.unpack_from("<IHBB", data)
    if magic not in (_GO_1_16, _GO_1_18, _GO_1_20) or padding or size not in (4, 8):
        raise ValueError(f"magic {magic:#x}, pointers of {size} bytes")
    words = struct.unpack_from("<8I" if size == 4 else "<8Q", data, 8)
    if magic == _GO_1_16:
        return GoFunctionTable(data, magic, size, 0, words[0], words[2], words[5], words[6])
    text = words[2] or _relocated(sections, section.address + 8 + 2 * size) or _text(sections, size)
    return GoFunctionTable(data, magic, size, text, words[0], words[3], words[6], words[7])


def _text(sections: Mapping[str, Section], size: int) -> int:
    module = sections.get(_MODULE)
    if module is None:
        raise ValueError("nothing says where the code begins")
    (text,) = struct.unpack_from("<I" if size == 4 else "<Q", module.data, _TEXT * size)
    text = text or _relocated(sections, module.address + _TEXT * size)
    if not text:
        raise ValueError("it says no addresses before the file is loaded")
    return int(text)


def _relocated(sections: Mapping[str, Section], address: int) -> int:
    """The link-time address of what a loader puts at a place; 0 where it puts nothing there."""
    found = sections.get(_RELOCATIONS)
    entries = struct.iter_unpack("<QQq", found.data[: len(found.data) // 24 * 24]) if found else ()
    return next((addend for place, _, addend in entries if place == address), 0)


def functions(table: GoFunctionTable) -> Iterator[GoEntry]:
    """All functions, in the table's order. Raises struct.error or ValueError where one lies outside of it."""
    pair = struct.Struct("<QQ" if table.wide and table.word == 8 else "<II")
    field = pair.size // 2
    if table.pairs + table.functions * pair.size > len(table.data):
        raise ValueError(f"{table.functions} functions at {table.pairs:#x}")
    for i in range(table.functions):
        at = table.pairs + i * pair.size
        entry, record = pair.unpack_from(table.data, at)
        (end,) = struct.unpack_from("<Q" if field == 8 else "<I", table.data, at + pair.size)
        place = table.pairs + record
        if place >= len(table.data):
            raise ValueError(f"a record at {place:#x}")
        (name,) = struct.unpack_from("<I", table.data, place + field)
        yield GoEntry(table.text + entry, table.text + end, place, table.names + name)


def code_span(sections: Mapping[str, Section]) -> range | None:
    """Where the functions of a file's table lie; None without a table, or of a damaged one."""
    try:
        ends = [(each.start, each.end) for each in functions(function_table(sections))]
    except (KeyError, struct.error, ValueError):
        return None
    return range(ends[0][0], ends[-1][1]) if ends else None


def name_at(table: GoFunctionTable, place: int) -> str:
    """The name that begins at a place of the section, or as much of it as people read."""
    return table.data[place : place + _MOST_OF_A_NAME].partition(b"\0")[0].decode("utf-8", "replace")


def go_symbols(sections: Mapping[str, Section], account: Account) -> tuple[Symbol, ...]:
    """A symbol for each function; of a damaged table none."""
    found = []
    try:
        table = function_table(sections)
        for each in functions(table):
            name = name_at(table, each.name)
            account.spend("entries", 1)
            account.spend("unpacked", len(name))
            if name and each.start < each.end:
                found.append(Symbol(printable(name), each.start, each.end - each.start, True))
    except (struct.error, ValueError):
        return ()
    return tuple(found)
