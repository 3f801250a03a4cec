"""Mach-O executables and dynamic libraries as images: 64-bit, little-endian.

Layout (Apple, ``mach-o/loader.h``; the archived *OS X ABI Mach-O File Format Reference*)::

    header: magic feedfacf, cpu type, subtype, file type, number and size of load commands, flags, reserved
    load commands: {command, size, ...}

Sections are named ``SEGMENT,SECTION``: ``__TEXT,__unwind_info``. A symbol loses the one underscore that every C name
carries in this format. Symbols have no size here: each one ends where the next one, the next function
(LC_FUNCTION_STARTS) or its section does. ``__PAGEZERO`` and every other segment without permissions is only a
reservation of addresses, so it is not mapped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from testbed.arch import ARCHES, Arch, FrameRecord, PerArch
from testbed.image.file_bytes import FileBytes
from testbed.image.go_functions import by_usual_names
from testbed.image.macho_fixups import Fixups, chained_fixups, rebase_opcodes
from testbed.image.model import Image, Section, Segment, Symbol

# Each architecture in the headers of Mach-O files. Source: Mach-O, mach/machine.h and mach/thread_status.h.


@dataclass(frozen=True, slots=True)
class MachOArch:
    """``cpu`` is the cpu type in the header; ``thread_flavor`` the layout of the registers in LC_UNIXTHREAD, and
    ``thread_pc`` the place of pc in it, in words."""

    cpu: int
    thread_flavor: int
    thread_pc: int


MACH_O = PerArch[MachOArch | None](
    {
        "x86_64": MachOArch(cpu=0x0100_0007, thread_flavor=4, thread_pc=16),
        "arm64": MachOArch(cpu=0x0100_000C, thread_flavor=6, thread_pc=32),
        "arm32": None,
    },
    because={"arm32": "there are no 64-bit Mach-O files of it"},
)


def arch_of_cpu(cpu: int) -> Arch | None:
    """The architecture of a cpu type; None where it is none of ours."""
    return next((ARCHES[name] for name, known in MACH_O.items() if known and known.cpu == cpu), None)


# Universal files: one Mach-O file per architecture, behind a directory.
#
# Layout (Apple, ``mach-o/fat.h``; every number big-endian)::
#
#     magic cafebabe, count; entries {cpu type, subtype, offset, size, alignment} of 4 bytes each
#     magic cafebabf, the same with offset and size of 8 bytes, and 4 reserved ones behind

UNIVERSAL, UNIVERSAL_64 = b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"
_MOST_SLICES = 64  # a Java class file begins as a universal file does, with a larger number here


def slice_for(file: FileBytes, wanted: Arch | None) -> FileBytes:
    """The part of a universal file for an architecture; without one, for the only one that is known here.

    Raises ImageError where that is no choice, or the part lies outside the file.
    """
    wide = file.data[:4] == UNIVERSAL_64

    def big_endian(offset: int, size: int) -> int:
        return int.from_bytes(file.take(offset, size, "the universal header"), "big")

    count = big_endian(4, 4)
    if count > _MOST_SLICES:
        raise file.error(4, f"a universal file of {count} parts; at most {_MOST_SLICES} are believed")
    there: dict[Arch, tuple[int, int]] = {}
    for i in range(count):
        at = 8 + i * (32 if wide else 20)
        arch = arch_of_cpu(big_endian(at, 4))
        if arch is not None:
            where = (
                (big_endian(at + 8, 8), big_endian(at + 16, 8))
                if wide
                else (big_endian(at + 8, 4), big_endian(at + 12, 4))
            )
            there.setdefault(arch, where)
    known = ", ".join(map(str, there)) or "no architecture that is known here"
    if wanted is None and len(there) == 1:
        wanted = next(iter(there))
    if wanted is None:
        raise file.error(4, f"a universal file with {known}: say which (--arch)")
    if wanted not in there:
        raise file.error(4, f"a universal file with {known}, not {wanted}")
    return file.part(*there[wanted], f"the part for {wanted}")


# Names in a Mach-O file: the symbol table, and where functions start.
#
# Layout (Apple, ``mach-o/nlist.h``)::
#
#     nlist_64: offset of the name in the string table (4), type (1), section number from 1 (1), description (2),
#               value (8)
#     LC_FUNCTION_STARTS: unsigned LEB128 distances, the first from the image's base; a zero ends them

_ENTRY = 16
_STAB, _TYPE = 0xE0, 0x0E  # masks of n_type: debugger entries; the kind
_UNDEFINED, _IN_SECTION = 0x0, 0xE
_EXTERNAL = 0x01
_LOADERS_OWN = "dyld_stub_binder"  # x86_64 linkers name it in every file; only lazily bound calls come to it


class _AnySection(Protocol):
    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def holds_code(self) -> bool: ...


def function_starts(encoded: FileBytes, base: int) -> tuple[int, ...]:
    """The link-time addresses of LC_FUNCTION_STARTS. Raises ImageError where the numbers do not end."""
    found = []
    at, address = 0, base
    while at < len(encoded):
        encoded.account.spend("entries", 1, encoded.start + at)
        delta, at = encoded.uleb(at, "LC_FUNCTION_STARTS")
        if not delta:
            break
        address += delta
        found.append(address)
    return tuple(found)


def read_symbols(
    file: FileBytes, command: tuple[int, int] | None, sections: Sequence[_AnySection], functions: Sequence[int]
) -> tuple[tuple[Symbol, ...], tuple[str, ...]]:
    """The symbols that are defined in sections, by address; and the names that other files must define.

    Of two names for one address the external one comes last, where a look-up meets it first. Raises ImageError where
    the table or a name lies outside the file.
    """
    if command is None:
        return (), ()
    said = file.part(*command, "LC_SYMTAB")
    offset, count, strings_offset, strings_size = (said.unsigned(8 + 4 * i, 4, "LC_SYMTAB") for i in range(4))
    table = file.part(offset, count * _ENTRY, "the symbol table")
    strings = file.part(strings_offset, strings_size, "the string table")
    found: list[tuple[int, bool, bool, str]] = []
    imports: list[str] = []
    for i in range(count):
        at = i * _ENTRY
        file.account.spend("entries", 1, offset + at)
        kind, number = table.unsigned(at + 4, 1, "a symbol"), table.unsigned(at + 5, 1, "a symbol")
        value = table.unsigned(at + 8, 8, "a symbol")
        if kind & _STAB:
            continue
        name = strings.string(table.unsigned(at, 4, "a symbol"), f"the name of symbol {i}").removeprefix("_")
        if kind & _TYPE == _UNDEFINED and kind & _EXTERNAL and name != _LOADERS_OWN:
            imports.append(name)
        if kind & _TYPE != _IN_SECTION or not name:
            continue
        if not 1 <= number <= len(sections):
            raise table.error(at, f"symbol {name} is in section {number} of {len(sections)}")
        section = sections[number - 1]
        inside = section.address <= value < section.address + section.size
        found.append((value, inside and section.holds_code, bool(kind & _EXTERNAL), name))
    bounds = sorted(
        {*(address for address, *_ in found), *functions}
        | {bound for section in sections for bound in (section.address, section.address + section.size)}
    )

    def size(address: int) -> int:
        i = bisect_right(bounds, address)
        return bounds[i] - address if i < len(bounds) else 0

    symbols = tuple(Symbol(name, address, size(address), code) for address, code, _, name in sorted(found))
    return symbols, tuple(imports)


MAGIC_64 = b"\xcf\xfa\xed\xfe"
_OTHERS = {
    b"\xce\xfa\xed\xfe": "a 32-bit",
    b"\xfe\xed\xfa\xce": "a big-endian 32-bit",
    b"\xfe\xed\xfa\xcf": "a big-endian 64-bit",
}
MAGICS = (MAGIC_64, UNIVERSAL, UNIVERSAL_64, *_OTHERS)

_HEADER, _SEGMENT, _SECTION = 32, 72, 80  # sizes in bytes
_FILE_TYPES = {2: "executable", 6: "dynamic library", 7: "dynamic linker", 8: "bundle"}
_PIE = 0x0020_0000  # header flag: an executable that may be slid
_EXECUTABLE = 2

_LC_SYMTAB, _LC_UNIXTHREAD, _LC_SEGMENT_64, _LC_FUNCTION_STARTS = 0x02, 0x05, 0x19, 0x26
_LC_MAIN, _LC_DYLD_INFO, _LC_DYLD_INFO_ONLY, _LC_CHAINED_FIXUPS = 0x8000_0028, 0x22, 0x8000_0022, 0x8000_0034

_READ, _WRITE, _EXECUTE = 1, 2, 4  # vm_prot_t
_ZERO_FILLED = (
    1,
    12,
    18,
)  # section types without bytes in the file: zerofill, gigabyte zerofill, thread-local zerofill
_INSTRUCTIONS = 0x8000_0400  # section attributes: pure, or some, instructions
_MOST_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class SegmentCommand:
    """One LC_SEGMENT_64: where its bytes are in the file and in memory."""

    name: str
    address: int
    size: int
    file_offset: int
    file_size: int
    permissions: int


@dataclass(frozen=True, slots=True)
class SectionHeader:
    """One section of a segment; sections are numbered through all segments, from 1."""

    name: str
    address: int
    size: int
    offset: int
    flags: int

    @property
    def holds_code(self) -> bool:
        return bool(self.flags & _INSTRUCTIONS)


@dataclass(slots=True)
class _LoadCommands:
    """The load commands as they are met; ``others`` holds the last one of each other kind that matters."""

    segments: list[SegmentCommand] = field(default_factory=list)
    sections: list[SectionHeader] = field(default_factory=list)
    others: dict[int, tuple[int, int]] = field(default_factory=dict)  # command: (offset, size)


def read_macho(whole: FileBytes, frame_records: Mapping[str, FrameRecord], arch: Arch | None) -> Image:
    """A Mach-O executable or dynamic library, as `testbed.image.read_image` reads it.

    Raises ImageError for a universal file of several known architectures where ``arch`` does not choose, and for
    pointer fixups of a kind that is not implemented.
    """
    file = slice_for(whole, arch) if whole.data[:4] in (UNIVERSAL, UNIVERSAL_64) else whole
    if file.data[:4] != MAGIC_64:
        kind = _OTHERS.get(file.data[:4])
        raise file.error(
            0, f"{kind} Mach-O file; only 64-bit little-endian ones are read" if kind else "no Mach-O file"
        )
    with whole.account.working():
        return replace(_image(file, frame_records), content=whole.data, account=whole.account)


def _image(file: FileBytes, frame_records: Mapping[str, FrameRecord]) -> Image:
    file.take(0, _HEADER, "the header")
    cpu = file.unsigned(4, 4, "the header")
    arch = arch_of_cpu(cpu)
    numbers = MACH_O[arch.name] if arch else None
    if arch is None or numbers is None:
        known = ", ".join(name for name, of in MACH_O.items() if of)
        raise file.error(4, f"cpu type {cpu:#x} is none of {known}")
    file_type, flags = file.unsigned(12, 4, "the header"), file.unsigned(24, 4, "the header")
    if file_type not in _FILE_TYPES:
        known = ", ".join(f"{name} ({number})" for number, name in _FILE_TYPES.items())
        raise file.error(12, f"file type {file_type} is none of {known}")
    commands = _read_commands(file)
    header = next((s for s in commands.segments if s.file_offset == 0 and s.file_size >= _HEADER), None)
    if header is None:
        raise file.error(16, "no segment maps the header, so nothing says where the image lies")
    fixups = _fixups(file, commands, header.address)
    starts = _linkedit(file, commands, _LC_FUNCTION_STARTS, "LC_FUNCTION_STARTS")
    functions = function_starts(starts, header.address) if starts else ()
    symbols, imports = read_symbols(file, commands.others.get(_LC_SYMTAB), commands.sections, functions)
    return Image(
        file.path,
        arch,
        _entry(file, commands, numbers),
        tuple(_segments(file, commands, fixups)),
        by_usual_names(_sections(file, commands.sections)),
        symbols,
        (),
        frame_records,
        base=header.address,
        position_independent=file_type != _EXECUTABLE or bool(flags & _PIE),
        rebases=tuple(sorted(fixups.rebases)),
        imports=imports,
    )


def _read_commands(file: FileBytes) -> _LoadCommands:
    count, size = file.unsigned(16, 4, "the header"), file.unsigned(20, 4, "the header")
    file.take(_HEADER, size, "the load commands")
    found = _LoadCommands()
    at, end = _HEADER, _HEADER + size
    for number in range(count):
        file.account.spend("entries", 1, at)
        if at + 8 > end:
            raise file.error(at, f"load command {number} of {count} lies outside the {size:#x} bytes of commands")
        command, length = file.unsigned(at, 4, "a load command"), file.unsigned(at + 4, 4, "a load command")
        if length < 8 or length % 4 or at + length > end:
            raise file.error(at, f"load command {number} ({command:#x}) has the size {length:#x}")
        if command == _LC_SEGMENT_64:
            _read_segment(file.part(at, length, "LC_SEGMENT_64"), found)
        else:
            found.others[command] = (at, length)
        at += length
    return found


def _read_segment(command: FileBytes, found: _LoadCommands) -> None:
    command.take(0, _SEGMENT, "LC_SEGMENT_64")
    address, size, offset, file_size = (command.unsigned(24 + 8 * i, 8, "LC_SEGMENT_64") for i in range(4))
    segment = SegmentCommand(
        _name(command, 8), address, size, offset, file_size, command.unsigned(60, 4, "LC_SEGMENT_64")
    )
    # Of no bytes in memory: Go's linker keeps debug information so.
    if (size and file_size > size) or address + size > 1 << 64:
        raise command.error(
            24, f"segment {segment.name} of {size:#x} bytes at {address:#x} has {file_size:#x} in the file"
        )
    if segment.permissions and size > _MOST_BYTES:
        raise command.error(32, f"segment {segment.name} claims {size:#x} bytes")
    found.segments.append(segment)
    command.account.spend("parts", 1, command.start)
    for i in range(command.unsigned(64, 4, "LC_SEGMENT_64")):
        at = _SEGMENT + i * _SECTION
        command.account.spend("entries", 1, command.start + at)
        command.take(at, _SECTION, f"section {i} of segment {segment.name}")
        name = f"{_name(command, at + 16)},{_name(command, at)}"
        address, size = command.unsigned(at + 32, 8, name), command.unsigned(at + 40, 8, name)
        if address + size > 1 << 64:
            raise command.error(at, f"section {name} of {size:#x} bytes at {address:#x} leaves the address space")
        found.sections.append(
            SectionHeader(name, address, size, command.unsigned(at + 48, 4, name), command.unsigned(at + 64, 4, name))
        )


def _name(command: FileBytes, offset: int) -> str:
    """A name of at most 16 bytes, zero-padded."""
    return command.take(offset, 16, "a name").rstrip(b"\0").decode("utf-8", "replace")


def _entry(file: FileBytes, commands: _LoadCommands, numbers: MachOArch) -> int:
    """The link-time address of the first instruction; 0 for a file that starts nowhere (a library)."""
    if main := commands.others.get(_LC_MAIN):
        offset = file.part(*main, "LC_MAIN").unsigned(8, 8, "LC_MAIN")
        for segment in commands.segments:
            if segment.file_offset <= offset < segment.file_offset + segment.file_size:
                return segment.address + offset - segment.file_offset
        raise file.error(main[0], f"LC_MAIN names file offset {offset:#x}, which no segment maps")
    if thread := commands.others.get(_LC_UNIXTHREAD):
        command = file.part(*thread, "LC_UNIXTHREAD")
        flavor = command.unsigned(8, 4, "LC_UNIXTHREAD")
        if flavor != numbers.thread_flavor:
            raise command.error(8, f"a thread state of flavor {flavor}, not {numbers.thread_flavor}")
        return command.unsigned(16 + 8 * numbers.thread_pc, 8, "LC_UNIXTHREAD")
    return 0


def _linkedit(file: FileBytes, commands: _LoadCommands, command: int, name: str) -> FileBytes | None:
    """The bytes that a linkedit_data_command {command, size, offset, size of data} names."""
    if command not in commands.others:
        return None
    said = file.part(*commands.others[command], name)
    return file.part(said.unsigned(8, 4, name), said.unsigned(12, 4, name), name)


def _fixups(file: FileBytes, commands: _LoadCommands, base: int) -> Fixups:
    chained = _linkedit(file, commands, _LC_CHAINED_FIXUPS, "LC_DYLD_CHAINED_FIXUPS")
    if chained is not None:
        return chained_fixups(chained, file, commands.segments, base)
    for command in (_LC_DYLD_INFO_ONLY, _LC_DYLD_INFO):
        rebases = _linkedit(file, commands, command, "LC_DYLD_INFO")  # its first two fields: where the rebases are
        if rebases is not None:
            return rebase_opcodes(rebases, commands.segments)
    return Fixups()


def _segments(file: FileBytes, commands: _LoadCommands, fixups: Fixups) -> Iterator[Segment]:
    mapped = [segment for segment in commands.segments if segment.permissions and segment.size]
    _bounded(file, sum(segment.file_size for segment in mapped), "segments")
    for segment in mapped:
        file.account.spend("steps", len(fixups.values), segment.file_offset)
        data = bytearray(file.take(segment.file_offset, segment.file_size, f"segment {segment.name}"))
        for address, value in fixups.values.items():
            at = address - segment.address
            if 0 <= at <= len(data) - 8:
                data[at : at + 8] = value.to_bytes(8, "little")
        yield Segment(
            segment.address,
            bytes(data),
            segment.size,
            bool(segment.permissions & _READ),
            bool(segment.permissions & _WRITE),
            bool(segment.permissions & _EXECUTE),
            segment.file_offset,
        )


def _sections(file: FileBytes, headers: list[SectionHeader]) -> Mapping[str, Section]:
    with_bytes = [header for header in headers if header.flags & 0xFF not in _ZERO_FILLED]
    _bounded(file, sum(header.size for header in with_bytes), "sections")
    return {
        header.name: Section(
            header.name, header.address, header.offset, file.take(header.offset, header.size, f"section {header.name}")
        )
        for header in with_bytes
    }


def _bounded(file: FileBytes, total: int, what: str) -> None:
    """Copies of overlapping parts could be any number of times as big as the file."""
    if total > len(file):
        raise file.error(16, f"its {what} have {total:#x} bytes, the file has {len(file):#x}")
