"""The strategy over `.ARM.exidx`: frame by frame, and from every call site of every program."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from testbed.build.recipes import RECIPES
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.frames import Backtrace, FrameKind
from testbed.image import Image, LoadedImage
from testbed.runs.run import run_program
from testbed.trace import Snapshot
from testbed.truth import CallStack
from testbed.verdicts.one import judge_backtrace
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.ehabi_index import (
    STACK,
    THREE,
    beginning,
    index_of,
    made,
)
from tests.unwinders.frames import ARM32, START, snapshot, words
from unwinders import UNWINDERS
from unwinders.rows.walk import walk
from unwinders.tables.ehabi import EHABI, row_for

# Programs whose headers declare trouble (wrong or missing tables, signals, other stacks) are judged by the matrix.
PLAIN = [
    program
    for program in PROGRAMS.values()
    if not any(
        h.traits or h.wrong or h.untabled or h.signals or h.twin or h.traps
        for h in (source.header for source in program.sources.values())
    )
]


WITH_TABLES = [recipe for recipe in RECIPES.values() if "-fno-unwind-tables" not in recipe.flags]


ON_ARM32 = units(PLAIN, [ARM32], WITH_TABLES)


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
