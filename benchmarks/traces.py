"""What a whole trace costs: recording it, the truth about it, two row unwinders walked and judged at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from benchmarks.recorders import RECORDERS, observed
from benchmarks.rounds import Contender, compare
from benchmarks.table import FigureTable, TableValue, spread
from benchmarks.workload import FOREVER, TARGETS, scale_for, workload
from testbed.build import Built
from testbed.contract.backtraces import Backtraces
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage
from testbed.machine import record
from testbed.machine.recording import Recorder
from testbed.runs.long import judge_long, watch_long
from testbed.trace import Trace
from testbed.truth import Truth, observe
from testbed.verdicts.counts import Counts
from testbed.verdicts.trace import judge_trace
from unwinders import UNWINDERS

STEPS = 10_000_000
TABLES = ("eh_frame", "debug_frame")  # the unwinder by tables: the first that the file has the section for
CHAIN = "fp_chain"
PIECES = "all of it in pieces"


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
        pieces = compare({PIECES: Contender(len(trace), partial(_in_pieces, built, two))}, rounds=rounds)
        rows.append((plain.name, PIECES, len(trace), *spread(pieces[PIECES].nanoseconds), None))
        total = sum(result.nanoseconds.median for result in measured.values())
        rows.append((plain.name, f"all: {1000 / total:.2f} M steps/s", len(trace), total, "-", None))
    notes = (
        "Programs with frame pointers (-O2). A frame of every step counts, the interrupted one and all callers. "
        "Judging compares the pc of every frame, its CFA and its registers with the truth, and looks for what explains "
        "a difference; the unwinder's limits are the declared ones. *In pieces* is all of it together, memory bounded "
        "by two pieces: each is judged by what is known then, and again if its end turns out to say more.",
    )
    columns = ("target", "part", "steps", "ns per step", "range (ns)", "ns per frame")
    return FigureTable("traces", "A whole trace", columns, tuple(rows), notes)


def _in_pieces(built: Built, unwinders: tuple[Unwinder, ...], _: object) -> tuple[Counts, ...]:
    return judge_long(watch_long(built, budget=FOREVER, judging=unwinders), unwinders)


def _record(image: Image, recorder: Recorder, _: object = None) -> Trace:
    return record(LoadedImage(image), budget=FOREVER, recorder=recorder)


def _walk(unwinder: Unwinder, trace: Trace, _: object = None) -> Backtraces:
    assert unwinder.unwind_trace
    return unwinder.unwind_trace(trace)


def _judge(truth: Truth, walked: Backtraces, unwinder: Unwinder, _: object) -> Counts:
    return judge_trace(truth, walked, unwinder).counts()
