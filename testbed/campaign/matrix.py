"""The matrix: every unwinder at every site of every program, on every architecture, by every recipe.

Units are independent, so they are judged in parallel processes; results come as they are ready. What goes wrong with a
unit is that unit's result.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from testbed.campaign.cells import Cell, Unit, UnitResult, cell_of, run_unit
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.runs.run import Run, judge_all
from testbed.words.errors import TestbedError, ToolchainMissing

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Job = TypeVar("Job")
Done = TypeVar("Done")
NATIVE_UNITS = 32  # for each process: judging fewer takes less time than loading the native walk


def judge_unit(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> UnitResult:
    """Everything about one unit, with every failure as a value: this runs in worker processes.

    ``natively`` is that of `judge_all`. An unwinder that crashes makes the unit a failed one, and has no cell; those of
    the others are there.
    """
    run = run_or_why_not(unit, programs, fresh=fresh)
    if isinstance(run, UnitResult):
        return run

    def judged(unwinder: Unwinder) -> Cell:
        return cell_of(run, unwinder, judge_all(run, unwinder, natively=natively))

    return all_cells(unit, run, unwinders, judged)


def all_cells(unit: Unit, run: Run, unwinders: Sequence[Unwinder], cell: Callable[[Unwinder], Cell]) -> UnitResult:
    """A unit's result: the cell of every unwinder that applies; one that crashes costs nobody else's cell."""
    cells, crashes = [], []
    for unwinder in unwinders:
        try:
            if unwinder.applies_to(run.built.image):
                cells.append(cell(unwinder))
        except Exception:  # the unwinder's own bug costs its own cell only
            crashes.append(f"{unwinder.name} crashed\n{traceback.format_exc()}")
    return UnitResult(unit, tuple(cells), len(run), failed="\n".join(crashes), tools=run.built.tools)


def run_or_why_not(unit: Unit, programs: Mapping[str, Program], *, fresh: bool = False) -> Run | UnitResult:
    """A unit's run, or a result without cells that says why there is none."""
    try:
        return run_unit(unit, programs, fresh=fresh)
    except ToolchainMissing as missing:
        return UnitResult(unit, skipped=str(missing))
    except TestbedError as error:
        return UnitResult(unit, failed=str(error))
    except Exception:  # a bug of the testbed or of a tool: it is this unit's, the matrix goes on
        return UnitResult(unit, failed=f"it cannot be run\n{traceback.format_exc()}")


def unit_died(unit: Unit) -> UnitResult:
    """The result of a unit over which its process died."""
    return UnitResult(unit, failed=DIED)


def native_for(units: int, jobs: int = 1) -> bool | None:
    """``natively`` of `judge_all` for so many units: True where a process has many, else None: each run decides."""
    return True if units >= NATIVE_UNITS * max(jobs, 1) else None


def judge_units(
    planned: Sequence[Job],
    work: Callable[[Job], Done],
    *,
    jobs: int,
    died: Callable[[Job], Done] | None = None,
) -> Iterator[Done]:
    """Judge units in ``jobs`` processes (1: in this one), yielding results as they are ready.

    The workers are forked and inherit ``work``, which may be any function; jobs and results are sent by value. Closing
    the iterator, or an interrupt, cancels what has not started. A worker that is killed takes the others of its pool
    along: what they were at is judged anew, one after the other. Where one dies again over the same unit, ``died``
    makes the result; without it the end is a TestbedError, after all others.
    """
    if jobs <= 1:
        yield from map(work, planned)
        return
    lost: list[Job] = []
    yield from _in_pool(planned, work, jobs, lost)
    dead: list[str] = []
    for job in list(lost):
        again: list[Job] = []
        yield from _in_pool([job], work, 1, again)
        if again and died is not None:
            yield died(job)
        elif again:
            dead.append(str(job))
    if dead:
        raise TestbedError(f"{', '.join(dead)}: {DIED}")


DIED = "the process that worked at it died, and died again when it was tried alone: is there enough memory?"


def _in_pool(planned: Sequence[Job], work: Callable[[Job], Done], jobs: int, lost: list[Job]) -> Iterator[Done]:
    """The results of one pool; jobs whose process died without one are added to ``lost``."""
    from concurrent.futures import BrokenExecutor  # one unit needs no processes

    from testbed.checks.workers import as_finished, interrupts_held, worker_pool

    # What a fork's function and its arguments are, is inherited, never sent: unwinders hold functions without a name.
    pool = worker_pool(jobs, partial(_begin, work))
    pending: dict[Future[Done], Job] = {}
    try:
        with interrupts_held():
            for job in planned:
                try:
                    pending[pool.submit(_do, job)] = job
                except BrokenExecutor:
                    lost.append(job)
        for future in as_finished(list(pending)):
            job = pending.pop(future)  # the result goes with it
            try:
                result = future.result()
            except BrokenExecutor:
                lost.append(job)
            else:
                yield result
    finally:
        # What runs is waited for, a unit is short: a pool left to the interpreter's exit may die there, noisily.
        pool.shutdown(wait=True, cancel_futures=True)


def judge_units_by(
    executor: Executor, planned: Sequence[Job], work: Callable[[Job], Done], died: Callable[[Job], Done]
) -> Iterator[Done]:
    """Judge units by an executor; ``work`` and units are sent by value, results come as they are ready.

    Each comes once. A unit over which several of its processes died is judged in one more, a fork of this one; where
    that dies too, ``died`` says what its result is.
    """
    from concurrent.futures import BrokenExecutor

    from testbed.checks.workers import as_finished, interrupts_held

    with interrupts_held():
        pending = {executor.submit(work, job): job for job in planned}
    for future in as_finished(list(pending)):
        job = pending.pop(future)
        try:
            yield future.result()
        except BrokenExecutor:
            again: list[Job] = []
            yield from _in_pool([job], work, 1, again)
            yield from map(died, again)


_work: Callable[[Any], Any]  # in a worker: what it does with its jobs


def _begin(work: Callable[[Any], Any]) -> None:
    """Ctrl-C reaches the whole process group: the workers leave it to us and finish the unit they are at."""
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = work


def _do(job: Any) -> Any:
    return _work(job)
