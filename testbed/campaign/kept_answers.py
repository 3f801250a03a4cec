"""What real unwinders said, kept beside the built files: asking them is slow.

An answer follows from the recorded run, the tool, and our code that asks it; how it is judged is no part of it, nor
what is known against the tool. There is one file per unit and unwinder. More steps of a run are added to those that are
there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from testbed.campaign.results import Unit
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.referee import FOLDER_OF
from testbed.runs.run import Run
from testbed.store import KeptFiles
from testbed.store.codec import NotDecoded
from testbed.trace import Snapshot
from testbed.words import errors
from testbed.words.errors import UnwindError
from testbed.words.own_files import code_of_files

ANSWERS = KeptFiles(room="answers", patterns=("*.answers",))
_KNOWN = "findings.toml"  # what is known against a tool: no part of how it is asked
_ROOMS = ("export", "remote", "referee/process")


class _KeptFrame(NamedTuple):
    caller: bool
    pc: int
    cfa: int | None
    found_by: str
    registers: Mapping[str, int] | None  # None: those of the snapshot


class KeptAnswer(NamedTuple):
    """A backtrace of a snapshot that is at hand. ``stopped`` is the reason's class and its text."""

    frames: tuple[_KeptFrame, ...]
    stopped: tuple[str, str] | None


_KeptAnswers = dict[int, KeptAnswer]  # by step


def answers_at(run: Run, unwinder: Unwinder, steps: Iterable[int]) -> Mapping[int, Backtrace]:
    """What an unwinder says at some steps of a run: kept answers where there are any, the others asked for and kept.

    Only those of real unwinders are kept: ours are asked sooner than read.
    """
    wanted = list(steps)
    if _of_any_version(unwinder) not in FOLDER_OF:
        return {step: unwinder.unwind(run.trace.snapshot(step)) for step in wanted}
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    name, key = f"{unit}.{unwinder.name}.answers", _key(run, unwinder)
    kept = ANSWERS.get_value(name, _KeptAnswers, key) or {}
    if kept.keys() >= set(wanted):
        with suppress(NotDecoded):
            return {step: answer_of(kept[step], run.trace.snapshot(step)) for step in wanted}
    for step in wanted:  # all of them, in order: what a tool remembers of one snapshot may show at the next
        snapshot = run.trace.snapshot(step)
        kept[step] = kept_answer(unwinder.unwind(snapshot), snapshot)
    ANSWERS.keep_value(name, _KeptAnswers, kept, key)
    return {step: answer_of(kept[step], run.trace.snapshot(step)) for step in wanted}


def kept_answer(said: Backtrace, snapshot: Snapshot) -> KeptAnswer:
    """A backtrace as it is kept."""
    frames = tuple(
        _KeptFrame(
            frame.kind is FrameKind.CALLER,
            frame.pc,
            frame.cfa,
            frame.found_by,
            None if dict(frame.registers) == dict(snapshot.registers) else frame.registers,
        )
        for frame in said.frames
    )
    return KeptAnswer(frames, None if said.stopped is None else (type(said.stopped).__name__, str(said.stopped)))


def answer_of(kept: KeptAnswer, snapshot: Snapshot) -> Backtrace:
    """The backtrace that `kept_answer` was given, of the same snapshot. Raises NotDecoded for a reason of no class."""
    frames = tuple(
        Frame(
            FrameKind.CALLER if frame.caller else FrameKind.INTERRUPTED,
            frame.pc,
            snapshot.registers if frame.registers is None else frame.registers,
            frame.cfa,
            frame.found_by,
        )
        for frame in kept.frames
    )
    return Backtrace(frames, None if kept.stopped is None else _stop(*kept.stopped), snapshot.images)


def _stop(name: str, text: str) -> UnwindError:
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, UnwindError)):
        raise NotDecoded(f"{name} is no reason to stop")
    stop: UnwindError = kind.__new__(kind, text)  # its other fields are not kept: nobody judges by them
    return stop


def _key(run: Run, unwinder: Unwinder) -> str:
    trace = run.trace
    digest = hashlib.sha256(run.built.path.read_bytes())
    columns = (trace.registers, trace.sizes, trace.writes.address, trace.writes.size, trace.writes.value)
    for column in (*columns, trace.writes.step):
        digest.update(column.tobytes())
    digest.update((unwinder.tool() if unwinder.tool else "").encode())
    digest.update(_code(FOLDER_OF[_of_any_version(unwinder)]).encode())
    return digest.hexdigest()


def _of_any_version(unwinder: Unwinder) -> str:
    return unwinder.name.partition("@")[0]


@lru_cache(maxsize=64)
def _code(tool: str) -> str:
    """The hash of what asks a tool; not of what its answers are held against."""
    root = Path(errors.__file__).parents[1]
    rooms = (root / room for room in (*_ROOMS, f"referee/{tool}"))
    files = (path for room in rooms for path in sorted(room.glob("*.*")))
    return code_of_files((path for path in files if path.is_file() and path.name != _KNOWN), root)
