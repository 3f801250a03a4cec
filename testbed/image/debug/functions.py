"""Functions as debug information has them: where their code is, what was inlined into them, what they call.

Source: DWARF 5, sections 3.3 (subprograms), 3.3.8 (inlined subroutines), 3.4 (call sites).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from testbed.image.debug.entries import CompilationUnit, DebugEntry
from testbed.image.debug.forms import Attribute, AttributeValue, Cursor, Form, Tag, account_of, cursor
from testbed.image.debug.lines import Line
from testbed.image.model import Image
from testbed.words.errors import DebugInfoError

# Call sites: where a function calls, what, and whether it comes back.
#
# ``return_pc`` is the address after an ordinary call; ``pc`` that of the call instruction itself, as tail calls have
# it. The older GNU form has one address, the one after the call, for both.
#
# A call through a pointer may say in DW_AT_call_target how its callee is computed. That is evaluated where it needs no
# register and no memory that changes: an address, or a word of a segment that nobody writes. Any other such call has no
# known target, as in gdb, which searches chains without a frame's registers; nor has one that says its target is
# clobbered.
#
# Source: DWARF 5, section 3.4.1; the GNU extension of DWARF 4 (https://www.dwarfstd.org/issues/100909.2.html).


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The callee that a call site names: by its code's address where the entry has one, else by name.

    ``origins`` are the offsets of the entry and of what it is an instance of. ``declared``: the entry is a declaration
    only, and the function itself is in another unit, found by name.
    """

    name: str
    address: int | None
    origins: tuple[int, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call. ``target`` None: through a pointer whose value is not known. ``tail``: it jumps, and the callee returns
    for the caller.

    ``return_pc`` is the address after the instruction, of a tail call too where the producer says it.
    """

    return_pc: int | None
    pc: int | None
    target: CallTarget | None
    tail: bool


def call_site(entry: DebugEntry, target: Callable[[int], CallTarget | None]) -> CallSite:
    """A call site's entry as a value; ``target`` finds the callee from the offset of its entry."""
    code = entry.unit.image.arch.code_address
    gnu = entry.tag == Tag.GNU_CALL_SITE
    origin = entry.reference(Attribute.ABSTRACT_ORIGIN if gnu else Attribute.CALL_ORIGIN)
    tail = entry.flag(Attribute.CALL_TAIL_CALL, Attribute.GNU_TAIL_CALL)
    after = entry.address(Attribute.LOW_PC if gnu else Attribute.CALL_RETURN_PC)
    at = None if gnu else entry.address(Attribute.CALL_PC)
    return CallSite(
        return_pc=None if after is None else code(after),
        pc=None if at is None else code(at),
        target=_constant(entry) if origin is None else target(origin),
        tail=tail,
    )


def _constant(entry: DebugEntry) -> CallTarget | None:
    """The callee of a call through a pointer, where its expression is the same at every execution."""
    if entry.values.keys() & {Attribute.CALL_TARGET_CLOBBERED, Attribute.GNU_CALL_SITE_TARGET_CLOBBERED}:
        return None
    said = entry.values.get(Attribute.CALL_TARGET) or entry.values.get(Attribute.GNU_CALL_SITE_TARGET)
    if said is None or not isinstance(said.raw, bytes):
        return None
    image, size = entry.unit.image, entry.unit.address_size
    at = Cursor(image.path.name, ".debug_info", said.raw, 0, len(said.raw), account_of(image))
    address: int | None = None
    while at.left > 0:  # each operation is a byte at least
        operation = at.unsigned(1)
        if operation == _ADDR and address is None:
            address = at.unsigned(size)
        elif operation in (_ADDRX, _GNU_ADDR_INDEX) and address is None:
            address = entry.unit.address(AttributeValue(Form.ADDRX, at.uleb()))
        elif operation == _DEREF and address is not None:
            address = _constant_word(image, address, size)
        elif operation == _PLUS_UCONST and address is not None:
            address += at.uleb()
        else:
            return None
        if address is None:
            return None
    return None if address is None else CallTarget(f"{address:#x}", image.arch.code_address(address))


_ADDR, _DEREF, _PLUS_UCONST, _ADDRX, _GNU_ADDR_INDEX = 0x03, 0x06, 0x23, 0xA1, 0xFB  # DWARF 5, section 7.7.1


def _constant_word(image: Image, address: int, size: int) -> int | None:
    """A word that is in the file as it is in memory at every time: no store and no loader changes it."""
    kept = any(not s.writable and s.address <= address and address + size <= s.address + s.size for s in image.segments)
    data = image.bytes_at(address, size)
    return int.from_bytes(data, "little") if kept and len(data) == size and address not in image.rebases else None


def completeness(function: DebugEntry) -> bool:
    """Whether the function's entry promises that all its tail calls are listed."""
    return function.flag(
        *(Attribute.CALL_ALL_CALLS, Attribute.CALL_ALL_SOURCE_CALLS, Attribute.CALL_ALL_TAIL_CALLS),
        *(Attribute.GNU_ALL_CALL_SITES, Attribute.GNU_ALL_TAIL_CALL_SITES),
    )


# The addresses that an entry covers: low_pc and high_pc, or a range list of either format.
#
# Source: DWARF 5, sections 2.17 (code addresses), 2.17.3 and 7.25 (range lists); DWARF 4, section 2.17.3.

Range = tuple[int, int]
Entries = Callable[[int], DebugEntry | None]

MAX_RANGES = 1 << 16  # of one entry: more is damage


def ranges_of(entry: DebugEntry) -> tuple[Range, ...]:
    """The link-time ranges ``[start, end)`` of an entry that lie in the image, sorted.

    A range that leaves the image is left out: a linker gives discarded code the address 0 or -1.
    """
    unit = entry.unit
    listed = entry.values.get(Attribute.RANGES)
    found: list[Range]
    if listed is not None:
        found = list(_listed(unit, listed))
    else:
        low, high = entry.address(Attribute.LOW_PC), entry.values.get(Attribute.HIGH_PC)
        if low is None or high is None or not isinstance(high.raw, int):
            return ()
        end = unit.address(high) if high.form in _ADDRESSES else low + high.raw
        found = [] if end is None else [(low, end)]
    image, code = unit.image, unit.image.arch.code_address
    inside = ((code(start), end - (start - code(start))) for start, end in found)
    return tuple(sorted({(a, b) for a, b in inside if a < b and image.covers(a) and image.covers(b - 1)}))


_ADDRESSES = (Form.ADDR, Form.ADDRX, Form.ADDRX1, Form.ADDRX2, Form.ADDRX3, Form.ADDRX4, Form.GNU_ADDR_INDEX)


def _listed(unit: CompilationUnit, value: AttributeValue) -> Iterator[Range]:
    assert isinstance(value.raw, int)
    base = (unit.top.address(Attribute.LOW_PC) if unit.top is not None else None) or 0
    if unit.version < 5:
        yield from _before_5(unit, cursor(unit.image, ".debug_ranges", value.raw), base)
        return
    offset = value.raw
    if value.form == Form.RNGLISTX:
        lists = unit.base(Attribute.RNGLISTS_BASE, 12 if unit.offset_size == 4 else 20)
        where = cursor(unit.image, ".debug_rnglists", lists + value.raw * unit.offset_size)
        offset = lists + where.unsigned(unit.offset_size)
    yield from _from_5(unit, cursor(unit.image, ".debug_rnglists", offset), base)


def _before_5(unit: CompilationUnit, at: Cursor, base: int) -> Iterator[Range]:
    size = unit.address_size
    select = (1 << (8 * size)) - 1
    for _ in range(MAX_RANGES):
        at.account.spend("entries", 1, at.offset)
        start, end = at.unsigned(size), at.unsigned(size)
        if start == select:
            base = end
        elif start == end == 0:
            return
        else:
            yield base + start, base + end
    raise at.error(f"more than {MAX_RANGES} ranges")


def _from_5(unit: CompilationUnit, at: Cursor, base: int) -> Iterator[Range]:
    size = unit.address_size

    def indexed() -> int:
        return unit.address(AttributeValue(Form.ADDRX, at.uleb())) or 0

    for _ in range(MAX_RANGES):
        at.account.spend("entries", 1, at.offset)
        match kind := at.unsigned(1):
            case 0:  # DW_RLE_end_of_list
                return
            case 1:  # base_addressx
                base = indexed()
            case 2:  # startx_endx
                yield indexed(), indexed()
            case 3:  # startx_length
                start = indexed()
                yield start, start + at.uleb()
            case 4:  # offset_pair
                start, end = at.uleb(), at.uleb()
                yield base + start, base + end
            case 5:  # base_address
                base = at.unsigned(size)
            case 6:  # start_end
                yield at.unsigned(size), at.unsigned(size)
            case 7:  # start_length
                start = at.unsigned(size)
                yield start, start + at.uleb()
            case _:
                raise at.error(f"unknown range list entry {kind:#x}", at.offset - 1)
    raise at.error(f"more than {MAX_RANGES} ranges")


MAX_ORIGINS = 16  # abstract origins and specifications followed from one entry: a longer chain is a cycle


@dataclass(frozen=True, slots=True)
class Inlined:
    """One call that the compiler replaced by the callee's body: the callee, its code, and where the call stood.

    ``entry`` is where that code begins to run, the first of its addresses where nothing says it.
    """

    name: str
    linkage_name: str
    ranges: tuple[Range, ...]
    called_from: Line
    entry: int | None
    inner: tuple[Inlined, ...] = field(repr=False)

    def covers(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function with code of its own. ``complete``: its call sites list every tail call that it can make.

    ``origins`` are the offsets of its entry and of the abstract entries that it is an instance of. ``convention`` is
    the number that says how it is called (DW_CC_*; 0: nothing says), ``producer`` what made its unit.
    """

    name: str
    linkage_name: str
    ranges: tuple[Range, ...]
    entry: int
    inlined: tuple[Inlined, ...] = field(repr=False)
    call_sites: tuple[CallSite, ...] = field(repr=False)
    complete: bool
    origins: tuple[int, ...] = ()
    convention: int = 0
    producer: str = ""

    def every_inlined(self) -> Iterator[Inlined]:
        """All calls that the compiler replaced in this function, those within others, too."""
        left = list(self.inlined)
        while left:
            call = left.pop()
            left += call.inner
            yield call

    def inlined_at(self, address: int) -> tuple[Inlined, ...]:
        """The inlined calls that an address lies in, innermost first."""
        out: list[Inlined] = []
        level = self.inlined
        while found := next((call for call in level if call.covers(address)), None):
            out.append(found)
            level = found.inner
        return tuple(reversed(out))


def functions_of(
    unit: CompilationUnit, own: Mapping[int, DebugEntry], entries: Entries, files: Mapping[int, str]
) -> Iterator[Function | DebugInfoError]:
    """The functions of a unit that have code in the image. ``own``: its entries; ``entries``: one of any, by offset.

    A function with damaged entries gives its error instead.
    """
    producer = ""
    try:
        producer = (unit.top.text(Attribute.PRODUCER) if unit.top is not None else None) or ""
    except DebugInfoError as error:
        yield error
    for entry in own.values():
        if entry.tag != Tag.SUBPROGRAM:
            continue
        account_of(unit.image).spend("entries", 2, entry.offset)
        try:
            ranges = ranges_of(entry)
            if ranges:
                yield _function(entry, ranges, entries, files, producer)
        except DebugInfoError as error:
            yield error


def _function(
    entry: DebugEntry, ranges: tuple[Range, ...], entries: Entries, files: Mapping[int, str], producer: str
) -> Function:
    name, linkage = names_of(entry, entries)
    low = entry.address(Attribute.LOW_PC)
    start = ranges[0][0] if low is None else entry.unit.image.arch.code_address(low)
    sites = tuple(call_site(site, lambda offset: _target(offset, entries)) for site in _sites(entry))
    return Function(
        name=name,
        linkage_name=linkage,
        ranges=ranges,
        entry=start,
        inlined=tuple(_inlined(entry, entries, files)),
        call_sites=sites,
        complete=any(completeness(e) for e in origins(entry, entries)),
        origins=tuple(e.offset for e in origins(entry, entries)),
        convention=next(filter(None, (e.number(Attribute.CALLING_CONVENTION) for e in origins(entry, entries))), 0),
        producer=producer,
    )


def _inlined(parent: DebugEntry, entries: Entries, files: Mapping[int, str]) -> Iterator[Inlined]:
    """The inlined calls directly below an entry, lexical blocks seen through."""
    for child in parent.children:
        if child.tag == Tag.INLINED_SUBROUTINE:
            name, linkage = names_of(child, entries)
            place = Line(
                files.get(child.number(Attribute.CALL_FILE) or 0, ""),
                child.number(Attribute.CALL_LINE) or 0,
                child.number(Attribute.CALL_COLUMN) or 0,
            )
            ranges = ranges_of(child)
            begins = child.address(Attribute.ENTRY_PC)
            if ranges and not any(low <= (begins or 0) < high for low, high in ranges):  # GCC names one outside, too
                begins = ranges[0][0]
            yield Inlined(name, linkage, ranges, place, begins, tuple(_inlined(child, entries, files)))
        elif child.tag != Tag.SUBPROGRAM:
            yield from _inlined(child, entries, files)


def _sites(parent: DebugEntry) -> Iterator[DebugEntry]:
    for child in parent.children:
        if child.tag in (Tag.CALL_SITE, Tag.GNU_CALL_SITE):
            yield child
        elif child.tag != Tag.SUBPROGRAM:
            yield from _sites(child)


def origins(entry: DebugEntry, entries: Entries) -> Iterator[DebugEntry]:
    """The entry, then what it is an instance of. Raises DebugInfoError for a cycle or a reference to nothing."""
    at: DebugEntry | None = entry
    for _ in range(MAX_ORIGINS):
        assert at is not None
        yield at
        reference = at.reference(Attribute.ABSTRACT_ORIGIN)
        if reference is None:
            reference = at.reference(Attribute.SPECIFICATION)
        if reference is None:
            return
        at = entries(reference)
        if at is None:
            raise _damage(entry, f"its origin {reference:#x} is no entry")
    raise _damage(entry, f"more than {MAX_ORIGINS} abstract origins: a cycle")


def names_of(entry: DebugEntry, entries: Entries) -> tuple[str, str]:
    """(the name in the source, the linker's name), from the entry or from what it is an instance of."""
    name = linkage = None
    for at in origins(entry, entries):
        name = name or at.text(Attribute.NAME)
        linkage = linkage or at.text(Attribute.LINKAGE_NAME) or at.text(Attribute.MIPS_LINKAGE_NAME)
    return name or "", linkage or ""


def _target(offset: int, entries: Entries) -> CallTarget | None:
    """The callee whose entry is at ``offset``; None where there is none, or it is damaged."""
    entry = entries(offset)
    if entry is None:
        return None
    chain = tuple(origins(entry, entries))
    name, linkage = names_of(entry, entries)
    low = next((address for e in chain if (address := e.address(Attribute.LOW_PC)) is not None), None)
    code = entry.unit.image.arch.code_address
    return CallTarget(
        linkage or name,
        None if low is None else code(low),
        tuple(e.offset for e in chain),
        entry.flag(Attribute.DECLARATION),
    )


def _damage(entry: DebugEntry, detail: str) -> DebugInfoError:
    return DebugInfoError(entry.unit.image.path.name, ".debug_info", entry.offset, detail)
