"""A library that may crash or hang, kept in a process of its own: one forked child serves a whole run.

The child is forked where the first snapshot of some images is asked about, and inherits them. Each question is a
message with the registers and the stack around SP; the code and the read-only data are the images'; what else the
library wants to read, the child asks for. A child that dies is the answer ``ToolCrashed``, one that is silent for
``seconds`` the answer ``ToolHung``; the next question starts another.
"""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from testbed.build import cache
from testbed.build.confined import confining, run_confined
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, followed, nothing_found
from testbed.export.dumped_memory import stack_around
from testbed.image import LoadedImage
from testbed.referee.process.limits import agents_confinement, mapped_now
from testbed.store import KEY_LENGTH
from testbed.trace import Memory, Regions, Snapshot
from testbed.words import child, errors
from testbed.words.child import packed, unpacked
from testbed.words.errors import BuildError, ToolCrashed, ToolHung, UnreadableMemory, UnwindError
from testbed.words.files import WorkFolder

SECONDS = 10.0  # for one snapshot
BELOW, ABOVE = 1024, 8192  # bytes of the stack that a question carries: from SP downwards and upwards

Unwind = Callable[[Snapshot], Backtrace]
Signatures = Mapping[str, tuple[object, tuple[object, ...]]]  # of a library's functions: the result, the arguments


def forked(unwind: Unwind, *, seconds: float = SECONDS, prepare: Callable[[], object] | None = None) -> Unwind:
    """``unwind``, executed in a child process that outlives neither a change of images nor its own crash.

    ``prepare`` is called before each fork: what may take longer than a snapshot's time, and may raise.
    """
    kept: list[_ForkedUnwinder] = []

    def ask(snapshot: Snapshot) -> Backtrace:
        if kept and not kept[0].serves(snapshot):
            kept.pop().end()
        if not kept:
            if prepare is not None:
                prepare()
            kept.append(_ForkedUnwinder(unwind, snapshot))
        try:
            return kept[0].ask(snapshot, seconds)
        except (ToolCrashed, ToolHung) as stop:
            kept.pop().end()
            return nothing_found(snapshot, stop)

    return ask


class _ForkedUnwinder:
    """A forked process that unwinds snapshots of the same images."""

    def __init__(self, unwind: Unwind, first: Snapshot) -> None:
        self._images = first.images
        self._child = child.forked(partial(_serve, unwind, first))

    def serves(self, snapshot: Snapshot) -> bool:
        """True for the same images, asked for by the process that forked it: a fork of that needs its own."""
        return snapshot.images == self._images and self._child.ours

    def ask(self, snapshot: Snapshot, seconds: float) -> Backtrace:
        until = time.monotonic() + seconds
        try:
            self._child.send(packed((dict(snapshot.registers), *stack_around(snapshot, BELOW, ABOVE))), until)
            while True:
                what, said = unpacked(self._child.line(until, "a backtrace"))
                if what == "backtrace":
                    return _read_backtrace(said)
                if what == "raised":
                    raise ToolCrashed(said)
                self._child.send(packed(_read(snapshot, *said)), until)
        except ToolHung as error:
            raise ToolHung(f"no answer within {seconds:g} s") from error

    def end(self) -> None:
        """Kill it and forget it. In a fork of the process that made it: only forget it."""
        self._child.close()


def _read(snapshot: Snapshot, address: int, size: int) -> bytes | None:
    try:
        return snapshot.memory.read(address, size)
    except UnreadableMemory:
        return None


def _serve(unwind: Unwind, first: Snapshot, requests: BinaryIO, answers: BinaryIO) -> None:
    """What the child does until its parent is gone."""
    with confining(agents_confinement(Path(tempfile.gettempdir()), mapped=mapped_now())) as confine:
        confine()
    memory = _AskedMemory(first.images, requests, answers)
    while line := requests.readline():
        registers, memory.start, memory.stack = unpacked(line)
        snapshot = replace(first, registers=registers, memory=Memory(memory))
        try:
            _say(answers, "backtrace", _plain(unwind(snapshot)))
        except EOFError:
            return
        except Exception:  # a mistake of ours: the parent tells it as this snapshot's end, the child goes on
            _say(answers, "raised", traceback.format_exc().strip().splitlines()[-1])


def _say(answers: BinaryIO, what: str, said: Any) -> None:
    answers.write(packed((what, said)))
    answers.flush()


