"""Throughput of unwinders in other languages: the examples of `testbed protocol`, each one process, beside our own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.referees import COLUMNS, throughput
from benchmarks.table import FigureTable
from testbed.contract.unwinder import Unwinder
from testbed.protocol.example import EXAMPLES, Example, write_example
from testbed.protocol.foreign_unwinder import foreign_unwinder
from unwinders import UNWINDERS

OURS = "fp_chain"  # the same technique, in this process


def protocol(*, quick: bool, rounds: int) -> FigureTable:
    """Microseconds per snapshot, and snapshots per second: what is written, asked, answered and read."""
    with tempfile.TemporaryDirectory() as folder:
        asked = (UNWINDERS[OURS], *_built(Path(folder)))
        rows = throughput(asked, 10 if quick else 1000, quick=quick, rounds=rounds)
    notes = (
        f"All of them follow frame pointers. `{OURS}` is called in this process; of the others each snapshot is a line "
        "to a process of theirs, and a line back (`docs/protocol.md`), one after the other.",
    )
    return FigureTable("protocol", "Throughput of unwinders in other languages", COLUMNS, rows, notes)


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
