"""Judged units, kept beside the built files: what a matrix need not judge again, because nothing changed.

A unit's result follows from its built file and source header, the code of the testbed and of the unwinders, the
seed and the budget, and the versions of the libraries that run, read and describe programs. The hash of all that is
its *key*. There is one file per unit and choice of unwinders, so a newer result replaces the older one.

Only complete results are kept: one that failed or was skipped may come out differently after an installation, without
any file of ours having changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from testbed.campaign.cells import BUDGET, SEED, Unit, UnitResult, build_unit
from testbed.campaign.matrix import judge_unit
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.program.model import Program
from testbed.referee import FOLDER_OF
from testbed.runs.run import Run
from testbed.store import KeptFiles, key_of
from testbed.store.codec import NotDecoded
from testbed.trace import Snapshot
from testbed.words import errors
from testbed.words.errors import UnwindError
from testbed.words.files import code_of, code_of_files, versions_of

# What real unwinders said, kept beside the built files: asking them is slow.
#
# An answer follows from the recorded run, the tool, and our code that asks it; how it is judged is no part of it, nor
# what is known against the tool. There is one file per unit and unwinder. More steps of a run are added to those
# that are there.

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
    name, key = f"{unit}.{unwinder.name}.answers", _answers_key(run, unwinder)
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


def _answers_key(run: Run, unwinder: Unwinder) -> str:
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


_LIBRARIES = ("unicorn", "numpy", "capstone", "pyelftools", "numba")
RESULTS = KeptFiles(room="judged", patterns=("*.judged",))


def kept_result(unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder]) -> UnitResult | None:
    """The kept result of a unit, or None where it must be judged.

    Builds the unit if its file is not in the cache: whether the result still holds depends on that file.
    """
    # The code is hashed before anything is judged: workers inherit the hash, so that a file edited in the meantime does
    # not get the results of the code that was loaded.
    codes = _codes(unwinders)
    name = _name(unit, unwinders)
    if not all(codes) or not RESULTS.path(name).is_file():
        return None
    try:
        key = _key(unit, programs, unwinders)
    except Exception:  # judging tells it
        return None
    found = RESULTS.get_value(name, UnitResult, key)
    return found and replace(found, kept=True)


def judge_and_keep(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> UnitResult:
    """Judge a unit and keep its result if it is complete. Runs in worker processes; never raises for a bad unit."""
    result, key = judge_with_key(unit, programs, unwinders, fresh=fresh, natively=natively)
    keep_result(result, key, unwinders)
    return result


def judge_with_key(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> tuple[UnitResult, str]:
    """Judge a unit without keeping anything: its result, and the key to keep it under; "" for one that is not kept.

    For a process on another machine, which has another folder: its versions are in the key.
    """
    result = judge_unit(unit, programs, unwinders, fresh=fresh, natively=natively)
    complete = all(_codes(unwinders)) and not result.skipped and not result.failed
    return result, _key(unit, programs, unwinders) if complete else ""


def keep_result(result: UnitResult, key: str, unwinders: Sequence[Unwinder]) -> None:
    """Keep a result under the key that it was judged with, unless that is ""."""
    if key:
        RESULTS.keep_value(_name(result.unit, unwinders), UnitResult, result, key)


def _name(unit: Unit, unwinders: Sequence[Unwinder]) -> str:
    return f"{unit}.{key_of(*(unwinder.name for unwinder in unwinders))[:12]}.judged"


def _key(unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder]) -> str:
    """The hash of everything that decides a result."""
    built = build_unit(unit, programs)
    return key_of(
        str(unit),
        built.path.name,  # a site without a symbol is told by it
        hashlib.sha256(built.path.read_bytes()).hexdigest(),
        *built.source.texts,
        *_codes(unwinders),
        str(SEED),
        str(BUDGET),
        *versions_of(_LIBRARIES),
        *(unwinder.tool() for unwinder in unwinders if unwinder.tool is not None),
    )


def _codes(unwinders: Sequence[Unwinder]) -> list[str]:
    """The hashes of the code of the testbed and of each package that an unwinder is from; "" where there is none."""
    if not all(unwinder.repeatable for unwinder in unwinders):
        return [""]
    packages = {str(getattr(unwinder.unwind, "__module__", "")).partition(".")[0] for unwinder in unwinders}
    return [code_of(package) for package in sorted({"testbed", *packages})]
