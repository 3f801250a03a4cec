"""`.gopclntab`: the table that Go's linker makes of all functions for the runtime's own traceback, as rows.

Layout (Go, runtime/symtab.go and runtime2.go, cmd/link/internal/ld/pcln.go; little-endian; ``P`` is a pointer)::

    magic 4    fffffffa Go 1.16, 1.17; fffffff0 Go 1.18, 1.19; fffffff1 from Go 1.20 on
    0 0        then the smallest size of an instruction (1), and of a pointer (1)
    P each     number of functions, of files; from 1.18 on where the code begins; where these begin, counted from here:
               names, units, files, tables by pc, functions
    functions  pairs (entry, where its record is, counted from the functions), and behind the last one where code ends;
               P each, entries are addresses; from 1.18 on 4 bytes each, entries count from where the code begins
    record     entry (P; from 1.18 on 4), name 4, arguments 4, deferreturn 4, pcsp 4, pcfile 4, pcln 4, npcdata 4,
               unit 4, from 1.20 on first line 4; funcID 1, flags 1 (from 1.17 on)
    pcsp       up to a zero: by how much SP has gone down since the entry (zigzag LEB128, a difference; at first from
               -1), for so many smallest instructions (LEB128)

From Go 1.26 on the header no longer says where the code begins, but the runtime's description of the module does, a
section of its own, `.go.module`. In a file that may lie anywhere a relocation says it instead.

What the runtime makes of it (traceback.go), as rules, with ``d`` what pcsp says::

    x86_64   CFA = SP + d + 8, the return address at CFA - 8
    arm64    CFA = SP + d, the return address at SP; where d is 0 it is in the link register

A function of flag TOPFRAME has nobody above it on its stack. `runtime.goexit` is the root of any goroutine. So is
`runtime.rt0_go` if Go's start code is the file's entry point and jumps to it: `_rt0_amd64`, and `_rt0_arm64`, which
older versions do not have: there the start code calls it. All others were called on another stack, or by C: nothing is
known of it. Nor is it in a function of flag SPWRITE, which sets SP to something that is no difference.
`runtime.sigpanic` and the two like it are entered by a signal's handler, which makes it look like a call: the return
address is the instruction that did not get to execute. Where a link register is, its own value lies 16 bytes below the
caller's SP.

No register is preserved but the frame pointer. It is not in the table: the assembler saves it in each frame that is not
empty, below the return address or below SP. An assembly function may make room on the stack in other ways: its caller's
frame pointer is unknown, and where a link register is so is the return address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from testbed.arch import Arch, PerArch
from testbed.contract.rows import (
    AtRegister,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValOffset,
)
from testbed.conventions import platform
from testbed.image import Image, Section, once_per_image
from testbed.words.errors import NoUnwindInfo, UnsupportedRule
from testbed.words.printable import printable
from unwinders.formats.indexed import IndexedTable, Part, up_to_the_next
from unwinders.formats.reader import Reader, reader_of
from unwinders.formats.sections import GO_MODULE, GOPCLNTAB, RELOCATIONS

_MOST_FUNCTIONS = 1 << 22
_VARINT_BITS = 32
_MOST_OF_A_NAME = 80  # bytes, of which errors tell
_TEXT_OF_MODULE = 22  # words before where the code begins: a pointer, six slices, a pointer, the least and most pc

TOP_FRAME, WRITES_SP, ASSEMBLY = 1, 2, 4  # flags


class GoLayout(NamedTuple):
    """What differs from version to version. ``record`` is the place of a record's flags, if its entry has 4 bytes."""

    has_text_start: bool
    record: int

    @property
    def is_wide(self) -> bool:
        """True where entries are addresses."""
        return not self.has_text_start


LAYOUTS = {
    0xFFFFFFFA: GoLayout(False, 37),  # Go 1.16 and 1.17
    0xFFFFFFF0: GoLayout(True, 37),  # Go 1.18 and 1.19
    0xFFFFFFF1: GoLayout(True, 41),  # from Go 1.20 on
}
_OLDER = 0xFFFFFFFB  # Go 1.2 to 1.15

