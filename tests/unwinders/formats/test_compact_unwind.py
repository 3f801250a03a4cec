"""`__unwind_info`: header, both kinds of page, then every encoding in the order of the header file."""

import re
import struct
import subprocess
from collections.abc import Sequence
from itertools import permutations
from math import perm
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build.compile import find_zig
from testbed.build.recipes import RECIPES, Tool, recipes_for
from testbed.build.targets import MACH_O
from testbed.contract.rows import Offset, RegisterPlus, UnwindRow
from testbed.image import Image, read_image
from testbed.image.file_bytes import FileBytes
from testbed.image.macho import function_starts
from testbed.words.errors import MalformedTable
from tests import corpus
from tests.corpus import tool
from tests.unwinders.compact import (
    BASE,
    CODE,
    FRAME,
    FRAME_ADDRESS,
    SECTION,
    compressed,
    image_of,
    image_with,
    regular,
    section,
)
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, block, cie, entry, read_alike, u
from unwinders.formats.compact_unwind import Encoded, compact_table, permutation

# What compact tables lead to: a row by its pc, the DWARF frame behind an encoding.


LEAF, FRAMED, SAVING = 0x0200_1000, 0x0400_0000, 0x0400_0001  # arm64


def found(made: Image, offset: int) -> UnwindRow | None:
    row = compact_table(made).at(BASE + offset)
    read_alike(made, "__compact_unwind", BASE + offset)
    return row


def at_cfa(**offsets: int) -> dict[str, Offset]:
    return {name: Offset(offset) for name, offset in offsets.items()}


def call_frame(start: int, size: int = 0x100) -> bytes:
    """A CIE and one FDE, whose second row begins after 4 bytes; the FDE stands behind the CIE."""
    head = cie(b"\x0c\x1f\x00", id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30)
    at = len(head)
    body = u(4, at + 4) + u(8, start - (FRAME_ADDRESS + at + 8)) + u(8, size) + block(b"") + b"\x44\x0e\x20\x9e\x02"
    return head + entry(body)


FDE = len(cie(b"\x0c\x1f\x00", id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30))


def spans(made: Image) -> list[tuple[int, int, str]]:
    """(start, end, register that the CFA counts from) of every row, as offsets from the image's base."""
    rows = compact_table(made).all_rows()
    return [(row.start - BASE, row.end - BASE, row.cfa.register) for row in rows if isinstance(row.cfa, RegisterPlus)]


# The section

FUNCTIONS = [(0x1000, LEAF), (0x1020, FRAMED), (0x1040, SAVING)]
EXPECTED = [(0x1000, 0x1020, "sp"), (0x1020, 0x1040, "x29"), (0x1040, 0x1060, "x29")]


@pytest.mark.parametrize(
    ("page", "common"),
    [
        pytest.param(regular(FUNCTIONS), (), id="regular"),
        pytest.param(compressed(0x1000, FUNCTIONS), (), id="compressed, own encodings"),
        pytest.param(compressed(0x1000, FUNCTIONS, (LEAF, FRAMED, SAVING)), (LEAF, FRAMED, SAVING), id="common"),
        pytest.param(compressed(0x1000, FUNCTIONS, (SAVING, LEAF)), (SAVING, LEAF), id="common, then own"),
    ],
)
@pytest.mark.parametrize("personalities", [0, 3])
def test_a_page_gives_each_function_up_to_the_next(page: bytes, common: tuple[int, ...], personalities: int) -> None:
    made = image_with(ARM64, section([(0x1000, page)], 0x1060, common=common, personalities=personalities))
    assert spans(made) == EXPECTED
    for start, end, register in EXPECTED:
        for at in (start, end - 1):
            row = found(made, at)
            assert row is not None and isinstance(row.cfa, RegisterPlus)
            assert (row.cfa.register, row.found_by.startswith(f"{SECTION}+0x")) == (register, True)
    assert found(made, 0xFFF) is None and found(made, 0x1060) is None


