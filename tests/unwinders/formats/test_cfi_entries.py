"""CIEs and FDEs: versions, augmentations, both widths, both sections; and what is wrong with a broken one."""

from __future__ import annotations

import pytest

from testbed.contract.rows import RegisterPlus, UnwindRow
from testbed.words.errors import MalformedTable
from tests.unwinders.frames import ARM32, SIZE, START, X86_64, block, cie, entry, fde, image, u, uleb
from unwinders.formats.cfi import UnplacedFde, cfi_table, fde_ranges
from unwinders.formats.cfi_entries import Cie, Fde, cie_at, fde_at
from unwinders.formats.reader import Reader

DEF_CFA = b"\x0c\x07\x08"
EH_ADDRESS = 0x4000


def debug_frame(data: bytes, *, word: int = 8) -> list[Fde]:
    return fdes(Reader(".debug_frame", 0, data), word)


def eh_frame(data: bytes) -> list[Fde]:
    return fdes(Reader(".eh_frame", EH_ADDRESS, data), 8)


def fdes(reader: Reader, word: int) -> list[Fde]:
    """All FDEs of a section; what is wrong with the first one that cannot be read is raised."""

    def named(offset: int) -> Cie:
        return cie_at(reader, offset, word)

    found = []
    for ranged in fde_ranges(reader, word, named):
        if isinstance(ranged, UnplacedFde):
            raise ranged.why
        found.append(fde_at(reader, ranged.offset, word, named))
        assert (found[-1].start, found[-1].end) == (ranged.start, ranged.end), "the light pass says the same"
    return found


def eh_cie(augmentation: bytes = b"zR", area: bytes | None = b"\x1b", **kind: object) -> bytes:
    return cie(DEF_CFA, id=b"\0\0\0\0", augmentation=augmentation, area=area, **kind)  # type: ignore[arg-type]


def eh_fde(at: int, *, cie_at: int = 0, area: bytes | None = b"", start: int = START) -> bytes:
    """An FDE at section offset ``at`` with pcrel, signed 4-byte pointers."""
    field = at + 4
    body = u(4, field - cie_at) + u(4, start - (EH_ADDRESS + field + 4)) + u(4, SIZE)
    return entry(body + (block(area) if area is not None else b""))


@pytest.mark.parametrize("version", [1, 3, 4])
def test_cie_versions(version: int) -> None:
    """The return-address column is one byte in version 1 and a ULEB128 later; version 4 has two sizes more."""
    ra = 16 if version == 1 else 300
    (found,) = debug_frame(cie(DEF_CFA, version=version, code=4, data=-4, ra=ra) + fde())
    assert (found.cie.code_factor, found.cie.data_factor, found.cie.return_register) == (4, -4, ra)
    assert (found.start, found.end) == (START, START + SIZE)


@pytest.mark.parametrize("version", [0, 2, 5, 255])
def test_another_cie_version_is_malformed(version: int) -> None:
    with pytest.raises(MalformedTable, match=f"version {version}"):
        debug_frame(cie(version=version) + fde())


def test_a_version_4_cie_for_other_addresses_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="4-byte addresses"):
        debug_frame(cie(version=4, word=4) + fde())


def test_addresses_have_the_width_of_the_architecture() -> None:
    (found,) = debug_frame(cie(DEF_CFA, ra=14, data=-4) + fde(word=4), word=4)
    assert (found.start, found.end) == (START, START + SIZE)


def test_eh_frame_pointers_are_relative_and_the_cie_pointer_counts_back() -> None:
    first = eh_cie()
    (found,) = eh_frame(first + eh_fde(len(first)))
    assert (found.start, found.end, found.cie.has_data, found.offset) == (START, START + SIZE, True, len(first))


def test_augmentations_personality_lsda_signal_and_key() -> None:
    """The personality's encoding is pcrel + indirect, as position-independent C++ has it: it is read over."""
    first = eh_cie(b"zPLRSBG", b"\x9b" + u(4, 0x1234) + b"\x1b" + b"\x1b")
    (found,) = eh_frame(first + eh_fde(len(first), area=u(4, 0)))
    assert (found.cie.is_signal, found.cie.pointer_encoding, found.start) == (True, 0x1B, START)
    assert found.instructions[0] == found.instructions[1]


def test_an_unknown_letter_is_skipped_by_the_length_of_the_data() -> None:
    first = eh_cie(b"zR?", b"\x1b\xde\xad")
    (found,) = eh_frame(first + eh_fde(len(first)))
    assert (found.start, found.cie.instructions[1] - found.cie.instructions[0]) == (START, len(DEF_CFA))


@pytest.mark.parametrize("augmentation", [b"R", b"eh", b"armcc+", b"S?"])
def test_an_unknown_augmentation_without_a_length_is_malformed(augmentation: bytes) -> None:
    with pytest.raises(MalformedTable, match="cannot be skipped"):
        debug_frame(cie(augmentation=augmentation) + fde())


@pytest.mark.parametrize("encoding", [0xFF, 0x9B, 0x80], ids=hex)
def test_an_fde_whose_first_pc_is_omitted_or_indirect_is_malformed(encoding: int) -> None:
    first = eh_cie(area=bytes([encoding]))
    with pytest.raises(MalformedTable, match=f"pointer encoding {encoding:#x}") as raised:
        eh_frame(first + eh_fde(len(first)))
    assert raised.value.offset == len(first)


