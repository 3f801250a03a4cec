"""`.eh_frame_hdr` sections spelled out in bytes, and an image of three functions that they are for."""

from testbed.image import Image, LoadedImage
from testbed.trace import Snapshot
from tests.unwinders.frames import START, X86_64, block, cie, entry, image, read_alike, snapshot, u, words
from unwinders.formats.eh_frame_hdr import search_table

HEADER, FRAME, STACK = 0x3000, 0x4000, 0x8000
FUNCTIONS = ((0x1000, 0x20), (0x1040, 0x40), (0x1080, 0x10))  # a gap behind the first and behind the last


def frame_section(bodies: tuple[bytes, ...] = (b"", b"\x41\x0e\x10", b"")) -> tuple[bytes, tuple[int, ...]]:
    """An .eh_frame with one FDE for each function, and where they are."""
    section = cie(b"\x0c\x07\x08\x90\x01", id=bytes(4), augmentation=b"zR", area=b"\x00")
    places = []
    for (start, size), body in zip(FUNCTIONS, bodies, strict=True):
        places.append(FRAME + len(section))
        section += entry(u(4, len(section) + 4) + u(8, start) + u(8, size) + block(b"") + body)
    return section + u(4, 0), tuple(places)


def header(
    pairs: list[tuple[int, int]],
    *,
    version: int = 1,
    encodings: bytes = b"\x1b\x03\x3b",
    frame: int = FRAME,
    count: int | None = None,
) -> bytes:
    """What linkers write: pc-relative pointer, 4-byte count, pairs relative to the section."""
    content = bytes([version]) + encodings + u(4, frame - (HEADER + 4)) + u(4, len(pairs) if count is None else count)
    return content + b"".join(u(4, pc - HEADER) + u(4, fde - HEADER) for pc, fde in pairs)


def listed() -> list[tuple[int, int]]:
    """The pairs of a right table: where each function begins, and its FDE."""
    return [(start, place) for (start, _), place in zip(FUNCTIONS, frame_section()[1], strict=True)]


def indexed(content: bytes | None = None, section: bytes | None = None) -> Image:
    """An image with both sections, right ones unless told otherwise."""
    return image(
        X86_64,
        _eh_frame=(FRAME, frame_section()[0] if section is None else section),
        _eh_frame_hdr=(HEADER, header(listed()) if content is None else content),
    )


def cfa(made: Image, pc: int) -> object:
    """What a search says of the CFA at a pc, or None."""
    row = search_table(read_alike(made, ".eh_frame_hdr", pc)).at(pc)
    return row and row.cfa


def calling(made: Image, *stack: int, pc: int = START, bias: int = 0) -> Snapshot:
    """A snapshot in an image, with these words from SP on."""
    values = {register.name: 0x7000 for register in X86_64.registers} | {"rip": pc + bias, "rsp": STACK}
    return snapshot(X86_64, values, [(STACK, words(X86_64, *stack))], [LoadedImage(made, bias)])
