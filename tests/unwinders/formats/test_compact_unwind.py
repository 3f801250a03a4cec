"""`__unwind_info`: header, both kinds of page, then every encoding in the order of the header file."""

from __future__ import annotations

import struct
from itertools import permutations
from math import perm

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.contract.frames import Backtrace
from testbed.contract.rows import AtCfa, RegisterPlus, UnwindRow
from testbed.image import Image, LoadedImage
from testbed.runs.judging import judge_all
from testbed.runs.run import run_program
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnknownRegister
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
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
from tests.unwinders.frames import ARM64, START, X86_64, block, cie, entry, image, snapshot, u, words
from unwinders.formats.compact_encodings import permutation
from unwinders.formats.compact_unwind import compact_table
from unwinders.tables.compact_unwind import COMPACT_UNWIND

LEAF, FRAMED, SAVING = 0x0200_1000, 0x0400_0000, 0x0400_0001  # arm64
STACK = 0x7_0000


def found(made: Image, offset: int) -> UnwindRow | None:
    return compact_table(made).at(BASE + offset)


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


def test_a_search_crosses_the_first_level() -> None:
    pages = [(0x1000, regular(FUNCTIONS[:2])), (0x1040, compressed(0x1040, FUNCTIONS[2:])), (0x1060, b"")]
    made = image_with(ARM64, section(pages, 0x1080))
    assert spans(made) == EXPECTED
    assert found(made, 0x1060) is None, "an index entry without a page: nothing is known"


def test_an_entry_ends_where_its_page_does() -> None:
    """The second page's first function is at 0x1050: 0x1040 to 0x1050 has no entry, and is not the first page's."""
    pages = [(0x1000, regular(FUNCTIONS[:2])), (0x1040, regular([(0x1050, SAVING)]))]
    made = image_with(ARM64, section(pages, 0x1060))
    assert spans(made) == [*EXPECTED[:2], (0x1050, 0x1060, "x29")]
    assert found(made, 0x1048) is None


def test_entries_behind_the_end_of_their_page_are_never_found() -> None:
    beyond = [(0x1000, LEAF), (0x1050, FRAMED)]
    made = image_with(ARM64, section([(0x1000, regular(beyond)), (0x1040, regular(FUNCTIONS[2:]))], 0x1060))
    assert spans(made) == [(0x1000, 0x1040, "sp"), (0x1040, 0x1060, "x29")]


def test_a_page_without_entries_says_nothing() -> None:
    for page in (regular([]), compressed(0x1000, [])):
        made = image_with(ARM64, section([(0x1000, page)], 0x1060))
        assert spans(made) == []
        assert found(made, 0x1000) is None


def test_an_encoding_of_zero_says_that_nothing_is_known() -> None:
    made = image_with(ARM64, section([(0x1000, regular([(0x1000, 0), (0x1020, FRAMED)]))], 0x1040))
    assert spans(made) == [(0x1020, 0x1040, "x29")]
    assert found(made, 0x1000) is None


def test_flags_for_exceptions_do_not_change_the_row() -> None:
    """IS_NOT_FUNCTION_START, HAS_LSDA, and two bits that number the personality."""
    plain = found(image_of(ARM64, SAVING), START)
    flagged = found(image_of(ARM64, SAVING | 0xF000_0000), START)
    assert plain == flagged is not None


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


def test_pages_that_share_bytes_end() -> None:
    """Every index entry names one page of many entries: read again for each of them, it would take for ever."""
    table = section([(0, regular([(i, LEAF) for i in range(200)]))], 0x1_0000)
    index = b"".join(struct.pack("<III", i, 52, 0) for i in range(401))
    shared = patched(20, len(table), table=patched(24, 401, table=table)) + index
    assert len(spans(image_with(ARM64, table))) == 200
    assert found(image_with(ARM64, shared), 0x80) is not None, "a search looks at one page only"
    with pytest.raises(MalformedTable, match="more entries than there are bytes for"):
        compact_table(image_with(ARM64, shared)).all_rows()


