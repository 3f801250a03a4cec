"""What is wrong in one FDE or one CIE is the matter of its functions; a wrong length is the section's."""

from __future__ import annotations

import pytest

from testbed.words.errors import MalformedTable, NoUnwindInfo
from tests.unwinders.frames import SIZE, START, block, cie, entry, fde, image, u, uleb
from unwinders.formats.cfi import cfi_index, cfi_table

DEF_CFA = b"\x0c\x07\x08"
EH_ADDRESS = 0x4000
VENDOR_EXPRESSION = b"\x10\x03" + block(b"\x77\x08\xe9")  # DW_CFA_expression: DW_OP_breg7 8, an operation of a vendor


def three(second: bytes, *, second_cie: bytes = b"") -> bytes:
    """`.debug_frame` with three functions; the second one's CIE may be another one."""
    first = cie(DEF_CFA)
    pointer = u(4, len(first)) if second_cie else u(4, 0)
    return (
        first
        + second_cie
        + fde(b"\x0e\x10", start=START, size=SIZE)
        + fde(second, pointer=pointer, start=START + SIZE, size=SIZE)
        + fde(b"\x0e\x18", start=START + 2 * SIZE, size=SIZE)
    )


# what one function is said to do, the CIE of its own, why it cannot be read
OF_ONE_FUNCTION = [
    (b"\x3f", b"", "no call frame instruction 0x3f"),
    (b"\x1d\x00", b"", "no call frame instruction 0x1d"),  # DW_CFA_MIPS_advance_loc8: of a vendor
    (VENDOR_EXPRESSION, b"", "no DWARF operation 0xe9"),
    (b"\x0b", b"", "no row is remembered"),
    (b"\x02", b"", "1 bytes are needed"),
    (b"\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", b"", "LEB128"),
    (b"\x00", cie(DEF_CFA + b"\x3f"), "no call frame instruction 0x3f"),
    (b"\x00", cie(DEF_CFA + VENDOR_EXPRESSION), "no DWARF operation 0xe9"),
    (b"\x00", cie(DEF_CFA, augmentation=b"armcc+"), "CIE augmentation 'armcc\\+' cannot be skipped"),
    (b"\x00", cie(DEF_CFA, augmentation=b"eh"), "cannot be skipped"),
]
# a CIE that hides where its FDEs are, and why: they are the answer where nothing else is
HIDING = [
    (cie(DEF_CFA, version=9), "CIE version 9 is none of"),
    (cie(DEF_CFA, version=4, word=4), "4-byte addresses"),
    (cie(DEF_CFA, augmentation=b"z?R", area=b"\0\x1b"), r"'\?' hides what follows"),
    (cie(DEF_CFA, augmentation=b"zR", area=b"\xff"), "pointer encoding 0xff"),
    (entry(b"\xff\xff\xff\xff\x01zR"), "a string has no end"),
]
FIRST, SECOND, THIRD, END = (START + i * SIZE for i in range(4))
OVERLAPPED = cie(DEF_CFA) + fde(b"\x0e\x10") + fde(b"\x3f", start=START + 0x80)

# a section, where its rows begin, and what a look-up at other pcs raises (None: there is no row)
FAULTS: list[tuple[bytes, list[int], dict[int, str | None]]] = [
    *(
        (three(second, second_cie=own), [FIRST, THIRD], {SECOND: why, THIRD - 1: why, FIRST - 1: None, END: None})
        for second, own, why in OF_ONE_FUNCTION
    ),
    *((three(b"", second_cie=own), [FIRST, THIRD], {SECOND: why, END: why}) for own, why in HIDING),
    (
        cie(DEF_CFA) + fde() + fde(pointer=u(4, len(cie(DEF_CFA))), start=SECOND),
        [FIRST],
        {SECOND: "there is none"},
    ),  # an FDE that names no CIE
    # a CIE that no FDE names is not looked at
    (cie(DEF_CFA) + fde() + cie(DEF_CFA, version=77, augmentation=b"armcc+"), [FIRST], {SECOND: None}),
    # an entry too short for a CIE pointer may be of any code
    *((three(b"") + entry(b"\1" * n), [FIRST, SECOND, THIRD], {END: "4 bytes are needed"}) for n in (1, 2, 3)),
    # functions that a linker removed are left out: GNU ld leaves 0 behind, lld all ones in `.debug_frame`
    *((cie(DEF_CFA) + fde(start=removed) + fde(), [FIRST], {SECOND: None}) for removed in (0, (1 << 64) - 1)),
    # a broken function that another one overlaps does not hide that one
    (OVERLAPPED, [FIRST], {SECOND: "no call frame instruction"}),
]


