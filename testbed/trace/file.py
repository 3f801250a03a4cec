"""A trace as one file that stands alone: registers, writes, memory, and the program files that ran.

The container is in `testbed.trace.file_blocks`, the columns in `testbed.trace.compact_columns`. Blocks, in order::

    file  the bytes of each image's file                      at most PART bytes per block
    mem.  the initial bytes of each region                    the same
    step  a chunk of steps        }  chunks of CHUNK rows; each kind in order,
    wrts  a chunk of writes       }  one between the other in any way

The header names the architecture, its registers, the seed, how the run ended, and the sizes of all this. ``notes``
are texts that the caller gives and gets back; they mean nothing here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from testbed.arch import Arch, FrameRecord, arch_named
from testbed.image import LoadedImage, read_image
from testbed.trace.compact_columns import CHUNK, Malformed, encode_steps, encode_writes
from testbed.trace.file_blocks import BLOCK, HELD, Blocks, write_blocks
from testbed.trace.memory import Region, Regions, Writes
from testbed.trace.saved_trace import STEPS, WRITES, Columns, SavedTrace
from testbed.trace.trace import Chunk, Exited, Trace
from testbed.words.budget import Budget
from testbed.words.errors import BudgetExceeded, EmulationError, ImageError, TraceFileError, UsageError

FORMAT = "testbed trace"
PART = 1 << 20
_FILE, _MEMORY = b"file", b"mem."


def save_trace(trace: Trace, path: Path | str, *, notes: Mapping[str, str] | None = None) -> None:
    """Write a trace to one file, which replaces an older one only when it is complete.

    Raises TraceFileError where it cannot be written, or an image did not come from a file.
    """
    header = _header(trace, notes or {}, len(trace), len(trace.writes), trace.end)
    _save(Path(path), trace, lambda file: write_blocks(file, header, _blocks(trace)))


def save_chunks(chunks: Iterable[Chunk], path: Path | str, *, notes: Mapping[str, str] | None = None) -> Trace:
    """Write a long run as `save_trace` does, one piece after the other; memory holds one. Returns the last piece.

    Raises TraceFileError as `save_trace` does.
    """
    pieces = iter(chunks)
    first = next(pieces)
    packer = _Packer(first)

    def header() -> dict[str, Any]:
        return _header(first.trace, notes or {}, packer.steps, packer.writes, packer.last.trace.end)

    def write(file: BinaryIO) -> None:
        write_blocks(file, header(), packer.blocks(chain((first,), pieces)), final=header)

    _save(Path(path), first.trace, write)
    return packer.last.trace


def _save(path: Path, trace: Trace, write: Callable[[BinaryIO], None]) -> None:
    for loaded in trace.images:
        if not loaded.image.content:
            raise TraceFileError(path, 0, f"image {loaded} did not come from a file, so the trace cannot carry it")
    try:
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise TraceFileError(path, 0, f"cannot be written: {error.strerror or error}") from error


def _header(
    trace: Trace, notes: Mapping[str, str], steps: int, writes: int, end: Exited | EmulationError
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "arch": trace.arch.name,
        "registers": [[register.name, register.bits] for register in trace.arch.registers],
        "steps": steps,
        "writes": writes,
        "rows": CHUNK,
        "seed": trace.seed,
        "end": {"exit": end.status}
        if isinstance(end, Exited)
        else {"pc": end.pc, "detail": end.detail, "where": end.where, "last_steps": end.last_steps},
        "images": [
            {
                "path": loaded.image.path.name,
                "bytes": len(loaded.image.content),
                "bias": loaded.bias,
                "frame_records": {isa: asdict(record) for isa, record in loaded.image.frame_records.items()},
                "conventions": loaded.image.conventions,
            }
            for loaded in trace.images
        ],
        "regions": [{"address": region.address, "bytes": len(region.data)} for region in trace.initial],
        "notes": dict(notes),
    }


def _fixed(trace: Trace) -> Iterator[tuple[bytes, bytes]]:
    """The blocks of what does not change: program files, and memory before the first step."""
    for kind, contents in (
        (_FILE, [loaded.image.content for loaded in trace.images]),
        (_MEMORY, [region.data for region in trace.initial]),
    ):
        for content in contents:
            yield from ((kind, content[at : at + PART]) for at in range(0, len(content), PART))


def _blocks(trace: Trace) -> Iterator[tuple[bytes, bytes]]:
    yield from _fixed(trace)
    for at in range(0, len(trace), CHUNK):
        yield STEPS, encode_steps(trace.arch, trace.registers[at : at + CHUNK], trace.sizes[at : at + CHUNK])
    for at in range(0, len(trace.writes), CHUNK):
        yield WRITES, encode_writes(trace.writes, at, min(at + CHUNK, len(trace.writes)))


class _Packer:
    """Pieces of any length to blocks of CHUNK rows; how many steps and writes there were."""

    def __init__(self, first: Chunk) -> None:
        self.last = first
        self.steps = self.writes = 0

    def blocks(self, chunks: Iterable[Chunk]) -> Iterator[tuple[bytes, bytes]]:
        arch = self.last.trace.arch
        yield from _fixed(self.last.trace)
        registers, sizes = self.last.trace.registers[:0].copy(), self.last.trace.sizes[:0].copy()
        kinds = (np.uint32, np.uint64, np.uint8, np.uint64)
        journal: list[Any] = [np.empty(0, kind) for kind in kinds]
        for chunk in chunks:
            trace, self.last = chunk.trace, chunk
            self.steps, self.writes = self.steps + len(trace), self.writes + len(trace.writes)
            rows, at = np.concatenate((registers, trace.registers)), 0
            lengths = np.concatenate((sizes, trace.sizes))
            while len(rows) - at >= CHUNK or (chunk.end is not None and len(rows) > at):
                yield STEPS, encode_steps(arch, rows[at : at + CHUNK], lengths[at : at + CHUNK])
                at += CHUNK
            registers, sizes = rows[at:].copy(), lengths[at:].copy()
            new = trace.writes
            entries: tuple[Any, ...] = (new.step + np.uint32(chunk.first), new.address, new.size, new.value)
            journal, at = [np.concatenate(pair) for pair in zip(journal, entries, strict=True)], 0
            while len(journal[0]) - at >= CHUNK or (chunk.end is not None and len(journal[0]) > at):
                yield WRITES, encode_writes(Writes(*journal), at, min(at + CHUNK, len(journal[0])))
                at += CHUNK
            journal = [column[at:].copy() for column in journal]


def load_trace(path: Path | str, budget: Budget | None = None) -> SavedTrace:
    """The trace in a file. Its columns are read when they are asked for; ``load_trace(path).load()`` reads them now.

    Raises TraceFileError (file, offset, what is wrong) for a file that is foreign, of another version, truncated or
    changed, at once or when the part is read; what a damaged file claims is never allocated before the file shows that
    it has it. BudgetExceeded for one that costs more than ``budget`` (None: the one of the process).
    """
    return load_trace_and_notes(path, budget)[0]


def load_trace_and_notes(path: Path | str, budget: Budget | None = None) -> tuple[SavedTrace, Mapping[str, str]]:
    """As `load_trace`, and the texts that were saved with it."""
    blocks = Blocks(Path(path), budget)
    header = blocks.header
    parts = _StoredParts(blocks)
    try:
        if header["format"] != FORMAT:
            raise Malformed(f"it is of format {header['format']!r}")
        arch = _arch(header)
        steps, writes = _natural(header, "steps", 1 << 32), _natural(header, "writes", 1 << 40)
        rows = _natural(header, "rows", BLOCK)
        seed, end, notes = int(header["seed"]), _end(header["end"]), header["notes"]
        if not all(isinstance(text, str) for pair in notes.items() for text in pair):
            raise Malformed("a note is no text")
        if rows == 0:
            raise Malformed("its chunks have no rows")
        images = tuple(_image(parts, arch, told) for told in header["images"])
        regions = tuple(_region(parts, told) for told in header["regions"])
        Regions(regions)  # raises where they overlap
    except TraceFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        told = error if isinstance(error, Malformed) else f"{type(error).__name__}: {error}"
        raise blocks.error(0, f"the header cannot be understood: {told}") from error
    for kind, count, what in ((STEPS, steps, "steps"), (WRITES, writes, "writes")):
        if blocks.count(kind) != -(-count // rows):
            raise blocks.error(0, f"the header claims {count} {what}; the file has {blocks.count(kind)} chunks of them")
    blocks.only({STEPS: blocks.count(STEPS), WRITES: blocks.count(WRITES), **parts.taken})
    return SavedTrace.of(Columns(blocks, arch, steps, writes, rows), images, regions, end, seed), notes


def _natural(told: Mapping[str, Any], key: str, limit: int) -> int:
    value = told[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise Malformed(f"{key} {value!r} is no number from 0 to {limit - 1}")
    return value


def _arch(header: Mapping[str, Any]) -> Arch:
    try:
        arch = arch_named(header["arch"])
    except UsageError as error:
        raise Malformed(str(error)) from error
    known = [[register.name, register.bits] for register in arch.registers]
    if header["registers"] != known:
        raise Malformed(f"its registers are not those that this version records on {arch}: record again")
    return arch


def _end(told: Mapping[str, Any]) -> Exited | EmulationError:
    if "exit" in told:
        return Exited(_natural(told, "exit", 256))
    lines: Sequence[str] = [str(line) for line in told["last_steps"]]
    return EmulationError(
        _natural(told, "pc", 1 << 64), str(told["detail"]), where=str(told["where"]), last_steps=lines
    )


def _image(parts: _StoredParts, arch: Arch, told: Mapping[str, Any]) -> LoadedImage:
    path, bias = Path(told["path"]), _natural(told, "bias", 1 << 64)
    records = {str(isa): FrameRecord(**record) for isa, record in told["frame_records"].items()}
    content, offset = parts.bytes(_FILE, _natural(told, "bytes", 1 << 40), f"the program file {path.name}")
    try:
        image = read_image(path, records, arch=arch, content=content)
    except (ImageError, BudgetExceeded) as error:
        raise parts.error(offset, f"the program file {path.name} in it: {error.detail}") from error
    if image.arch is not arch:
        raise parts.error(offset, f"the program file {path.name} in it is for {image.arch}, not {arch}")
    said = tuple((str(pattern), str(name)) for pattern, name in told.get("conventions", ()))
    return LoadedImage(replace(image, conventions=said), bias)


def _region(parts: _StoredParts, told: Mapping[str, Any]) -> Region:
    address = _natural(told, "address", 1 << 64)
    size = _natural(told, "bytes", (1 << 64) - address)
    return Region(address, parts.bytes(_MEMORY, size, f"memory at {address:#x}")[0])


class _StoredParts:
    """Bytes that were written in parts, taken in the order in which they were written."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.error = blocks.error
        self.taken: dict[bytes, int] = {}

    def bytes(self, kind: bytes, size: int, what: str) -> tuple[bytes, int]:
        """The next so many bytes of a kind, and the offset of their first block."""
        parts: list[bytes] = []
        first = 0
        for at in range(0, size, PART):
            number = self.taken.get(kind, 0)
            content, offset = self._blocks.read(kind, number, what)
            self.taken[kind] = number + 1
            if len(content) != min(PART, size - at):
                raise self.error(offset, f"{what}: a part has {len(content)} bytes, not {min(PART, size - at)}")
            self._blocks.account.spend("mapped", len(content) // HELD, offset)
            parts.append(content)
            first = first if at else offset
        return b"".join(parts), first
