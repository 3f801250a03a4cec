"""Call frame information, instruction by instruction in the order of DWARF 5, section 6.4.2; entries; the index."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest

from testbed.arch import Arch
from testbed.rereading import NoRow, SecondRow, reread
from tests.rereading.beside import differences, evaluated
from tests.rereading.shown import shown
from tests.unwinders import compact, sframes
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, block, cie, entry, fde, image, u

CIE = b"\x0c\x07\x08\x90\x01"  # def_cfa rsp, 8; offset rip, -8
CFA = "CFA rsp+0x8, returns to [CFA-0x8]"


def one(instructions: bytes, initial: bytes = CIE, *, arch: Arch = X86_64, pc: int = START + 8, **kind: Any) -> str:
    """What one FDE of ``.debug_frame`` says at a pc."""
    section = cie(initial, word=arch.word, **kind) + fde(instructions, word=arch.word)
    made = image(arch, _debug_frame=(0, section))
    assert not [*differences(made, ".debug_frame", [pc])]
    return shown(reread(made, ".debug_frame", pc))


@pytest.mark.parametrize(
    ("instructions", "said"),
    [
        (b"", CFA),
        (b"\x01" + u(8, START + 8) + b"\x0e\x10", "CFA rsp+0x10, returns to [CFA-0x8]"),  # set_loc
        (b"\x48\x0e\x10", "CFA rsp+0x10, returns to [CFA-0x8]"),  # advance_loc to the pc
        (b"\x49\x0e\x10", CFA),  # behind it
        (b"\x02\x08\x0e\x10", "CFA rsp+0x10, returns to [CFA-0x8]"),  # advance_loc1
        (b"\x03\x08\x00\x0e\x10", "CFA rsp+0x10, returns to [CFA-0x8]"),
        (b"\x04\x09\x00\x00\x00\x0e\x10", CFA),
        (b"\x0c\x06\x10", "CFA rbp+0x10, returns to [CFA-0x8]"),  # def_cfa
        (b"\x12\x06\x7e", "CFA rbp+0x10, returns to [CFA-0x8]"),  # def_cfa_sf: counted in words
        (b"\x0d\x06", "CFA rbp+0x8, returns to [CFA-0x8]"),  # def_cfa_register
        (b"\x0e\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01", "CFA rsp-0x8, returns to [CFA-0x8]"),  # def_cfa_offset
        (b"\x13\x7e", "CFA rsp+0x10, returns to [CFA-0x8]"),  # def_cfa_offset_sf
        *(  # def_cfa_expression; an offset behind it is passed over
            (b"\x0f\x02\x77\x08" + offset, "CFA expression 7708, returns to [CFA-0x8]")
            for offset in (b"", b"\x0e\x10", b"\x13\x7e")
        ),
        (b"\x07\x03", f"{CFA}, rbx lost"),  # undefined
        (b"\x07\x10", "CFA rsp+0x8, returns to lost"),
        (b"\x08\x03", f"{CFA}, rbx rbx"),  # same_value
        (b"\x83\x02", f"{CFA}, rbx [CFA-0x10]"),  # offset
        (b"\x05\x03\x02", f"{CFA}, rbx [CFA-0x10]"),  # offset_extended
        (b"\x11\x03\x7e", f"{CFA}, rbx [CFA+0x10]"),  # offset_extended_sf
        (b"\x14\x03\x02", f"{CFA}, rbx CFA-0x10"),  # val_offset
        (b"\x15\x03\x7e", f"{CFA}, rbx CFA+0x10"),  # val_offset_sf
        (b"\x09\x03\x0c", f"{CFA}, rbx r12"),  # register
        (b"\x10\x03\x02\x77\x08", f"{CFA}, rbx [expression 7708]"),  # expression
        (b"\x16\x03\x02\x77\x08", f"{CFA}, rbx expression 7708"),  # val_expression
        (b"\x83\x02\xc3", CFA),  # restore: no rule in the CIE
        (b"\x07\x10\x06\x10", CFA),  # restore_extended: the CIE's rule
        (b"\x0a\x83\x02\x0e\x10\x0b", CFA),  # remember_state, restore_state
        (b"\x00\x2e\x10", CFA),  # nop, GNU_args_size
        (b"\x2f\x03\x02", f"{CFA}, rbx [CFA+0x10]"),  # GNU_negative_offset_extended
    ],
)
def test_instructions(instructions: bytes, said: str) -> None:
    assert one(instructions) == said


@pytest.mark.parametrize(
    "instructions",
    [
        *(b"\x0b", b"\x2d", b"\x3f", b"\x0e"),
        b"\x04\xff\xff\xff\xff",  # beyond the FDE
        *(b"\x16\x03\x01\x01", b"\x16\x03\x02\x0a\xff", b"\x16\x03\x04\x2f\x01\x00\x08"),  # damaged expressions
        b"\x83" + b"\xff" * 10 + b"\x01",
    ],
)
def test_what_cannot_be_read_is_no_row(instructions: bytes) -> None:
    assert one(instructions).startswith("no row: the second reader cannot read .debug_frame")


AT_SP, OF_ARM64, OF_ARM32 = b"\x0c\x1f\x00", {"arch": ARM64, "ra": 30}, {"arch": ARM32, "ra": 14}


@pytest.mark.parametrize(
    ("instructions", "initial", "kind", "said"),
    [
        # factors, widths
        (
            b"\x42\x0e\x08\x05\x88\x02\x02\x05\x52\x04",
            b"\x0c\x0d\x00",
            {**OF_ARM32, "code": 4, "data": -4},
            "CFA sp+0x8, returns to lr, d8 [CFA-0x8], s18 [CFA-0x10]",
        ),
        (b"", AT_SP + b"\x2d", OF_ARM64, "CFA sp, returns to x30, signed"),
        (b"\x2d", AT_SP + b"\x2d", OF_ARM64, "CFA sp, returns to x30"),
        (b"\x2c", AT_SP, OF_ARM64, "CFA sp, returns to x30, signed"),  # with the pc
        # The register that returns need not be the link register. It holds what calls preserve, but for its own: the
        # call wrote over that.
        (b"", b"\x0c\x0d\x00", {"arch": ARM32, "ra": 5}, "CFA sp, returns to r5, r5 lost"),
        (b"", b"\x0c\x07\x08", {"ra": 2}, "no row: the row does not say where the return address is"),
        # A signal's frame may be an ordinary function: what it interrupted had a link register of its own, of which the
        # row says nothing.
        (b"", AT_SP, {**OF_ARM64, "augmentation": b"S"}, "CFA sp, returns to x30, signal"),
    ],
)
def test_what_a_cie_says_counts(instructions: bytes, initial: bytes, kind: dict[str, Any], said: str) -> None:
    assert one(instructions, initial, **kind) == said


@pytest.mark.parametrize(("version", "augmentation"), [(2, b""), (5, b""), (1, b"eh"), (1, b"zXR")])
def test_an_entry_that_cannot_be_told_apart_is_no_row(version: int, augmentation: bytes) -> None:
    assert one(b"", version=version, augmentation=augmentation).startswith("no row: ")


def test_halves_of_a_register_are_put_together() -> None:
    """GCC saves d8 as s16 and s17."""
    section = cie(b"\x0c\x0d\x00", data=-4, ra=14) + fde(b"\x05\x50\x02\x05\x51\x01", word=4)
    row = reread(image(ARM32, _debug_frame=(0, section)), ".debug_frame", START)
    assert isinstance(row, SecondRow)
    registers = dict.fromkeys(ARM32.index, 0) | {"sp": 0x100}
    caller = evaluated(row, registers, lambda address, size: address | (address + 4) << 32 if size == 8 else address)
    assert (caller.registers["d8"], caller.registers["d9"], caller.cfa) == (0xFC_0000_00F8, 0, 0x100)


def eh_frame(*fdes: tuple[int, int, bytes], augmentation: bytes = b"zR") -> tuple[bytes, list[int]]:
    """A section at 0x4000 of FDEs (start, size, instructions), and the address of each."""
    section, places = cie(CIE, id=bytes(4), augmentation=augmentation, area=b"\x1b"), []
    for start, size, instructions in fdes:
        at = len(section)
        places.append(0x4000 + at)
        body = u(4, at + 4) + u(4, start - (0x4000 + at + 8)) + u(4, size) + b"\0" + instructions
        section += entry(body)
    return section, places


def test_the_first_fde_of_those_that_cover_a_pc_is_taken_and_a_signal_frame_is_told() -> None:
    section, _ = eh_frame((START + 4, 4, b"\x0e\x20"), (START, 0x20, b"\x0e\x30"), augmentation=b"zRS")
    made = image(_eh_frame=(0x4000, section + bytes(4) + section))
    assert [shown(reread(made, ".eh_frame", START + i))[:12] for i in (0, 4, 8)] == [
        *("CFA rsp+0x30", "CFA rsp+0x20", "CFA rsp+0x30")
    ]
    row = reread(made, ".eh_frame", START + 4)
    assert isinstance(row, SecondRow) and row.signal_frame and (row.start, row.end) == (START + 4, START + 8)
    assert reread(made, ".eh_frame", START + 0x20) == NoRow("no FDE of .eh_frame covers 0x1020")
    assert reread(made, ".debug_frame", START) == NoRow("the file has no section .debug_frame")


@pytest.mark.parametrize("encoding", [0x3B, 0x1B, 0x04, 0x03, 0x00])
def test_the_index_is_believed(encoding: int) -> None:
    section, (one, other) = eh_frame((START, 8, b"\x0e\x20"), (START + 8, 8, b"\x0e\x30"))
    size = 8 if encoding in (0x04, 0x00) else 4
    entries = [START, one, START + 4, other, START + 8, other]
    bases = {0x30: [0x5000] * 6, 0x10: [0x5000 + 12 + size * i for i in range(6)]}.get(encoding & 0xF0, [0] * 6)
    table = b"".join(u(size, entry - base) for entry, base in zip(entries, bases, strict=True))
    header = bytes([1, 0x1B, 0x03, encoding]) + u(4, 0x4000 - 0x5004) + u(4, 3) + table
    made = image(_eh_frame=(0x4000, section), _eh_frame_hdr=(0x5000, header))
    assert [shown(reread(made, ".eh_frame_hdr", START + i)) for i in (-1, 0, 5, 8, 16)] == [
        "no row: the first entry of .eh_frame_hdr begins behind 0xfff",
        "CFA rsp+0x20, returns to [CFA-0x8]",
        f"no row: the FDE at .eh_frame+{other - 0x4000:#x} does not cover 0x1005",
        "CFA rsp+0x30, returns to [CFA-0x8]",
        f"no row: the FDE at .eh_frame+{other - 0x4000:#x} does not cover 0x1010",
    ]


@pytest.mark.parametrize("header", ["021b033b", "011b03ff", "011bff3b", "011b035b"])
def test_an_index_that_cannot_be_searched_is_no_row(header: str) -> None:
    section, _ = eh_frame((START, 8, b""))
    made = image(
        _eh_frame=(0x4000, section), _eh_frame_hdr=(0x5000, bytes.fromhex(header) + u(4, 0) + u(4, 1) + bytes(8))
    )
    said = "no row: the second reader cannot read .eh_frame_hdr"
    assert shown(reread(made, ".eh_frame_hdr", START)).startswith(said)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("08ff", 0xFF),  # const1u, and so on
        ("09ff", -1),
        ("0afeff", 0xFFFE),
        ("0bfeff", -2),
        ("0cfeffffff", 0xFFFF_FFFE),
        ("0dfeffffff", -2),
        ("0e0100000000000080", 1 << 63 | 1),
        ("10ff01", 255),
        ("117f", -1),
        ("4f", 31),
        ("7708", 0x108),  # breg7 8
        ("92077e", 0xFE),  # bregx
        ("770806", 0x1108),  # deref: the memory of this test holds 0x1000 + its address
        ("77089404", 0x1108),
        ("353212", 2),  # dup
        ("353214", 5),  # over
        ("35321501", 5),  # pick
        ("353213", 5),  # drop
        ("353216", 5),  # swap
        ("353231171c", 5 - 2),  # rot: 5 2 1 becomes 1 5 2
        ("353222", 7),
        ("35321c", 3),
        ("32351c", -3),
        ("35321e", 10),
        ("091b1f", -0x1B),
        ("097f321b", 63),
        ("097f091fff1b", None),  # an operation that is not known
        ("09f9321b", -3),  # -7 / 2 is cut towards zero
        ("35321d", 1),
        ("35301d", None),
        ("09fb19", 5),
        ("351f", -5),
        ("3520", ~5),
        ("353324", 40),
        ("093f3225", 15),
        ("09f03226", -4),
        ("09f0091f26", -1),  # by more than there are bits
        ("0300200000000000009606", 0x3000),  # addr, nop, deref
        ("77089400", None),  # no bytes, more than a word
        ("77089409", None),
        ("16", None),  # swap and rot need two and three
        ("3517", None),
        ("353f1a", 5),
        ("353a21", 15),
        ("353f27", 10),
        ("352309", 14),
        ("093f322a", 1),  # ge, then the others on a negative number
        ("09ff302d", 1),
        ("09ff302b", 0),
        ("35352c", 1),
        ("353529", 1),
        ("35352e", 0),
        ("352f010096", 5),  # skip
        ("352801003035", 5),
        ("302801003035", 5),
        ("133528030032", None),
        ("13", None),
        ("133529", None),
        ("2ffdff", None),  # without end
        ("7110", None),  # a register that is not known
        ("3596", 5),
    ],
)
def test_expressions(code: str, value: int | None) -> None:
    content = bytes.fromhex(code)
    section = cie(CIE) + fde(b"\x16\x03" + bytes([len(content)]) + content)
    made = image(_debug_frame=(0, section))
    assert not [*differences(made, ".debug_frame", [START])]
    row = reread(made, ".debug_frame", START)
    if isinstance(row, NoRow):
        assert value is None
        return
    registers = {"rsp": 0x100, "rbp": 0x77}
    found = evaluated(row, registers, lambda address, size: address + 0x1000).registers["rbx"]
    assert found == (None if value is None else value & (1 << 64) - 1)


def test_a_plt_counts_what_its_pc_has_pushed() -> None:
    """The expression that linkers write for ``.plt``: rsp + 8, and 8 more from the eleventh byte of an entry on."""
    plt = bytes.fromhex("770880003f1a3b2a332422")
    section = cie(CIE) + fde(b"\x0f" + bytes([len(plt)]) + plt)
    row = reread(image(_debug_frame=(0, section)), ".debug_frame", START)
    assert isinstance(row, SecondRow)
    for pc, cfa in ((0x100A, 0x108), (0x100B, 0x110)):
        assert evaluated(row, {"rsp": 0x100, "rip": pc}, lambda address, size: None).cfa == cfa


# SFrame, ORC and Apple's compact unwind: what each field of an entry does, bytes to rows.


# SFrame.


def sframe(*fres: bytes, arch: Arch = X86_64, at: int = 8, **fields: int) -> str:
    fields = {"abi": 2, "ra": 0} | fields if arch is ARM64 else fields
    table = sframes.section((START, 0x100, fres), **fields)  # type: ignore[arg-type]
    return shown(reread(sframes.made(table, arch), ".sframe", START + at))


FIRST, SECOND = sframes.fre(0, 8), sframes.fre(8, 16, -16)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("flags", [0, sframes.PC_RELATIVE])
def test_sframe_rows_by_their_starts(version: int, flags: int) -> None:
    said = {at: sframe(FIRST, SECOND, at=at, version=version, flags=flags) for at in (-1, 7, 8, 0xFF, 0x100)}
    assert list(said.values()) == [
        "no row: no FDE of .sframe covers 0xfff",
        "CFA rsp+0x8, returns to [CFA-0x8], rbp rbp",
        *["CFA rsp+0x10, returns to [CFA-0x8], rbp [CFA-0x10]"] * 2,
        "no row: no FDE of .sframe covers 0x1100",
    ]


fre = sframes.fre
KEPT = "CFA sp+0x20, returns to x30, x29 x29"


@pytest.mark.parametrize(
    ("row", "fields", "said"),
    [
        *(
            (fre(8, 16, -16, size=size, width=size, base=sframes.FP), {"info": info}, said)
            for size, info in ((1, 0), (2, 1), (4, 2))
            for said in ["CFA rbp+0x10, returns to [CFA-0x8], rbp [CFA-0x10]"]
        ),
        # places of the return address and of the frame pointer
        (fre(0, 32), {"arch": ARM64}, KEPT),
        (fre(0, 32, -16), {"arch": ARM64}, "CFA sp+0x20, returns to [CFA-0x10], x29 x29"),
        (fre(0, 32, -24, -32), {"arch": ARM64}, "CFA sp+0x20, returns to [CFA-0x18], x29 [CFA-0x20]"),
        (fre(0, 32, 0, -32), {"arch": ARM64}, "CFA sp+0x20, returns to x30, x29 [CFA-0x20]"),
        (fre(0, 32), {"arch": ARM64, "fp": -16, "ra": -8}, "CFA sp+0x20, returns to [CFA-0x8], x29 [CFA-0x10]"),
        (fre(0, 0, extra=0x80), {"arch": ARM64}, "CFA sp, returns to x30, x29 x29, signed"),
        (fre(0), {}, "CFA None, returns to lost"),  # the outermost frame
    ],
)
def test_words_of_an_sframe_row_are_places(row: bytes, fields: dict[str, Any], said: str) -> None:
    assert sframe(row, **fields) == said


def test_sframe_the_outermost_frame_blocks_and_what_is_no_table() -> None:
    assert [sframe(FIRST, SECOND, at=at, info=0x10, block=16)[:12] for at in (0x17, 0x18, 0x20)] == [
        *("CFA rsp+0x8,", "CFA rsp+0x10", "CFA rsp+0x8,")
    ]
    assert "that repeat" in sframe(FIRST, info=0x10, version=1)
    assert sframe(SECOND, at=7).startswith("no row: the FDE at .sframe+0x1c has no row")
    assert sframe(FIRST, auxiliary=b"1234") == sframe(FIRST)  # type: ignore[arg-type]
    assert sframe(FIRST, magic=0xDEE3).startswith("no row: the second reader cannot read .sframe: magic 0xdee3")


# ORC.


def orc(bits: int, sp: int = 0x10, bp: int = -0x10, *, others: Sequence[int] = ()) -> str:
    """What an entry says; ``others`` are the bits of more entries of the section, behind it."""
    every = [(sp, bp, bits), *((8, 0, other) for other in others)]
    places = b"".join(u(4, START + 16 * i - (0x5000 + 4 * i)) for i in range(len(every)))
    content = b"".join(struct.pack("<hhH", *each) for each in every)
    made = image(_orc_unwind=(0x4000, content), _orc_unwind_ip=(0x5000, places))
    return shown(reread(made, ".orc_unwind", START + 8))


CALL = 2 << 8
OLD = 5 | 0 << 8  # a call of the older layout
SAVED = "r12 [rsp+0x28], r13 [rsp+0x20], r14 [rsp+0x18], r15 [rsp+0x10], rbp [rsp+0x30], rbx [rsp+0x38]"


@pytest.mark.parametrize(
    ("bits", "others", "said"),
    [
        (5 | CALL, [], "CFA rsp+0x10, returns to [rsp+0x8], rbp rbp"),
        (4 | CALL, [], "CFA rbp+0x10, returns to [rbp+0x8], rbp rbp"),
        (2 | CALL, [], "CFA rdx, returns to [rdx-0x8], rbp rbp"),
        (3 | CALL, [], "CFA rdi, returns to [rdi-0x8], rbp rbp"),
        (6 | CALL, [], "CFA r10, returns to [r10-0x8], rbp rbp"),
        (7 | CALL, [], "CFA r13, returns to [r13-0x8], rbp rbp"),
        (8 | CALL, [], "CFA [rbp+0x10], returns to [[rbp+0x10]-0x8], rbp rbp"),
        (9 | CALL, [], "CFA [rsp]+0x10, returns to [[rsp]+0x8], rbp rbp"),
        (5 | 1 << 4 | CALL, [], "CFA rsp+0x10, returns to [rsp+0x8], rbp [rsp]"),
        (5 | 4 << 4 | CALL, [], "CFA rsp+0x10, returns to [rsp+0x8], rbp [rbp-0x10]"),
        (5 | CALL | 1 << 11, [], "CFA rsp+0x10, returns to [rsp+0x8], rbp rbp, signal"),
        (5 | 3 << 8 | 1 << 11, [], f"CFA [rsp+0xa8], returns to [rsp+0x90], {SAVED}, signal"),
        (5 | 4 << 8 | 1 << 11, [], "CFA [rsp+0x28], returns to [rsp+0x10], rbp rbp, signal"),
        (1 << 8, [], "CFA None, returns to lost"),
        (0, [], "no row: the entry says that nothing is known here"),
        (10 | CALL, [], "no row: the second reader cannot read .orc_unwind: 10"),
        # of the older layout
        (OLD, [OLD], "CFA rsp+0x10, returns to [rsp+0x8], rbp rbp"),
        (5 | 1 << 8, [OLD], f"CFA [rsp+0xa8], returns to [rsp+0x90], {SAVED}, signal"),
        (5 | 2 << 8, [OLD], "CFA [rsp+0x28], returns to [rsp+0x10], rbp rbp, signal"),
        (1 << 10, [OLD], "CFA None, returns to lost"),
        (0, [OLD], "no row: the entry says that nothing is known here"),
    ],
)
def test_orc_entries(bits: int, others: list[int], said: str) -> None:
    assert orc(bits, others=others) == said


# Compact unwind.


def encoded(arch: Arch, encoding: int, **parts: bytes) -> str:
    made = compact.image_of(arch, encoding, **parts)
    return shown(reread(made, "__compact_unwind", compact.CODE + 0x10))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        (0x0100_0000, "CFA rbp+0x10, returns to [rbp+0x8], rbp [rbp]"),
        (0x0103_0119, "CFA rbp+0x10, returns to [rbp+0x8], r13 [rbp-0x10], r14 [rbp-0x8], rbp [rbp], rbx [rbp-0x18]"),
        (0x0200_0000 | 2 << 16, "CFA rsp+0x10, returns to [rsp+0x8]"),
        (0x0200_0000 | 4 << 16 | 2 << 10 | 5 + 3, "CFA rsp+0x20, returns to [rsp+0x18], r12 [rsp+0x8], r15 [rsp+0x10]"),
        (0x0300_0000 | 3 << 16 | 2 << 13 | 1 << 10 | 5, "CFA rsp+0x1010, returns to [rsp+0x1008], rbp [rsp+0x1000]"),
        (0x0500_0000, "no row: the second reader cannot read __compact_unwind: a mode 5"),
        (0, "no row: the encoding says that there is no unwind information"),
        (0x0400_0000, "no row: the encoding defers to __eh_frame, which is not there"),
    ],
)
def test_compact_encodings_of_x86_64(encoding: int, said: str) -> None:
    assert encoded(X86_64, encoding, code=bytes.fromhex("4881ec00100000") + bytes(0xF9)) == said


@pytest.mark.parametrize(("count", "orders"), [(1, 6), (2, 30), (3, 120), (4, 360), (5, 720), (6, 720)])
def test_every_order_of_saved_registers_has_one_number(count: int, orders: int) -> None:
    """And number 0 is the order of rbx to rbp."""
    said = [encoded(X86_64, 0x0200_0000 | 8 << 16 | count << 10 | number) for number in range(orders)]
    assert len(set(said)) == orders
    last = ("rbx", "r12", "r13", "r14", "r15", "rbp")[:count]
    assert all(f"{name} [rsp+{0x38 - 8 * count + 8 * i:#x}]" in said[0] for i, name in enumerate(last))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        (0x0200_2000, "CFA sp+0x20, returns to x30"),
        (0x0200_2001, "CFA sp+0x20, returns to x30, x19 [sp+0x18], x20 [sp+0x10]"),
        (0x0400_0000, "CFA x29+0x10, returns to [x29+0x8], x29 [x29]"),
        (
            0x0400_0102,
            "CFA x29+0x10, returns to [x29+0x8], "
            "d8 [x29-0x18], d9 [x29-0x20], x21 [x29-0x8], x22 [x29-0x10], x29 [x29]",
        ),
    ],
)
def test_compact_encodings_of_arm64(encoding: int, said: str) -> None:
    assert encoded(ARM64, encoding) == said


@pytest.mark.parametrize("padding", [0, 1])
def test_a_compact_encoding_may_defer_to_a_frame_entry(padding: int) -> None:
    """By its offset, which need not be even; or by 0, where a CIE stands, to whichever covers the pc."""
    head = cie(b"\x0c\x1f\x00" + bytes(padding), id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30)
    at = len(head)
    start = compact.CODE - (compact.FRAME_ADDRESS + at + 8)
    frame = head + entry(u(4, at + 4) + u(8, start) + u(8, 0x100) + block(b"") + b"\x44\x0e\x20\x9e\x02")
    for offset in (at, 0):
        assert encoded(ARM64, 0x0300_0000 | offset, frame=frame) == "CFA sp+0x20, returns to [CFA-0x10]"


def test_compact_pages() -> None:
    functions = [(START, 0x0200_1000), (START + 8, 0x0200_2000), (START + 16, 0x0200_3000)]
    pages = [
        (START, compact.regular(functions)),
        (START + 0x40, compact.compressed(START + 0x40, [(at + 0x40, e) for at, e in functions], [0x0200_2000])),
        (START + 0x80, b""),
    ]
    made = compact.image_with(ARM64, compact.section(pages, START + 0xC0, common=[0x0200_2000]))
    ats = (-1, 0, 9, 0x3F, 0x40, 0x48, 0x7F, 0x80, 0xC0)
    assert [shown(reread(made, "__compact_unwind", compact.CODE + at))[:11] for at in ats] == [
        *("no row: no ", "CFA sp+0x10", "CFA sp+0x20", "CFA sp+0x30", "CFA sp+0x10", "CFA sp+0x20", "CFA sp+0x30"),
        *("no row: no ", "no row: no "),
    ]
