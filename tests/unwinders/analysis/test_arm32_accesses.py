"""How many bytes A32 stores write, by their mnemonics, and where an access that counts from pc goes."""

from __future__ import annotations

import capstone
import pytest

from testbed.arch import ARCHES
from unwinders.analysis.arm32_accesses import stored_size
from unwinders.analysis.decode_arm32 import decode
from unwinders.analysis.operations import Load, MemoryOperand

A32 = next(isa for isa in ARCHES["arm32"].isas if isa.name == "a32")


@pytest.mark.parametrize(
    ("word", "text", "size"),
    [
        (0xE581_0000, "str r0, [r1]", 4),
        (0xE5C1_0000, "strb r0, [r1]", 1),
        (0xE1C1_00B0, "strh r0, [r1]", 2),
        (0xE1C1_00F0, "strd r0, r1, [r1]", 8),
        (0xE181_0F92, "strex r0, r2, [r1]", 4),
        (0xED81_5E00, "stc p14, c5, [r1]", 4),
        (0xEDC1_5E00, "stcl p14, c5, [r1]", 4),
        (0xE591_0000, "ldr r0, [r1]", 0),
        (0xED91_5E00, "ldc p14, c5, [r1]", 0),
        (0xE081_0000, "add r0, r1, r0", 0),
    ],
)
def test_a_store_writes_as_many_bytes_as_its_mnemonic_says(word: int, text: str, size: int) -> None:
    reader = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM)
    reader.detail = True
    (insn,) = reader.disasm(word.to_bytes(4, "little"), 0x1000)
    assert f"{insn.mnemonic} {insn.op_str}" == text
    assert stored_size(insn, A32, insn.mnemonic) == size


@pytest.mark.parametrize(
    ("isa", "code", "address", "place"),
    [
        ("a32", "08309fe5", 0x1000, 0x1000 + 8 + 8),  # ldr r3, [pc, #8]
        ("thumb", "024b", 0x1000, 0x1000 + 4 + 8),
        ("thumb", "024b", 0x1002, 0x1000 + 4 + 8),  # pc counts from a multiple of four
    ],
)
def test_a_load_that_counts_from_pc_counts_from_where_the_instruction_set_reads_it(
    isa: str, code: str, address: int, place: int
) -> None:
    mode = capstone.CS_MODE_ARM if isa == "a32" else capstone.CS_MODE_THUMB
    reader = capstone.Cs(capstone.CS_ARCH_ARM, mode)
    reader.detail = True
    (insn,) = reader.disasm(bytes.fromhex(code), address)
    known = next(each for each in ARCHES["arm32"].isas if each.name == isa)
    operations = decode(insn, known, lambda *_: None).operations
    assert operations == (Load("r3", MemoryOperand("pc", place), 4),)
