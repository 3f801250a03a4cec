"""Compact unwind sections spelled out in bytes, and images around them: a small writer that shares nothing with the
reader."""

import struct
from collections.abc import Sequence
from pathlib import Path

from testbed.arch import Arch
from testbed.image import Image, Section, Segment
from tests.unwinders.frames import START

BASE = 0x40_0000  # of the image: function offsets count from here
CODE = BASE + START
SECTION, FRAME = "__TEXT,__unwind_info", "__TEXT,__eh_frame"
SECTION_ADDRESS, FRAME_ADDRESS = BASE + 0x8000, BASE + 0x9000

Function = tuple[int, int]  # (offset from the image's base, encoding)


def regular(functions: Sequence[Function]) -> bytes:
    return struct.pack("<IHH", 2, 8, len(functions)) + b"".join(struct.pack("<II", *f) for f in functions)


def compressed(first: int, functions: Sequence[Function], common: Sequence[int] = ()) -> bytes:
    """A page whose functions count from ``first``; encodings that are not in ``common`` become the page's own."""
    own = [e for e in dict.fromkeys(encoding for _, encoding in functions) if e not in common]
    known = [*common, *own]
    entries = b"".join(struct.pack("<I", at - first | known.index(encoding) << 24) for at, encoding in functions)
    head = struct.pack("<IHHHH", 3, 12, len(functions), 12 + len(entries), len(own))
    return head + entries + struct.pack(f"<{len(own)}I", *own)


def section(
    pages: Sequence[tuple[int, bytes]],
    end: int,
    *,
    common: Sequence[int] = (),
    personalities: int = 0,
    version: int = 1,
) -> bytes:
    """``pages``: (first function's offset, bytes); no bytes: nothing is known from there on."""
    after = 28 + 4 * len(common)
    index_at = after + 4 * personalities
    at = index_at + 12 * (len(pages) + 1)
    index, body = b"", b""
    for first, page in pages:
        index += struct.pack("<III", first, at + len(body) if page else 0, at)
        body += page + bytes(-len(page) % 4)
    index += struct.pack("<III", end, 0, at)
    head = struct.pack("<7I", version, 28, len(common), after, personalities, index_at, len(pages) + 1)
    return head + struct.pack(f"<{len(common)}I", *common) + bytes(4 * personalities) + index + body


def image_with(arch: Arch, table: bytes, *, frame: bytes = b"", code: bytes = bytes(0x100)) -> Image:
    sections = {SECTION: Section(SECTION, SECTION_ADDRESS, 0, table)}
    if frame:
        sections[FRAME] = Section(FRAME, FRAME_ADDRESS, 0, frame)
    segment = Segment(CODE, code, 0x100, True, False, True)
    return Image(Path("made.macho"), arch, CODE, (segment,), sections, (), base=BASE)


def image_of(arch: Arch, encoding: int, *, frame: bytes = b"", code: bytes = bytes(0x100)) -> Image:
    """One function of 0x100 bytes at CODE with this encoding."""
    table = section([(START, regular([(START, encoding)]))], START + 0x100)
    return image_with(arch, table, frame=frame, code=code)
