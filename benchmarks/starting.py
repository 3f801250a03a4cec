"""What commands cost as whole processes: those that only start, one program cold and warm, and `testbed matrix`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.rounds import Contender, children_ns, compare
from benchmarks.table import FigureTable, spread

TESTBED = ("-m", "testbed.cli")
RUN = (*TESTBED, "run", "leaf_call", "--arch", "arm64")
ROOT = Path(__file__).parents[1]
MILLION = 104  # rounds of the workload: a million steps


def starting(*, quick: bool, rounds: int) -> FigureTable:
    """Milliseconds of processor time per process, and how many times those of a Python that does nothing."""
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        place = Path(name)
        contenders = {
            "python -c pass": Contender(1, _process(place / "warm", "-c", "pass")),
            "import testbed": Contender(1, _process(place / "warm", "-c", "import testbed")),
            "testbed --help": Contender(1, _process(place / "warm", *TESTBED, "--help")),
            "testbed list arches": Contender(1, _process(place / "warm", *TESTBED, "list", "arches")),
            "testbed run leaf_call, one unwinder, warm": Contender(
                1, _process(place / "warm", *RUN, "--unwinder", "fp_chain")
            ),
            "testbed run leaf_call, warm": Contender(1, _process(place / "warm", *RUN)),
        }
        if not quick:
            contenders["testbed run leaf_call, cold"] = Contender(1, _cold(place, *RUN))
        measured = compare(contenders, rounds=rounds, clock=children_ns)
    rows = tuple((name, *spread(m.nanoseconds.scaled(1e-6), m.ratio)) for name, m in measured.items())
    columns = ("process", "ms", "range (ms)", "× empty Python", "range (×)")
    notes = (
        "Processor time, user and system. Warm: the program is built, and byte code and compiled kernels are on disk. "
        "Cold: the program is not built and kernels are not compiled, in a cache folder of its own for every start. "
        "The operating system has read all files before in both cases.",
    )
    return FigureTable("Starting", columns, rows, notes)


def first_uses(*, quick: bool, rounds: int) -> FigureTable:
    """Seconds of processor time of a command with an empty cache, and of one that finds all there."""
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        place = Path(name)
        million = place / "million.c"
        million.write_text(f"#define SCALE {MILLION}\n{(ROOT / 'benchmarks' / 'workload.c').read_text()}")
        commands = {
            "run leaf_call --arch arm64": RUN,
            "check docs/examples/sum.S --arch arm64": (
                *(*TESTBED, "check", str(ROOT / "docs" / "examples" / "sum.S")),
                *("--arch", "arm64"),
            ),
            "score -u fp_chain -a arm64": (*TESTBED, "score", "-u", "fp_chain", "-a", "arm64"),
            "run /bin/true": (*TESTBED, "run", "/bin/true"),
            "run, a million steps": (*TESTBED, "run", str(million), "--arch", "x86_64"),
        }
        rows = []
        for command, arguments in list(commands.items())[: 2 if quick else None]:
            uses = {"later": _process(place / command.replace("/", "_"), *arguments), "first": _cold(place, *arguments)}
            measured = compare(
                {each: Contender(1, run) for each, run in uses.items()}, rounds=rounds, clock=children_ns
            )
            rows += [
                (f"{command}: {each}", *spread(m.nanoseconds.scaled(1e-9), m.ratio)) for each, m in measured.items()
            ]
    columns = ("use", "s", "range (s)", "× a later one", "range (×)")
    notes = (
        "Processor time of all processes. A first use finds an empty cache: files are built, kernels are compiled.",
    )
    return FigureTable("First uses", columns, tuple(rows), notes)


def _process(cache: Path, *arguments: str) -> Callable[[object], None]:
    # Without byte code on disk every start would compile all it loads.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"TESTBED_CACHE": str(cache), "NO_COLOR": "1"}

    def run(_: object) -> None:
        done = subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode in (0, 1), done  # 1: a wrong row was found

    return run


def _cold(place: Path, *arguments: str) -> Callable[[object], None]:
    def run(_: object) -> None:
        _process(Path(tempfile.mkdtemp(dir=place)), *arguments)(_)

    return run
