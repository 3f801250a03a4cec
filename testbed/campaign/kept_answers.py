"""What real unwinders said, kept beside the built files: asking them is slow, and limits change more often.

An answer follows from the recorded run, the tool, and our code that asks it; how it is judged is no part of it. So a
limit can be changed, and every kept answer judged anew, without asking any tool. One file per unit and strategy::

    line 1   SHA-256 of the rest, in hexadecimal
    line 2   the key: the hash of the program file, the trace, the tool's version, and the code that asks it
    rest     zlib: {"STEP": [[[is a caller, pc, CFA or null, "found by", registers or null], ...], stop or null], ...}

Registers are ``{"NAME": value}``, null for those of the snapshot; a stop is ``["CLASS", "text"]``. A file that is
missing, damaged, under another key, or that others may have written holds no answers. More steps of a run are added to
those that are there.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.campaign.results import Unit
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.unwinder import Unwinder
from testbed.referee import FOLDER_OF
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.words import errors
from testbed.words.errors import UnwindError
from testbed.words.files import cache_folder
from testbed.words.own_files import keep_own, own_content

_SUFFIX = ".answers"
_JUDGED = ("limits.py", "findings.py")  # how names of files end that say how answers are judged
_ROOMS = ("export", "remote", "referee/process")


def folder() -> Path:
    """The folder of kept answers, inside that of built files. It need not exist yet."""
    return cache_folder() / "answers"


def answers_at(run: Run, unwinder: Unwinder, steps: Iterable[int]) -> Mapping[int, Backtrace]:
    """What a strategy says at some steps of a run: kept answers where there are any, the others asked for and kept.

    Only those of real unwinders are kept: ours are asked sooner than read.
    """
    wanted = list(steps)
    if unwinder.name not in FOLDER_OF:
        return {step: unwinder.unwind(run.trace.snapshot(step)) for step in wanted}
    unit = Unit(run.program.name, run.arch.name, run.recipe.name)
    path = folder() / f"{unit}.{unwinder.name}{_SUFFIX}"
    key = _key(run, unwinder)
    kept = _read(path, key)
    if all(str(step) in kept for step in wanted):
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # not what was written here
            return {step: answer_of(kept[str(step)], run.trace.snapshot(step)) for step in wanted}
    for step in wanted:  # all of them, in order: what a tool remembers of one snapshot may show at the next
        snapshot = run.trace.snapshot(step)
        kept[str(step)] = answer_data(unwinder.unwind(snapshot), snapshot)
    with suppress(OSError):  # a folder that cannot be written: asked again the next time
        _write(path, key, kept)
    return {step: answer_of(kept[str(step)], run.trace.snapshot(step)) for step in wanted}


def answer_data(said: Backtrace, snapshot: Snapshot) -> list[Any]:
    """A backtrace as JSON."""
    frames = [
        [
            frame.kind is FrameKind.CALLER,
            frame.pc,
            frame.cfa,
            frame.found_by,
            None if dict(frame.registers) == dict(snapshot.registers) else dict(frame.registers),
        ]
        for frame in said.frames
    ]
    return [frames, None if said.stopped is None else [type(said.stopped).__name__, str(said.stopped)]]


def answer_of(data: list[Any], snapshot: Snapshot) -> Backtrace:
    """The backtrace that `answer_data` wrote, of the same snapshot."""
    frames = tuple(
        Frame(
            FrameKind.CALLER if caller else FrameKind.INTERRUPTED,
            pc,
            snapshot.registers if registers is None else registers,
            cfa,
            found_by,
        )
        for caller, pc, cfa, found_by, registers in data[0]
    )
    return Backtrace(frames, None if data[1] is None else _stop(*data[1]), snapshot.images)


def _stop(name: str, text: str) -> UnwindError:
    kind = getattr(errors, name)
    if not issubclass(kind, UnwindError):
        raise TypeError(f"{name} is no reason to stop")
    stop: UnwindError = kind.__new__(kind, text)  # its other fields are not kept: nobody judges by them
    return stop


def _key(run: Run, unwinder: Unwinder) -> str:
    trace = run.trace
    digest = hashlib.sha256(run.built.path.read_bytes())
    columns = (trace.registers, trace.sizes, trace.writes.address, trace.writes.size, trace.writes.value)
    for column in (*columns, trace.writes.step):
        digest.update(column.tobytes())
    digest.update((unwinder.tool() if unwinder.tool else "").encode())
    digest.update(_code(FOLDER_OF[unwinder.name]).encode())
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _code(tool: str) -> str:
    """The hash of what asks a tool; not of what its answers are held against."""
    root = Path(errors.__file__).parents[1]
    digest = hashlib.sha256()
    for room in (*_ROOMS, f"referee/{tool}"):
        for path in sorted((root / room).glob("*.*")):
            if path.is_file() and not path.name.endswith(_JUDGED):
                digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _read(path: Path, key: str) -> dict[str, Any]:
    content = own_content(path)
    if content is None:
        return {}
    held, _, body = content.partition(b"\n")
    if held != key.encode("ascii"):
        return {}
    try:
        read = json.loads(zlib.decompress(body))
    except (RecursionError, ValueError, zlib.error):  # whole, and yet not what this testbed wrote
        return {}
    return read if isinstance(read, dict) else {}


def _write(path: Path, key: str, kept: Mapping[str, Any]) -> None:
    content = key.encode("ascii") + b"\n" + zlib.compress(json.dumps(kept).encode("utf-8"))
    keep_own(path, content)
