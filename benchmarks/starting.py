"""What commands cost as whole processes: those that only start, one program cold and warm, and `testbed matrix`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.rounds import Contender, children_ns, compare
from benchmarks.table import Table, spread
from testbed.words.files import cache_folder

TESTBED = ("-m", "testbed.cli")
RUN = (*TESTBED, "run", "leaf_call", "--arch", "arm64")


def starting(*, quick: bool, rounds: int) -> Table:
    """Milliseconds of processor time per process, and how many times those of a Python that does nothing."""
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        place = Path(name)
        contenders = {
            "python -c pass": Contender(1, _process(place / "warm", "-c", "pass")),
            "import testbed": Contender(1, _process(place / "warm", "-c", "import testbed")),
            "testbed --help": Contender(1, _process(place / "warm", *TESTBED, "--help")),
            "testbed list arches": Contender(1, _process(place / "warm", *TESTBED, "list", "arches")),
            "testbed run leaf_call, one strategy, warm": Contender(
                1, _process(place / "warm", *RUN, "--unwinder", "fp_chain")
            ),
            "testbed run leaf_call, warm": Contender(1, _process(place / "warm", *RUN)),
        }
        if not quick:
            contenders["testbed run leaf_call, cold"] = Contender(1, _cold(place))
        measured = compare(contenders, rounds=rounds, clock=children_ns)
    rows = tuple((name, *spread(m.nanoseconds.scaled(1e-6), m.ratio)) for name, m in measured.items())
    columns = ("process", "ms", "range (ms)", "× empty Python", "range (×)")
    notes = (
        "Processor time, user and system. Warm: the program is built, and byte code and compiled kernels are on disk. "
        "Cold: the program is not built and kernels are not compiled, in a cache folder of its own for every start. "
        "The operating system has read all files before in both cases.",
    )
    return Table("starting", "Starting", columns, rows, notes)


def matrices(*, quick: bool, rounds: int) -> Table:
    """Seconds of a matrix that has nothing to judge, and of one that has built files only."""
    chosen = ("-p", "leaf_call") if quick else ()
    with tempfile.TemporaryDirectory(prefix="testbed-") as name:
        cache = Path(name)
        for built in cache_folder().glob("*.elf*"):  # what is built already need not be built once more
            shutil.copy(built, cache)
        run = _process(cache, "-m", "testbed.cli", "matrix", *chosen)
        run(None)  # builds

        def forget() -> None:
            shutil.rmtree(cache / "judged", ignore_errors=True)

        def keep() -> None:
            if not (cache / "judged").is_dir():
                run(None)

        measured = compare(
            {"nothing changed": Contender(1, run, keep), "everything judged": Contender(1, run, forget)}, rounds=rounds
        )
        files = len(list(cache.glob("*.elf")))
    rows = tuple((name, files, *spread(m.nanoseconds.scaled(1e-9), m.ratio)) for name, m in measured.items())
    columns = ("matrix", "built files", "s", "range (s)", "× unchanged", "range (×)")
    notes = (f"All files are built already; {os.cpu_count()} processes, one a core.",)
    return Table("matrices", "The matrix", columns, rows, notes)


def _process(cache: Path, *arguments: str) -> Callable[[object], None]:
    # Without byte code on disk every start would compile all it loads.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"TESTBED_CACHE": str(cache), "NO_COLOR": "1"}

    def run(_: object) -> None:
        subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)

    return run


def _cold(place: Path) -> Callable[[object], None]:
    def run(_: object) -> None:
        _process(Path(tempfile.mkdtemp(dir=place)), *RUN)(_)

    return run
