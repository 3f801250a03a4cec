"""What reading one file costs: CPU time and memory of a process of its own, and how it ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.hard_input.catalogue import WORST

HUNG = 300.0  # seconds of wall-clock time


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, and bytes of memory beyond those of the interpreter with its modules; what was said."""

    seconds: float
    memory: int
    outcome: str


def cost_of(number: int, path: Path) -> Cost:
    """The cost of ``WORST[number].read(path)``. Raises AssertionError where the process says nothing."""
    command = [sys.executable, "-m", "tests.hard_input.measure", str(number), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HUNG, check=False, env=dict(os.environ))
    assert done.returncode == 0, f"{WORST[number].name}: {done.returncode}\n{done.stderr[-2000:]}"
    said = json.loads(done.stdout.splitlines()[-1])
    return Cost(said["seconds"], said["memory"], said["outcome"])


def _measured(number: int, path: Path) -> dict[str, object]:
    import resource
    import time

    from testbed.words.errors import BudgetExceeded, TableTooCostly, TestbedError, UnwindError

    worst = WORST[number]
    _warm(worst.reader)
    before, started = _peak(), time.process_time()
    held: object = None
    try:
        held = worst.read(path)
        outcome = "read"
        stopped = getattr(held, "stopped", None)
        if stopped is not None:
            outcome = f"stopped: {type(stopped).__name__}: {str(stopped)[:100]}"
    except (BudgetExceeded, TableTooCostly) as error:
        why = error.why if isinstance(error, TableTooCostly) else error
        outcome = f"refused: {why.kind}"
    except (TestbedError, UnwindError) as error:
        outcome = f"{type(error).__name__}: {str(error)[:160]}"
    seconds = time.process_time() - started
    del held
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "memory": max(0, peak - before), "outcome": outcome}


def _peak() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _warm(reader: str) -> None:
    """Import what the reader imports: that is no cost of the file."""
    import testbed.foreign
    import testbed.image.debug.entries
    import testbed.image.debug.functions
    import testbed.image.macho
    import testbed.trace.file  # noqa: F401
    from unwinders import UNWINDERS

    if reader in ("instructions", "expressions of a stack") or reader.startswith("."):
        list(UNWINDERS.values())


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]), Path(sys.argv[2]))))