# By name: the numbers of funcID have moved between versions of one layout.
_ROOT, _START = "runtime.goexit", "runtime.rt0_go"  # nobody called them; but C may have called the second one
_INJECTED = frozenset({"runtime.sigpanic", "runtime.asyncPreempt", "runtime.debugCallV1", "runtime.debugCallV2"})
_INJECTED_WORDS = 2  # that a handler puts on the stack where a link register is
# Go 1.16 has no flags.
_WITHOUT_FLAGS = dict.fromkeys((_ROOT, _START, "runtime.mstart"), TOP_FRAME) | dict.fromkeys(
    (
        *("runtime.gogo", "runtime.mcall", "runtime.morestack", "runtime.systemstack", "runtime.asmcgocall"),
        *("runtime.cgocallback", "runtime.sigreturn", "runtime.clone", "runtime.sigtramp", "runtime.walltime1"),
        *("runtime.nanotime1", "runtime.vdsoCall", "runtime.jmpdefer"),
    ),
    WRITES_SP,
)


class GoHeader(NamedTuple):
    """The header: where the parts of the table begin, in the section; ``text`` is what entries count from."""

    layout: GoLayout
    quantum: int
    functions: int
    text: int
    names_at: int
    tables_at: int
    functions_at: int


class GoFunction(NamedTuple):
    """A function's record. ``flags`` None: this table has none."""

    offset: int
    name: str
    pcsp: int
    flags: int


def read_header(reader: Reader, image: Image) -> GoHeader:
    """The header. Raises MalformedTable where it breaks the format, UnsupportedRule for one that is not known here."""
    word = image.arch.word
    magic, padding, quantum, size = (reader.unsigned(n) for n in (4, 2, 1, 1))
    if magic == _OLDER:
        raise UnsupportedRule(f"{GOPCLNTAB} of Go 1.2 to 1.15")
    if magic not in LAYOUTS:
        raise reader.error(f"magic {magic:#x}", at=0)
    if padding or quantum not in (1, 2, 4) or size != word:
        raise reader.error(f"instructions of {quantum} bytes, pointers of {size}", at=4)
    layout = LAYOUTS[magic]
    functions, _ = reader.unsigned(word), reader.unsigned(word)
    text = 0
    if layout.has_text_start:
        said = reader.unsigned(word) or _relocated(image, image.sections[GOPCLNTAB], 8 + 2 * word)
        text = said or _text_of_module(image)
    names_at, _, _, tables_at, functions_at = (reader.unsigned(word) for _ in range(5))
    for at in (names_at, tables_at, functions_at):
        if at > len(reader.data):
            raise reader.error(f"a part at {at:#x}, past the end of the section", at=0)
    field = word if layout.is_wide else 4
    if functions > _MOST_FUNCTIONS or functions_at + (2 * functions + 1) * field > len(reader.data):
        raise reader.error(f"{functions} functions at {functions_at:#x} reach past the end of the section", at=8)
    return GoHeader(layout, quantum, functions, text, names_at, tables_at, functions_at)


def _rest(reader: Reader, at: int) -> Reader:
    """What lies at a place and behind it. Raises MalformedTable where that is outside of the section."""
    if at >= len(reader.data):
        raise reader.error(f"something is said to lie at {at:#x}, past the end of the section", at=0)
    return reader.part(at, len(reader.data))


def _text_of_module(image: Image) -> int:
    """Where the code begins, as the module's description says. Raises UnsupportedRule where it does not say it."""
    module, word = image.sections.get(GO_MODULE), image.arch.word
    text = 0
    if module is not None:
        reader = reader_of(image, module)
        reader.take(_TEXT_OF_MODULE * word)
        text = reader.unsigned(word) or _relocated(image, module, _TEXT_OF_MODULE * word)
    if not text:
        raise UnsupportedRule(f"{GOPCLNTAB} says no addresses before the file is loaded")
    return text


def _relocated(image: Image, section: Section, offset: int) -> int:
    """What `.rela.dyn` (of 64 bits: place, type, addend) puts at an offset of a section; 0 where it puts nothing."""
    relocations = image.sections.get(RELOCATIONS)
    if relocations is None:
        return 0
    place = (section.address + offset).to_bytes(8, "little")
    at = next((i for i in range(0, len(relocations.data), 24) if relocations.data.startswith(place, i)), None)
    return 0 if at is None else reader_of(image, relocations).part(at + 16, at + 24).unsigned(8)