def test_an_image_without_the_section_has_no_unwind_info() -> None:
    with pytest.raises(NoUnwindInfo, match="has no __TEXT,__unwind_info"):
        compact_table(image(ARM64))


# arm64 encodings


def row_of(arch: Arch, encoding: int, **parts: bytes) -> UnwindRow:
    row = found(image_of(arch, encoding, **parts), START)
    assert row is not None
    return row


def at_cfa(**offsets: int) -> dict[str, AtCfa]:
    return {name: AtCfa(offset) for name, offset in offsets.items()}


@pytest.mark.parametrize(
    ("encoding", "size", "saved"),
    [
        (0x0200_0000, 0, {}),
        (0x0200_1000, 16, {}),
        (0x02FF_F000, 65520, {}),
        (0x0200_2001, 32, at_cfa(x19=-8, x20=-16)),
        (0x0200_2100, 32, at_cfa(d8=-8, d9=-16)),
    ],
)
def test_arm64_frameless(encoding: int, size: int, saved: dict[str, AtCfa]) -> None:
    row = row_of(ARM64, encoding)
    assert (row.cfa, row.registers) == (RegisterPlus("sp", size), saved)
    assert "x30" not in row.registers, "the return address is still in its register"


@pytest.mark.parametrize(
    ("bits", "saved"),
    [
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
    ],
)
def test_arm64_frame(bits: int, saved: dict[str, AtCfa]) -> None:
    row = row_of(ARM64, 0x0400_0000 | bits)
    assert row.cfa == RegisterPlus("x29", 16)
    assert row.registers == at_cfa(x29=-16, x30=-8) | saved


def call_frame(start: int, size: int = 0x100) -> bytes:
    """A CIE and one FDE, whose second row begins after 4 bytes; the FDE stands behind the CIE."""
    head = cie(b"\x0c\x1f\x00", id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30)
    at = len(head)
    body = u(4, at + 4) + u(8, start - (FRAME_ADDRESS + at + 8)) + u(8, size) + block(b"") + b"\x44\x0e\x20\x9e\x02"
    return head + entry(body)


FDE = len(cie(b"\x0c\x1f\x00", id=bytes(4), augmentation=b"zR", area=b"\x10", ra=30))


@pytest.mark.parametrize("offset", [FDE, 0])
def test_dwarf_mode_gives_the_rows_of_the_fde_that_it_names(offset: int) -> None:
    """An offset of 0, where no FDE can stand, asks for a search of the section."""
    made = image_of(ARM64, 0x0300_0000 | offset, frame=call_frame(CODE))
    first, second = found(made, START), found(made, START + 4)
    assert first is not None and second is not None
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


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        (0x0100_0000, "mode 1 is none of 2, 3, 4"),
        (0x0500_0000, "mode 5 is none of 2, 3, 4"),
        (0x0200_1003, "32 bytes of saved registers in a frame of 16"),
    ],
)
def test_arm64_encodings_that_do_not_exist(encoding: int, said: str) -> None:
    with pytest.raises(MalformedTable, match=said):
        row_of(ARM64, encoding)


# x86_64 encodings

NUMBERED = {1: "rbx", 2: "r12", 3: "r13", 4: "r14", 5: "r15", 6: "rbp"}


@pytest.mark.parametrize(
    ("encoding", "saved"),
    [
        (0x0100_0000, {}),
        (0x0101_0001, at_cfa(rbx=-24)),
        (0x0101_0002, at_cfa(r12=-24)),
        (0x0102_0001 | 4 << 3, at_cfa(rbx=-32, r14=-24)),
        (0x0103_0001 | 4 << 3, at_cfa(rbx=-40, r14=-32)),
        (0x0102_0000 | 5 << 3, at_cfa(r15=-24)),
        (0x0105_0000 | 0o54321, at_cfa(rbx=-56, r12=-48, r13=-40, r14=-32, r15=-24)),
        (0x01FF_0001, at_cfa(rbx=-16 - 8 * 255)),
    ],
)
def test_x86_64_rbp_frame(encoding: int, saved: dict[str, AtCfa]) -> None:
    row = row_of(X86_64, encoding)
    assert (row.cfa, row.return_address) == (RegisterPlus("rbp", 16), "rip")
    assert row.registers == at_cfa(rbp=-16, rip=-8) | saved


