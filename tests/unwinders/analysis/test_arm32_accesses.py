"""What A32 and T32 instructions access and compare: sizes, places that count from pc, bases, tables, comparisons."""

import capstone
import pytest

from testbed.arch import ARCHES, Isa
from unwinders.analysis.abstract_machine import ReadCode
from unwinders.analysis.arm32_accesses import stored_size
from unwinders.analysis.decode_arm32 import decode
from unwinders.analysis.operations import Effect, Instruction, Jump, Load, MemoryOperand, Set

A32 = next(isa for isa in ARCHES["arm32"].isas if isa.name == "a32")
THUMB = next(isa for isa in ARCHES["arm32"].isas if isa.name == "thumb")


def decoded(
    isa: Isa, code: bytes, text: str, address: int = 0x1000, read: ReadCode = lambda address, size: None
) -> Instruction:
    """One instruction, of which capstone says that it is ``text``."""
    reader = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB if isa is THUMB else capstone.CS_MODE_ARM)
    reader.detail = True
    (insn,) = reader.disasm(code, address)
    assert f"{insn.mnemonic} {insn.op_str}" == text
    return decode(insn, isa, read)


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
    ("isa", "code", "text", "address", "place"),
    [
        (A32, "08309fe5", "ldr r3, [pc, #8]", 0x1000, 0x1000 + 8 + 8),
        (THUMB, "024b", "ldr r3, [pc, #8]", 0x1000, 0x1000 + 4 + 8),
        (THUMB, "024b", "ldr r3, [pc, #8]", 0x1002, 0x1000 + 4 + 8),  # pc counts from a multiple of four
        (A32, "d041cfe1", "ldrd r4, r5, [pc, #0x10]", 0x1000, 0x1000 + 8 + 16),
        (A32, "028b9fed", "vldr d8, [pc, #8]", 0x1000, 0x1000 + 8 + 8),
    ],
)
def test_a_load_that_counts_from_pc_counts_from_where_the_instruction_set_reads_it(
    isa: Isa, code: str, text: str, address: int, place: int
) -> None:
    instruction = decoded(isa, bytes.fromhex(code), text, address)
    loads = {
        "ldr": (Load("r3", MemoryOperand("pc", place), 4),),
        "ldrd": (Load("r4", MemoryOperand("pc", place), 4), Load("r5", MemoryOperand("pc", place + 4), 4)),
        "vldr": (Load("d8", MemoryOperand("pc", place), 8),),
    }[text.partition(" ")[0]]
    assert instruction.operations == loads
    assert instruction.literal == (place, place + sum(load.size for load in loads))


@pytest.mark.parametrize(
    ("word", "text", "moved"),
    [
        (0x10F1_00B2, "ldrhtne r0, [r1], #2", Set("r1", "r1", 2)),  # whose base capstone forgets
        (0xE0F1_00B2, "ldrht r0, [r1], #2", Set("r1", "r1", 2)),
        (0xFCB1_5E02, "ldc2 p14, c5, [r1], #8", Set("r1", "r1", 8)),  # without a condition there is none of these
        (0xF451_F004, "pli [r1, #-4]", None),
    ],
)
def test_the_base_register_grows_by_the_distance(word: int, text: str, moved: Effect | None) -> None:
    operations = decoded(A32, word.to_bytes(4, "little"), text).operations
    assert [o for o in operations if not isinstance(o, Load) and getattr(o, "to", "") == "r1"] == [moved] * bool(moved)


@pytest.mark.parametrize(
    ("width", "code", "text"), [(1, "dfe800f0", "tbb [pc, r0]"), (2, "dfe810f0", "tbh [pc, r0, lsl #1]")]
)
def test_a_table_of_branches_ends_where_its_first_case_begins(width: int, code: str, text: str) -> None:
    """Four cases of one instruction each right behind the table, which nothing else bounds."""
    base, cases = 0x1004, [2 * width + n for n in range(4)]
    table = b"".join(case.to_bytes(width, "little") for case in cases) + bytes(64)

    def read(address: int, size: int) -> int | None:
        return int.from_bytes(table[address - base : address - base + size], "little")

    control = decoded(THUMB, bytes.fromhex(code), text, read=read).control
    assert control == Jump(tuple(base + 2 * case for case in cases), table=(base, base + 4 * width), index="r0")


@pytest.mark.parametrize(
    ("word", "text", "compares"),
    [
        (0xE150_0002, "cmp r0, r2", ("r0", "r2")),
        (0xE350_0002, "cmp r0, #2", ("r0", 2)),
        (0xE150_0102, "cmp r0, r2, lsl #2", None),
    ],
)
def test_a_shifted_register_is_not_what_is_compared(
    word: int, text: str, compares: tuple[str, str | int] | None
) -> None:
    assert decoded(A32, word.to_bytes(4, "little"), text).compares == compares
