"""Unwinders that have a row for a pc: a frame is looked up in its image, inside its call, and nothing else is asked.

Each case is a table for one function of 0x20 bytes, and a stack on which it was called by itself: its last instruction
is the call, so the return address is behind its end, where nothing is known. What a row gives is the formats' matter.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from gc import collect
from typing import NamedTuple
from weakref import ref

import pytest

from testbed.arch import ARCHES
from testbed.contract.assumption import CLAUSES
from testbed.contract.unwinder import Backtrace, HeldTo, Unwinder
from testbed.image import Image, LoadedImage
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, UsageError
from tests.corpus import ran
from tests.unwinders import code, compact, ehabi_index, go_tables, search_tables, sframes
from tests.unwinders.formats import orc_made
from tests.unwinders.frames import START, X86_64, cie, fde, image, snapshot, words
from tests.unwinders.said import lacking, says_less
from unwinders import UNWINDERS
from unwinders.tables.gopclntab import GOPCLNTAB

STACK, SIZE = 0x8000, 0x20


class Table(NamedTuple):
    """A table, the section that rows are found in, and where in two frames of the stack the return address lies."""

    image: Image
    section: str
    frame: int = 1  # words
    start: int = START


CALL_FRAME = cie(b"\x0c\x07\x08\x90\x01") + fde(size=SIZE)  # CFA = rsp + 8, the return address below it
CALL = orc_made.entry(orc_made.bits(orc_made.CALL[orc_made.NEW]))
ENTRIES = ((START, CALL), (START + SIZE, orc_made.NOTHING))
INDEX = ehabi_index.index_of((START, ehabi_index.POP_R4_LR), (START + SIZE, ehabi_index.CANTUNWIND))
PAGE = compact.regular([(START, 0x0201_0000), (START + SIZE, 0)])
TABLES: Mapping[str, Table] = {
    "eh_frame": Table(search_tables.indexed(), ".eh_frame"),
    "eh_frame_hdr": Table(search_tables.indexed(), ".eh_frame"),
    "debug_frame": Table(image(_debug_frame=(0, CALL_FRAME)), ".debug_frame"),
    "sframe": Table(sframes.made(sframes.section((START, SIZE, [sframes.fre(0, 8)]))), ".sframe"),
    "orc": Table(orc_made.made(*ENTRIES, header=orc_made.HASH), ".orc_unwind"),
    "ehabi": Table(ehabi_index.made(INDEX), ".ARM.exidx", 2),
    "compact_unwind": Table(
        *(compact.image_with(X86_64, compact.section([(START, PAGE)], START + 0x100)), compact.SECTION),
        start=compact.CODE,
    ),
    "gopclntab": Table(go_tables.made(go_tables.Go("f", ((SIZE, 0),))), ".gopclntab"),
    "prologue_analysis": Table(code.image_of("x86_64", b"\x90" * (SIZE - 1) + b"\xc3"), "prologue of f"),
}
EACH = pytest.mark.parametrize("name", TABLES)


def walked(name: str, pc: int, bias: int = 0) -> Backtrace:
    """The walk from a pc of the function."""
    table, arch = TABLES[name], TABLES[name].image.arch
    before = [0x7] * (table.frame - 1)
    stack = words(arch, *before, table.start + SIZE + bias, *before, 0)
    registers = {register.name: 0x7000 for register in arch.registers} | {arch.pc: pc + bias, arch.sp: STACK}
    at = snapshot(arch, registers, [(STACK, stack)], [LoadedImage(table.image, bias)])
    return UNWINDERS[name].unwind(at)


@EACH
@pytest.mark.parametrize("bias", [0, 0x5_0000])
def test_a_caller_is_looked_up_inside_its_call_in_link_time_addresses(name: str, bias: int) -> None:
    table = TABLES[name]
    said = walked(name, table.start + 8, bias)
    assert (said.stopped, [f.pc - bias - table.start for f in said.frames]) == (None, [8, SIZE])
    frame = table.frame * table.image.arch.word
    assert [each.cfa for each in said.frames] == [STACK + frame, STACK + 2 * frame]
    assert said.frames[1].found_by.startswith(table.section)


@EACH
@pytest.mark.parametrize("distance", [SIZE, 0x9_0000])
def test_it_stops_where_nothing_is_known(name: str, distance: int) -> None:
    pc = TABLES[name].start + distance
    said = walked(name, pc)
    assert isinstance(said.stopped, NoUnwindInfo)
    assert (said.stopped.pc, [frame.pc for frame in said.frames]) == (pc, [pc])
    assert distance == SIZE or "no image covers" in str(said.stopped)


@EACH
def test_it_exists_where_its_sections_do(name: str) -> None:
    chosen, made = UNWINDERS[name], TABLES[name].image
    assert chosen.applies_to(made) and chosen.rows is not None
    assert {row.start for row in chosen.rows(made)} >= {TABLES[name].start}
    for needed in chosen.needs:
        without = {section: made.sections[section] for section in made.sections if section != needed}
        lacking_it = replace(made, sections=without)
        assert not chosen.applies_to(lacking_it)
        with pytest.raises(NoUnwindInfo, match=f"has no {needed}$"):
            chosen.rows(lacking_it)


@EACH
def test_what_was_read_does_not_keep_the_image_alive(name: str) -> None:
    made, rows = replace(TABLES[name].image), UNWINDERS[name].rows
    assert rows is not None and rows(made)
    alive = ref(made)
    del made
    collect()
    assert alive() is None


# The catalogue of unwinders, and what each one assumes.


def test_the_catalogue_is_in_report_order_under_its_own_names() -> None:
    order = list(UNWINDERS)
    assert order[0] == "fp_chain"
    assert order.index("fp_chain") < order.index("eh_frame") < order.index("stack_scan"), "chains, tables, scans"
    assert all(name == chosen.name and chosen.summary for name, chosen in UNWINDERS.items())


@pytest.mark.parametrize("chosen", UNWINDERS.values(), ids=lambda s: s.name)
def test_every_unwinder_states_an_assumption(chosen: Unwinder) -> None:
    names = [clause.name for clause in chosen.assumption.clauses]
    assert len(names) == len(set(names)) and set(names) <= CLAUSES.keys()
    assert chosen.held_to is (HeldTo.OPEN if chosen.name == "prologue_analysis" else HeldTo.ASSUMPTION)


def test_a_clause_is_a_sentence_of_its_own() -> None:
    assert all(clause.holds and clause.fails and name == clause.name for name, clause in CLAUSES.items())
    assert len({clause.holds for clause in CLAUSES.values()}) == len(CLAUSES)


# Registers that a snapshot lacks: every unwinder stops honestly, as if it knew less, never as if they were zero.
#
# Of a snapshot with fewer registers an unwinder may say less than of the whole one, and nothing else: the same frames
# up to where it stops, no register that it did not claim, no root that it did not reach.

# Each unwinder and architecture is there: tables of every format, frame pointers and none, signals, a shadow stack.
UNITS = [
    ("leaf_call", "x86_64", None),
    ("signal_nested", "x86_64", None),
    ("alloca_vla", "x86_64", "clang-O2"),
    ("alloca_vla", "x86_64", "macho-O2"),
    ("leaf_call", "arm64", None),
    ("signal_nested", "arm64", None),
    ("alloca_vla", "arm64", "clang-O0"),
    ("alloca_vla", "arm64", "macho-O2"),
    ("alloca_vla", "x86_64", "clang-O2-debug_frame"),
    ("alloca_vla", "arm64", "clang-O2-debug_frame"),
    ("alloca_vla", "arm64", "clang-O2-scs"),
    ("leaf_call", "arm32", None),
    ("leaf_call", "arm32", "keystone-thumb"),
    ("alloca_vla", "arm32", "clang-thumb-O2-fp"),
]
# No program of the corpus is built by Go: its table is made by hand.
GO = {arch: go_tables.made(go_tables.Go("main.main"), arch=ARCHES[arch]) for arch in ("x86_64", "arm64")}
BACK = START + 0x18  # in the body of that function on both, where its frame is made
STEPS = 12
SUBSETS = 12  # of registers, per step


def subsets(snapshot: Snapshot, chance: random.Random) -> Iterator[set[str]]:
    """Registers to drop: each that matters alone, all, and at random. pc and SP are what makes a snapshot."""
    arch = snapshot.arch
    names = [name for name in arch.by_name if name not in (arch.pc, arch.sp)]
    special = {*arch.frame_pointers, *([arch.link] if arch.link else []), arch.shadow_pointer or arch.flags}
    yield from ({name} for name in sorted(special))
    yield special
    yield set(names)
    for _ in range(SUBSETS):
        yield set(chance.sample(names, chance.randrange(1, len(names))))


def unwinders_of(run: Run) -> list[Unwinder]:
    return [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]


def stops_of(unwinder: Unwinder, snapshot: Snapshot, chance: random.Random) -> set[str]:
    """Why an unwinder stops where registers are missing; it says less of each such snapshot."""
    whole, stops = unwinder.unwind(snapshot), set()
    for names in subsets(snapshot, chance):
        part = unwinder.unwind(lacking(snapshot, names))
        more = says_less(part, whole)
        assert not more, f"{unwinder}, pc {snapshot.pc:#x}, without {', '.join(sorted(names))}: {more}"
        if part.stopped is not None:
            assert part.stopped.pc is not None
            stops.add(part.stopped.reason)
    return stops


@pytest.mark.parametrize(("name", "arch", "recipe"), UNITS, ids=lambda part: str(part))
def test_a_snapshot_with_fewer_registers_never_says_more(name: str, arch: str, recipe: str | None) -> None:
    run, chance = ran(name, arch, recipe), random.Random(f"{name} {arch} {recipe}")
    stops: set[str] = set()
    for step in chance.sample(range(len(run)), min(STEPS, len(run))):
        for unwinder in unwinders_of(run):
            stops |= stops_of(unwinder, run[step], chance)
    assert "UnknownRegister" in stops


@pytest.mark.parametrize("arch", GO)
def test_nor_by_the_table_of_go(arch: str) -> None:
    """A stack of one function that calls itself, at each instruction of it, until the stack ends."""
    this, chance, stops = ARCHES[arch], random.Random(arch), set()
    registers = {register.name: BACK for register in this.registers} | {this.sp: 0x8000}
    for pc in range(START, START + go_tables.SIZE, 4):
        stack = [(0x8000, words(this, *[BACK] * 12))]
        at = snapshot(this, registers | {this.pc: pc}, stack, [LoadedImage(GO[arch], 0)])
        assert len(GOPCLNTAB.unwind(at).frames) > 2
        stops |= stops_of(GOPCLNTAB, at, chance)
    assert ("UnknownRegister" in stops) == (this.link is not None)  # its table asks for no other register but SP


def test_each_unwinder_and_architecture_is_among_those() -> None:
    seen = {(unwinder.name, arch) for name, arch, recipe in UNITS for unwinder in unwinders_of(ran(name, arch, recipe))}
    seen |= {(GOPCLNTAB.name, arch) for arch, image in GO.items() if GOPCLNTAB.applies_to(image)}
    theirs = {(u.name, arch) for u in UNWINDERS.values() for arch in (u.arches or ARCHES)}
    assert theirs - seen == set()


@pytest.mark.parametrize("arch", ARCHES)
def test_only_pc_and_sp_must_be_given(arch: str) -> None:
    pc, sp = ARCHES[arch].pc, ARCHES[arch].sp
    given = Snapshot.from_parts(arch=arch, registers={pc: 0x1000, sp: 0x2000}, memory=[], images=[])
    for unwinder in UNWINDERS.values():
        if unwinder.arches is None or arch in unwinder.arches:
            said = unwinder.unwind(given)
            assert said.stopped is not None, unwinder
            assert [frame.pc for frame in said.frames] == [0x1000], unwinder
    for name in (pc, sp):
        with pytest.raises(UsageError, match=f"no value for {name}"):
            Snapshot.from_parts(arch=arch, registers={n: 1 for n in (pc, sp) if n != name}, memory=[], images=[])
