"""The native recorder: what `record_light` records, some hundred times faster, for runs of millions of steps.

The hooks are compiled once and kept on disk; nothing imports this module before a run is long.
"""

from __future__ import annotations

from testbed.machine.native.run import MOST_STEPS, NativeRun
from testbed.machine.start import Machine
from testbed.machine.tape import Tape
from testbed.trace import Writes

CHUNK = 1 << 22  # steps, and writes, that room is made for at first; then it is doubled


def record_native(machine: Machine, budget: int) -> Tape:
    """Run a machine to its end, or for ``budget`` steps, with compiled hooks."""

    def grow(run: NativeRun, journal: bool) -> None:
        if journal:
            run.grow_writes(max(2 * run.writes, CHUNK))
        else:
            run.grow_steps(min(max(2 * run.steps, CHUNK), budget, MOST_STEPS))

    run = NativeRun(machine, grow)
    run.begin(budget)
    status = run.go(machine.start)
    steps, writes = run.steps, run.writes
    return Tape(
        run.rows.filled(steps).reshape(-1, run.count),
        run.sizes.filled(steps),
        Writes(*(column.filled(writes) for column in run.journal)),
        run.ending(status, budget),
    )