class _AskedMemory(Regions):
    """The child's memory: the stack that came with the question, the images, or the parent's answer."""

    def __init__(self, images: tuple[LoadedImage, ...], requests: BinaryIO, answers: BinaryIO) -> None:
        super().__init__(())
        self.start, self.stack = 0, b""
        self._requests, self._answers = requests, answers
        self._parts = [
            (segment.address + loaded.bias, segment.data)
            for loaded in images
            for segment in loaded.image.segments
            if not segment.writable
        ]

    def read(self, address: int, size: int) -> bytes:
        at = address - self.start
        if at >= 0 and at + size <= len(self.stack):
            return self.stack[at : at + size]
        for start, data in self._parts:
            at = address - start
            if at >= 0 and at + size <= len(data):
                return data[at : at + size]
        _say(self._answers, "read", (address, size))
        line = self._requests.readline()
        if not line:
            raise EOFError("who asked is gone")
        found: bytes | None = unpacked(line)
        if found is None:
            raise UnreadableMemory(address, size)
        return found


def _plain(said: Backtrace) -> tuple[Any, ...]:
    """A backtrace as plain data: errors with arguments of their own do not survive pickling."""
    frames = [(f.kind.name, f.pc, dict(f.registers), f.cfa, f.found_by) for f in said.frames]
    stop = said.stopped
    return frames, None if stop is None else (stop.reason, str(stop), stop.pc)


def _read_backtrace(plain: tuple[Any, ...]) -> Backtrace:
    frames, stop = plain
    error: UnwindError | None = None
    if stop is not None:
        kind: type[UnwindError] = getattr(errors, stop[0])
        error = kind.__new__(kind)
        error.args, error.pc = (stop[1],), stop[2]
    return Backtrace(tuple(Frame(FrameKind[frame[0]], *frame[1:]) for frame in frames), error)


def typed(library: ctypes.CDLL, signatures: Signatures, prefix: str = "") -> ctypes.CDLL:
    """A library whose functions know their types. Raises AttributeError for one that it lacks."""
    for name, (result, arguments) in signatures.items():
        function = getattr(library, prefix + name)
        function.restype, function.argtypes = result, list(arguments)
    return library


def compiled(
    name: str, command: Sequence[str], source: Path, version: str, *, readable: Sequence[Path] = (), exports: str = ""
) -> Path:
    """A library of our own that calls a tool's code, of its version, from the cache of built files.

    ``exports`` is the linker's version script of what is seen of it. Raises BuildError where it does not compile.
    """
    parts = (source.read_text(encoding="utf-8"), *command, exports, version)
    key = hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:KEY_LENGTH]
    return cache.kept(f"{name}.{key}.so", partial(_compiled, name, command, (source, *readable), exports))


def _compiled(name: str, command: Sequence[str], readable: Sequence[Path], exports: str) -> bytes:
    with WorkFolder("library") as folder:
        result, script = folder / "library.so", folder / "exports"
        script.write_text(exports, encoding="ascii")
        zig = {name: str(folder / "zig") for name in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")}
        whole = [*command, *([f"-Wl,--version-script={script}"] if exports else []), "-o", str(result)]
        done = run_confined(whole, folder, zig, readable=readable, cpu_seconds=300)
        if done.returncode or not result.is_file():
            said = done.stderr.decode("utf-8", "replace")[-2000:]
            raise BuildError(f"what calls {name} does not compile", command=whole, output=said)
        return result.read_bytes()


class ReadsSnapshot:
    """A library that reads the memory of the snapshot that it is asked about by calling back."""

    _now: Snapshot | None = None
    _raised: BaseException | None = None

    def _asked(self, snapshot: Snapshot, callers: Iterable[Frame], most: int | None = None) -> Backtrace:
        """What it says of a snapshot. Raises what a callback has raised."""
        self._now, self._raised = snapshot, None
        said = followed(snapshot, callers, most)
        if self._raised is not None:
            raise self._raised
        return said

    def _read(self, address: int, into: int, size: int) -> bool:
        assert self._now is not None
        try:
            ctypes.memmove(into, self._now.memory.read(address, size), size)
        except UnreadableMemory:
            return False
        except Exception as error:  # ctypes prints and swallows it: `unwind` raises it again
            self._raised = error
            return False
        return True
