"""A real Linux program, run: the one way from a program file and its arguments to traces."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.conventions.chosen import TakenConvention, chosen, taken
from testbed.image import Image, LoadedImage, describe
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.machine.hooked_run import NATIVE_FROM
from testbed.machine.recording import told_ending
from testbed.machine.stops import Fault
from testbed.process.known_files import FileReading
from testbed.process.open_files import OutputStream
from testbed.process.running import run_on
from testbed.process.starting import BUDGET, ENVIRONMENT, MOST_MEMORY, ProcessInputs, shown_files, started
from testbed.process.state import Process, ProcessEnds
from testbed.process.threads import GuestThread, RefusedCall
from testbed.process.tracks import LeftStacks, Pieces, Track, WholeRecording, ending_of, own_steps, tracks_of
from testbed.trace import Exited, Region, Trace, Writes
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.trace import CHUNK, SPARE, Chunk
from testbed.words.budget import LEAST, free_garbage
from testbed.words.errors import EmulationError, ImageError, UsageError
from testbed.words.files import WorkFolder

MOST_NAMED = 8  # programs of a run, where another one was asked for


@dataclass(frozen=True, eq=False)
class ProcessRun:
    """What a process did. ``tracks`` are its threads, the first one first; each has a trace of its own.

    ``status`` is its exit status, or None where it did not exit: ``why`` says what ended it then, and ``signal`` is the
    signal that did, or 0. What ran until then is whole. ``calls`` counts its system calls, ``refused`` are those
    that it was not let do; ``notes`` say what else is worth knowing. ``children`` are the other programs that were
    executed, by process, in the order in which these began: each with its ``number`` and that of its ``parent``. A
    vforked child is one of them until it becomes a program. A child has no output of its own. ``becomes`` is the
    program that its process goes on as, by execve: ``status`` is that one's then.
    """

    path: Path
    arguments: tuple[str, ...]
    arch: Arch
    images: tuple[LoadedImage, ...]
    made: Callable[[], tuple[Track, ...]] = field(repr=False)
    steps: int
    status: int | None
    why: str
    signal: int
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    calls: Mapping[str, int] = field(repr=False)
    refused: tuple[RefusedCall, ...] = ()
    notes: tuple[str, ...] = ()
    number: int = 0
    parent: int = 0
    becomes: str = ""
    children: tuple[ProcessRun, ...] = ()

    @cached_property
    def tracks(self) -> tuple[Track, ...]:
        """A track per thread, made when it is first asked for."""
        return self.made()

    def __str__(self) -> str:
        return f"{self.path.name} · {self.arch}: {self.steps} steps, {len(self.tracks)} threads, {self.ending}"

    @cached_property
    def conventions(self) -> tuple[TakenConvention, ...]:
        """By what the functions of its files are judged, where it is not their platform's convention."""
        files = [loaded.image for loaded in self.images]
        starts = [(each, {each.entry, *(s.address for s in each.symbols if s.is_function)}) for each in files]
        return taken(chosen(image, address) for image, addresses in starts for address in addresses)

    @property
    def ending(self) -> str:
        """How the process ended, in a few words."""
        return self.why if self.status is None else f"exit {self.status}"


def program_of(run: ProcessRun, asked: str) -> ProcessRun:
    """Another program of a run: the first of that name, or the last one of the process of that number.

    It has what all printed. Raises UsageError where there is none, with those that there are.
    """
    named = [each for each in run.children if each.path.name == asked]
    numbered = [each for each in run.children if str(each.number) == asked]
    if not (found := [*named[:1], *numbered[-1:]]):
        others = {f"{each.path.name} ({each.number})": each.path.name for each in run.children}
        told = ", ".join((*islice(others, MOST_NAMED), *("...",) * (len(others) > MOST_NAMED))) or "none"
        near = get_close_matches(asked, others.values(), 1)
        ended = f"; did you mean {near[0]}?" if near else f"; {run.ending}" if run.status is None else ""
        raise UsageError(f"no other program of this run is {asked!r}; there is {told}{ended}")
    others_so = [str(each.number) for each in named[1:] if each.number != found[0].number]
    note = f"this is process {found[0].number}; {asked} was also {', '.join(others_so)} (--child NUMBER)"
    notes = (*found[0].notes, note) if others_so else found[0].notes
    return replace(found[0], stdout=run.stdout, stderr=run.stderr, notes=notes)


