"""Code in several ranges is recorded as in one, wherever it is cut, and what is forgotten is learnt anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unicorn.unicorn_const import UC_PROT_EXEC

from testbed.image import Image
from testbed.machine import record_light, start_machine
from testbed.machine.chunks import isa_bit
from testbed.machine.code_ranges import CodeRange
from testbed.machine.hooked_run import HookedRun
from testbed.machine.load import load
from testbed.machine.native import hooks
from testbed.machine.unicorn_arches import UNICORN
from testbed.native.compiled import VARIABLE
from tests.machine.loops import LOOPS
from tests.machine.snippets import image_of
from tests.machine.stores import STORES

ROOM = 1 << 14


def ready(image: Image) -> HookedRun:
    """A machine before its first step, with room for all of them."""
    run = HookedRun(start_machine(load(image), seed=1), lambda run, journal: None)
    run.grow_steps(ROOM)
    run.grow_writes(ROOM)
    run.begin(ROOM)
    return run


def rows_of(run: HookedRun) -> np.ndarray:
    run.go(run.machine.start)
    return np.array(run.rows.view(run.steps).reshape(-1, run.count))


def cut(run: HookedRun, width: int, *, writable: bool, every: int = 1) -> list[CodeRange]:
    """The machine's code in ranges of some bytes; with ``every``, one in so many of them, and no other."""
    end = run.code + run.code_size
    return [CodeRange(low, min(width, end - low), writable) for low in range(run.code, end, width * every)]


@pytest.mark.parametrize("isa", LOOPS)
@pytest.mark.parametrize(("width", "every"), [(1 << 20, 1), (40, 1), (4, 2), (8, 1)])
def test_ranges_change_nothing(isa: str, width: int, every: int) -> None:
    image = image_of(isa, LOOPS[isa])
    light = record_light(start_machine(load(image), seed=1), ROOM)
    run = ready(image)
    run.planned.plan(cut(run, width, writable=True, every=every))
    assert np.array_equal(rows_of(run), light.registers)
    known = [sets for sets in run.planned._planned.values() if sets.entries.any()]
    assert len(known) > (1 if width <= 40 else 0), "nothing was learnt"


@pytest.mark.parametrize("isa", STORES)
@pytest.mark.parametrize("jit", ["0", "1"])
def test_hooks_that_go_native_on_the_way_change_nothing(isa: str, jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where write sets are used by hooks in Python, for nothing is to be compiled."""
    monkeypatch.setenv(VARIABLE, jit)
    image = image_of(isa, STORES[isa])
    light = record_light(start_machine(load(image), seed=1), ROOM)
    for first in (1, 50, 131):

        def full(run: HookedRun, journal: bool) -> None:
            run.stop()
            run.limit_steps(run.steps + 1)

        run = HookedRun(start_machine(load(image), seed=1), full, natively=False)
        run.grow_steps(ROOM)
        run.grow_writes(ROOM)
        run.begin(ROOM)
        run.limit_steps(first)
        run.go(run.machine.start)
        pc = UNICORN[image.arch.name].registers[image.arch.pc]
        if run.last_pc() == run.machine.uc.reg_read(pc):
            run.drop_last()
        assert first <= run.steps < first + 8
        run.go_native()
        run.limit_steps(ROOM)
        run.go_on()
        run.go(run.machine.uc.reg_read(pc) | isa_bit(run.machine))
        assert np.array_equal(run.rows.view(run.steps).reshape(-1, run.count), light.registers)
        assert np.array_equal(run.journal[3].view(run.writes), light.writes.value)


def test_ranges_that_are_planned_once_more_stay_known() -> None:
    run = ready(image_of("x86_64", LOOPS["x86_64"]))
    before = cut(run, 2048, writable=False)
    run.planned.plan(before)
    run.go(run.machine.start)
    known = {span: sets.entries.copy() for span, sets in run.planned._planned.items()}
    assert any(entries.any() for entries in known.values())
    run.planned.plan([*before, CodeRange(0x1000, 64)])
    for span, entries in known.items():
        assert np.array_equal(run.planned._planned[span].entries, entries)
    assert run.state.range_count == 3


def test_what_is_forgotten_is_what_the_bytes_may_belong_to() -> None:
    run = ready(image_of("x86_64", STORES["x86_64"]))
    run.go(run.machine.start)
    (sets,) = run.planned._planned.values()
    known = np.flatnonzero(sets.entries)
    middle = run.code + int(known[len(known) // 2]) // 2
    run.planned.forget(middle, middle + 1)
    left = np.flatnonzero(sets.entries)
    gone = sorted(set((known // 2 + run.code).tolist()) - set((left // 2 + run.code).tolist()))
    assert middle in gone and all(middle - hooks.LONGEST < at <= middle for at in gone)


def test_code_far_away_takes_no_room() -> None:
    """As the page that the kernel has at the end of 32-bit ARM's memory: tables up to there would be all of it."""
    image = image_of("a32", LOOPS["a32"])
    before = ready(image).code_size
    machine = start_machine(load(image), seed=1)
    far = replace(next(m for m in machine.mappings if m.permissions & UC_PROT_EXEC), address=0xFFFF_0000)
    near = replace(far, address=0x0040_0000 + (1 << 22))
    for beside, size in ((far, before), (near, near.address + len(near.data) - ready(image).code)):
        run = HookedRun(replace(machine, mappings=(*machine.mappings, beside)), lambda run, journal: None)
        assert run.code_size == size