@pytest.mark.parametrize(("section", "starts", "others"), FAULTS)
def test_a_fault_is_one_functions(section: bytes, starts: list[int], others: dict[int, str | None]) -> None:
    made = image(_debug_frame=(0, section))
    index, table = cfi_index(made, ".debug_frame"), cfi_table(made, ".debug_frame")
    assert [(row.start, row.end) for row in table] == [(start, start + SIZE) for start in starts]
    for start in starts:
        assert index.at(start) is not None and index.at(start + SIZE - 1) is not None
    for pc, why in others.items():
        if why is None:
            assert index.at(pc) is table.stop_at(pc) is None
            continue
        with pytest.raises(MalformedTable, match=why):
            index.at(pc)
        assert isinstance(table.stop_at(pc), MalformedTable)


@pytest.mark.parametrize(
    ("augmentation", "area"),
    [
        (b"zR?", b"\0\xde\xad"),  # a letter that hides nothing
        # where a personality would be: omitted, or relative to what a file lacks. Its value is not wanted.
        *((b"zPR", bytes([kind]) + bytes(n) + b"\0") for kind, n in ((0xFF, 0), (0x3B, 4), (0x2C, 8), (0x00, 8))),
    ],
)
def test_what_hides_nothing_is_skipped(augmentation: bytes, area: bytes) -> None:
    section = cie(DEF_CFA, id=bytes(4), augmentation=augmentation, area=area)
    section += entry(u(4, len(section) + 4) + u(8, START) + u(8, SIZE) + b"\0")
    assert len(cfi_table(image(_eh_frame=(EH_ADDRESS, section)), ".eh_frame")) == 1


def test_a_wrong_length_is_the_sections() -> None:
    with pytest.raises(MalformedTable, match="reaches past the end"):
        cfi_index(image(_debug_frame=(0, three(b"") + u(4, 0x1000) + bytes(8))), ".debug_frame")


def test_a_cies_instructions_are_executed_once() -> None:
    """4,000 functions of a CIE with 100 KB of instructions."""
    first = cie(DEF_CFA + b"\x08\x03" * 50_000)
    section = first + b"".join(fde(start=START + 16 * i, size=16) for i in range(4000))
    table = cfi_table(image(_debug_frame=(0, section)), ".debug_frame")
    assert len(table) == 4000
    assert len({id(row.registers) for row in table}) == 1


def test_only_the_fde_that_is_asked_for_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    from unwinders.formats import cfi

    executed: list[int] = []
    execute = cfi.fde_rows

    def counted(*arguments):  # type: ignore[no-untyped-def]
        executed.append(arguments[0].start)
        return execute(*arguments)

    monkeypatch.setattr(cfi, "fde_rows", counted)
    index = cfi_index(image(_debug_frame=(0, three(b"\x0e\x20"))), ".debug_frame")
    assert executed == []
    for pc in (START + SIZE, START + SIZE + 1):
        assert index.at(pc) is not None
    assert executed == [START + SIZE]


def test_no_section_is_no_unwind_info() -> None:
    with pytest.raises(NoUnwindInfo):
        cfi_index(image(), ".debug_frame")


def test_the_quick_pass_and_the_careful_one_place_fdes_alike() -> None:
    """The usual encodings are read in one piece; a 64-bit entry of the same content takes the other way."""
    first = cie(DEF_CFA, id=bytes(4), augmentation=b"zR", area=b"\x1b")
    narrow = wide = first
    for i in range(8):
        for is_wide in (False, True):
            section = wide if is_wide else narrow
            at = len(section) + (12 if is_wide else 4)
            start = START + i * SIZE if i else 0  # the first one is of removed code
            value = u(4, start - (EH_ADDRESS + at + 4)) if start else u(4, 0)
            size = SIZE if i < 7 else (1 << 32) - 1  # a size that is negative: it leaves the address space
            added = entry(u(4, at) + value + u(4, size) + uleb(0), wide=is_wide)
            narrow, wide = (narrow, wide + added) if is_wide else (narrow + added, wide)
    tables = [cfi_table(image(_eh_frame=(EH_ADDRESS, section)), ".eh_frame") for section in (narrow, wide)]
    assert [[(row.start, row.end) for row in table] for table in tables] == [
        [(START + i * SIZE, START + i * SIZE + SIZE) for i in range(1, 7)]
    ] * 2
    assert all("leaves the address space" in str(table.unplaced) for table in tables)
