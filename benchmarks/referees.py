"""Throughput: snapshots per second of every unwinder, ours and those of real unwinders, on one workload each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable, TableValue, spread
from benchmarks.workload import FOREVER, TARGETS, scale_for, workload
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.referee import present
from testbed.trace import Snapshot
from unwinders import UNWINDERS

STEPS = 20_000  # of the trace that the snapshots are taken from
OURS = ("eh_frame", "debug_frame", "ehabi", "prologue_analysis", "fp_chain", "stack_scan")


def referees(*, quick: bool, rounds: int) -> FigureTable:
    """Microseconds per snapshot, and snapshots per second; the baseline is the first unwinder of ours."""
    rows: list[tuple[TableValue, ...]] = []
    asked = [*(UNWINDERS[name] for name in OURS), *present().values()]
    for target in TARGETS[:1] if quick else TARGETS:
        built = workload(target, 1 if quick else scale_for(target, STEPS))
        trace = record(LoadedImage(built.image), budget=FOREVER)
        count = 10 if quick else 200
        snapshots = [trace.snapshot(step) for step in range(0, len(trace), max(1, len(trace) // count))]
        contenders = {
            unwinder.name: Contender(len(snapshots), over(snapshots, unwinder))
            for unwinder in asked
            if unwinder.applies_to(built.image)
        }
        for name, result in compare(contenders, rounds=rounds).items():
            micro = result.nanoseconds.scaled(1e-3)
            rate = 1e9 / result.nanoseconds.median
            rows.append((target.name, name, len(snapshots), round(rate), *spread(micro, result.ratio)))
    columns = ("target", "unwinder", "snapshots", "per second", "µs each", "range (µs)", "× first", "range (×)")
    notes = (
        "A real unwinder is asked as the matrix asks it: a library in a process of its own, with the registers and the "
        "stack in a message; a debugger as one process for the whole run. `judging` has the libraries by themselves.",
    )
    return FigureTable("referees", "Throughput of real unwinders beside our unwinders", columns, tuple(rows), notes)


def over(snapshots: Sequence[Snapshot], unwinder: Unwinder) -> Callable[[object], None]:
    """All snapshots, one after the other."""

    def run(_: object) -> None:
        for snapshot in snapshots:
            unwinder.unwind(snapshot)

    return run
