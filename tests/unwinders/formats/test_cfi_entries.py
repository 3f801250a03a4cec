"""CIEs and FDEs: versions, augmentations, both widths, both sections; and what is wrong with a broken one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import pytest

from testbed.words.errors import MalformedTable
from tests.unwinders.frames import ARM32, SIZE, START, X86_64, block, cie, entry, fde, image, read_alike, u, uleb
from unwinders.formats.cfi import UnplacedFde, cfi_index, fde_ranges
from unwinders.formats.cfi_entries import Cie, Fde, cie_at, fde_at
from unwinders.formats.reader import Reader

DEF_CFA = b"\x0c\x07\x08\x90\x01"
EH_ADDRESS = 0x4000
EDGES = (0, START - 1, START, START + SIZE - 1, START + SIZE, START + 2 * SIZE - 1)


Readers = Callable[[bytes], list[Fde]]
Told = Mapping[str, object]


def debug_frame(data: bytes) -> list[Fde]:
    return fdes(Reader(".debug_frame", 0, data), 8)


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


FIRST = eh_cie()
WIDE_FIRST = eh_cie(wide=True)
AT_WIDE = len(WIDE_FIRST) + 12  # of an FDE's fields behind it
PLRSB = eh_cie(
    b"zPLRSBG", b"\x9b" + u(4, 0x1234) + b"\x1b" + b"\x1b"
)  # the personality: pcrel + indirect, as C++ has it
SKIPPED = eh_cie(b"zR?", b"\x1b\xde\xad")
BROKEN = entry(b"\0\0\0\0\x01zR\0" + uleb(1) + b"\x78\x10" + uleb(100) + b"\x1b")

# a section, the reader of it, what its FDEs are
READ: list[tuple[bytes, Readers, Sequence[Told]]] = [
    # The return-address column is one byte in version 1 and a ULEB128 later; version 4 has two sizes more.
    *(
        (
            cie(DEF_CFA, version=version, code=4, data=-4, ra=ra) + fde(),
            debug_frame,
            [{"code_factor": 4, "data_factor": -4, "return_register": ra, "start": START, "end": START + SIZE}],
        )
        for version, ra in ((1, 16), (3, 300), (4, 300))
    ),
    (
        cie(DEF_CFA, ra=14, data=-4) + fde(word=4),
        lambda data: fdes(Reader(".debug_frame", 0, data), 4),
        [{"start": START, "end": START + SIZE}],
    ),
    # pointers of .eh_frame are relative, and the CIE pointer counts back
    (
        FIRST + eh_fde(len(FIRST)),
        eh_frame,
        [{"start": START, "end": START + SIZE, "has_data": True, "offset": len(FIRST)}],
    ),
    (
        PLRSB + eh_fde(len(PLRSB), area=u(4, 0)),
        eh_frame,
        [{"is_signal": True, "pointer_encoding": 0x1B, "start": START, "bytes_of_fde": 0}],
    ),
    # an unknown letter is skipped by the length of the data
    (SKIPPED + eh_fde(len(SKIPPED)), eh_frame, [{"start": START, "bytes_of_cie": len(DEF_CFA)}]),
    # DWARF 5, section 7.4: the length escape, and an id and a CIE pointer of eight bytes
    (
        cie(DEF_CFA, id=b"\xff" * 8, wide=True) + entry(u(8, 0) + u(8, START) + u(8, SIZE), wide=True),
        debug_frame,
        [{"start": START, "cie_offset": 0}],
    ),
    # LSB 5.0, section 10.6.1: the length is extended, the CIE id and pointer stay four bytes
    (
        WIDE_FIRST
        + entry(u(4, AT_WIDE) + u(4, START - (EH_ADDRESS + AT_WIDE + 4)) + u(4, SIZE) + block(b""), wide=True),
        eh_frame,
        [{"start": START}],
    ),
    # a zero length ends .eh_frame, and is padding in .debug_frame
    (FIRST + eh_fde(len(FIRST)) + u(4, 0) + eh_fde(len(FIRST) * 2 + 24), eh_frame, [{"start": START}]),
    (
        cie(DEF_CFA) + fde() + u(4, 0) + fde(start=START + SIZE),
        debug_frame,
        [{"start": START}, {"start": START + SIZE}],
    ),
    # a CIE may stand behind its FDE
    (fde(pointer=u(4, len(fde()))) + cie(DEF_CFA), debug_frame, [{"start": START, "cie_offset": len(fde())}]),
    (cie(DEF_CFA) + fde(start=0) + fde(), debug_frame, [{"start": START}]),  # FDEs of removed functions are left out
]

# a section, the reader of it, what is wrong, the offset of that
MALFORMED: list[tuple[bytes, Readers, str, int | None]] = [
    *((cie(version=version) + fde(), debug_frame, f"version {version}", None) for version in (0, 2, 5, 255)),
    (cie(version=4, word=4) + fde(), debug_frame, "4-byte addresses", None),
    (cie(version=4).replace(b"\x08\0", b"\x08\1", 1) + fde(), debug_frame, "1-byte segments", None),
    *(
        (cie(augmentation=unknown) + fde(), debug_frame, "cannot be skipped", None)
        for unknown in (b"R", b"eh", b"armcc+", b"S?")
    ),
    # the first pc is omitted or indirect
    *(
        (
            eh_cie(area=bytes([encoding])) + eh_fde(len(FIRST)),
            eh_frame,
            f"pointer encoding {encoding:#x}",
            len(FIRST),
        )
        for encoding in (0xFF, 0x9B, 0x80)
    ),
    (cie(DEF_CFA) + fde() + fde(pointer=u(4, len(cie(DEF_CFA)))), debug_frame, "there is none", None),
    *(
        (cie(DEF_CFA) + fde(pointer=u(4, outside)), debug_frame, "names a CIE at .*, outside the section", None)
        for outside in (0x7FFF_FFFF, 200)
    ),
    (cie(DEF_CFA) + u(4, 0x1000) + bytes(8), debug_frame, "reaches past the end", len(cie(DEF_CFA))),
    # zeros too few for a length end nothing
    *((cie(DEF_CFA + bytes(n)) + b"\0", debug_frame, "4 bytes are needed", None) for n in range(4)),
    *((eh_cie(area=b"\x1b" + bytes(n)) + bytes(3), eh_frame, "4 bytes are needed", None) for n in range(4)),
    *(
        (u(4, reserved) + bytes(64), debug_frame, "reaches past", None)
        for reserved in range(0xFFFF_FFF0, 0xFFFF_FFFF, 5)
    ),
    (BROKEN + eh_fde(len(BROKEN)) + bytes(200), eh_frame, "100 bytes are needed", None),
    (cie(DEF_CFA) + fde(start=2**64 - 16, size=17), debug_frame, "leaves the address space", None),
]


def told_of(found: Fde) -> dict[str, object]:
    """What an FDE and its CIE say, by name."""
    sizes = {"bytes_of_fde": found.instructions, "bytes_of_cie": found.cie.instructions}
    of_cie = {field.name: getattr(found.cie, field.name) for field in fields(found.cie)}
    of_fde = {field.name: getattr(found, field.name) for field in fields(found)}
    return of_cie | of_fde | {"cie_offset": found.cie.offset} | {name: end - at for name, (at, end) in sizes.items()}


@pytest.mark.parametrize(("section", "reader", "expected"), READ)
def test_a_section_is_read(section: bytes, reader: Readers, expected: Sequence[Told]) -> None:
    for found, said in zip(reader(section), expected, strict=True):
        assert told_of(found).items() >= said.items()
    for arch in (X86_64, ARM32):
        read_alike(image(arch, _eh_frame=(EH_ADDRESS, section)), ".eh_frame", *EDGES)
        read_alike(image(arch, _debug_frame=(0, section)), ".debug_frame", *EDGES)


@pytest.mark.parametrize(("section", "reader", "said", "offset"), MALFORMED)
def test_a_section_is_malformed(section: bytes, reader: Readers, said: str, offset: int | None) -> None:
    with pytest.raises(MalformedTable, match=said) as raised:
        reader(section)
    assert offset is None or raised.value.offset == offset


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


# What is wrong in one FDE or one CIE is the matter of its functions; a wrong length is the section's.

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
FAULTY, SECOND, THIRD, END = (START + i * SIZE for i in range(4))
OVERLAPPED = cie(DEF_CFA) + fde(b"\x0e\x10") + fde(b"\x3f", start=START + 0x80)

# a section, where its rows begin, and what a look-up at other pcs raises (None: there is no row)
FAULTS: list[tuple[bytes, list[int], dict[int, str | None]]] = [
    *(
        (three(second, second_cie=own), [FAULTY, THIRD], {SECOND: why, THIRD - 1: why, FAULTY - 1: None, END: None})
        for second, own, why in OF_ONE_FUNCTION
    ),
    *((three(b"", second_cie=own), [FAULTY, THIRD], {SECOND: why, END: why}) for own, why in HIDING),
    (
        cie(DEF_CFA) + fde() + fde(pointer=u(4, len(cie(DEF_CFA))), start=SECOND),
        [FAULTY],
        {SECOND: "there is none"},
    ),  # an FDE that names no CIE
    (cie(DEF_CFA) + cie(DEF_CFA), [], {FAULTY: None}),
    # a CIE that no FDE names is not looked at
    (cie(DEF_CFA) + fde() + cie(DEF_CFA, version=77, augmentation=b"armcc+"), [FAULTY], {SECOND: None}),
    # an entry too short for a CIE pointer may be of any code
    *((three(b"") + entry(b"\1" * n), [FAULTY, SECOND, THIRD], {END: "4 bytes are needed"}) for n in (1, 2, 3)),
    # functions that a linker removed are left out: GNU ld leaves 0 behind, lld all ones in `.debug_frame`
    *(
        (cie(DEF_CFA) + fde(start=removed, size=size) + fde(), [FAULTY], {SECOND: None, (1 << 64) - 1: None})
        for removed, size in ((0, SIZE), ((1 << 64) - 1, SIZE), ((1 << 64) - 1, 1))
    ),
    # a broken function that another one overlaps does not hide that one
    (OVERLAPPED, [FAULTY], {SECOND: "no call frame instruction"}),
]


@pytest.mark.parametrize(("section", "starts", "others"), FAULTS)
def test_a_fault_is_one_functions(section: bytes, starts: list[int], others: dict[int, str | None]) -> None:
    made = read_alike(image(_debug_frame=(0, section)), ".debug_frame", *starts, *others)
    index, table = cfi_index(made, ".debug_frame"), cfi_index(made, ".debug_frame").all_rows()
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
    assert len(cfi_index(image(_eh_frame=(EH_ADDRESS, section)), ".eh_frame").all_rows()) == 1


def test_a_cies_instructions_are_executed_once() -> None:
    """4,000 functions of a CIE with 100 KB of instructions."""
    first = cie(DEF_CFA + b"\x08\x03" * 50_000)
    section = first + b"".join(fde(start=START + 16 * i, size=16) for i in range(4000))
    table = cfi_index(image(_debug_frame=(0, section)), ".debug_frame").all_rows()
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
    tables = [cfi_index(image(_eh_frame=(EH_ADDRESS, section)), ".eh_frame").all_rows() for section in (narrow, wide)]
    assert [[(row.start, row.end) for row in table] for table in tables] == [
        [(START + i * SIZE, START + i * SIZE + SIZE) for i in range(1, 7)]
    ] * 2
    assert all("leaves the address space" in str(table.unplaced) for table in tables)
