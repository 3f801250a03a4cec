"""Registers that a snapshot lacks: every strategy stops honestly, as if it knew less, never as if they were zero.

Of a snapshot with fewer registers a strategy may say less than of the whole one, and nothing else: the same frames up
to where it stops, no register that it did not claim, no root that it did not reach.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.words.errors import UsageError
from tests.unwinders import go_tables
from tests.unwinders.frames import START, snapshot, words
from tests.unwinders.missing import lacking, says_less
from unwinders import UNWINDERS
from unwinders.tables.gopclntab import GOPCLNTAB

# Each strategy and architecture is there: tables of every format, frame pointers and none, signals, a shadow stack.
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


@cache
def unit(name: str, arch: str, recipe: str | None) -> Run:
    return testbed.run(name, arch=arch, recipe=recipe)


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


def strategies_of(run: Run) -> list[Unwinder]:
    return [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]


def stops_of(unwinder: Unwinder, snapshot: Snapshot, chance: random.Random) -> set[str]:
    """Why a strategy stops where registers are missing; it says less of each such snapshot."""
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
    run, chance = unit(name, arch, recipe), random.Random(f"{name} {arch} {recipe}")
    stops: set[str] = set()
    for step in chance.sample(range(len(run)), min(STEPS, len(run))):
        for unwinder in strategies_of(run):
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


def test_each_strategy_and_architecture_is_among_those() -> None:
    seen = {
        (unwinder.name, arch) for name, arch, recipe in UNITS for unwinder in strategies_of(unit(name, arch, recipe))
    }
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