def run_process(
    path: Path | str,
    arguments: Sequence[str] = (),
    *,
    seed: int = 1,
    budget: int = BUDGET,
    stdin: bytes = b"",
    environment: Mapping[str, str] = ENVIRONMENT,
    sysroot: Path | str | None = None,
    folders: Mapping[str, Path | str] | None = None,
    folder: str = "/",
    written: Path | str | None = None,
    memory: int = MOST_MEMORY,
    debug: DebugDirs = NOWHERE,
    conventions: tuple[tuple[str, str], ...] = (),
    interrupted: Callable[[], bool] = lambda: False,
) -> ProcessRun:
    """Run a Linux program as a process of its own, and keep every step.

    It finds libraries in ``sysroot`` (the host's libraries, or those of the cross compiler, if none is given), and
    other files in ``folders``, a host folder by its path for the process, and nothing else. It starts in ``folder``.
    What it writes to files goes to ``written``, or to a folder that is deleted at the end. The same seed gives the
    same run. ``debug`` is where separate debug files of the program and its libraries are looked for,
    ``conventions`` are said of their functions (`FileReading`). It ends where it is ``interrupted``. Raises ImageError
    for a file that is no program, UsageError for folders that do not exist and conventions that there are not.
    """
    reading = FileReading(debug, conventions)
    image, shown = shown_program(path, sysroot, folders or {}, reading)
    named = os.fspath(path)
    inputs = ProcessInputs(tuple(arguments), seed, budget, stdin, environment, shown, folder, memory, reading, named)
    with WorkFolder("process") as temporary, _begun(image, inputs, Path(written or temporary)) as (process, streams):
        process.kernel.interrupted = interrupted
        for _ in run_on(process.kernel):
            pass
    return finished(process, streams, seed)


@contextmanager
def _begun(
    image: Image, inputs: ProcessInputs, written: Path, piece: int | None = None, natively: bool = False
) -> Iterator[tuple[Process, tuple[OutputStream, OutputStream]]]:
    """A process before its first instruction, with its streams; in the end nothing of it is open."""
    process, streams = started(image, inputs, written, piece, natively)
    try:
        yield process, streams
    finally:
        for each in process.kernel.living:
            each.descriptors.close_all()


def shown_program(
    path: Path | str, sysroot: Path | str | None, folders: Mapping[str, Path | str], reading: FileReading
) -> tuple[Image, Mapping[str, Path]]:
    """A program, and what it sees of the host. Raises ImageError for a file that is none, UsageError for folders."""
    image = reading.program(Path(path))
    if image.content[:4] != b"\x7fELF":
        raise ImageError(image.path, 0, "no program of Linux, which are ELF files")
    return image, shown_files(image, sysroot, folders)


def whole_of(process: Process, seed: int) -> WholeRecording:
    """All that a process recorded; of a forked one, behind what its parent had recorded till then."""
    assert process.recorded is not None
    registers, sizes, writes = process.recorded
    if process.comes is not None:
        before = whole_of(process.comes, seed)
        ours = Writes(writes.step + np.uint32(process.inherited), writes.address, writes.size, writes.value)
        registers = np.concatenate([before.registers[: process.inherited], registers])
        sizes = np.concatenate([before.sizes[: process.inherited], sizes])
        writes = Writes.joined((before.writes.part(0, process.inherited_writes), ours))
    return WholeRecording(
        process.arch,
        tuple(process.images),
        registers,
        sizes,
        writes,
        tuple(process.memory.initial),
        tuple(process.resumed),
        seed,
    )


def finished(
    process: Process, streams: tuple[OutputStream, OutputStream], seed: int, *, whole: bool = True
) -> ProcessRun:
    """What the first process of a run did, and its children; ``whole``: with its tracks."""
    for each in process.kernel.processes if whole else ():
        each.recorded = each.recorded or each.recorder.taken()
    run = _run_of(process, streams, seed)
    if whole:
        return run
    return replace(run, made=tuple, children=tuple(replace(each, made=tuple) for each in run.children))


