"""`.ARM.exidx` and `.ARM.extab`: every form of entry, what breaks them, and the strategy at call sites."""

from __future__ import annotations

import re
from dataclasses import replace
from gc import collect
from random import Random
from weakref import ref

import pytest

from programs import PROGRAMS
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.frames import Backtrace, FrameKind
from testbed.contract.rows import AtCfa, RegisterPlus, Undefined, UnwindRow
from testbed.image import Image, LoadedImage, Section, Segment, Symbol
from testbed.runs.judging import judge_all
from testbed.runs.run import run_program
from testbed.trace import Snapshot
from testbed.truth import CallStack
from testbed.verdicts.one import judge_backtrace
from testbed.words.errors import MalformedTable, NoUnwindInfo, UnsupportedRule
from testbed.words.traits import Trait
from tests.installed import installed
from tests.unwinders.frames import ARM32, START, image, snapshot, u, words
from unwinders import UNWINDERS
from unwinders.formats.ehabi import exception_index
from unwinders.formats.ehabi_rows import exidx_row, exidx_table
from unwinders.rows.walk import walk
from unwinders.tables.ehabi import EHABI, row_for

INDEX, TABLE, STACK = 0x3000, 0x4000, 0x8000
CODE_END = START + 0x1000
# Programs whose headers declare trouble (wrong or missing tables, signals, other stacks) are judged by the matrix.
PLAIN = [
    program
    for program in PROGRAMS.values()
    if not any(
        h.traits or h.wrong or h.untabled or h.signals or h.twin or h.traps
        for h in (source.header for source in program.sources.values())
    )
]
WITH_TABLES = [recipe for recipe in RECIPES.values() if Trait.CANNOT_UNWIND not in recipe.traits]
ON_ARM32 = units(PLAIN, [ARM32], WITH_TABLES)

POP_R4_LR = 0x80A8_B0B0  # compact, routine 0: pop {r4, lr}
FINISH = 0x80B0_B0B0
CANTUNWIND = 1


def prel31(target: int, place: int) -> int:
    return target - place & 0x7FFF_FFFF


def index_of(*entries: tuple[int, int]) -> bytes:
    """(function, second word) pairs; a second word with the top bit of 40 set is an address in the table."""
    out = b""
    for function, second in entries:
        place = INDEX + len(out)
        content = prel31(second & 0xFFFF_FFFF, place + 4) if second >> 39 else second
        out += u(4, prel31(function, place)) + u(4, content)
    return out


def at(offset: int) -> int:
    """The second word of an entry whose content is at an offset of the table."""
    return 1 << 39 | TABLE + offset


def made(index: bytes, table: bytes | None = None) -> Image:
    plain = image(ARM32)
    sections = {".ARM.exidx": Section(".ARM.exidx", INDEX, 0, index)}
    if table is not None:
        sections[".ARM.extab"] = Section(".ARM.extab", TABLE, 0, table)
    return Image(plain.path, ARM32, START, plain.segments, sections, ())


def beginning(searched: Image, entry: int, *functions: tuple[int, int]) -> Image:
    """The same image with its entry there, and functions as (address, size)."""
    symbols = tuple(Symbol(f"f{at:x}", at, size, is_function=True) for at, size in functions)
    return replace(searched, entry=entry, symbols=symbols)


def row(second: int, table: bytes | None = None) -> UnwindRow:
    return exidx_row(made(index_of((START, second)), table), START)


def table(*entry: int) -> bytes:
    return b"".join(u(4, word) for word in entry)


# The index

THREE = ((START, FINISH), (START + 0x20, POP_R4_LR), (START + 0x60, CANTUNWIND))


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
    with pytest.raises(NoUnwindInfo, match=re.escape(f"no entry of .ARM.exidx covers {pc:#x}")):
        exidx_row(searched, pc)


def test_an_entry_ends_with_its_own_segment() -> None:
    plain = made(index_of((START, FINISH), (0x2_0000, FINISH)))
    second = Segment(0x2_0000, b"", 0x100, True, False, True)
    both = Image(plain.path, ARM32, START, (*plain.segments, second), plain.sections, ())
    assert [(e.start, e.end) for e in exception_index(both)] == [(START, CODE_END), (0x2_0000, 0x2_0100)]


def test_a_thumb_functions_address_is_even() -> None:
    assert [entry.start for entry in exception_index(made(index_of((START + 1, FINISH))))] == [START]


