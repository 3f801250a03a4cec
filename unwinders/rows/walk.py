"""The one stack walk. Its guards stand here once, for every row technique.

* SP moves towards the caller at every step: ``caller's SP > SP``. Equal is allowed where nothing need be on the
  stack: for an interrupted frame, and where the row has the return address in a register.
* The caller's SP may be lower where it is the CFA, a register says where that is, and the return address is alive: in
  a register, or on the stack at SP or above. A function that has moved its return address up into its caller's frame,
  and SP with it, has a CFA below its SP; so has one that takes its arguments off the stack before it returns by a
  register. An address read from below SP is nobody's; an SP read from memory may be anything, and so may one that
  is counted from a frame pointer while the return address is in a register: it may be another function's.
* Where SP is not known on both sides, the same holds for the frame pointer; a caller's frame pointer of zero is the
  mark of the outermost frame, not a step back.
* A signal may have switched stacks, so neither is asked of a signal frame's row.
* pc, SP and frame pointers never all repeat from one caller to another, which ends a walk that goes back and forth.
  A caller may be where the interrupted frame is:
  at the first instruction of a function behind a call that does not return, with an empty frame, the return address is
  pc itself (https://github.com/libunwind/libunwind/issues/54 is about the same address, one frame further out).
* There are at most MAX_FRAMES frames.

A return address of zero marks the outermost frame too: no code is there, thread starters leave it behind, and gdb,
libunwind and elfutils all end the stack at it. A pc of zero that a signal interrupted is no end but a call through a
null pointer (https://github.com/libunwind/libunwind/issues/106).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

import numpy as np

from testbed.arch import Arch
from testbed.contract.rows import AtRegister, ExpressionRule, Offset, RowTable, Rule, UnwindRow
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.image import Image, LoadedImage, image_covering
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnwindError
from unwinders.rows.apply import apply, coded_row, state_of
from unwinders.rows.expression import ExpressionSteps
from unwinders.rows.native.row import GOES_BACK, STAYS, may_go_back, progress

MAX_FRAMES = 1024

RowFor = Callable[[Frame, LoadedImage | None], UnwindRow]


class RowsByPc(Protocol):
    """A table that has a row for a link-time pc, or None."""

    def at(self, pc: int) -> UnwindRow | None: ...

    def all_rows(self) -> RowTable: ...


def looked_up(table_of: Callable[[Image], RowsByPc], nothing: str) -> RowFor:
    """The rows that a table of the image has for a frame's lookup pc.

    Where it has none, a NoUnwindInfo tells ``nothing`` and the pc.
    """

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if loaded is None:
            raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
        row = table_of(loaded.image).at(frame.lookup_pc - loaded.bias)
        if row is None:
            raise NoUnwindInfo(f"{nothing} {frame.lookup_pc:#x}")
        return row

    return row_for


def walk(snapshot: Snapshot, row_for: RowFor) -> Backtrace:
    """Unwind by rows: ask for the row of each frame, apply it, until a row says root or something is unknown.

    ``row_for`` gets a frame and the image that covers its ``lookup_pc`` (None: no image does) and raises an
    UnwindError where it has no row. The error that ends the walk is ``stopped``, with the pc of the last frame; the
    frames found until then are kept. Any other exception is a bug and passes through.
    """
    frame = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
    steps = ExpressionSteps()
    done: list[Frame] = []
    visited = {position(snapshot.arch, frame)}
    try:
        while True:
            cfa, caller = unwind_one(frame, snapshot, row_for, steps)
            if caller is None:
                return Backtrace((*done, replace(frame, cfa=cfa)), None, snapshot.images)
            check_new(snapshot.arch, caller, visited)
            visited.add(position(snapshot.arch, caller))
            done.append(replace(frame, cfa=cfa))
            frame = caller
    except UnwindError as stop:
        stop.pc = frame.pc
        return Backtrace((*done, frame), stop, snapshot.images)


def unwind_one(
    frame: Frame, snapshot: Snapshot, row_for: RowFor, steps: ExpressionSteps | None = None
) -> tuple[int | None, Frame | None]:
    """This frame's CFA and its caller, None where this is the root. Raises the UnwindError that ends the walk here."""
    loaded = image_covering(snapshot.images, frame.lookup_pc)
    row = row_for(frame, loaded)
    cfa, caller = apply(row, frame, snapshot, loaded.bias if loaded else 0, steps)
    if caller is None or (caller.pc == 0 and caller.kind is FrameKind.CALLER):
        return cfa, None
    if not row.signal_frame:
        check_progress(row, frame, cfa, caller, snapshot.arch)
    return cfa, replace(caller, found_by=row.found_by)


def check_new(arch: Arch, caller: Frame, visited: Collection[tuple[int | None, ...]]) -> None:
    """Raise NoProgress where a frame at the caller's position is there already, or there are too many."""
    if position(arch, caller) in visited:
        raise NoProgress(f"a frame with pc {caller.pc:#x} and the same stack is there already")
    if len(visited) >= MAX_FRAMES:
        raise NoProgress(f"more than {MAX_FRAMES} frames")


@np.errstate(over="ignore")  # addresses wrap around
def check_progress(row: UnwindRow, frame: Frame, cfa: int | None, caller: Frame, arch: Arch) -> None:
    """Raise NoProgress unless the caller's frame lies further out than this one, or may be where it is."""
    names, coded = (arch.sp, *arch.frame_pointers), coded_row(row, arch)
    here, there = ([each.registers.get(name, 0) for name in names] for each in (frame, caller))
    known = sum(1 << i for i, name in enumerate(names) if name in frame.registers and name in caller.registers)
    may_stay = frame.kind is FrameKind.INTERRUPTED or not is_in_memory(coded.address.rule)
    how, i = progress(here, there, known, len(names), may_stay)
    if how == STAYS:
        raise NoProgress(f"{names[i]} stays at {here[i]:#x}")
    if how == GOES_BACK:
        rules = coded.cfa.code, coded.address.code
        if i > 0 or not may_go_back(*rules, state_of(frame, arch, cfa), there[0], len(names), arch.word_mask):
            raise NoProgress(f"{names[i]} goes back from {here[i]:#x} to {there[i]:#x}")


def is_in_memory(rule: Rule | None) -> bool:
    """True where a rule says that a value is stored somewhere: a frame whose return address is not may be empty."""
    return isinstance(rule, Offset | AtRegister | ExpressionRule)


def position(arch: Arch, frame: Frame) -> tuple[int | None, ...]:
    """What never repeats in a walk: what the pc is, pc, SP and frame pointers."""
    return (
        int(frame.kind is FrameKind.CALLER),
        frame.pc,
        *(frame.registers.get(name) for name in (arch.sp, *arch.frame_pointers)),
    )
