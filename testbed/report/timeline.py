"""The truth's and every unwinder's call stacks over the steps, for the viewers that profilers' users know.

One JSON file that both read: Perfetto and chrome://tracing take ``traceEvents`` (the Trace Event Format, duration
events ``B``/``E``, one thread per stack), speedscope takes ``profiles`` (its file format, evented profiles). One step
is one unit of time; Perfetto shows it as a microsecond.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.report.answers import NOTHING, Answers
from testbed.runs.run import Run

SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"


@dataclass(frozen=True, slots=True)
class Change:
    """At ``step`` the frame ``name`` opens or closes. Closes come first, innermost first."""

    step: int
    opens: bool
    name: str


def changes(stacks: Iterator[Sequence[tuple[int, str]]]) -> Iterator[Change]:
    """What opens and closes between consecutive stacks of (identity, name), outermost first."""
    open_: list[tuple[int, str]] = []
    step = 0
    for step, stack in enumerate(stacks):
        same = 0
        while same < min(len(open_), len(stack)) and open_[same] == stack[same]:
            same += 1
        for _, name in reversed(open_[same:]):
            yield Change(step, False, name)
        for _, name in stack[same:]:
            yield Change(step, True, name)
        open_[same:] = stack[same:]
    for _, name in reversed(open_):
        yield Change(step + 1, False, name)


def true_stacks(run: Run) -> Iterator[list[tuple[int, str]]]:
    """The true stack at every step, outermost first; a frame is its activation."""
    activations = run.watched.activations
    names = {a.index: run.function(int(run.trace.pc[a.opened])) for a in activations}
    for node in run.watched.node.tolist():
        stack = []
        at: int | None = node
        while at is not None:
            stack.append((at, names[at]))
            at = activations[at].parent
        yield stack[::-1]


def said_stacks(run: Run, answers: Answers, unwinder: int) -> Iterator[list[tuple[int, str]]]:
    """What an unwinder says at every step, outermost first, by function; a stop is a frame of its own at the far end.

    A claimed frame has no identity but its function and its depth: two calls of one function in a row look like one.
    """
    names: dict[int, str] = {}
    known: dict[int, list[tuple[int, str]]] = {}
    pcs = run.trace.pc.tolist()
    for step, node in enumerate(answers.each[unwinder].callers.tolist()):
        if node == NOTHING:
            yield []
            continue
        if node not in known:
            callers, end = answers.chain(node)
            frames = [(0, names.setdefault(pc, run.function(pc - 1))) for pc in reversed(callers)]
            known[node] = [(0, f"({end.split(':')[0]})"), *frames] if end else frames
        yield [*known[node], (0, run.function(pcs[step]))]


def timeline(run: Run, answers: Answers) -> dict[str, Any]:
    """The timeline of a run as JSON data."""
    lanes = [("truth", list(changes(iter(true_stacks(run)))))]
    lanes += [(each.unwinder.name, list(changes(said_stacks(run, answers, i)))) for i, each in enumerate(answers.each)]
    frames: dict[str, int] = {}
    for _, lane in lanes:
        for change in lane:
            frames.setdefault(change.name, len(frames))
    return {
        "$schema": SPEEDSCOPE,
        "name": str(run),
        "exporter": "testbed",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [
            {
                "type": "evented",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": len(run),
                "events": [{"type": "O" if c.opens else "C", "frame": frames[c.name], "at": c.step} for c in lane],
            }
            for name, lane in lanes
        ],
        "displayTimeUnit": "ms",
        "traceEvents": list(_trace_events(run, lanes)),
    }


def _trace_events(run: Run, lanes: Sequence[tuple[str, Sequence[Change]]]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": str(run)}}
    for thread, (name, lane) in enumerate(lanes):
        yield {"ph": "M", "pid": 1, "tid": thread, "name": "thread_name", "args": {"name": name}}
        yield {"ph": "M", "pid": 1, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}
        for change in lane:
            yield {"ph": "B" if change.opens else "E", "pid": 1, "tid": thread, "ts": change.step, "name": change.name}


def write_timeline(run: Run, answers: Answers, path: Path) -> None:
    """Write the timeline of a run to ``path``."""
    path.write_text(json.dumps(timeline(run, answers), separators=(",", ":")) + "\n", encoding="utf-8")