def _functions(reader: Reader, header: GoHeader, arch: Arch) -> tuple[list[int], list[int]]:
    """Where each function begins, and last where the code ends, in link-time addresses; and where each record is."""
    field = arch.word if header.layout.is_wide else 4
    pairs = reader.part(header.functions_at, header.functions_at + (2 * header.functions + 1) * field)
    pairs.spend("entries", header.functions)
    starts, records = [], []
    for _ in range(header.functions):
        starts.append(header.text + pairs.unsigned(field) & arch.word_mask)
        records.append(header.functions_at + pairs.unsigned(field))
    starts.append(header.text + pairs.unsigned(field) & arch.word_mask)
    return starts, records


def read_function(reader: Reader, header: GoHeader, at: int, start: int, arch: Arch) -> GoFunction:
    """The record at ``at``, of the function that begins at ``start``. Raises MalformedTable where it says another."""
    record = _rest(reader, at)
    entry = record.unsigned(arch.word if header.layout.is_wide else 4)
    if header.text + entry & arch.word_mask != start:
        raise record.error(f"the record of a function at {header.text + entry:#x}, not {start:#x}", at=at)
    name_at = header.names_at + record.unsigned(4)
    record.take(8)
    pcsp = record.unsigned(4)
    names = _rest(reader, name_at)
    name = names.take(min(names.left, _MOST_OF_A_NAME)).partition(b"\0")[0].decode("utf-8", "replace")
    flags = _rest(reader, _flags_at(header, at, arch)).unsigned(1)
    return GoFunction(at, printable(name), pcsp, flags)


def _flags_at(header: GoHeader, at: int, arch: Arch) -> int:
    return at + header.layout.record + (arch.word - 4 if header.layout.is_wide else 0)


class _Depth(NamedTuple):
    """SP has gone down by ``depth`` at the link-time pcs ``[start, end)``."""

    start: int
    end: int
    depth: int


def read_depths(reader: Reader, header: GoHeader, pcsp: int, start: int, end: int) -> Iterator[_Depth]:
    """What a table by pc says of the function at ``[start, end)``. Raises MalformedTable where it breaks the format."""
    at = header.tables_at + pcsp
    table = _rest(reader, at)
    pc, value = start, -1
    while pc < end:
        table.spend("steps")
        difference = _varint(table)
        if not difference and pc != start:
            return
        value += -(difference >> 1) - 1 if difference & 1 else difference >> 1
        if not -1 << _VARINT_BITS - 1 <= value < 1 << _VARINT_BITS - 1:
            raise table.error(f"a frame of {value} bytes", at=at)
        stop = min(pc + _varint(table) * header.quantum, end)
        if (
            pc < stop and value >= 0
        ):  # assembly that leaves with more than it came with has a frame of less than nothing
            yield _Depth(pc, stop, value)
        pc = stop


def _varint(table: Reader) -> int:
    at = table.offset
    value = table.uleb()
    if value >> _VARINT_BITS:
        raise table.error(f"a number of more than {_VARINT_BITS} bits", at=at)
    return value


class _GoFrame(NamedTuple):
    """Where things are in a frame: the return address from the CFA (None: at SP), the saved FP from the CFA or SP.

    ``start_code`` is the function that jumps to `runtime.rt0_go`.
    """

    pushed: int | None
    saved: int
    start_code: bytes


_FRAMES = PerArch[_GoFrame | None](
    {"x86_64": _GoFrame(-8, -16, b"_rt0_amd64"), "arm64": _GoFrame(None, -8, b"_rt0_arm64"), "arm32": None},
    because={"arm32": "the technique does not exist for it"},
)