def test_distances_are_signed_31_bit_numbers() -> None:
    """The code may lie before the index or behind it."""
    assert index_of((START, FINISH))[3] == 0x7F
    far = made(u(4, 0x3000) + u(4, FINISH))
    assert [entry.start for entry in exception_index(far)] == [INDEX + 0x3000]


@pytest.mark.parametrize("size", [1, 4, 7, 9, 12])
def test_an_index_that_is_no_pairs_of_words_is_malformed(size: int) -> None:
    with pytest.raises(MalformedTable, match=rf"\.ARM\.exidx\+0x0: the section has {size} bytes"):
        exception_index(made(bytes(size)))


def test_a_first_word_with_its_top_bit_set_is_malformed() -> None:
    broken = index_of(THREE[0]) + u(4, 0x8000_0000) + u(4, FINISH)
    with pytest.raises(MalformedTable, match=r"\.ARM\.exidx\+0x8: 0x80000000 is no 31-bit distance"):
        exidx_row(made(broken), START)


def test_without_the_section_there_is_nothing() -> None:
    assert not EHABI.applies_to(image(ARM32))
    assert EHABI.applies_to(made(b""))
    with pytest.raises(NoUnwindInfo, match=r"has no \.ARM\.exidx"):
        exception_index(image(ARM32))
    with pytest.raises(NoUnwindInfo):
        exidx_row(made(b""), START)


# The entries


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
    assert [found.start for found in exidx_table(searched)] == [START, START + 0x20, START + 0x60]


def test_an_inline_entry_has_three_bytes_of_operations() -> None:
    said = row(POP_R4_LR)
    assert (said.cfa, said.registers) == (RegisterPlus("sp", 8), {"r4": AtCfa(-8), "lr": AtCfa(-4)})
    assert (said.start, said.end, said.found_by) == (START, CODE_END, ".ARM.exidx+0x0")
    assert row(0x8000_0102).cfa == RegisterPlus("sp", 4 + 8 + 12), "the most significant byte comes first"


@pytest.mark.parametrize("word", [0x81B0_B0B0, 0x82B0_B0B0, 0x8FB0_B0B0])
def test_only_routine_0_can_be_inline(word: int) -> None:
    with pytest.raises(MalformedTable, match=r"\.ARM\.exidx\+0x4: .*: only personality routine 0"):
        row(word)


@pytest.mark.parametrize("word", [0x90B0_B0B0, 0xA0B0_B0B0, 0xC0B0_B0B0, 0xFFFF_FFFF])
def test_reserved_bits_are_malformed_in_both_sections(word: int) -> None:
    with pytest.raises(MalformedTable, match=r"\.ARM\.exidx\+0x4: .* are not zero"):
        row(word)
    with pytest.raises(MalformedTable, match=r"\.ARM\.extab\+0x\d: .* are not zero"):
        row(at(0), table(word))


def test_routine_0_in_the_table_has_three_bytes() -> None:
    said = row(at(4), table(0, POP_R4_LR, 0x0000_0000))
    assert said.cfa == RegisterPlus("sp", 8)


@pytest.mark.parametrize("routine", [1, 2])
@pytest.mark.parametrize(
    ("content", "size"),
    [((0x0000,), 8), ((0x0100, 0x0000_0000), 4 + 4 * 5), ((0x0200, 0x0000_0000, 0xB0FF_FFFF), 4 + 4 * 5)],
)
def test_routines_1_and_2_have_two_bytes_and_more_words(routine: int, content: tuple[int, ...], size: int) -> None:
    """0xb0 ends them early; what comes after the counted words is the routine's own data."""
    first, *more = content
    count = first >> 8
    head = 0x8000_0000 | routine << 24 | count << 16 | 0x0000
    assert row(at(0), table(head, *more, 0xDEAD_BEEF)).cfa == RegisterPlus("sp", size)


@pytest.mark.parametrize("routine", [3, 7, 15])
def test_other_routines_are_reserved(routine: int) -> None:
    with pytest.raises(UnsupportedRule, match=f"personality routine {routine} is reserved"):
        row(at(0), table(0x80B0_B0B0 | routine << 24))


@pytest.mark.parametrize(
    ("counted", "size"),
    [((0x0000_01B0,), 4 + 8), ((0x0001_02B0,), 8 + 12), ((0x0100_0000, 0x0000_0001), 6 * 4 + 8)],
)
def test_a_routine_of_the_programs_own_is_followed_by_counted_words(counted: tuple[int, ...], size: int) -> None:
    said = row(at(0), table(prel31(START, TABLE), *counted, 0xDEAD_BEEF))
    assert said.cfa == RegisterPlus("sp", size)


