"""What one frame costs: our readable evaluator, our native kernel, and real unwinders, on the same snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.referees import over, taken
from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable, TableValue, spread
from benchmarks.workload import TARGETS, BenchmarkTarget, scale_for, workload
from testbed.contract.backtraces import Backtraces
from testbed.contract.frames import Backtrace
from testbed.referee.libdw import unwinder as libdw
from testbed.referee.libunwind import unwinder as libunwind
from testbed.referee.libunwind.unwinder import LibUnwind
from testbed.referee.llvm_libunwind import unwinder as llvm_libunwind
from testbed.referee.llvm_libunwind.unwinder import LlvmLibunwind
from testbed.trace import Snapshot, Trace
from unwinders.tables.eh_frame import EH_FRAME

KERNEL = "native kernel"
STEPS = 1_000_000  # of the trace that the snapshots are taken from

Frames = Callable[[Snapshot], tuple[int, ...]]


def judging(*, quick: bool, rounds: int) -> FigureTable:
    """Nanoseconds per frame of each evaluator, and how many times the first one's."""
    rows: list[tuple[TableValue, ...]] = []
    notes = (
        "A snapshot's frames are the interrupted one and every caller; all evaluators find the same. The libraries "
        "are called through ctypes and read registers and memory through Python callbacks, whose share was not "
        "measured apart: this is what asking them costs a program like this one, not how fast they are by themselves. "
        "The native kernel walks every step of the trace that the snapshots are from, and every frame of each counts: "
        "most of them it knows from the step before. A library that is not installed is left out; nongnu libunwind is "
        "asked on x86_64 only, for Debian's library of another architecture is for cross builds.",
    )
    for target in TARGETS[:1] if quick else TARGETS:
        scale = 1 if quick else scale_for(target, STEPS)
        built = workload(target, scale)
        if not EH_FRAME.applies_to(built.image):
            continue
        trace, snapshots = taken(built, 40 if quick else 1000)
        ways: dict[str, Frames] = {"specification evaluator": _specification}
        sessions = dict(_opened(target, trace))
        ways |= {f"{name} through ctypes": session.frames for name, session in sessions.items()}
        walked = _walked(trace)
        frames = _agreed(target, snapshots, {**ways, KERNEL: partial(_looked_up, walked)})
        contenders = {name: Contender(frames, partial(over, snapshots, way)) for name, way in ways.items()}
        contenders[KERNEL] = Contender(walked.frames, partial(_again, trace))
        measured = compare(contenders, rounds=rounds)
        for session in sessions.values():
            session.close()
        for name, result in measured.items():
            count, of = (len(trace), walked.frames) if name == KERNEL else (len(snapshots), frames)
            rows.append((target.name, name, count, of, *spread(result.nanoseconds, result.ratio)))
    columns = (
        "target",
        "evaluator",
        "snapshots",
        "frames",
        "ns per frame",
        "range (ns)",
        "× specification",
        "range (×)",
    )
    return FigureTable("judging", "Judging one frame", columns, tuple(rows), notes)


def _specification(snapshot: Snapshot) -> tuple[int, ...]:
    return _pcs(EH_FRAME.unwind(snapshot))


def _pcs(backtrace: Backtrace) -> tuple[int, ...]:
    return tuple(frame.pc for frame in backtrace.frames)


def _walked(trace: Trace) -> Backtraces:
    assert EH_FRAME.unwind_trace
    return EH_FRAME.unwind_trace(trace)


def _again(trace: Trace, _: object) -> Backtraces:
    return _walked(trace)


def _looked_up(walked: Backtraces, snapshot: Snapshot) -> tuple[int, ...]:
    assert snapshot.step is not None
    return _pcs(walked[snapshot.step])


def _opened(target: BenchmarkTarget, trace: Trace) -> Iterator[tuple[str, libdw.LibDw | LibUnwind | LlvmLibunwind]]:
    """The libraries that are installed, each with the files of a run."""
    if (library := libdw.load(libdw.library_file())) is not None:
        yield "libdw", libdw.LibDw(library, trace.images)
    if target.arch == libunwind.ARCH and (library := libunwind.load()) is not None:
        yield "libunwind", LibUnwind(library, trace.images)
    if (found := llvm_libunwind.find()) is not None:
        yield "LLVM libunwind", LlvmLibunwind(llvm_libunwind.load(found), trace.images)


def _agreed(target: BenchmarkTarget, snapshots: Sequence[Snapshot], ways: dict[str, Frames]) -> int:
    """The number of frames of all snapshots. Raises where two evaluators differ: their times would not compare."""
    total = 0
    for snapshot in snapshots:
        found = {name: way(snapshot) for name, way in ways.items()}
        if len(set(found.values())) != 1:
            raise RuntimeError(f"{target.name}, {snapshot}: the evaluators differ: {found}")
        total += len(next(iter(found.values())))
    return total