@pytest.mark.parametrize(
    ("encoding", "size", "saved"),
    [
        (0x0201_0000, 8, {}),
        (0x02FF_0000, 2040, {}),
        (0x0202_0400, 16, at_cfa(rbx=-16)),
        (0x0204_0400 | 5, 32, at_cfa(rbp=-16)),
        (0x0208_0800, 64, at_cfa(rbx=-24, r12=-16)),
        (0x0208_1800, 64, at_cfa(rbx=-56, r12=-48, r13=-40, r14=-32, r15=-24, rbp=-16)),
        (0x0208_1800 | 719, 64, at_cfa(rbp=-56, r15=-48, r14=-40, r13=-32, r12=-24, rbx=-16)),
    ],
)
def test_x86_64_frameless_with_an_immediate_size(encoding: int, size: int, saved: dict[str, AtCfa]) -> None:
    row = row_of(X86_64, encoding)
    assert (row.cfa, row.registers) == (RegisterPlus("rsp", size), at_cfa(rip=-8) | saved)


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


@pytest.mark.parametrize(
    ("encoding", "code", "said"),
    [
        (0x0500_0000, b"", "mode 5 is none of 1 to 4"),
        (0x0102_0006, b"", "register 6 cannot be saved in place 0"),
        (0x0102_0007, b"", "register 7 cannot be saved in place 0"),
        (0x0102_0009, b"", "register 1 cannot be saved in place 1"),
        (0x0100_0001, b"", "register 1 would be saved at rbp or above"),
        (0x0200_0000, b"", "0 saved registers and a return address in a frame of 0 bytes"),
        (0x0202_0800, b"", "2 saved registers and a return address in a frame of 16 bytes"),
        (0x0208_1C00, b"", "7 saved registers of 6"),
        (0x0208_0406, b"", "there is no permutation 6 of 1 registers"),
        (0x0308_0000, bytes(0xB), "no code at 0x401008"),
    ],
)
def test_x86_64_encodings_that_do_not_exist(encoding: int, code: bytes, said: str) -> None:
    with pytest.raises(MalformedTable, match=said):
        row_of(X86_64, encoding, code=code)


def test_an_architecture_without_encodings_says_so() -> None:
    with pytest.raises(MalformedTable, match="arm32 has no compact encodings"):
        row_of(ARCHES["arm32"], 0x0200_0000)


# The strategy


def walked(arch: Arch, made: Image, stack: bytes, pc: int, bias: int = 0, **registers: int) -> Backtrace:
    values = {register.name: 0x7000 for register in arch.registers} | {arch.pc: pc + bias, arch.sp: STACK}
    return COMPACT_UNWIND.unwind(snapshot(arch, values | registers, [(STACK, stack)], [LoadedImage(made, bias)]))


def test_a_frameless_leaf_returns_by_its_link_register_a_frame_by_memory() -> None:
    """Slid: the table is in link-time addresses. The outermost frame's return address is zero."""
    made = image_with(ARM64, section([(START, regular([(START, LEAF), (START + 0x20, SAVING)]))], START + 0x100))
    bias = 0x500_0000
    frame = STACK + 0x30
    stack = words(ARM64, 0, 0, 0, 0, 20, 19, 0, 0)  # 16 bytes of leaf, then x20, x19 below the frame record
    said = walked(ARM64, made, stack, CODE + 8, bias, x30=CODE + 0x28 + bias, x29=frame)
    assert (said.stopped, [f.pc - bias for f in said.frames]) == (None, [CODE + 8, CODE + 0x28])
    assert said.frames[0].cfa == STACK + 16
    assert said.frames[1].found_by.startswith(SECTION)
    assert said.frames[1].cfa == frame + 16