@pytest.mark.parametrize(("head", "at_word"), [(0x8102_B0B0, 0), (0x82FF_B0B0, 0), (0x0000_0010, 0)])
def test_words_beyond_the_section_are_malformed(head: int, at_word: int) -> None:
    words_after = (0x02B0_B0B0,) if head >> 31 == 0 else (0,)
    with pytest.raises(MalformedTable, match=rf"\.ARM\.extab\+{at_word:#x}: \d+ more words"):
        row(at(0), table(head, *words_after))


@pytest.mark.parametrize("offset", [-4, 8, 0x1000])
def test_an_entry_outside_the_table_is_malformed(offset: int) -> None:
    with pytest.raises(MalformedTable, match=r"\.ARM\.exidx\+0x4: the entry is said to be at"):
        row(at(offset), table(FINISH, FINISH))


def test_an_entry_without_a_table_section_is_malformed() -> None:
    with pytest.raises(MalformedTable, match=r"not in \.ARM\.extab"):
        row(at(0))


def test_the_place_of_a_broken_operation_is_that_of_its_byte() -> None:
    """In a little-endian word the first byte of operations has the highest address."""
    with pytest.raises(UnsupportedRule, match=r"\.ARM\.exidx\+0x6: 0xff is spare"):
        row(0x80FF_B0B0)
    with pytest.raises(MalformedTable, match=r"\.ARM\.extab\+0x4: the entry ends") as caught:
        row(at(0), table(0x8101_0000, 0x0000_00B2))
    assert caught.value.offset == 4


def test_only_the_entry_that_is_found_can_be_broken() -> None:
    searched = made(index_of(THREE[0], (START + 0x20, 0x80FF_FFFF), (START + 0x40, at(0x100)), (START + 0x60, FINISH)))
    assert exidx_row(searched, START).cfa == exidx_row(searched, START + 0x60).cfa == RegisterPlus("sp", 0)
    with pytest.raises(UnsupportedRule):
        exidx_row(searched, START + 0x20)
    with pytest.raises(MalformedTable):
        exidx_row(searched, START + 0x40)


def test_what_cannot_be_unwound_by_rows_is_not_claimed() -> None:
    searched = made(index_of(THREE[0], (START + 0x20, 0x80FF_FFFF), (START + 0x40, 0x8080_00B0), THREE[2]))
    assert [found.start for found in exidx_table(searched)] == [START]
    assert EHABI.rows is not None
    assert len(EHABI.rows(searched)) == 1


def test_what_was_read_does_not_keep_the_image_alive() -> None:
    searched = made(index_of(*THREE))
    assert exidx_row(searched, START) is not None
    alive = ref(searched)
    del searched
    collect()
    assert alive() is None


def test_random_damage_is_read_or_typed() -> None:
    """One to four bytes of either section replaced: a row or a typed error, and its offset is inside the section."""
    random = Random(2)
    whole = {
        "index": index_of((START, at(0)), (START + 0x20, POP_R4_LR), (START + 0x40, at(12)), THREE[2]),
        "table": table(0x8101_9B41, 0x8483_B0B0, 0, 0x7FFF_D000, 0x01B2_8401, 0xC982_B100, 0xD7B3_82B4),
    }
    read = refused = outside = 0
    for _ in range(4000):
        damaged = {name: bytearray(data) for name, data in whole.items()}
        for _ in range(random.randint(1, 4)):
            data = damaged[random.choice(list(damaged))]
            data[random.randrange(len(data))] = random.choice([random.randrange(256), 0, 0x7F, 0x80, 0xFF])
        if random.randrange(6) == 0:
            data = damaged[random.choice(list(damaged))]
            del data[random.randrange(len(data)) :]
        searched = made(bytes(damaged["index"]), bytes(damaged["table"]))
        for pc in (START, START + 0x28, START + 0x40, START + 0x80):
            try:
                read += exidx_row(searched, pc).contains(pc)
            except MalformedTable as error:
                refused += 1
                outside += not 0 <= error.offset <= len(damaged["index" if error.section == ".ARM.exidx" else "table"])
            except (NoUnwindInfo, UnsupportedRule):
                refused += 1
    assert min(read, refused) > 2000
    assert not outside


# The strategy


def calling(searched: Image, *stack: int, pc: int, bias: int = 0, **registers: int) -> Snapshot:
    values = {register.name: 0x7000 for register in ARM32.registers} | {"pc": pc + bias, "sp": STACK, **registers}
    return snapshot(ARM32, values, [(STACK, words(ARM32, *stack))], [LoadedImage(searched, bias)])


