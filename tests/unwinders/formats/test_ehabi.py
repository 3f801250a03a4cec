"""`.ARM.exidx` and `.ARM.extab`: every form of entry, what breaks them, and the unwinder at call sites."""

from dataclasses import replace

import pytest

from testbed.contract.rows import AtRegister, Offset, RegisterPlus, Rule, Undefined, UnwindRow
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image, LoadedImage, Segment
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from tests.unwinders.ehabi_index import (
    CANTUNWIND,
    FINISH,
    INDEX,
    POP_R4_LR,
    TABLE,
    THREE,
    at,
    beginning,
    exidx_row,
    index_of,
    made,
    prel31,
    table,
)
from tests.unwinders.frames import ARM32, START, snapshot, sp, u, words
from unwinders.formats.ehabi import OperationBytes, exception_index
from unwinders.formats.ehabi_rows import (
    AuthenticateHere,
    EhabiOperation,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
    exidx_index,
)
from unwinders.rows.walk import apply
from unwinders.tables.ehabi import EHABI

CODE_END = START + 0x1000
RESERVED_BITS = (0x90B0_B0B0, 0xA0B0_B0B0, 0xC0B0_B0B0, 0xFFFF_FFFF)


def row(second: int, table: bytes | None = None) -> UnwindRow:
    return exidx_row(made(index_of((START, second)), table), START)


# The index


@pytest.mark.parametrize(
    ("pc", "offset"),
    [(START, 0), (START + 0x1F, 0), (START + 0x20, 8), (START + 0x5F, 8), (START + 0x60, 16), (CODE_END - 1, 16)],
)
def test_the_search_finds_the_last_function_that_starts_before(pc: int, offset: int) -> None:
    searched = made(index_of(*THREE[:2], (START + 0x60, FINISH)))
    assert exidx_row(searched, pc).found_by == f".ARM.exidx+{offset:#x}"


@pytest.mark.parametrize("pc", [0, START - 1, CODE_END, 0x9_0000])
def test_code_before_the_first_function_or_outside_its_segment_has_no_entry(pc: int) -> None:
    """The last entry has no successor: without the segment's end it would reach over all that follows."""
    searched = made(index_of(*THREE))
    assert exidx_index(searched).at(pc) is None
    assert exidx_index(made(b"")).at(pc) is None


# The entries


def with_segment(plain: Image, start: int) -> Image:
    """An image with one more executable segment."""
    return replace(plain, segments=(*plain.segments, Segment(start, b"", 0x100, True, False, True)))


# an index, and the code of its entries
ENTRIES: list[tuple[Image, list[tuple[int, int]]]] = [
    # an entry ends with its own segment
    (
        with_segment(made(index_of((START, FINISH), (0x2_0000, FINISH))), 0x2_0000),
        [(START, CODE_END), (0x2_0000, 0x2_0100)],
    ),
    (made(index_of((START + 1, FINISH))), [(START, CODE_END)]),  # a Thumb function's address is even
    # distances are signed 31-bit numbers: the code may lie before the index or behind it
    (with_segment(made(u(4, 0x3000) + u(4, FINISH)), INDEX + 0x3000), [(INDEX + 0x3000, INDEX + 0x3100)]),
]


@pytest.mark.parametrize(("searched", "code"), ENTRIES)
def test_an_entry_is_for_its_code(searched: Image, code: list[tuple[int, int]]) -> None:
    assert [(entry.start, entry.end) for entry in exception_index(searched)] == code