def test_a_caller_that_kept_its_return_address_in_the_link_register_stops() -> None:
    """A frameless function that called another has lost x30: the encoding cannot say where it is."""
    made = image_of(ARM64, LEAF)
    said = walked(ARM64, made, bytes(64), CODE + 8, x30=CODE + 0x28)
    assert isinstance(said.stopped, UnknownRegister)
    assert len(said.frames) == 2


def test_a_caller_is_looked_up_inside_its_call() -> None:
    """The call is the last instruction of the first function: its return address is already the next one's."""
    functions = [(START, 0x0201_0000), (START + 0x20, 0x0203_0000)]
    made = image_with(X86_64, section([(START, regular(functions))], START + 0x100))
    said = walked(X86_64, made, words(X86_64, CODE + 0x20, CODE + 0x20, 0), CODE)
    assert (said.stopped, [f.pc for f in said.frames]) == (None, [CODE, CODE + 0x20, CODE + 0x20])


def test_it_stops_where_nothing_is_known() -> None:
    said = walked(ARM64, image_of(ARM64, 0), bytes(64), CODE)
    assert isinstance(said.stopped, NoUnwindInfo)
    assert "__unwind_info says nothing about 0x401000" in str(said.stopped)
    assert isinstance(walked(ARM64, image_of(ARM64, LEAF), bytes(64), 0x99).stopped, NoUnwindInfo)


@pytest.mark.parametrize("program", ["struct_return", "big_frame", "alloca_vla"])
@pytest.mark.parametrize(
    ("arch", "recipe"),
    [("arm64", "macho-O0"), ("arm64", "macho-O2"), ("x86_64", "macho-O0"), ("x86_64", "macho-O2-nofp")],
)
def test_a_compact_encoding_is_exact_outside_the_innermost_prologue_and_epilogue(
    program: str, arch: str, recipe: str
) -> None:
    """In callers always: they stand at a call. Slid, with every callee-saved register planted."""
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    by_place: dict[bool, set[Outcome]] = {False: set(), True: set()}
    for step, verdict in enumerate(judge_all(run, COMPACT_UNWIND)):
        by_place[bool(run.traits(step) & {Trait.PROLOGUE, Trait.EPILOGUE})].add(verdict.outcome)
    assert by_place[False] == {Outcome.EXACT}
    assert by_place[True] - {Outcome.EXACT}, "else there would be nothing to declare"


def test_registers_that_a_frameless_leaf_saved_are_where_its_code_put_them() -> None:
    """Where LLVM's libunwind is one word off: the truth of the run decides."""
    run = run_program(PROGRAMS["busy_leaf"], ARCHES["arm64"], "macho-O2")
    steps = run.steps_in("busy")
    at = run[steps[len(steps) // 2]]
    row = compact_table(run.loaded.image).at(at.pc - run.loaded.bias)
    assert row is not None
    assert row.registers == at_cfa(x19=-8, x20=-16, x21=-24, x22=-32)
    said, true = COMPACT_UNWIND.unwind(at).frames[1].registers, run.truth(at).frames[1].registers
    for name in row.registers:
        assert said[name] == true[name] != at.registers[name], name


def test_with_rows_for_epilogues_it_defers_to_dwarf_and_is_exact_everywhere() -> None:
    run = run_program(PROGRAMS["struct_return"], ARCHES["arm64"], "macho-O2-dwarf")
    assert {verdict.outcome for verdict in judge_all(run, COMPACT_UNWIND)} == {Outcome.EXACT}
    main = run.loaded.image.symbol_named("main")
    assert main is not None
    row = compact_table(run.loaded.image).at(main.address)
    assert row is not None and row.found_by.startswith(FRAME)


def test_it_exists_for_mach_o_files() -> None:
    assert COMPACT_UNWIND.applies_to(image_of(ARM64, LEAF))
    assert not COMPACT_UNWIND.applies_to(image(ARM64))
    assert COMPACT_UNWIND.rows is not None
    assert len(COMPACT_UNWIND.rows(image_of(ARM64, LEAF))) == 1