def _run_of(
    process: Process, streams: tuple[OutputStream, OutputStream] | None, seed: int, vforked: GuestThread | None = None
) -> ProcessRun:
    """What became of one program that a process executed, or of a vforked child of it with its memory.

    ``streams`` are the run's own, for the first one.
    """
    every, own = process.kernel.processes, process.ends
    assert own is not None
    threads = [vforked] if vforked else [thread for thread in process.threads if not thread.vfork_child]
    ends, becomes = own, own.becomes
    if vforked:
        becomes = next((each for each in every if each.number == vforked.number), None)
        ends = own if vforked.status is None else ProcessEnds(vforked.status)
    last = becomes
    while last is not None and last.ends is not None:
        ends, last = last.ends, last.ends.becomes

    def tracks() -> tuple[Track, ...]:
        return tracks_of(whole_of(process, seed), threads, own.end, process.current)

    images = tuple(process.images)
    children = [_run_of(p, None, seed, t) for p in every for t in p.threads if t.vfork_child] if streams else []
    children += [_run_of(each, None, seed) for each in every if each is not process] if streams else []
    return ProcessRun(
        process.files[process.path].path,
        process.arguments,
        process.arch,
        images,
        tracks,
        sum(thread.steps for thread in threads),
        ends.status,
        ends.detail,
        ends.signal,
        bytes(streams[0].data) if streams else b"",
        bytes(streams[1].data) if streams else b"",
        dict(sum((thread.calls for thread in threads), Counter())),
        tuple(replace(each, where=describe(images, each.pc)) for thread in threads for each in thread.refused),
        () if vforked else tuple(process.notes),
        vforked.number if vforked else process.number,
        process.number if vforked else process.begun_by,
        becomes.path if becomes else "",
        tuple(sorted(children, key=lambda child: child.number)),
    )


# A process in pieces: memory is bounded by one of them, however long it runs.
#
# It runs once to see what it does: its threads, its files, and all memory that there ever is. Whoever wants steps has
# it run again, which gives the same to the last byte: so what the kernel knows is never stored. A thread's steps come
# as the chunks of `testbed.trace.trace`, its writes numbered as in `testbed.process.tracks`.


class NotInPieces(UsageError):
    """A program that does what a run in pieces does not carry from one to the next: it has to be held whole."""


@dataclass(frozen=True, eq=False)
class ProcessPiece:
    """The steps from ``first`` on, of all threads in turn; ``spans`` are where each thread's own lie in it."""

    first: int
    registers: NDArray[np.uint64] = field(repr=False)
    sizes: NDArray[np.uint8] = field(repr=False)
    writes: Writes = field(repr=False)
    spans: Mapping[int, Pieces]


@dataclass(frozen=True, slots=True)
class LongThread:
    """A thread of a long process: how many steps it made, how it ended, and where it took over a stack."""

    number: int
    steps: int
    ending: Exited | Fault
    taken_over: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LongProcess:
    """A process that ran, and runs again whenever a thread's steps are asked for. ``run`` has no tracks."""

    run: ProcessRun
    threads: tuple[LongThread, ...]
    initial: tuple[Region, ...] = field(repr=False)
    image: Image = field(repr=False)
    inputs: ProcessInputs = field(repr=False)
    piece: int

    def chunks(self, thread: LongThread) -> Iterator[Chunk]:
        """The steps of one thread, a chunk for every piece in which it has any."""
        memory, first = RollingMemory(self.initial), 0
        registers: list[NDArray[np.uint64]] = []
        sizes: list[NDArray[np.uint8]] = []
        writes: list[Writes] = []
        for piece in _pieces(self.image, self.inputs, self.piece, [], self.run.steps >= NATIVE_FROM):
            spans, made = piece.spans.get(thread.number, ()), sum(map(len, sizes))
            if not spans and not first and not made:
                memory.apply(piece.writes)
                continue
            steps = piece.writes.step.astype(np.int32).astype(np.int64)  # -1: before the piece
            numbers = own_steps(spans, steps) if spans else np.full(len(steps), -1)
            before = int(np.count_nonzero(numbers < 0)) if not first and not made else 0
            memory.apply(piece.writes.part(0, before))
            later = piece.writes.part(before, len(numbers))
            # One by others before this chunk's first step is numbered -1: by the last step of the chunk before.
            writes.append(replace(later, step=(numbers[before:] + made).astype(np.uint32)))
            registers += [piece.registers[a:b] for a, b in spans]
            sizes += [piece.sizes[a:b] for a, b in spans]
            made = sum(map(len, sizes))
            is_last = first + made == thread.steps
            if made < LEAST and not is_last:
                continue
            is_told = isinstance(thread.ending, Fault)  # with its last steps, whose instructions are read
            initial = memory.regions() if not first or (is_last and is_told) else ()
            yield self._chunk(thread, first, (np.concatenate(registers), np.concatenate(sizes)), writes, initial)
            if is_last:
                return
            for each in writes if is_told else ():
                memory.apply(each)
            first, registers, sizes, writes = first + made, [], [], []

    def _chunk(
        self,
        thread: LongThread,
        first: int,
        columns: tuple[NDArray[np.uint64], NDArray[np.uint8]],
        writes: Sequence[Writes],
        initial: tuple[Region, ...],
    ) -> Chunk:
        """``initial`` is memory before the chunk; whoever follows the journals needs it of the first one only."""
        registers, sizes = columns
        table = np.empty((SPARE + len(sizes), registers.shape[1]), np.uint64)
        lengths = np.empty(SPARE + len(sizes), np.uint8)
        table[SPARE:], lengths[SPARE:] = registers, sizes
        trace = Trace(
            self.run.arch,
            self.run.images,
            table[SPARE:],
            lengths[SPARE:],
            Writes.joined(writes),
            initial,
            end=EmulationError(0, "the run goes on in the next chunk"),
            seed=self.inputs.seed,
            taken_over=tuple(step - first for step in thread.taken_over if first <= step < first + len(sizes)),
        )
        end = None
        if first + len(sizes) == thread.steps:
            end = told_ending(trace, thread.ending)
            object.__setattr__(trace, "end", end)
        return Chunk(first, trace, end, table, lengths)