def function_rows(
    function: GoFunction, depths: Sequence[_Depth], arch: Arch, *, start_is_root: bool = True
) -> Iterator[UnwindRow]:
    """The rows of a function. Raises NoUnwindInfo where only the runtime knows more.

    ``start_is_root``: nobody calls `runtime.rt0_go`.
    """
    found_by = f"{GOPCLNTAB}+{function.offset:#x}"
    frame = _FRAMES[arch.name]
    assert frame is not None, arch
    if function.name == _ROOT or (function.name == _START and start_is_root):
        for start, end, _ in depths:
            rules: dict[str, Rule] = {arch.return_address: Undefined()}
            yield UnwindRow(start, end, None, rules, arch.return_address, found_by=found_by)
        return
    if function.flags & (TOP_FRAME | WRITES_SP):
        how = "is on another stack than its caller" if function.flags & TOP_FRAME else "sets SP"
        raise NoUnwindInfo(f"{function.name} {how}: {GOPCLNTAB} does not say where the caller's frame is")
    pushed = arch.entry_cfa
    is_injected = function.name in _INJECTED
    first = next((each.start for each in depths if each.depth), None)
    for start, end, depth in depths:
        if depth and arch.link is not None and function.flags & ASSEMBLY and not is_injected:
            continue  # it may have made room by itself, and kept the return address in the link register
        known = dict.fromkeys(platform(arch).preserved, Undefined()) | _return_address(frame, depth, is_injected, arch)
        column = arch.pc if is_injected else arch.return_address
        for low, high, pointer in _frame_pointers(frame, function, start, end, depth, first):
            rules = {**known, arch.frame_pointers[0]: pointer}
            cfa = RegisterPlus(arch.sp, depth + pushed)
            yield UnwindRow(low, high, cfa, rules, column, is_injected, found_by)


def _return_address(frame: _GoFrame, depth: int, is_injected: bool, arch: Arch) -> dict[str, Rule]:
    """The rule of the return address, and behind an injected call those of what its maker put on the stack."""
    if frame.pushed is not None or arch.link is None:
        return {arch.return_address: Offset(frame.pushed or 0)}
    where: Rule = AtRegister(arch.sp, 0) if depth else RegisterPlus(arch.link, 0)
    if not is_injected:
        return {arch.link: where}
    return {arch.pc: where, arch.link: Offset(0), arch.sp: ValOffset(_INJECTED_WORDS * arch.word)}


def _frame_pointers(
    frame: _GoFrame, function: GoFunction, start: int, end: int, depth: int, first: int | None
) -> Iterator[tuple[int, int, Rule]]:
    """The caller's frame pointer at the pcs of one depth.

    Of a function that the compiler made: kept where the frame is empty. The instruction that makes the frame comes
    before the one that saves it, or does both; so at the first instruction with a frame it is still kept, too.
    """
    if function.flags & ASSEMBLY:
        yield start, end, Undefined()
        return
    if not depth:
        yield start, end, SameValue()
        return
    if start == first:
        yield start, start + 1, SameValue()
        start += 1
    if start < end:
        saved = Offset(frame.saved) if frame.pushed is not None else None
        yield start, end, saved or AtRegister("sp", frame.saved)


@once_per_image
def gopclntab_index(image: Image) -> IndexedTable:
    """Which function each pc of an image is in; its rows are read when they are asked for.

    What breaks the format in one function is that function's only. Raises NoUnwindInfo where the image has no such
    section, MalformedTable where the header breaks the format, UnsupportedRule for a version that is not known here.
    """
    section, arch = image.sections.get(GOPCLNTAB), image.arch
    if section is None:
        raise NoUnwindInfo(f"{image} has no {GOPCLNTAB}")
    reader = reader_of(image, section)
    header = read_header(reader, image)
    starts, records = _functions(reader, header, arch)
    found = up_to_the_next(starts[:-1], starts[-1])
    hidden = {part.entry: by for part, by in found if by is not None}
    frame = _FRAMES[arch.name]
    jumps = frame is not None and b"\0" + frame.start_code + b"\0" in section.data
    start_is_root = jumps and starts[0] <= image.entry < starts[-1]

    def rows(part: Part) -> Sequence[UnwindRow]:
        start = starts[part.entry]
        if part.entry in hidden:
            raise reader.error(f"an entry that is not sorted hides where the one at {start:#x} ends")
        function = read_function(reader, header, records[part.entry], start, arch)
        if header.layout.is_wide and not has_flags():
            function = function._replace(flags=_WITHOUT_FLAGS.get(function.name, 0))
        if not function.pcsp:
            return ()
        depths = tuple(read_depths(reader, header, function.pcsp, start, part.end))
        return tuple(function_rows(function, depths, arch, start_is_root=start_is_root))

    known: list[bool] = []

    def has_flags() -> bool:
        """Whether any function has a flag: Go 1.17's `runtime.goexit` has one."""
        if not known:
            known.append(any(reader.data[_flags_at(header, at, arch) :][:1].strip(b"\0") for at in records))
        return known[0]

    return IndexedTable(GOPCLNTAB, tuple(part for part, _ in found), rows)
