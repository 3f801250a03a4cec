"""Throughput of unwinders in other languages: the examples of `testbed protocol`, each one process, beside our own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.referees import STEPS, over
from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable, TableValue, spread
from benchmarks.workload import FOREVER, TARGETS, scale_for, workload
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.protocol.example import EXAMPLES, Example, write_example
from testbed.protocol.foreign_unwinder import foreign_unwinder
from unwinders import UNWINDERS

OURS = "fp_chain"  # the same technique, in this process


def protocol(*, quick: bool, rounds: int) -> FigureTable:
    """Microseconds per snapshot, and snapshots per second: what is written, asked, answered and read."""
    rows: list[tuple[TableValue, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        foreign = list(_built(Path(folder)))
        for target in TARGETS[:1] if quick else TARGETS:
            built = workload(target, 1 if quick else scale_for(target, STEPS))
            trace = record(LoadedImage(built.image), budget=FOREVER)
            count = 10 if quick else 1000
            snapshots = [trace.snapshot(step) for step in range(0, len(trace), max(1, len(trace) // count))]
            asked = [each for each in (UNWINDERS[OURS], *foreign) if each.applies_to(built.image)]
            contenders = {each.name: Contender(len(snapshots), over(snapshots, each)) for each in asked}
            if len(contenders) > 1:
                for name, result in compare(contenders, rounds=rounds).items():
                    micro, rate = result.nanoseconds.scaled(1e-3), round(1e9 / result.nanoseconds.median)
                    rows.append((target.name, name, len(snapshots), rate, *spread(micro, result.ratio)))
    columns = ("target", "unwinder", "snapshots", "per second", "µs each", "range (µs)", "× first", "range (×)")
    notes = (
        f"All of them follow frame pointers. `{OURS}` is called in this process; of the others each snapshot is a line "
        "to a process of theirs, and a line back (`docs/protocol.md`), one after the other.",
    )
    return FigureTable("protocol", "Throughput of unwinders in other languages", columns, tuple(rows), notes)


def _built(folder: Path) -> Iterator[Unwinder]:
    """The examples whose compilers are installed."""
    for example in EXAMPLES.values():
        place = folder / example.language
        write_example(example, place)
        compiler = _compiler(example)
        if compiler is None:
            continue
        if example.build:
            subprocess.run([compiler, *example.build.split()[1:]], cwd=place, check=True, capture_output=True)
        yield foreign_unwinder(
            [str(place / word) if (place / word).exists() else word for word in example.command.split()]
        )


def _compiler(example: Example) -> str | None:
    return shutil.which(example.compiler) or shutil.which(example.compiler, path=str(Path.home() / ".cargo" / "bin"))
