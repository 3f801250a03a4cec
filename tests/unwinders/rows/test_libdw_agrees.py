"""elfutils' libdw finds the same return addresses as our rows, at every instruction of recorded runs.

It is the same table read and applied by others. On ARM32 the table is `.debug_frame`, which no strategy here is
made of; the walk over it is this test's own.

One difference is known. LLVM's `.debug_frame` for ARM has no epilogue rows, so a walk from an epilogue may find a
wrong caller, one whose row says that its return address is still in the link register. Our rows do not know the link
register of a caller, and stop; libdw takes the interrupted frame's value, and repeats that caller without end.
"""

from __future__ import annotations

import ctypes

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES, Tool
from testbed.campaign.results import Unit
from testbed.campaign.units import units
from testbed.contract.frames import Backtrace
from testbed.image import image_covering
from testbed.machine import record
from testbed.referee.libdw import strategy as libdw
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister
from testbed.words.traits import Trait
from unwinders.rows.walk import walk
from unwinders.tables.eh_frame import EH_FRAME, table_rows

# Where a table is wrong, missing or without an end, the two guess differently; `index_exchanged` misleads
# libdw, and it takes the link register of `coroutine`'s first function, which a row calls undefined. So are tables
# that hold at calls only. In the generated one a row without the epilogue counts from a frame pointer of zero: SP goes
# back, and libdw goes on; where a return address was moved up it goes back with reason, and libdw stops. It takes
# signatures off from 0.192 on, by a mask that it asks a process for.
DECLARED = frozenset({Trait.OPEN_END, Trait.LOST_REGISTER})
TROUBLED = {
    name
    for name, program in PROGRAMS.items()
    if any(
        h.wrong or h.untabled or h.cpu or h.exchanged or h.traits & DECLARED
        for h in (s.header for s in program.sources.values())
    )
} | {"coroutine", "genc_f40o128t1_f", "moved_return"}
NO_ROWS_ANYWHERE = frozenset({"-fno-unwind-tables", "-fno-asynchronous-unwind-tables"})  # none, or at calls only
SOUND = [program for name, program in PROGRAMS.items() if name not in TROUBLED]
UNITS = [
    unit
    for unit in units(SOUND, ARCHES.values(), RECIPES.values())
    if RECIPES[unit.recipe].tool is not Tool.CLANG_MACH_O  # no file for libdw
    and NO_ROWS_ANYWHERE.isdisjoint(RECIPES[unit.recipe].flags)
    and not RECIPES[unit.recipe].cpu
]
STEPS = 400  # of a run at most, spread evenly: the call stacks of a long one repeat


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = libdw.load()
    if found is None:
        pytest.skip("libdw is not installed: apt-get install libdw1")
    return found


def debug_frame(snapshot: Snapshot) -> Backtrace:
    return walk(snapshot, table_rows(".debug_frame"))


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_libdw_finds_the_same_return_addresses(unit: Unit, library: ctypes.CDLL) -> None:
    built = build(PROGRAMS[unit.program], ARCHES[unit.arch], RECIPES[unit.recipe])
    unwind = EH_FRAME.unwind if EH_FRAME.applies_to(built.image) else debug_frame
    trace = record(built.image, cpu=built.cpu)
    theirs = libdw.LibDw(library, trace.images)
    different = []
    deepest = stale = 0
    for step in range(0, len(trace), max(1, len(trace) // STEPS)):
        snapshot = trace.snapshot(step)
        said = unwind(snapshot)
        ours = tuple(frame.pc for frame in said.frames)[: libdw.MAX_FRAMES]
        expected = theirs.frames(snapshot)
        deepest = max(deepest, len(expected))
        if isinstance(said.stopped, UnknownRegister):
            stale += 1
            assert set(expected[len(ours) :]) == {ours[-1]}, "libdw repeats the frame whose link register is stale"
            expected = expected[: len(ours)]
        in_file = image_covering(trace.images, snapshot.pc) is not None  # elsewhere it follows the link register
        if ours != expected and in_file:
            different.append((step, [hex(pc) for pc in ours], [hex(pc) for pc in expected]))
    theirs.close()
    assert not different, f"{len(different)} steps differ, first: {different[0]}"
    assert stale <= len(trace) // 100, f"{stale} walks stopped at a link register that libdw took as it was"
    assert deepest > 1, "libdw found no caller anywhere: nothing was compared"
