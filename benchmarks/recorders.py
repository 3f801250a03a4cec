"""What recording costs (beside the emulator alone, by length, in memory), and what a whole trace does."""

from __future__ import annotations

import re
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable, TableValue, spread
from benchmarks.workload import FOREVER, TARGETS, BenchmarkTarget, machine, scale_for, steps, workload
from testbed.build import Built
from testbed.contract.unwinder import Backtraces, Unwinder
from testbed.image import Image, LoadedImage
from testbed.machine import record
from testbed.machine.recording import Recorder, record_chunks, record_light, record_native
from testbed.machine.start import Machine
from testbed.machine.stops import Stops
from testbed.runs.long import judge_long, watch_long
from testbed.trace import Exited, Trace
from testbed.trace.file import save_chunks, save_trace
from testbed.truth import Truth, observe
from testbed.verdicts.trace import judge_trace
from testbed.verdicts.verdict import Counts
from unwinders import UNWINDERS

PIECES = "native recorder, in pieces"
RECORDERS: Mapping[str, Recorder] = {"light recorder": record_light, "native recorder": record_native}


def run_unhooked(made: object) -> None:
    """The emulator alone; only the hooks that end the run, which fire once."""
    assert isinstance(made, Machine)
    stops = Stops(made)
    made.uc.emu_start(made.start, made.arch.word_mask - 3)
    assert stops.ending == Exited(0), stops.ending


def run_recorder(recorder: Recorder, made: object) -> None:
    """Record everything, all general registers and every write, as `testbed.machine.record` has it."""
    assert isinstance(made, Machine)
    assert recorder(made, FOREVER).ending == Exited(0)


def run_pieces(target: BenchmarkTarget, scale: int, _: object) -> None:
    """The same in pieces of one length, which are written over: what `testbed.runs.long` works on."""
    (last,) = deque(record_chunks(workload(target, scale).image, budget=FOREVER), maxlen=1)
    assert last.end == Exited(0)


def observed(trace: Trace, _: object) -> Truth:
    """The truth about a run."""
    return observe(trace)


def recording(*, quick: bool, rounds: int) -> FigureTable:
    """Nanoseconds per step of each way to record, and how many times slower than the emulator alone."""
    wanted = {"unhooked": 10**7, "light recorder": 200_000, "native recorder": 10**7, PIECES: 10**7}
    ways: dict[str, Callable[[object], None]] = {"unhooked": run_unhooked}
    ways |= {name: partial(run_recorder, recorder) for name, recorder in RECORDERS.items()}
    rows: list[tuple[TableValue, ...]] = []
    for target in TARGETS[:1] if quick else TARGETS:
        scales = {name: 1 if quick else scale_for(target, wanted[name]) for name in wanted}
        measured = compare(
            {
                name: Contender(steps(target, scales[name]), run, partial(machine, target, scales[name]))
                for name, run in ways.items()
            }
            | {PIECES: Contender(steps(target, scales[PIECES]), partial(run_pieces, target, scales[PIECES]))},
            rounds=rounds,
        )
        for name, result in measured.items():
            rows.append((target.name, name, steps(target, scales[name]), *spread(result.nanoseconds, result.ratio)))
    notes = [
        "Every way keeps all general registers before each instruction and every memory write, but the unhooked one: "
        "that is the emulator alone. The runs differ in length because their speeds differ by thousands; all are the "
        "same loop.",
        "The wide ranges of the native recorder come from new memory: it depends on whether the system still has the "
        "pages at hand (in a virtual machine: on its host). *In pieces*, every piece is written into the "
        "same memory, so that cost is paid once; the setting up of the machine is counted there, and only there.",
    ]
    columns = ("target", "way", "steps", "ns per step", "range (ns)", "× unhooked", "range (×)")
    return FigureTable("Recording", columns, tuple(rows), tuple(notes))


def _recorded(target: BenchmarkTarget, scale: int, recorder: Recorder) -> Trace:
    return record(LoadedImage(workload(target, scale).image), budget=FOREVER, recorder=recorder)


