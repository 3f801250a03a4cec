"""What one frame costs: our readable evaluator, our native kernel, and real unwinders, on the same snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable, TableValue, spread
from benchmarks.workload import FOREVER, TARGETS, BenchmarkTarget, scale_for, workload
from testbed.contract.backtraces import Backtraces
from testbed.contract.frames import Backtrace
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.referee.libdw import unwinder as libdw
from testbed.referee.libdw import unwinder as libdw_library
from testbed.referee.libunwind import unwinder as libunwind
from testbed.referee.libunwind import unwinder as libunwind_library
from testbed.referee.llvm_libunwind import unwinder as llvm_libunwind
from testbed.trace import Snapshot, Trace
from unwinders.tables.eh_frame import EH_FRAME

KERNEL = "native kernel"
STEPS = 1_000_000  # of the trace that the snapshots are taken from

Frames = Callable[[Snapshot], tuple[int, ...]]


def judging(*, quick: bool, rounds: int) -> FigureTable:
    """Nanoseconds per frame of each evaluator, and how many times the first one's."""
    rows: list[tuple[TableValue, ...]] = []
    notes = [
        "A snapshot's frames are the interrupted one and every caller; all evaluators find the same. The libraries "
        "are called through ctypes and read registers and memory through Python callbacks, whose share was not "
        "measured apart: this is what asking them costs a program like this one, not how fast they are by themselves. "
        "The native kernel walks every step of the trace that the snapshots are from, and every frame of each counts: "
        "most of them it knows from the step before."
    ]
    for target in TARGETS[:1] if quick else TARGETS:
        scale = 1 if quick else scale_for(target, STEPS)
        built = workload(target, scale)
        if not EH_FRAME.applies_to(built.image):
            continue
        trace = record(LoadedImage(built.image), budget=FOREVER)
        count = 40 if quick else 1000
        snapshots = [trace.snapshot(step) for step in range(0, len(trace), max(1, len(trace) // count))]
        ways: dict[str, Frames] = {"specification evaluator": _specification}
        close: list[Callable[[], None]] = []
        for name, opened in (("libdw", _libdw), ("libunwind", _libunwind), ("LLVM libunwind", _llvm)):
            found = opened(target, trace)
            if isinstance(found, str):
                notes.append(found)
            else:
                ways[f"{name} through ctypes"], closing = found
                close.append(closing)
        walked = _walked(trace)
        frames = _agreed(target, snapshots, {**ways, KERNEL: partial(_looked_up, walked)})
        contenders = {name: Contender(frames, _over(snapshots, way)) for name, way in ways.items()}
        contenders[KERNEL] = Contender(walked.frames, partial(_again, trace))
        measured = compare(contenders, rounds=rounds)
        for closing in close:
            closing()
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
    return FigureTable("judging", "Judging one frame", columns, tuple(rows), tuple(dict.fromkeys(notes)))


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


Opened = tuple[Frames, Callable[[], None]]


def _libdw(target: BenchmarkTarget, trace: Trace) -> Opened | str:
    library = libdw_library.load()
    if library is None:
        return "libdw is not installed (Debian package libdw1): its rows are left out."
    session = libdw.LibDw(library, trace.images)
    return session.frames, session.close


def _libunwind(target: BenchmarkTarget, trace: Trace) -> Opened | str:
    if target.arch != libunwind_library.ARCH:
        return "libunwind is asked on x86_64 only: Debian's library of another architecture is for cross builds."
    library = libunwind_library.load()
    if library is None:
        return "nongnu libunwind is not installed (Debian package libunwind8): its rows are left out."
    session = libunwind.LibUnwind(library, trace.images)
    return session.frames, session.close


def _llvm(target: BenchmarkTarget, trace: Trace) -> Opened | str:
    found = llvm_libunwind.find()
    if found is None:
        return "ziglang is not installed: its rows are left out."
    session = llvm_libunwind.LlvmLibunwind(llvm_libunwind.load(found), trace.images)
    return session.frames, session.close


def _agreed(target: BenchmarkTarget, snapshots: Sequence[Snapshot], ways: dict[str, Frames]) -> int:
    """The number of frames of all snapshots. Raises where two evaluators differ: their times would not compare."""
    total = 0
    for snapshot in snapshots:
        found = {name: way(snapshot) for name, way in ways.items()}
        if len(set(found.values())) != 1:
            raise RuntimeError(f"{target.name}, {snapshot}: the evaluators differ: {found}")
        total += len(next(iter(found.values())))
    return total


def _over(snapshots: Sequence[Snapshot], way: Frames) -> Callable[[object], None]:
    def run(_: object) -> None:
        for snapshot in snapshots:
            way(snapshot)

    return run