# pages by the first function's offset, where the last function ends; the rows; offsets at which nothing is known
PAGES: list[tuple[list[tuple[int, bytes]], int, list[tuple[int, int, str]], Sequence[int]]] = [
    # A search crosses the first level; an index entry without a page: nothing is known.
    (
        [(0x1000, regular(FUNCTIONS[:2])), (0x1040, compressed(0x1040, FUNCTIONS[2:])), (0x1060, b"")],
        0x1080,
        EXPECTED,
        [0x1060],
    ),
    # An entry ends where its page does: 0x1040 to 0x1050 has no entry, and is not the first page's.
    (
        [(0x1000, regular(FUNCTIONS[:2])), (0x1040, regular([(0x1050, SAVING)]))],
        0x1060,
        [*EXPECTED[:2], (0x1050, 0x1060, "x29")],
        [0x1048],
    ),
    # Entries behind the end of their page are never found.
    (
        [(0x1000, regular([(0x1000, LEAF), (0x1050, FRAMED)])), (0x1040, regular(FUNCTIONS[2:]))],
        0x1060,
        [(0x1000, 0x1040, "sp"), (0x1040, 0x1060, "x29")],
        [],
    ),
    # A page without entries says nothing, nor does an encoding of zero.
    *(([(0x1000, page)], 0x1060, [], [0x1000]) for page in (regular([]), compressed(0x1000, []))),
    ([(0x1000, regular([(0x1000, 0), (0x1020, FRAMED)]))], 0x1040, [(0x1020, 0x1040, "x29")], [0x1000]),
]


@pytest.mark.parametrize(("pages", "end", "rows", "unknown"), PAGES)
def test_pages_have_rows(
    pages: list[tuple[int, bytes]], end: int, rows: list[tuple[int, int, str]], unknown: Sequence[int]
) -> None:
    made = image_with(ARM64, section(pages, end))
    assert spans(made) == rows
    assert all(found(made, offset) is None for offset in unknown)
    assert all(found(made, start) is not None and found(made, end - 1) is not None for start, end, _ in rows)


def test_a_broken_page_does_not_hide_the_others() -> None:
    pages = [(0x1000, regular(FUNCTIONS[:2])), (0x1040, struct.pack("<II", 7, 0))]
    made = image_with(ARM64, section(pages, 0x1060))
    assert found(made, 0x1000) is not None
    with pytest.raises(MalformedTable, match="a page of kind 7 is neither regular"):
        found(made, 0x1040)


GOOD = section([(0x1000, compressed(0x1000, FUNCTIONS))], 0x1060)


def patched(at: int, value: int, size: int = 4, table: bytes = GOOD) -> bytes:
    return table[:at] + value.to_bytes(size, "little") + table[at + size :]


@pytest.mark.parametrize(
    ("table", "offset", "said"),
    [
        (b"", 0, "4 bytes are needed, 0 are left"),
        (GOOD[:27], 24, "4 bytes are needed, 3 are left"),
        (section([(0x1000, regular(FUNCTIONS))], 0x1060, version=2), 0, "version 2 is not 1"),
        (patched(4, 0x1000), 0x1000, "the range 0x1000 to 0x1000 is not inside"),
        (patched(8, 0xFFFF_FFFF), 28, "is not inside the section"),
        (patched(20, 0xFFFF_FFFF), 0xFFFF_FFFF, "is not inside the section"),
        (patched(24, 0x1000_0000), 28, "is not inside the section"),
        (patched(28, 0x2000), 28, "index entry 0 is for 0x402000: not sorted"),
        (patched(32, 0x9999), 0x9999, "is not inside the section"),
        (patched(52, 4), 52, "a page of kind 4 is neither regular (2) nor compressed (3)"),
        (patched(56, 0x8000, 2), 0x8034, "is not inside the section"),
        (patched(58, 0xFFFF, 2), 64, "is not inside the section"),
        (patched(62, 0xFFFF, 2), 76, "is not inside the section"),
        (patched(64, 0x0300_0000), 64, "encoding 3 of 3"),
        (patched(64, 0x21), 64, "entry 0 is for 0x401021: not sorted"),
        (patched(76, 0x0F00_0000), 64, "encoding 0x0f000000: mode 15 is none of 2, 3, 4"),
        (GOOD[:54], 52, "4 bytes are needed, 2 are left"),
    ],
)
def test_wrong_bytes_are_a_malformed_table_at_their_offset(table: bytes, offset: int, said: str) -> None:
    with pytest.raises(MalformedTable) as caught:
        found(image_with(ARM64, table), START)
    assert (caught.value.section, caught.value.offset) == (SECTION, offset)
    assert said in caught.value.detail


