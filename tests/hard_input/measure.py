"""What reading one file costs: CPU time and memory of a process of its own, and how it ended."""

from __future__ import annotations

import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import testbed.foreign
import testbed.image.debug.entries
import testbed.image.debug.functions
import testbed.image.macho
import testbed.trace.file  # noqa: F401 - what the readers import is no cost of the file
from testbed.words.errors import BudgetExceeded, TableTooCostly, TestbedError, UnwindError
from tests.hard_input.catalogue import WORST
from unwinders import UNWINDERS

HUNG = 300.0  # seconds of wall-clock time


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, and bytes of memory beyond those of the interpreter with its modules; what was said."""

    seconds: float
    memory: int
    outcome: str


def cost_of(number: int, path: Path) -> Cost:
    """The cost of ``WORST[number].read(path)``. Raises where the process says nothing."""
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_measured, number, path).result(HUNG)


def _measured(number: int, path: Path) -> Cost:
    list(UNWINDERS.values())  # they are imported when they are asked for
    before, started = _peak(), time.process_time()
    try:
        held = WORST[number].read(path)
        stopped = getattr(held, "stopped", None)
        outcome = "read" if stopped is None else f"stopped: {type(stopped).__name__}: {str(stopped)[:100]}"
    except (BudgetExceeded, TableTooCostly) as error:
        why = error.why if isinstance(error, TableTooCostly) else error
        outcome = f"refused: {why.kind}"
    except (TestbedError, UnwindError) as error:
        outcome = f"{type(error).__name__}: {str(error)[:160]}"
    return Cost(time.process_time() - started, max(0, _peak() - before), outcome)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