def test_frame_by_frame_to_the_first_function() -> None:
    searched = beginning(made(index_of(*THREE)), START + 0x60, (START + 0x60, 0x20))
    said = EHABI.unwind(calling(searched, 0x44, 0x5_1069, pc=START + 8, lr=0x5_1031, bias=0x5_0000))
    assert said.stopped is None
    assert [frame.pc for frame in said.frames] == [0x5_1008, 0x5_1030, 0x5_1068]
    assert said.frames[2].registers["r4"] == 0x44
    assert [frame.cfa for frame in said.frames] == [STACK, STACK + 8, None]


def test_frame_by_frame_to_another_one_that_cannot_be_unwound() -> None:
    said = EHABI.unwind(calling(made(index_of(*THREE)), 0x44, 0x1069, pc=START + 8, lr=0x1031))
    assert [frame.pc for frame in said.frames] == [0x1008, 0x1030, 0x1068]
    assert said.stopped is not None and "EXIDX_CANTUNWIND" in str(said.stopped)


def test_a_caller_is_looked_up_inside_its_call() -> None:
    """The call is the last instruction of the second function: its return address belongs to the third."""
    said = EHABI.unwind(calling(made(index_of(*THREE)), 0x44, 0x1071, pc=START + 8, lr=START + 0x60))
    assert [frame.pc for frame in said.frames] == [START + 8, START + 0x60, 0x1070]


def test_a_caller_whose_return_address_is_not_popped_is_unknown() -> None:
    """A leaf's entry in the middle of the stack: lr is the callee's, so there is nothing to go on with."""
    said = EHABI.unwind(calling(made(index_of(*THREE)), 0x44, START + 0x10, pc=START + 0x20))
    assert said.stopped is not None
    assert said.stopped.reason == "UnknownRegister"


@pytest.mark.parametrize(("pc", "why"), [(START - 4, "no image covers"), (0x9_0000, "no image covers")])
def test_it_stops_where_nothing_covers_the_pc(pc: int, why: str) -> None:
    said = EHABI.unwind(calling(made(index_of(*THREE)), pc=pc))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert why in str(said.stopped)


def test_it_is_in_the_catalogue_for_arm32() -> None:
    assert UNWINDERS["ehabi"] is EHABI
    assert EHABI.arches == {"arm32"}


@pytest.mark.parametrize("unit", ON_ARM32, ids=str)
def test_from_every_call_site_of_every_program_the_callers_are_exact(unit: Unit) -> None:
    """Unwinding that starts at a true caller: what the tables are for, and there they have no limit."""
    run = run_program(PROGRAMS[unit.program], ARM32, unit.recipe)
    seen: set[tuple[int, int | None]] = set()
    for step in range(len(run)):
        frames = run.truth(step).frames
        for i, frame in enumerate(frames[1:], start=1):
            if (frame.pc, frame.cfa) in seen:
                continue
            seen.add((frame.pc, frame.cfa))
            said = from_caller(run[step], dict(frame.registers))
            verdict = judge_backtrace(ARM32, CallStack(frames[i:]), said)
            assert verdict.exact, f"step {step}, caller {i}: {verdict}"
    assert seen


def from_caller(there: Snapshot, registers: dict[str, int]) -> Backtrace:
    """The walk from a frame that is at a call: its pc is looked up one lower, as that of any caller."""
    start = registers["pc"] - 1
    said = walk(Snapshot(ARM32, {**registers, "pc": start}, there.memory, there.images), row_for)
    first, *others = said.frames
    assert first.kind is FrameKind.INTERRUPTED
    return Backtrace((type(first)(first.kind, start + 1, first.registers, first.cfa), *others), said.stopped)


@pytest.mark.everything
def test_in_a_settled_frame_only_a_second_frame_is_not_exact() -> None:
    """Neither prologue nor epilogue: the limit for two frames in one function covers a handful of sites, by name."""
    found = set()
    for unit in installed(ON_ARM32):
        if unit.program.startswith("gen"):  # those have many
            continue
        run = run_program(PROGRAMS[unit.program], ARM32, unit.recipe)
        for step, verdict in enumerate(judge_all(run, EHABI)):
            if not verdict.exact and not run.traits(step) & {Trait.PROLOGUE, Trait.EPILOGUE, Trait.IN_NO_FILE}:
                found.add((unit.program, run.function(int(run.trace.pc[step])), run.instruction(step).split()[0]))
    assert found == {("callee_saved", "clobber", "add")}