@pytest.mark.parametrize(
    ("page", "rows"),
    [
        (regular([(i, LEAF) for i in range(1000)]), 1000),
        (struct.pack("<IHHHH", 3, 12, 0, 12, 2000) + bytes(8000), 0),
    ],
    ids=["entries", "encodings"],
)
def test_pages_that_share_bytes_end(page: bytes, rows: int) -> None:
    """Every index entry names one page of many numbers: read again for each of them, it would take for ever."""
    table = section([(0, page)], 0x1_0000)
    index = b"".join(struct.pack("<III", i, 52, 0) for i in range(401))
    shared = patched(20, len(table), table=patched(24, 401, table=table)) + index
    assert len(spans(image_with(ARM64, table))) == rows
    assert (found(image_with(ARM64, shared), 0x80) is not None) is bool(rows), "a search looks at one page only"
    broken = compact_table(image_with(ARM64, shared)).all_rows().broken
    assert 0 < len(broken) < 400 and "entries; if you trust the file" in str(broken[0].why)


# arm64 encodings


@pytest.mark.parametrize("offset", [FDE, 0])
def test_dwarf_mode_gives_the_rows_of_the_fde_that_it_names(offset: int) -> None:
    """An offset of 0, where no FDE can stand, asks for a search of the section."""
    made = image_of(ARM64, 0x0300_0000 | offset, frame=call_frame(CODE))
    first, second = found(made, START), found(made, START + 4)
    assert (first.cfa, first.end) == (RegisterPlus("sp", 0), CODE + 4)
    assert (second.cfa, second.registers) == (RegisterPlus("sp", 0x20), at_cfa(x30=-16))
    assert second.found_by == f"{FRAME}+{FDE:#x}"


def test_dwarf_rows_are_cut_to_the_entry_and_say_nothing_outside_the_fde() -> None:
    made = image_of(ARM64, 0x0300_0000 | FDE, frame=call_frame(CODE - 0x10, 0x18))
    assert [(row.start, row.end) for row in compact_table(made).all_rows()] == [(CODE, CODE + 8)]
    assert found(made, START + 8) is None


@pytest.mark.parametrize(
    ("offset", "frame", "where", "said"),
    [
        (FDE, b"", SECTION, f"an entry defers to {FRAME}, which is not there"),
        (4, call_frame(CODE), FRAME, "an index names an FDE at 0x4; there is none"),
        (0xFF_FFFF, call_frame(CODE), FRAME, "is not inside the section"),
    ],
)
def test_wrong_dwarf_offsets_are_malformed(offset: int, frame: bytes, where: str, said: str) -> None:
    with pytest.raises(MalformedTable) as caught:
        found(image_of(ARM64, 0x0300_0000 | offset, frame=frame), START)
    assert (caught.value.section, said in caught.value.detail) == (where, True), caught.value


def test_a_search_takes_the_fde_that_covers_the_function() -> None:
    other = call_frame(CODE - 0x100, 0x40)
    body = u(4, len(other) + 4) + u(8, CODE - (FRAME_ADDRESS + len(other) + 8)) + u(8, 0x40) + block(b"") + b"\x0e\x60"
    row = found(image_of(ARM64, 0x0300_0000, frame=other + entry(body)), START)
    assert row is not None and row.cfa == RegisterPlus("sp", 0x60)


def test_a_search_that_finds_no_fde_knows_nothing() -> None:
    assert found(image_of(ARM64, 0x0300_0000, frame=call_frame(CODE + 0x10)), START) is None


# x86_64 encodings


# Every compact encoding, in the order of the header file: the row that it stands for.


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
    # flags for exceptions change nothing: no function's start, an LSDA, and two bits that number the personality
    (ARM64, SAVING | 0xF000_0000, RegisterPlus("x29", 16), at_cfa(x29=-16, x30=-8, x19=-24, x20=-32)),
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
    (X86_64, 0x0201_0400, b"", "1 saved registers and a return address in a frame of 8 bytes"),
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


# Our reading of real `__unwind_info` sections is LLVM's reading of the bytes.