def run_in_pieces(
    path: Path | str,
    arguments: Sequence[str] = (),
    *,
    seed: int = 1,
    budget: int,
    piece: int = CHUNK,
    stdin: bytes = b"",
    environment: Mapping[str, str] = ENVIRONMENT,
    sysroot: Path | str | None = None,
    folders: Mapping[str, Path | str] | None = None,
    folder: str = "/",
    memory: int = MOST_MEMORY,
    debug: DebugDirs = NOWHERE,
    conventions: tuple[tuple[str, str], ...] = (),
    progress: Callable[[int], None] = lambda done: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> LongProcess:
    """Run a program as `testbed.process.run_process` does, ``piece`` steps at a time, and keep no step.

    ``progress`` is told how many steps were made. Where it is ``interrupted``, those are the run.

    Raises NotInPieces where signals are handled: such a run is held whole. Of no child a step is kept.
    """
    assert piece >= LEAST
    reading = FileReading(debug, conventions)
    image, shown = shown_program(path, sysroot, folders or {}, reading)
    named = os.fspath(path)
    inputs = ProcessInputs(tuple(arguments), seed, budget, stdin, environment, shown, folder, memory, reading, named)
    last: list[tuple[Process, ProcessRun, Exited | str]] = []
    left, taken = LeftStacks(image.arch.word), dict[int, list[int]]()
    for each in _pieces(image, inputs, piece, last, interrupted=interrupted, progress=progress):
        sp = each.registers[:, image.arch.index[image.arch.sp]]
        for number, steps in left.taken_over(sp, each.spans).items():
            taken[number] = taken.get(number, []) + [each.first + step for step in steps]
        if not each.sizes.all():
            raise NotInPieces(f"{image.path.name} handles a signal, so it cannot be run in pieces: leave out --chunk")
    process, run, end = last[0]
    threads = tuple(
        LongThread(
            thread.number,
            sum(b - a for a, b in thread.pieces),
            ending_of(thread, end, process.current),
            tuple(own_steps(thread.pieces, np.array(taken.get(thread.number, ()), np.int64)).tolist()),
        )
        for thread in process.threads
        if thread.pieces and not thread.vfork_child
    )
    if interrupted():
        inputs = replace(inputs, budget=process.kernel.steps)
    return LongProcess(run, threads, tuple(process.memory.initial), image, inputs, piece)


def _pieces(
    image: Image,
    inputs: ProcessInputs,
    piece: int,
    last: list[tuple[Process, ProcessRun, Exited | str]],
    natively: bool = False,
    interrupted: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda made: None,
) -> Iterator[ProcessPiece]:
    """One run, piece by piece. What became of it is put into ``last``. ``natively``: it is known to be long.

    ``progress`` is told how many steps all processes made.
    """
    free_garbage()  # the run before this one
    with WorkFolder("process") as written, _begun(image, inputs, Path(written), piece, natively) as (process, streams):
        process.kernel.interrupted = interrupted
        for each in run_on(process.kernel):
            progress(process.kernel.steps)
            if each is process:
                yield _piece(process)
            else:
                each.recorder.next_piece()
        progress(process.kernel.steps)
        yield _piece(process)
        assert process.ends is not None
        last.append((process, finished(process, streams, inputs.seed, whole=False), process.ends.end))


def _piece(process: Process) -> ProcessPiece:
    end = process.recorder.total
    registers, sizes, writes = process.recorder.next_piece()
    first = end - len(sizes)
    spans = {
        thread.number: tuple((max(a, first) - first, b - first) for a, b in thread.pieces if b > first)
        for thread in process.threads
    }
    return ProcessPiece(first, registers, sizes, writes, {number: each for number, each in spans.items() if each})