@pytest.mark.parametrize(
    ("index", "error", "said"),
    [
        *((bytes(n), MalformedTable, rf"\.ARM\.exidx\+0x0: the section has {n} bytes") for n in (1, 4, 7, 9, 12)),
        (
            index_of(THREE[0]) + u(4, 0x8000_0000) + u(4, FINISH),
            MalformedTable,
            r"\.ARM\.exidx\+0x8: 0x80000000 is no 31-bit distance",
        ),
    ],
)
def test_an_index_is_refused(index: bytes, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        exidx_index(made(index)).at(START)


def test_the_first_function_that_cannot_be_unwound_has_no_caller() -> None:
    said = row(CANTUNWIND)
    assert (said.cfa, said.registers, said.return_address) == (None, {"lr": Undefined()}, "lr")


def test_any_other_function_that_cannot_be_unwound_is_no_end_of_the_stack() -> None:
    """EHABI32, section 6: unwinding fails there. Linkers mark so all code without a table."""
    searched = made(index_of(*THREE))
    with pytest.raises(NoUnwindInfo, match=r"\+0x10: the function at 0x1060 cannot be unwound \(EXIDX_CANTUNWIND\)"):
        exidx_row(searched, START + 0x60)


@pytest.mark.parametrize(
    ("functions", "inside", "outside"),
    [
        (((START + 0x60, 8), (START + 0x68, 8)), START + 0x67, START + 0x68),
        (((START + 0x60, 0), (START + 0x70, 8)), START + 0x6F, START + 0x70),  # no size: up to the next one
        ((), START + 0x61, START + 0x62),  # no symbol: its first instruction
    ],
)
def test_code_that_a_linker_joined_to_the_first_function_is_not_the_first(
    functions: tuple[tuple[int, int], ...], inside: int, outside: int
) -> None:
    searched = beginning(made(index_of(*THREE)), START + 0x60, *functions)
    first = exidx_row(searched, inside)
    assert (first.start, first.end, first.registers) == (START + 0x60, inside + 1, {"lr": Undefined()})
    with pytest.raises(NoUnwindInfo, match="cannot be unwound"):
        exidx_row(searched, outside)
    assert [found.start for found in exidx_index(searched).all_rows()] == [START, START + 0x20, START + 0x60]


OWN_ROUTINE = prel31(START, TABLE)

# second word of the index, words of the table, size of the frame
FRAMES: list[tuple[int, tuple[int, ...], int]] = [
    (0x8000_0102, (), 4 + 8 + 12),  # inline: the most significant byte comes first
    (at(4), (0, POP_R4_LR, 0x0000_0000), 8),  # routine 0 in the table has three bytes
    # routines 1 and 2 have two bytes and more words, which 0xb0 ends early; behind the counted words is their own data
    *(
        (at(0), (0x8000_0000 | routine << 24 | count << 16, *more, 0xDEAD_BEEF), size)
        for routine in (1, 2)
        for count, more, size in ((0, (), 8), (1, (0,), 4 + 4 * 5), (2, (0, 0xB0FF_FFFF), 4 + 4 * 5))
    ),
    # a routine of the program's own is followed by counted words
    (at(0), (OWN_ROUTINE, 0x0000_01B0, 0xDEAD_BEEF), 4 + 8),
    (at(0), (OWN_ROUTINE, 0x0001_02B0, 0xDEAD_BEEF), 8 + 12),
    (at(0), (OWN_ROUTINE, 0x0100_0000, 0x0000_0001, 0xDEAD_BEEF), 6 * 4 + 8),
]

# second word of the index, words of the table, what is said of them
REFUSED: list[tuple[int, tuple[int, ...] | None, type[Exception], str]] = [
    *(
        (word, None, MalformedTable, r"\.ARM\.exidx\+0x4: .*: only personality routine 0")
        for word in (0x81B0_B0B0, 0x82B0_B0B0, 0x8FB0_B0B0)
    ),
    *((word, None, MalformedTable, r"\.ARM\.exidx\+0x4: .* are not zero") for word in RESERVED_BITS),
    *((at(0), (word,), MalformedTable, r"\.ARM\.extab\+0x\d: .* are not zero") for word in RESERVED_BITS),
    *((at(0), (0x80B0_B0B0 | n << 24,), UnsupportedRule, f"personality routine {n} is reserved") for n in (3, 7, 15)),
    # words beyond the section
    (at(0), (0x8102_B0B0, 0), MalformedTable, r"\.ARM\.extab\+0x0: \d+ more words"),
    (at(0), (0x82FF_B0B0, 0), MalformedTable, r"\.ARM\.extab\+0x0: \d+ more words"),
    (at(0), (0x0000_0010, 0x02B0_B0B0), MalformedTable, r"\.ARM\.extab\+0x0: \d+ more words"),
    # an entry outside the table
    *(
        (at(offset), (FINISH, FINISH), MalformedTable, r"\.ARM\.exidx\+0x4: the entry is said to be at")
        for offset in (-4, 8, 0x1000)
    ),
    (at(0), None, MalformedTable, r"not in \.ARM\.extab"),
    # The place of a broken operation is its byte's: the first of a little-endian word has the highest address.
    (0x80FF_B0B0, None, UnsupportedRule, r"\.ARM\.exidx\+0x6: 0xff is spare"),
    (at(0), (0x8101_0000, 0x0000_00B2), MalformedTable, r"\.ARM\.extab\+0x4: the entry ends"),
]


@pytest.mark.parametrize(("second", "words", "size"), FRAMES)
def test_an_entry_is_a_frame(second: int, words: tuple[int, ...], size: int) -> None:
    assert row(second, table(*words)).cfa == RegisterPlus("sp", size)


@pytest.mark.parametrize(("second", "words", "error", "said"), REFUSED)
def test_an_entry_is_refused(second: int, words: tuple[int, ...] | None, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        row(second, None if words is None else table(*words))


def test_only_the_entry_that_is_found_can_be_broken() -> None:
    searched = made(index_of(THREE[0], (START + 0x20, 0x80FF_FFFF), (START + 0x40, at(0x100)), (START + 0x60, FINISH)))
    assert exidx_row(searched, START).cfa == exidx_row(searched, START + 0x60).cfa == RegisterPlus("sp", 0)
    with pytest.raises(UnsupportedRule):
        exidx_row(searched, START + 0x20)
    with pytest.raises(MalformedTable):
        exidx_row(searched, START + 0x40)


def test_what_cannot_be_unwound_by_rows_is_not_claimed() -> None:
    searched = made(index_of(THREE[0], (START + 0x20, 0x80FF_FFFF), (START + 0x40, 0x8080_00B0), THREE[2]))
    assert [found.start for found in exidx_index(searched).all_rows()] == [START]
    assert len(EHABI.rows(searched)) == 1


# EHABI operations from their bytes in hexadecimal, and what is read of them.


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


def undone(text: str) -> tuple[Rule | None, dict[str, Rule], str]:
    said = exidx_row(described(text), START)
    return said.cfa, dict(said.registers), said.return_address


# EHABI operations applied: the caller's registers.

STACK = 0x8000


def caller(text: str, *stack: int, **registers: int) -> Frame:
    values = {register.name: 0x7000 for register in ARM32.registers} | {"pc": START, "sp": STACK, **registers}
    made = described(text)
    at = snapshot(ARM32, values, [(STACK, words(ARM32, *stack))], [LoadedImage(made)])
    _, found = apply(exidx_row(made, START), Frame(FrameKind.CALLER, START, values), at)
    assert found is not None
    return found


# operations, words on the stack, the frame's registers, those of the caller
CALLERS: list[tuple[str, tuple[int, ...], dict[str, int], dict[str, int]]] = [
    ("84 08", (0x1234, 0x1041), {}, {"pc": 0x1040, "r7": 0x1234, "sp": STACK + 8}),  # without the Thumb bit
    ("8c 00", (0x1010, 0x1020), {"lr": 0x1030}, {"pc": 0x1020}),  # a popped pc wins over lr
    ("b0", (), {"lr": 0x1030}, {"pc": 0x1030}),
    # `pop {r7}; mov sp, r7; pop {lr}`: vsp is what the stack says, not what this frame's r7 is.
    (
        "80 08 97 84 00",
        (STACK + 8, 0x5, 0x1040, 0x6),
        {"r7": 0x666},
        {"pc": 0x1040, "sp": STACK + 12, "r7": STACK + 8},
    ),
    # Through two loads, and back from a stack that was loaded.
    ("80 08 97 80 10 98", (STACK + 8, 0, STACK + 4), {}, {"pc": 0x7000, "sp": STACK + 4, "r8": STACK + 4}),
    ("80 08 97 a0 9b", (STACK + 8, 0, 0x44), {"r11": STACK + 4}, {"pc": 0x7000, "sp": STACK + 4, "r4": 0x44}),
    ("86 00", (STACK + 12, 0x1040), {}, {"pc": 0x1040, "sp": STACK + 12}),  # a popped sp is the caller's
]


@pytest.mark.parametrize(("text", "stack", "registers", "expected"), CALLERS)
def test_operations_give_the_callers_registers(
    text: str, stack: tuple[int, ...], registers: dict[str, int], expected: dict[str, int]
) -> None:
    found = caller(text, *stack, **registers)
    assert {"pc": found.pc} | {name: found.registers[name] for name in expected if name != "pc"} == expected


# Every unwinding instruction of EHABI32 section 10.3, in the order of its table: bytes, operations, row.


def saved(**places: int) -> dict[str, Rule]:
    """Registers by their distance from the CFA."""
    return {name: Offset(distance) for name, distance in places.items()}


def run(first: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + count))


# bytes, what they mean
OPERATIONS: list[tuple[str, tuple[EhabiOperation, ...]]] = [
    ("00", (MoveVsp(4),)),
    ("01", (MoveVsp(8),)),
    ("3f", (MoveVsp(0x100),)),
    ("40", (MoveVsp(-4),)),
    ("41", (MoveVsp(-8),)),
    ("7f", (MoveVsp(-0x100),)),
    # 1000iiii iiiiiiii: a mask from r4 to r15
    ("80 01", (Pop((4,)),)),
    ("80 80", (Pop((11,)),)),
    ("81 00", (Pop((12,)),)),
    ("84 00", (Pop((14,)),)),
    ("84 80", (Pop((11, 14)),)),
    ("88 08", (Pop((7, 15)),)),
    ("8f ff", (Pop(run(4, 12)),)),
    *((f"9{register:x}", (SetVsp(register),)) for register in (0, 4, 7, 11, 12, 14)),
    *((f"{0xA0 + n:02x}", (Pop(run(4, n + 1)),)) for n in range(8)),
    *((f"{0xA8 + n:02x}", (Pop((*run(4, n + 1), 14)),)) for n in range(8)),
    ("", ()),
    ("b0", ()),
    ("00 b0 b7 ff", (MoveVsp(4),)),  # what follows the finish is not looked at
    # 10110001 0000iiii: a mask from r0 to r3
    ("b1 01", (Pop((0,)),)),
    ("b1 08", (Pop((3,)),)),
    ("b1 0f", (Pop((0, 1, 2, 3)),)),
    # 10110010 uleb128. On the last two pyelftools 0.33 takes a byte too many, or one too few.
    ("b2 00", (MoveVsp(0x204),)),
    ("b2 01", (MoveVsp(0x208),)),
    ("b2 7f", (MoveVsp(0x400),)),
    ("b2 80 01", (MoveVsp(0x404),)),
    ("b2 ff ff ff ff 0f", (MoveVsp(0x4_0000_0200),)),
    ("b2 04 3f b0", (MoveVsp(532), MoveVsp(256))),
    ("b2 84 84 01 b0", (MoveVsp(68116),)),
    ("b3 82", (PopVfp(8, 3, fstmfdx=True),)),
    ("b3 f0 b3 0f", (PopVfp(15, 1, fstmfdx=True), PopVfp(0, 16, fstmfdx=True))),
    ("b4", (PopAuthenticationCode(),)),
    ("b5", (AuthenticateHere(),)),
    *((f"{0xB8 + n:02x}", (PopVfp(8, n + 1, fstmfdx=True),)) for n in range(8)),
    ("c8 03", (PopVfp(16, 4, fstmfdx=False),)),
    ("c8 f0 c8 0f", (PopVfp(31, 1, fstmfdx=False), PopVfp(16, 16, fstmfdx=False))),
    ("c9 82", (PopVfp(8, 3, fstmfdx=False),)),
    ("c9 ff", (PopVfp(15, 16, fstmfdx=False),)),  # remark d: it may reach beyond d15
    *((f"{0xD0 + n:02x}", (PopVfp(8, n + 1, fstmfdx=False),)) for n in range(8)),
]

# bytes, the CFA, where the caller's registers are, the register that gets the return address
ROWS: list[tuple[str, Rule, dict[str, Rule], str]] = [
    ("00", sp(4), {}, "lr"),
    ("3f", sp(0x100), {}, "lr"),
    ("7f", sp(-0x100), {}, "lr"),
    ("b0", sp(0), {}, "lr"),
    ("84 83", sp(16), saved(r4=-16, r5=-12, r11=-8, lr=-4), "lr"),
    ("8c 00", sp(8), saved(lr=-8, pc=-4), "pc"),
    # Remark b: sp is replaced behind the whole pop, so r14 lies beyond r13's word.
    ("86 00", AtRegister("sp", 0), {"lr": AtRegister("sp", 4)}, "lr"),
    *((f"00 9{n:x} 01", RegisterPlus(name, 8), dict[str, Rule](), "lr") for n, name in ((0, "r0"), (11, "r11"))),
    ("00 9e 01", RegisterPlus("lr", 8), {}, "lr"),
    ("a0", sp(4), saved(r4=-4), "lr"),
    ("a7", sp(32), saved(r4=-32, r5=-28, r6=-24, r7=-20, r8=-16, r9=-12, r10=-8, r11=-4), "lr"),
    ("a8", sp(8), saved(r4=-8, lr=-4), "lr"),
    ("b1 08", sp(4), saved(r3=-4), "lr"),
    ("b1 0f", sp(16), saved(r0=-16, r1=-12, r2=-8, r3=-4), "lr"),
    ("b3 82", sp(28), saved(d8=-28, d9=-20, d10=-12), "lr"),  # FSTMFDX leaves one more word
    ("b8", sp(12), saved(d8=-12), "lr"),
    ("c9 82", sp(24), saved(d8=-24, d9=-16, d10=-8), "lr"),
    ("d1", sp(16), saved(d8=-16, d9=-8), "lr"),
    # PACBTI on ARMv8-M keeps a code beside the return address, which stays as it is.
    ("b4 84 08", sp(12), saved(r7=-8, lr=-4), "lr"),
    ("00 b5 00", sp(8), {}, "lr"),
    # several in a row: each register keeps its own place, and a later place of one counts
    ("02 a0 01 84 00", sp(28), saved(r4=-16, lr=-4), "lr"),
    ("9b 41 84 83", RegisterPlus("r11", 8), saved(r4=-16, r5=-12, r11=-8, lr=-4), "lr"),
    ("a0 97 84 00", RegisterPlus("r7", 4), {"r4": AtRegister("sp", 0), "lr": Offset(-4)}, "lr"),
    ("a0 a0", sp(8), saved(r4=-4), "lr"),
]

# bytes, what is said of them
REFUSED_OPERATIONS: list[tuple[str, type[Exception], str]] = [
    ("80 00", NoUnwindInfo, r"\.ARM\.extab\+0x10 refuses"),
    *((text, UnsupportedRule, rf"\.ARM\.extab\+0x10: 0x{text} is reserved") for text in ("9d", "9f")),
    *((text, UnsupportedRule, "spare") for text in ("b1 00", "b1 10", "b1 1f", "b1 ff")),
    ("b3 f1", UnsupportedRule, "d15 to d16 are reserved"),
    *((text, UnsupportedRule, f"0x{text} is spare") for text in ("b6", "b7")),
    *((text, UnsupportedRule, "Wireless MMX") for text in ("c0", "c5", "c6 00", "c6 a3", "c7 00", "c7 01", "c7 10")),
    ("c8 f1", UnsupportedRule, "d31 to d32 are reserved"),
    *((f"{byte:02x}", UnsupportedRule, f"0x{byte:02x} is spare") for byte in (*range(0xCA, 0xD0), *range(0xD8, 0x100))),
    # cut off: told where the instruction starts
    *(
        ("00 00 " + text, MalformedTable, r"^\.ARM\.extab\+0x12: the entry ends")
        for text in ("80", "8f", "b1", "b2", "b2 80", "b3", "c6", "c7", "c8", "c9")
    ),
    ("b2 80 80 80 80 80 80 80 80 80 80 01", MalformedTable, "of 77 bits"),
    ("b2 80 80 80 80 80 80 80 80 80 02", MalformedTable, "of 70 bits"),  # 1 << 64
]


@pytest.mark.parametrize(("text", "meant"), OPERATIONS)
def test_bytes_mean_operations(text: str, meant: tuple[EhabiOperation, ...]) -> None:
    assert operations(text) == meant


@pytest.mark.parametrize(("text", "cfa", "registers", "returns_by"), ROWS)
def test_bytes_make_a_row(text: str, cfa: Rule, registers: dict[str, Rule], returns_by: str) -> None:
    assert undone(text) == (cfa, registers, returns_by)


@pytest.mark.parametrize(("text", "error", "says"), REFUSED_OPERATIONS)
def test_bytes_are_refused(text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        operations(text)
