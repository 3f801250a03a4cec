"""Does a program speak the protocol? One remark after the other, in sentences for its author.

It is greeted, given sessions and snapshots, ordinary ones and such as only a crashed process has, asked the same twice,
and left. Whether what it says is true is another question: the judge's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace
from testbed.protocol.conversation import Conversation
from testbed.trace import Memory, Regions, Snapshot
from testbed.words.catalogue import nearest
from testbed.words.errors import BrokenAnswer, ForeignStop, ToolCrashed, ToolHung
from testbed.words.printable import printable

# Names that an unwinder writes and nobody reads: a key in other letters, a register that the architecture lacks.
#
# The protocol lets a program write keys of its own, so these are no mistakes; but what stands there is never judged.

HELLO = ("type", "protocol", "name", "version", "arches", "stack_below", "stack_above")
FRAMES = ("type", "id", "frames", "root", "stopped")
FRAME = ("pc", "cfa", "registers", "interrupted")
_CLOSE = 0.75  # of 1: "CFA" and "register" are, "function" and "line" are not
_SHOWN = 40


def in_frames(said: Mapping[str, Any], arch: Arch) -> Iterator[str]:
    """Sentences about a ``frames`` line."""
    yield from _keys(said, FRAMES, 'its "frames"')
    frames = said.get("frames")
    for frame in frames if isinstance(frames, list) else ():
        if not isinstance(frame, dict):
            continue
        yield from _keys(frame, FRAME, "a frame")
        registers = frame.get("registers")
        for name in registers if isinstance(registers, dict) else ():
            if name not in arch.by_name:
                near = nearest(name.lower(), arch.by_name)
                yield f"{_shown(name)} is no register of {arch}: it is not judged; {near}"


def _keys(said: Mapping[str, Any], known: tuple[str, ...], where: str) -> Iterator[str]:
    """Keys that are nearly known ones."""
    for key in said:
        if key in known:
            continue
        alike = get_close_matches(key.strip().lower().replace("-", "_")[:_SHOWN], known, n=1, cutoff=_CLOSE)
        if alike:
            yield f'{where} has a key "{_shown(key)}", which nobody reads; did you mean "{alike[0]}"?'


def _shown(name: str) -> str:
    return printable(name[:_SHOWN])


ENDING_SECONDS = 5.0  # from the end of its input to its own end
SPEED_SECONDS = 1.0  # for which it is asked as fast as it answers
MOST_UNREAD = 8  # sentences about names that nobody reads, of one architecture
_WILD = 0xDEAD_BEEF_DEAD_BEE8


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that was tried. ``right`` None: no mistake, but worth knowing."""

    right: bool | None
    sentence: str

    def __str__(self) -> str:
        return f"{_MARKS[self.right]}  {self.sentence}"


_MARKS = {True: "ok   ", False: "WRONG", None: "note "}


def conformance(words: Sequence[str], snapshots: Mapping[str, Sequence[Snapshot]], seconds: float) -> Iterator[Remark]:
    """Try a program with ordinary snapshots, by architecture. Raises OSError where it does not start."""
    try:
        program = Conversation(words, seconds)
    except (ToolCrashed, ToolHung) as error:
        yield Remark(False, f"greeted, it {error}")
        return
    try:
        hello = program.hello
        arches = "all architectures" if hello.arches is None else ", ".join(sorted(hello.arches)) or "no architecture"
        yield Remark(True, f"it says hello: {hello.name or 'without a name'} {hello.version}".rstrip() + f", {arches}")
        if not hello.name:
            yield Remark(None, 'its hello has no "name": tables will show that of its file')
        mine = {a: listed for a, listed in snapshots.items() if hello.arches is None or a in hello.arches}
        if not mine:
            yield Remark(False, f"it knows none of {', '.join(snapshots)}: nothing can be asked")
            return
        for sentence in _keys(program.greeting, HELLO, "its hello"):
            yield Remark(None, sentence)
        answered = []
        for arch, listed in mine.items():
            remarks = list(_ordinary(program, arch, listed))
            yield from remarks
            answered += [listed] if any(remark.right is not None for remark in remarks) else []
        listed = next(iter(answered or mine.values()))
        yield _tried(program, listed[0], "an earlier session, opened again", "answered")
        yield _speed(program, listed) if answered else Remark(None, "it refused every session: no answer was tried")
    except (ToolCrashed, ToolHung) as error:
        yield Remark(False, f"it {error}")
        return
    finally:
        program.process.close()
    for arch, listed in mine.items():
        yield from _extraordinary(words, arch, listed, seconds)
    yield _ending(words, listed[0], seconds)


def _ordinary(program: Conversation, arch: str, snapshots: Sequence[Snapshot]) -> Iterator[Remark]:
    """Snapshots of a run, each asked twice. Raises ToolCrashed and ToolHung out of step."""
    refused, frames, roots = 0, 0, 0
    unread: dict[str, None] = {}
    for snapshot in snapshots:
        said: list[str] = []
        for _ in range(2):
            try:
                backtrace = program.unwind(snapshot)
            except ForeignStop as stop:
                yield Remark(None, f"it refuses sessions of {arch}: {stop}")
                return
            except BrokenAnswer as error:
                if not program.in_step:
                    raise
                yield Remark(False, f"asked about {arch}, it {error}")
                return
            said.append(_whole(backtrace))
        unread |= dict.fromkeys(in_frames(program.answer, snapshot.arch))
        refused += len(backtrace.frames) == 1
        roots += backtrace.stopped is None
        frames += len(backtrace.frames)
        if said[0] != said[1]:
            yield Remark(False, f"asked twice about one snapshot of {arch}, it gave two answers: {said[0]}; {said[1]}")
            return
    yield Remark(
        True,
        f"it answers {len(snapshots)} snapshots of {arch}, each twice alike: {frames} frames, {roots} roots claimed, "
        f"{refused} without a caller",
    )
    yield from (Remark(None, sentence) for sentence in list(unread)[:MOST_UNREAD])
    if left := program.process.unread:
        yield Remark(False, f"it wrote what nobody asked for: {left[:60]!r}")


