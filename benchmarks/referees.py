"""Throughput: snapshots per second of every unwinder, ours and those of real unwinders, on one workload each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

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
    asked = [*(UNWINDERS[name] for name in OURS), *present().values()]
    note = (
        "A real unwinder is asked as the matrix asks it: a library in a process of its own, with the registers and the "
        "stack in a message; a debugger as one process for the whole run."
    )
    rows = throughput(asked, 10 if quick else 200, quick=quick, rounds=rounds)
    return FigureTable("referees", "Throughput of real unwinders beside our unwinders", COLUMNS, rows, (note,))


COLUMNS = ("target", "unwinder", "snapshots", "per second", "µs each", "range (µs)", "× first", "range (×)")


def throughput(
    unwinders: Iterable[Unwinder], count: int, *, quick: bool, rounds: int
) -> tuple[tuple[TableValue, ...], ...]:
    """The rows under `COLUMNS`: some unwinders, asked at so many snapshots of the workload of each target."""
    rows: list[tuple[TableValue, ...]] = []
    for target in TARGETS[:1] if quick else TARGETS:
        built = workload(target, 1 if quick else scale_for(target, STEPS))
        trace = record(LoadedImage(built.image), budget=FOREVER)
        snapshots = [trace.snapshot(step) for step in range(0, len(trace), max(1, len(trace) // count))]
        asked = [each for each in unwinders if each.applies_to(built.image)]
        contenders = {each.name: Contender(len(snapshots), partial(over, snapshots, each.unwind)) for each in asked}
        for name, result in compare(contenders, rounds=rounds).items():
            micro, rate = result.nanoseconds.scaled(1e-3), round(1e9 / result.nanoseconds.median)
            rows.append((target.name, name, len(snapshots), rate, *spread(micro, result.ratio)))
    return tuple(rows)


def over(snapshots: Sequence[Snapshot], unwind: Callable[[Snapshot], object], _: object) -> None:
    """All snapshots, one after the other."""
    for snapshot in snapshots:
        unwind(snapshot)
