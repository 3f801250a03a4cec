"""EHABI operations from their bytes in hexadecimal, and what is read of them."""

from __future__ import annotations

from testbed.contract.rows import Rule, UnwindRow
from testbed.image import Image
from tests.unwinders.ehabi_index import at, exidx_row, index_of, made
from tests.unwinders.frames import START
from unwinders.formats.ehabi import OperationBytes
from unwinders.formats.ehabi_rows import EhabiOperation, decode


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
    return made(index_of((START, at(0))), table)


def row(text: str) -> UnwindRow:
    return exidx_row(described(text), START)


def undone(text: str) -> tuple[Rule | None, dict[str, Rule], str]:
    said = row(text)
    return said.cfa, dict(said.registers), said.return_address