def test_64_bit_entries_in_debug_frame() -> None:
    """DWARF 5, section 7.4: the length escape, and an id and a CIE pointer of eight bytes."""
    first = cie(DEF_CFA, id=b"\xff" * 8, wide=True)
    body = u(8, 0) + u(8, START) + u(8, SIZE)
    (found,) = debug_frame(first + entry(body, wide=True))
    assert (found.start, found.cie.offset) == (START, 0)


def test_64_bit_entries_in_eh_frame() -> None:
    """LSB 5.0, section 10.6.1: the length is extended, the CIE id and pointer stay four bytes."""
    first = eh_cie(wide=True)
    at = len(first) + 12
    body = u(4, at) + u(4, START - (EH_ADDRESS + at + 4)) + u(4, SIZE) + block(b"")
    (found,) = eh_frame(first + entry(body, wide=True))
    assert found.start == START


def test_a_zero_length_ends_eh_frame_and_is_padding_in_debug_frame() -> None:
    first = eh_cie()
    both = first + eh_fde(len(first)) + u(4, 0) + eh_fde(len(first) * 2 + 24)
    assert len(eh_frame(both)) == 1
    first = cie(DEF_CFA)
    assert len(debug_frame(first + fde() + u(4, 0) + fde(start=START + SIZE))) == 2


def test_a_cie_may_stand_behind_its_fde() -> None:
    lead = fde(pointer=u(4, len(fde())))
    (found,) = debug_frame(lead + cie(DEF_CFA))
    assert (found.start, found.cie.offset) == (START, len(lead))


def test_fdes_of_removed_functions_are_left_out() -> None:
    section = cie(DEF_CFA) + fde(start=0) + fde()
    assert [found.start for found in debug_frame(section)] == [START]


def test_cies_without_fdes_make_no_rows() -> None:
    assert len(cfi_table(image(_debug_frame=(0, cie(DEF_CFA) + cie(DEF_CFA))), ".debug_frame")) == 0


def test_an_fde_that_names_no_cie_is_malformed() -> None:
    section = cie(DEF_CFA) + fde() + fde(pointer=u(4, len(cie(DEF_CFA))))
    with pytest.raises(MalformedTable, match="there is none"):
        debug_frame(section)


@pytest.mark.parametrize("pointer", [0x7FFF_FFFF, 200])
def test_an_fde_that_names_a_cie_outside_is_malformed(pointer: int) -> None:
    with pytest.raises(MalformedTable):
        debug_frame(cie(DEF_CFA) + fde(pointer=u(4, pointer)))


def test_an_entry_beyond_the_section_is_malformed_at_its_offset() -> None:
    section = cie(DEF_CFA) + u(4, 0x1000) + bytes(8)
    with pytest.raises(MalformedTable, match="reaches past the end") as raised:
        debug_frame(section)
    assert raised.value.offset == len(cie(DEF_CFA))


@pytest.mark.parametrize("length", range(0xFFFF_FFF0, 0xFFFF_FFFF, 5))
def test_reserved_lengths_are_malformed(length: int) -> None:
    with pytest.raises(MalformedTable, match="reaches past"):
        debug_frame(u(4, length) + bytes(64))


def test_augmentation_data_beyond_its_entry_is_malformed() -> None:
    broken = entry(b"\0\0\0\0\x01zR\0" + uleb(1) + b"\x78\x10" + uleb(100) + b"\x1b")
    with pytest.raises(MalformedTable, match="100 bytes are needed"):
        eh_frame(broken + eh_fde(len(broken)) + bytes(200))


def test_a_range_that_leaves_the_address_space_is_malformed() -> None:
    with pytest.raises(MalformedTable, match="leaves the address space"):
        debug_frame(cie(DEF_CFA) + fde(start=2**64 - 16, size=17))


def test_every_cut_of_a_section_is_read_or_typed() -> None:
    first = eh_cie(b"zPLR", b"\x9b" + u(4, 0x1234) + b"\x1b\x1b")
    section = first + eh_fde(len(first), area=u(4, 0))
    complete = []
    errors: list[tuple[int, MalformedTable]] = []
    for size in range(len(section) + 1):
        try:
            complete += [size for _ in eh_frame(section[:size])]
        except MalformedTable as error:
            errors.append((size, error))
    assert complete == [len(section)]
    assert len(errors) == len(section) - 2, "only nothing, a whole CIE and the whole section are no error"
    assert all(error.section == ".eh_frame" and 0 <= error.offset <= size for size, error in errors)


def test_rows_of_both_sections_are_the_same() -> None:
    def shown(row: UnwindRow) -> tuple[object, ...]:
        return row.start, row.end, row.cfa, row.registers, row.return_address

    first = eh_cie()
    made = image(X86_64, _eh_frame=(EH_ADDRESS, first + eh_fde(len(first))), _debug_frame=(0, cie(DEF_CFA) + fde()))
    by_section = [[shown(row) for row in cfi_table(made, name)] for name in (".eh_frame", ".debug_frame")]
    assert by_section[0] == by_section[1] == [(START, START + SIZE, RegisterPlus("rsp", 8), {}, "rip")]


def test_the_data_alignment_of_arm32_is_four() -> None:
    section = cie(b"\x0c\x0d\x00", ra=14, data=-4) + fde(b"\x8e\x01", word=4)
    (row,) = cfi_table(image(ARM32, _debug_frame=(0, section)), ".debug_frame")
    assert str(row.registers["lr"]) == "AtCfa(offset=-4)"