BUILT = [
    pytest.param(program.name, arch.name, recipe.name, id=f"{program.name}-{arch}-{recipe.name}")
    for program in PROGRAMS.values()
    for arch in ARCHES.values()
    for recipe in recipes_for(program, arch)
    if recipe.tool is Tool.CLANG_MACH_O
]
LINKERS = ("ld64.lld", *(f"ld64.lld-{version}" for version in range(22, 13, -1)))


def listed_by_llvm(path: Path) -> list[tuple[int, int]]:
    """(function offset, encoding) of every second-level entry."""
    objdump = tool("llvm-objdump", "llvm")
    text = subprocess.run([objdump, "--unwind-info", path], capture_output=True, text=True, check=True).stdout
    pages = text.partition("Second level indices:")[2]
    found = re.findall(r"\]: function offset=0x([0-9a-f]+), encoding(?:\[\d+\])?=0x([0-9a-f]+)", pages)
    return [(int(offset, 16), int(encoding, 16)) for offset, encoding in found]


def read_by_us(image: Image) -> list[tuple[int, int]]:
    """The same of all entries of a table. None is broken."""
    table = compact_table(image)
    entries = [entry for number in range(len(table.pages)) for entry in table.entries(number)]
    assert not [entry for entry in entries if not isinstance(entry, Encoded)]
    return [(entry.start - image.base, entry.encoding) for entry in entries if isinstance(entry, Encoded)]


@pytest.mark.parametrize(("program", "arch", "recipe"), BUILT)
def test_every_entry_equals_llvm_objdump(program: str, arch: str, recipe: str) -> None:
    image = corpus.built(program, arch, recipe).image
    ours = read_by_us(image)
    assert len(ours) >= 2
    assert ours == listed_by_llvm(image.path)


def test_the_corpus_has_every_mode() -> None:
    """So that nothing here passes for want of a case; x86_64's size in the code comes with a frame of 20 KiB."""
    modes: dict[str, set[int]] = {}
    for program, arch, recipe in (parameters.values for parameters in BUILT):
        image = corpus.built(str(program), str(arch), str(recipe)).image
        modes.setdefault(str(arch), set()).update(encoding >> 24 & 0xF for _, encoding in read_by_us(image))
    assert modes == {"arm64": {2, 3, 4}, "x86_64": {1, 2, 3, 4}}


@pytest.mark.parametrize(("arch", "recipe"), [("arm64", "macho-O2"), ("x86_64", "macho-O2-nofp")])
def test_another_linkers_layout_equals_llvm_objdump(arch: str, recipe: str, tmp_path: Path) -> None:
    """lld writes regular pages, common encodings and other places than Zig's linker."""
    linker = tool(" ".join(LINKERS), "lld")
    target = MACH_O[arch]
    source, compiled, linked = PROGRAMS["struct_return"].sources["c"], tmp_path / "o.o", tmp_path / "linked"
    command = (find_zig(), "clang", "-c", "-ffreestanding", *target.clang, *RECIPES[recipe].flags)
    subprocess.run([*command, source.path, "-o", compiled], check=True)
    system = target.linker.partition("-")[2]
    named = ("-arch", arch, "-platform_version", system, "15.0", "15.0")
    subprocess.run([linker, *named, "-dylib", compiled, "-o", linked], check=True)
    image = read_image(linked)
    ours = read_by_us(image)
    assert len(ours) >= 3
    assert compact_table(image).common
    assert ours == listed_by_llvm(linked)
    ours_here = read_by_us(corpus.built("struct_return", arch, recipe).image)
    assert ours[-1][1] == ours_here[-2][1], "main, which stands before _start in the other file"
    assert starts_in(linked, image.base) == starts_by_llvm(linked)


def starts_in(path: Path, base: int) -> tuple[int, ...]:
    """What LC_FUNCTION_STARTS says, which Zig's linker leaves empty."""
    file, at = FileBytes(path, path.read_bytes()), 32
    while file.unsigned(at, 4, "") != 0x26:
        at += file.unsigned(at + 4, 4, "")
    return function_starts(file.part(file.unsigned(at + 8, 4, ""), file.unsigned(at + 12, 4, ""), ""), base)


def starts_by_llvm(path: Path) -> tuple[int, ...]:
    command = (tool("llvm-objdump", "llvm"), "--macho", "--function-starts", path)
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = tuple(int(line, 16) for line in re.findall(r"^([0-9a-f]{16})$", text, re.M))
    assert len(found) > 3
    return found
