"""Every compact encoding, in the order of the header file: the row that it stands for."""

from __future__ import annotations

from itertools import permutations
from math import perm

import pytest

from testbed.arch import Arch
from testbed.contract.rows import Offset, RegisterPlus, UnwindRow
from testbed.words.errors import MalformedTable
from tests.unwinders.compact import (
    CODE,
    FRAME,
    image_of,
)
from tests.unwinders.compact_parts import FDE, at_cfa, call_frame, found
from tests.unwinders.frames import ARM32, ARM64, START, X86_64
from unwinders.formats.compact_unwind import permutation


def row_of(arch: Arch, encoding: int, **parts: bytes) -> UnwindRow:
    row = found(image_of(arch, encoding, **parts), START)
    assert row is not None
    return row


# an architecture, an encoding, its CFA, where registers are saved
ENCODINGS: list[tuple[Arch, int, RegisterPlus, dict[str, Offset]]] = [
    # arm64, frameless: the return address is still in its register
    *(
        (ARM64, encoding, RegisterPlus("sp", size), saved)
        for encoding, size, saved in (
            (0x0200_0000, 0, {}),
            (0x0200_1000, 16, {}),
            (0x02FF_F000, 65520, {}),
            (0x0200_2001, 32, at_cfa(x19=-8, x20=-16)),
            (0x0200_2100, 32, at_cfa(d8=-8, d9=-16)),
        )
    ),
    # arm64, frame
    *(
        (ARM64, 0x0400_0000 | bits, RegisterPlus("x29", 16), at_cfa(x29=-16, x30=-8) | saved)
        for bits, saved in (
            (0x000, {}),
            (0x001, at_cfa(x19=-24, x20=-32)),
            (0x002, at_cfa(x21=-24, x22=-32)),
            (0x004, at_cfa(x23=-24, x24=-32)),
            (0x008, at_cfa(x25=-24, x26=-32)),
            (0x010, at_cfa(x27=-24, x28=-32)),
            (0x100, at_cfa(d8=-24, d9=-32)),
            (0x200, at_cfa(d10=-24, d11=-32)),
            (0x400, at_cfa(d12=-24, d13=-32)),
            (0x800, at_cfa(d14=-24, d15=-32)),
            (0x111, at_cfa(x19=-24, x20=-32, x27=-40, x28=-48, d8=-56, d9=-64)),
        )
    ),
    # x86_64, rbp frame
    *(
        (X86_64, encoding, RegisterPlus("rbp", 16), at_cfa(rbp=-16, rip=-8) | saved)
        for encoding, saved in (
            (0x0100_0000, {}),
            (0x0101_0001, at_cfa(rbx=-24)),
            (0x0101_0002, at_cfa(r12=-24)),
            (0x0102_0001 | 4 << 3, at_cfa(rbx=-32, r14=-24)),
            (0x0103_0001 | 4 << 3, at_cfa(rbx=-40, r14=-32)),
            (0x0102_0000 | 5 << 3, at_cfa(r15=-24)),
            (0x0105_0000 | 0o54321, at_cfa(rbx=-56, r12=-48, r13=-40, r14=-32, r15=-24)),
            (0x01FF_0001, at_cfa(rbx=-16 - 8 * 255)),
        )
    ),
    # x86_64, frameless with an immediate size
    *(
        (X86_64, encoding, RegisterPlus("rsp", size), at_cfa(rip=-8) | saved)
        for encoding, size, saved in (
            (0x0201_0000, 8, {}),
            (0x02FF_0000, 2040, {}),
            (0x0202_0400, 16, at_cfa(rbx=-16)),
            (0x0204_0400 | 5, 32, at_cfa(rbp=-16)),
            (0x0208_0800, 64, at_cfa(rbx=-24, r12=-16)),
            (0x0208_1800, 64, at_cfa(rbx=-56, r12=-48, r13=-40, r14=-32, r15=-24, rbp=-16)),
            (0x0208_1800 | 719, 64, at_cfa(rbp=-56, r15=-48, r14=-40, r13=-32, r12=-24, rbx=-16)),
        )
    ),
]

# an architecture, an encoding, the function's code, what is wrong
MALFORMED: list[tuple[Arch, int, bytes, str]] = [
    (ARM64, 0x0100_0000, b"", "mode 1 is none of 2, 3, 4"),
    (ARM64, 0x0500_0000, b"", "mode 5 is none of 2, 3, 4"),
    (ARM64, 0x0200_1003, b"", "32 bytes of saved registers in a frame of 16"),
    (X86_64, 0x0500_0000, b"", "mode 5 is none of 1 to 4"),
    (X86_64, 0x0102_0006, b"", "register 6 cannot be saved in place 0"),
    (X86_64, 0x0102_0007, b"", "register 7 cannot be saved in place 0"),
    (X86_64, 0x0102_0009, b"", "register 1 cannot be saved in place 1"),
    (X86_64, 0x0100_0001, b"", "register 1 would be saved at rbp or above"),
    (X86_64, 0x0200_0000, b"", "0 saved registers and a return address in a frame of 0 bytes"),
    (X86_64, 0x0202_0800, b"", "2 saved registers and a return address in a frame of 16 bytes"),
    (X86_64, 0x0208_1C00, b"", "7 saved registers of 6"),
    (X86_64, 0x0208_0406, b"", "there is no permutation 6 of 1 registers"),
    (X86_64, 0x0308_0000, bytes(0xB), "no code at 0x401008"),
    (ARM32, 0x0200_0000, b"", "arm32 has no compact encodings"),
]


@pytest.mark.parametrize(("arch", "encoding", "cfa", "saved"), ENCODINGS)
def test_an_encoding_is_a_row(arch: Arch, encoding: int, cfa: RegisterPlus, saved: dict[str, Offset]) -> None:
    row = row_of(arch, encoding)
    assert (row.cfa, row.registers, row.return_address) == (cfa, saved, arch.return_address)


@pytest.mark.parametrize(("arch", "encoding", "code", "said"), MALFORMED)
def test_an_encoding_does_not_exist(arch: Arch, encoding: int, code: bytes, said: str) -> None:
    with pytest.raises(MalformedTable, match=said):
        row_of(arch, encoding, code=code)


@pytest.mark.parametrize(("adjust", "size"), [(2, 0x5020), (7, 0x5048)])
def test_x86_64_frameless_with_the_size_in_the_code(adjust: int, size: int) -> None:
    """push rbx; sub rsp, 0x5010; and some words, at least 2, for what is pushed and the return address."""
    code = bytes.fromhex("53 48 81 ec 10 50 00 00")
    row = row_of(X86_64, 0x0304_0000 | adjust << 13 | 1 << 10, code=code)
    assert (row.cfa, row.registers) == (RegisterPlus("rsp", size), at_cfa(rip=-8, rbx=-16))


@pytest.mark.parametrize("count", range(7))
def test_every_permutation_is_one_order_of_some_registers(count: int) -> None:
    """All of them, in the order of their numbers, are all arrangements in ascending order."""
    total = perm(6, count)
    assert [permutation(number, count) for number in range(total)] == list(permutations(range(1, 7), count))
    assert permutation(total, count) is None


def test_x86_64_dwarf_mode_is_another_number() -> None:
    frame = call_frame(CODE).replace(b"\x0c\x1f\x00", b"\x0c\x07\x08").replace(b"\x9e\x02", b"\x90\x01")
    row = row_of(X86_64, 0x0400_0000 | FDE, frame=frame)
    assert (row.cfa, row.found_by) == (RegisterPlus("rsp", 8), f"{FRAME}+{FDE:#x}")
