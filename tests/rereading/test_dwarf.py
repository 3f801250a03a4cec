"""Call frame information, instruction by instruction in the order of DWARF 5, section 6.4.2; entries; the index."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.arch import Arch
from testbed.rereading import NoRow, SecondRow, reread
from tests.rereading.beside import differences, evaluated
from tests.rereading.shown import shown
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, cie, entry, fde, image, u

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
        (b"\x0f\x02\x77\x08", "CFA expression 7708, returns to [CFA-0x8]"),  # def_cfa_expression
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
        *(b"\x04\xff\xff\xff\xff", b"\x0f\x01\x06\x0e\x10"),  # beyond the FDE; half of a CFA that is an expression
        *(b"\x16\x03\x01\x01", b"\x16\x03\x02\x0a\xff", b"\x16\x03\x04\x2f\x01\x00\x08"),  # damaged expressions
        b"\x83" + b"\xff" * 10 + b"\x01",
    ],
)
def test_what_cannot_be_read_is_no_row(instructions: bytes) -> None:
    assert one(instructions).startswith("no row: the second reader cannot read .debug_frame")


def test_factors_widths_and_the_default_of_the_link_register() -> None:
    said = "CFA sp+0x8, returns to lr, d8 [CFA-0x8], s18 [CFA-0x10]"
    assert one(b"\x42\x0e\x08\x05\x88\x02\x02\x05\x52\x04", b"\x0c\x0d\x00", arch=ARM32, code=4, data=-4, ra=14) == said
    assert one(b"", b"\x0c\x1f\x00\x2d", arch=ARM64, ra=30) == "CFA sp, returns to x30, signed"
    assert one(b"\x2d", b"\x0c\x1f\x00\x2d", arch=ARM64, ra=30) == "CFA sp, returns to x30"
    assert one(b"\x2c", b"\x0c\x1f\x00", arch=ARM64, ra=30) == "CFA sp, returns to x30, signed"  # with the pc


def test_the_register_that_returns_need_not_be_the_link_register() -> None:
    """It holds what calls preserve, but for its own: the call wrote over that."""
    assert one(b"", b"\x0c\x0d\x00", arch=ARM32, ra=5) == "CFA sp, returns to r5, r5 lost"
    assert one(b"", b"\x0c\x07\x08", ra=2) == "no row: the row does not say where the return address is"


def test_a_signals_frame_may_be_an_ordinary_function() -> None:
    """What it interrupted had a link register of its own, of which the row says nothing."""
    said = one(b"", b"\x0c\x1f\x00", arch=ARM64, ra=30, augmentation=b"S")
    assert said == "CFA sp, returns to x30, signal"


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
