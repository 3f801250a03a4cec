"""The addresses that an entry covers: low_pc and high_pc, or a range list of either format.

Source: DWARF 5, sections 2.17 (code addresses), 2.17.3 and 7.25 (range lists); DWARF 4, section 2.17.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from testbed.image.debug.cursor import Cursor, cursor
from testbed.image.debug.dwarf_numbers import Attribute, Form
from testbed.image.debug.entries import CompilationUnit, DebugEntry
from testbed.image.debug.forms import AttributeValue

Range = tuple[int, int]

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
        at.account.spend("entries", 1, at.at)
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
        at.account.spend("entries", 1, at.at)
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
                raise at.error(f"unknown range list entry {kind:#x}", at.at - 1)
    raise at.error(f"more than {MAX_RANGES} ranges")
