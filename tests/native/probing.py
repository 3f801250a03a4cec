"""Asks compiled functions of a copy of the project what they see of each native module, a process for each answer.

Run with the folder of the copy. Each line read is the name of a probe: a module with a compiled function ``probe``.
The line written is its value, and how often its machine code came from the disk. The compiler is loaded once, the copy
anew by each process.
"""

import importlib
import os
import sys
from pathlib import Path

import capstone  # noqa: F401 - slow to load, and the same for all
import elftools  # noqa: F401
import numba
import unicorn  # noqa: F401


def main() -> None:
    sys.dont_write_bytecode = True  # it would pass for that of a source as long, changed in the same second
    sys.path.insert(0, str(Path(sys.argv[1])))
    numba.njit(lambda number: number + 1)(1)  # the compiler loads much of itself when it is first used
    for line in sys.stdin:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        try:
            probe = importlib.import_module(line.strip()).probe
            probe = importlib.import_module("testbed.native.compiled").native(probe)
            print(probe(), sum(probe.stats.cache_hits.values()), flush=True)
        except BaseException as error:
            print(repr(error), flush=True)
        finally:
            os._exit(0)


if __name__ == "__main__":
    main()