def scaling(*, quick: bool, rounds: int) -> FigureTable:
    """Nanoseconds per step of recording and of the truth, over runs of growing length."""
    target = TARGETS[0]
    lengths = (10_000, 100_000, 1_000_000, 10_000_000)[: 2 if quick else None]
    scales = [1 + i if quick else scale_for(target, n) for i, n in enumerate(lengths)]
    parts: dict[str, tuple[Sequence[int], Callable[[int], Callable[[object], object]]]] = {
        "light recorder": (scales[:3], lambda scale: partial(run_recorder, record_light)),
        "native recorder": (scales, lambda scale: partial(run_recorder, record_native)),
        PIECES: (scales, lambda scale: partial(run_pieces, target, scale)),
        # The truth is the same for all recorders; the fastest one makes the traces.
        "truth": (scales, lambda scale: partial(observed, _recorded(target, scale, record_native))),
    }
    rows: list[tuple[TableValue, ...]] = []
    for part, (here, run_of) in parts.items():
        prepared = {scale: partial(machine, target, scale) if part in RECORDERS else lambda: None for scale in here}
        contenders = {str(s): Contender(steps(target, s), run_of(s), prepared[s]) for s in here}
        for scale, result in zip(here, compare(contenders, rounds=rounds).values(), strict=True):
            rows.append((part, steps(target, scale), *spread(result.nanoseconds, result.ratio)))
    notes = (
        f"On {target.name}. The last two columns compare with the shortest run in the same round: 1 is flat. The "
        f"program repeats one round of {steps(target, 2) - steps(target, 1):,} steps.",
    )
    columns = ("part", "steps", "ns per step", "range (ns)", "× shortest", "range (×)")
    return FigureTable("Cost per step over the length of a run", columns, tuple(rows), notes)


def memory(*, quick: bool) -> FigureTable:
    """Bytes per step: of the finished trace, of the process at its peak, and of a file."""
    rows: list[tuple[TableValue, ...]] = []
    for target in TARGETS[:1] if quick else TARGETS:
        ways = [*((name, 1_000_000) for name in RECORDERS), (PIECES, 1_000_000), (PIECES, 10_000_000)]
        for name, wanted in ways[: -1 if quick else None]:
            scale = 1 if quick else scale_for(target, wanted)
            # A process of its own, started anew: what an earlier run left in this one would hide the peak.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                held, peak, disk = pool.submit(measure_memory, target, scale, name).result()
            count = steps(target, scale)
            rows.append((target.name, name, count, held / count, peak / count, peak / 1e6, disk / count))
    columns = (
        "target",
        "recorder",
        "steps",
        "trace (bytes per step)",
        "peak (bytes per step)",
        "peak (MB)",
        "file (bytes per step)",
    )
    notes = (
        "The trace is its columns: registers, instruction sizes, the journal of writes. The peak is how much the "
        "largest resident size of a process that only records exceeds its size before; in pieces it is the same "
        "however long the run is, and what is held is one piece.",
    )
    return FigureTable("Memory per step", columns, tuple(rows), notes)


def measure_memory(target: BenchmarkTarget, scale: int, name: str) -> tuple[int, int, int]:
    """(bytes of the trace's columns, growth of this process's largest resident size, bytes of a file)."""
    if name == PIECES:
        return _memory_of_pieces(target, scale)
    recorder = RECORDERS[name]
    _recorded(target, 1, recorder)  # libraries, and the emulator's own memory
    before = _largest()
    trace = _recorded(target, scale, recorder)
    grown = _largest() - before
    writes = trace.writes
    columns = (trace.registers, trace.sizes, writes.step, writes.address, writes.size, writes.value)
    with tempfile.TemporaryDirectory(prefix="testbed-") as folder:
        path = Path(folder) / "trace"
        save_trace(trace, path)
        return sum(column.nbytes for column in columns), grown, path.stat().st_size


def _memory_of_pieces(target: BenchmarkTarget, scale: int) -> tuple[int, int, int]:
    image = workload(target, scale).image
    list(record_chunks(workload(target, 1).image, budget=FOREVER))
    before, held = _largest(), 0
    for chunk in record_chunks(image, budget=FOREVER):
        held = max(held, chunk.table.nbytes + chunk.lengths.nbytes + 21 * len(chunk.trace.writes))
    grown = _largest() - before
    with tempfile.TemporaryDirectory(prefix="testbed-") as folder:
        path = Path(folder) / "trace"
        save_chunks(record_chunks(image, budget=FOREVER), path)
        return held, grown, path.stat().st_size