def _extraordinary(words: Sequence[str], arch: str, snapshots: Sequence[Snapshot], seconds: float) -> Iterator[Remark]:
    """Snapshots such as crashed processes have: each needs an answer, and one that stops is a good one."""
    snapshot = snapshots[-1]
    table = snapshot.arch
    mask = table.word_mask & ~7
    given = snapshot.registers
    nothing = Memory(Regions(()))
    cases: Mapping[str, Snapshot] = {
        "registers that point nowhere": _with_every(snapshot, _WILD),
        "registers with the highest values": _with_every(snapshot, -8),
        "a pc of zero": replace(snapshot, registers={**given, table.pc: 0}),
        "a stack pointer at the end of memory": replace(snapshot, registers={**given, table.sp: mask}),
        "no register but pc and SP": replace(snapshot, registers={n: given[n] for n in (table.pc, table.sp)}),
        "a frame pointer that leads to itself": _circle(snapshot),
        "no memory": replace(snapshot, memory=nothing),
        "no images": replace(snapshot, images=(), memory=nothing),
    }
    program: Conversation | None = None
    for what, case in cases.items():
        try:
            program = program or Conversation(words, seconds)
            yield _tried(program, case, f"{arch} with {what}", "answered")
        except (ToolCrashed, ToolHung) as error:
            yield Remark(False, f"{arch} with {what}: it {error}")
            if program is not None:
                program.process.close()
            program = None
    if program is not None:
        program.process.close()


def _with_every(snapshot: Snapshot, value: int) -> Snapshot:
    """One value in every register but pc."""
    table = snapshot.arch
    registers = {name: value & (1 << table.by_name[name].bits) - 1 for name in snapshot.registers}
    return replace(snapshot, registers={**registers, table.pc: snapshot.pc})


def _circle(snapshot: Snapshot) -> Snapshot:
    """Every word of the stack is its own address, and so is each frame pointer."""
    word, sp = snapshot.arch.word, snapshot.sp
    stack = b"".join((sp + at & ~(word - 1)).to_bytes(word, "little") for at in range(0, 4096, word))
    registers = {**snapshot.registers, **dict.fromkeys(snapshot.arch.frame_pointers, sp & ~(word - 1))}
    return replace(snapshot, registers=registers, memory=Memory.of([(sp & ~(word - 1), stack)]))


def _tried(program: Conversation, snapshot: Snapshot, what: str, done: str) -> Remark:
    """One snapshot. Raises ToolCrashed and ToolHung out of step."""
    try:
        said = program.unwind(snapshot)
    except ForeignStop as stop:
        return Remark(True, f"{what}: refused, {stop}")
    except BrokenAnswer as error:
        if not program.in_step:
            raise
        return Remark(False, f"{what}: it {error}")
    end = "the root claimed" if said.stopped is None else f"stopped: {said.stopped}"
    return Remark(True, f"{what}: {done}, {len(said.frames)} frame{'s' * (len(said.frames) > 1)}, {end}")


def _speed(program: Conversation, snapshots: Sequence[Snapshot]) -> Remark:
    """How many are answered while the clock runs, and what one costs: that holds on a busy machine, too."""
    asked, begin, ours, theirs = 0, time.monotonic(), time.process_time(), _cpu_seconds(program.process.pid)
    while (taken := time.monotonic() - begin) < SPEED_SECONDS:
        program.unwind(snapshots[asked % len(snapshots)])
        asked += 1
    said = f"it answers {asked / taken:,.0f} snapshots per second"
    spent = (time.process_time() - ours, _cpu_seconds(program.process.pid) - theirs)
    here, there = (round(1e6 * each / asked) for each in spent)
    return Remark(None, f"{said}; CPU time of one: {here} µs of testbed's, {there} µs of its own")


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and its threads (proc(5): utime and stime in ticks, behind the name in parentheses)."""
    fields = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ending(words: Sequence[str], snapshot: Snapshot, seconds: float) -> Remark:
    """It ends by itself where its input does."""
    try:
        program = Conversation(words, seconds)
    except (ToolCrashed, ToolHung) as error:
        return Remark(False, f"started once more, it {error}")
    process = program.process
    try:
        _tried(program, snapshot, "", "")
        process.close_input()
        status = process.ended(ENDING_SECONDS)
    except (ToolCrashed, ToolHung) as error:
        return Remark(False, f"started once more, it {error}")
    finally:
        process.close()
    if status is None:
        return Remark(False, f"it does not end within {ENDING_SECONDS:g} s of the end of its input")
    if status:
        return Remark(None, f"at the end of its input it ends with status {status}: 0 would be usual")
    return Remark(True, "it ends where its input ends")


def _whole(said: Backtrace) -> str:
    frames = [f"{f.pc:#x} {f.cfa} {sorted(f.registers.items()) if i else ''}" for i, f in enumerate(said.frames)]
    return f"{' '.join(frames)} {said.stopped or 'root'}"
