"""Hand-made `.ARM.exidx` sections: an index, and images that hold it."""

from dataclasses import replace

from testbed.contract.rows import UnwindRow
from testbed.image import Image, Section, Segment, Symbol
from tests.unwinders.frames import ARM32, START, image, read_alike, u
from unwinders.formats.ehabi_rows import exidx_index

INDEX, TABLE, STACK = 0x3000, 0x4000, 0x8000


POP_R4_LR = 0x80A8_B0B0  # compact, routine 0: pop {r4, lr}


FINISH = 0x80B0_B0B0


CANTUNWIND = 1


def prel31(target: int, place: int) -> int:
    return target - place & 0x7FFF_FFFF


def index_of(*entries: tuple[int, int]) -> bytes:
    """(function, second word) pairs; a second word with the top bit of 40 set is an address in the table."""
    out = b""
    for function, second in entries:
        place = INDEX + len(out)
        content = prel31(second & 0xFFFF_FFFF, place + 4) if second >> 39 else second
        out += u(4, prel31(function, place)) + u(4, content)
    return out


def at(offset: int) -> int:
    """The second word of an entry whose content is at an offset of the table."""
    return 1 << 39 | TABLE + offset


def made(index: bytes, table: bytes | None = None) -> Image:
    plain = image(ARM32)
    sections = {".ARM.exidx": Section(".ARM.exidx", INDEX, 0, index)}
    if table is not None:
        sections[".ARM.extab"] = Section(".ARM.extab", TABLE, 0, table)
    data = Segment(TABLE, table or b"", len(table or b""), True, False, False)
    return Image(plain.path, ARM32, START, (*plain.segments, data), sections, ())


def beginning(searched: Image, entry: int, *functions: tuple[int, int]) -> Image:
    """The same image with its entry there, and functions as (address, size)."""
    symbols = tuple(Symbol(f"f{at:x}", at, size, is_function=True) for at, size in functions)
    return replace(searched, entry=entry, symbols=symbols)


def table(*entry: int) -> bytes:
    return b"".join(u(4, word) for word in entry)


THREE = ((START, FINISH), (START + 0x20, POP_R4_LR), (START + 0x60, CANTUNWIND))


def exidx_row(image: Image, pc: int) -> UnwindRow:
    """The row for a link-time pc, which an entry covers."""
    row = exidx_index(read_alike(image, ".ARM.exidx", pc)).at(pc)
    assert row is not None, f"no entry covers {pc:#x}"
    return row
