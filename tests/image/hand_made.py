"""Images and debug information written byte by byte, so that a test says exactly what is in them."""

import struct
from pathlib import Path

from testbed.arch import ARCHES
from testbed.image import Image, Section, Segment, Symbol
from testbed.image.debug.entries import CompilationUnit
from testbed.image.debug.functions import Function
from testbed.image.debug.info import DebugInfo, UnitCode
from testbed.image.debug.lines import LineTable
from tests.unwinders.frames import uleb

BASE, SIZE = 0x1000, 0x1000

# code, tag, has children, (attribute, form)...
_ABBREVIATIONS = (
    (1, 0x11, True, ((0x03, 0x08), (0x11, 0x01), (0x12, 0x06))),  # unit: name, low_pc, high_pc (length)
    (2, 0x2E, True, ((0x03, 0x08), (0x11, 0x01), (0x12, 0x06), (0x7C, 0x19))),  # function: ..., all tail calls listed
    (3, 0x1D, True, ((0x31, 0x13), (0x11, 0x01), (0x12, 0x06), (0x58, 0x0B), (0x59, 0x0B))),  # inlined call
    (4, 0x2E, False, ((0x03, 0x08),)),  # an abstract function
    (5, 0x2E, False, ((0x31, 0x13),)),  # one that is only an instance
    (6, 0x48, False, ((0x7F, 0x13), (0x7D, 0x01))),  # a call
    (7, 0x48, False, ((0x7F, 0x13), (0x81, 0x01), (0x82, 0x19))),  # a tail call
    (8, 0x48, False, ((0x81, 0x01), (0x82, 0x19))),  # a tail call through a pointer
    (10, 0x48, False, ((0x81, 0x01), (0x82, 0x19), (0x83, 0x18))),  # ... that says where the pointer is from
    (11, 0x48, False, ((0x81, 0x01), (0x82, 0x19), (0x84, 0x18))),  # ... from what the call may change
    (
        12,
        0x1D,
        True,
        ((0x31, 0x13), (0x11, 0x01), (0x12, 0x06), (0x52, 0x01)),
    ),  # inlined call that says where it begins
    (9, 0x2E, True, ((0x03, 0x08), (0x11, 0x01), (0x12, 0x06))),  # a function whose calls are not listed
)


def abbreviations() -> bytes:
    out = b""
    for code, tag, children, attributes in _ABBREVIATIONS:
        out += bytes((code, tag, children)) + b"".join(uleb(n) for pair in attributes for n in pair) + b"\0\0"
    return out + b"\0"


def address(value: int) -> bytes:
    return struct.pack("<Q", value & 0xFFFF_FFFF_FFFF_FFFF)


def word(value: int) -> bytes:
    return struct.pack("<I", value)


def unit(*children: bytes, low: int = BASE, size: int = SIZE) -> bytes:
    """A DWARF 5 unit; its first child's entry is at offset ``first_child()``."""
    body = b"\x01unit.c\0" + address(low) + word(size) + b"".join(children) + b"\0"
    header = struct.pack("<HBBI", 5, 1, 8, 0)
    return word(len(header) + len(body)) + header + body


def first_child() -> int:
    return len(unit()) - 1


def function(name: str, low: int, size: int, *children: bytes, listed: bool = True) -> bytes:
    code = b"\x02" if listed else b"\x09"
    return code + name.encode() + b"\0" + address(low) + word(size) + b"".join(children) + b"\0"


def inlined(origin: int, low: int, size: int, *children: bytes, line: int = 7) -> bytes:
    return b"\x03" + word(origin) + address(low) + word(size) + bytes((0, line)) + b"".join(children) + b"\0"


def inlined_from(origin: int, low: int, size: int, entry: int) -> bytes:
    return b"\x0c" + word(origin) + address(low) + word(size) + address(entry) + b"\0"


def call(origin: int, return_pc: int) -> bytes:
    return b"\x06" + word(origin) + address(return_pc)


def tail_call(pc: int, expression: bytes, *, clobbered: bool = False) -> bytes:
    """A jump through a pointer that is computed so."""
    return (b"\x0b" if clobbered else b"\x0a") + address(pc) + bytes((len(expression),)) + expression


def abstract(name: str) -> bytes:
    return b"\x04" + name.encode() + b"\0"


def instance_of(origin: int) -> bytes:
    return b"\x05" + word(origin)


def image_of(
    *children: bytes, symbols: tuple[Symbol, ...] = (), arch: str = "x86_64", more: dict[str, bytes] | None = None
) -> Image:
    """An image of SIZE bytes of code at BASE, with one unit of debug information if there are ``children``."""
    content = {".debug_info": unit(*children), ".debug_abbrev": abbreviations()} if children else {}
    content |= more or {}
    sections = {name: Section(name, 0, 0, data) for name, data in content.items()}
    segment = Segment(BASE, bytes(SIZE), SIZE, True, False, True)
    ordered = tuple(sorted(symbols, key=lambda s: s.address))
    return Image(Path("hand-made"), ARCHES[arch], BASE, (segment,), sections, ordered)


def told(functions: tuple[Function, ...], image: Image | None = None, table: LineTable | None = None) -> DebugInfo:
    """Debug information with such functions and lines in its one unit."""
    image = image_of() if image is None else image
    one = CompilationUnit(image, 0, 0, 5, 4, 8, 0, {})
    return DebugInfo(image, (one,), [], {one: UnitCode(functions, LineTable((), {}) if table is None else table)})
