"""EHABI operations from their bytes in hexadecimal, and what is read of them."""

from __future__ import annotations

from testbed.contract.rows import Rule, UnwindRow
from testbed.image import Image
from tests.unwinders.ehabi_index import exidx_row
from tests.unwinders.frames import ARM32, START, image, u
from unwinders.formats.ehabi import OperationBytes
from unwinders.formats.ehabi_rows import EhabiOperation, decode

INDEX, TABLE = 0x3000, 0x4000


def operations(text: str) -> tuple[EhabiOperation, ...]:
    """The operations of bytes spelled in hexadecimal, standing from offset 0x10 on."""
    content = bytes.fromhex(text)
    return decode(OperationBytes(".ARM.extab", tuple((0x10 + i, byte) for i, byte in enumerate(content))))


def described(text: str) -> Image:
    """An image whose one function, at START, has these bytes in a long entry (personality routine 1)."""
    content = bytes.fromhex(text)
    content += b"\xb0" * (-(len(content) - 2) % 4)
    body = b"\x81" + bytes([(len(content) - 2) // 4]) + content
    table = b"".join(body[i : i + 4][::-1] for i in range(0, len(body), 4))
    index = u(4, START - INDEX & 0x7FFF_FFFF) + u(4, TABLE - (INDEX + 4))
    return image(ARM32, _ARM_exidx=(INDEX, index), _ARM_extab=(TABLE, table))


def renamed(made: Image) -> Image:
    """`frames.image` turns the first underscore into a dot only."""
    sections = {name.replace("_", "."): section for name, section in made.sections.items()}
    return Image(made.path, made.arch, made.entry, made.segments, sections, ())


def row(text: str) -> UnwindRow:
    return exidx_row(renamed(described(text)), START)


def undone(text: str) -> tuple[Rule | None, dict[str, Rule], str]:
    said = row(text)
    return said.cfa, dict(said.registers), said.return_address