def _largest() -> int:
    """The largest resident size of this process until now, in bytes; 0 where the system does not say.

    Not `getrusage`: Linux lets a new process start with the largest size of the one that started it.
    """
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(encoding="utf-8"), re.M) if status.is_file() else None
    return int(found[1]) * 1024 if found else 0


# What a whole trace costs: recording it, the truth about it, two row unwinders walked and judged at every step.

STEPS = 10_000_000
TABLES = ("eh_frame", "debug_frame")  # the unwinder by tables: the first that the file has the section for
CHAIN = "fp_chain"
ALL_IN_PIECES = "all of it in pieces"


def traces(*, quick: bool, rounds: int) -> FigureTable:
    """Nanoseconds per step, and per frame of each step, of every part; and all of them together in steps per second."""
    rows: list[tuple[TableValue, ...]] = []
    name, recorder = list(RECORDERS.items())[-1]
    for plain in TARGETS[:1] if quick else TARGETS:
        target = replace(plain, recipe=f"{plain.recipe}-fp")  # frame pointers: the chain has something to do
        scale = 1 if quick else scale_for(target, STEPS)
        image = workload(target, scale).image
        trace = _record(image, recorder)
        truth = observe(trace)
        tables = next(UNWINDERS[name] for name in TABLES if UNWINDERS[name].applies_to(image))
        parts: dict[str, Callable[[object], object]] = {
            f"record ({name})": partial(_record, image, recorder),
            "truth": partial(observed, trace),
        }
        frames: dict[str, int] = {}
        for unwinder in (tables, UNWINDERS[CHAIN]):
            walked = _walk(unwinder, trace)
            frames[f"walk {unwinder.name}"] = frames[f"judge {unwinder.name}"] = walked.frames
            parts[f"walk {unwinder.name}"] = partial(_walk, unwinder, trace)
            parts[f"judge {unwinder.name}"] = partial(_judge, truth, walked, unwinder)
        measured = compare({part: Contender(len(trace), run) for part, run in parts.items()}, rounds=rounds)
        for part, result in measured.items():
            each = result.nanoseconds.median * len(trace) / frames[part] if part in frames else None
            rows.append((plain.name, part, len(trace), *spread(result.nanoseconds), each))
        built = workload(target, scale)
        two = (tables, UNWINDERS[CHAIN])
        pieces = compare({ALL_IN_PIECES: Contender(len(trace), partial(_in_pieces, built, two))}, rounds=rounds)
        rows.append((plain.name, ALL_IN_PIECES, len(trace), *spread(pieces[ALL_IN_PIECES].nanoseconds), None))
        total = sum(result.nanoseconds.median for result in measured.values())
        rows.append((plain.name, f"all: {1000 / total:.2f} M steps/s", len(trace), total, "-", None))
    notes = (
        "Programs with frame pointers (-O2). A frame of every step counts, the interrupted one and all callers. "
        "Judging compares the pc of every frame, its CFA and its registers with the truth, and looks for what explains "
        "a difference; the unwinder's limits are the declared ones. *In pieces* is all of it together, memory bounded "
        "by two pieces: each is judged by what is known then, and again if its end turns out to say more.",
    )
    columns = ("target", "part", "steps", "ns per step", "range (ns)", "ns per frame")
    return FigureTable("A whole trace", columns, tuple(rows), notes)


def _in_pieces(built: Built, unwinders: tuple[Unwinder, ...], _: object) -> tuple[Counts, ...]:
    return judge_long(watch_long(built, budget=FOREVER, judging=unwinders), unwinders)


def _record(image: Image, recorder: Recorder, _: object = None) -> Trace:
    return record(LoadedImage(image), budget=FOREVER, recorder=recorder)


def _walk(unwinder: Unwinder, trace: Trace, _: object = None) -> Backtraces:
    assert unwinder.unwind_trace
    return unwinder.unwind_trace(trace)


def _judge(truth: Truth, walked: Backtraces, unwinder: Unwinder, _: object) -> Counts:
    return judge_trace(truth, walked, unwinder).counts()
