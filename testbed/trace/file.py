"""A trace as one file that stands alone: registers, writes, memory, and the program files that ran.

The container is in `testbed.trace.blocks`, the columns in `testbed.trace.columns`. Blocks, in order::

    file  the bytes of each image's file                      at most PART bytes per block
    mem.  the initial bytes of each region                    the same
    step  a chunk of steps        }  chunks of CHUNK rows
    wrts  a chunk of writes       }

The header names the architecture, its registers, the seed, how the run ended, and the sizes of all this. ``notes``
are texts that the caller gives and gets back; they mean nothing here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from testbed.arch import Arch, FrameRecord, arch_named
from testbed.errors import EmulationError, ImageError, TraceFileError, UsageError
from testbed.image import LoadedImage, read_image
from testbed.trace.blocks import Blocks, write_blocks
from testbed.trace.columns import CHUNK, Malformed, decode_steps, decode_writes, encode_steps, encode_writes
from testbed.trace.memory import Region, Regions, Writes
from testbed.trace.trace import Exited, Trace

FORMAT = "testbed trace"
PART = 1 << 20
_FILE, _MEMORY, _STEPS, _WRITES = b"file", b"mem.", b"step", b"wrts"


def save_trace(trace: Trace, path: Path | str, *, notes: Mapping[str, str] | None = None) -> None:
    """Write a trace to one file, which replaces an older one only when it is complete.

    Raises TraceFileError where it cannot be written, or an image did not come from a file.
    """
    path = Path(path)
    for loaded in trace.images:
        if not loaded.image.content:
            raise TraceFileError(path, 0, f"image {loaded} did not come from a file, so the trace cannot carry it")
    try:
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write_blocks(file, _header(trace, notes or {}), _blocks(trace))
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise TraceFileError(path, 0, f"cannot be written: {error.strerror or error}") from error


def _header(trace: Trace, notes: Mapping[str, str]) -> dict[str, Any]:
    end = trace.end
    return {
        "format": FORMAT,
        "arch": trace.arch.name,
        "registers": [[register.name, register.bits] for register in trace.arch.registers],
        "steps": len(trace),
        "writes": len(trace.writes),
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
            }
            for loaded in trace.images
        ],
        "regions": [{"address": region.address, "bytes": len(region.data)} for region in trace.initial],
        "notes": dict(notes),
    }


def _blocks(trace: Trace) -> Iterator[tuple[bytes, bytes]]:
    for kind, contents in (
        (_FILE, [loaded.image.content for loaded in trace.images]),
        (_MEMORY, [region.data for region in trace.initial]),
    ):
        for content in contents:
            yield from ((kind, content[at : at + PART]) for at in range(0, len(content), PART))
    for at in range(0, len(trace), CHUNK):
        yield _STEPS, encode_steps(trace.arch, trace.registers[at : at + CHUNK], trace.sizes[at : at + CHUNK])
    for at in range(0, len(trace.writes), CHUNK):
        yield _WRITES, encode_writes(trace.writes, at, min(at + CHUNK, len(trace.writes)))


def load_trace(path: Path | str) -> Trace:
    """The trace in a file.

    Raises TraceFileError (file, offset, what is wrong) for a file that is foreign, of another version, truncated or
    changed; what a damaged file claims is never allocated before the file shows that it has it.
    """
    return load_trace_and_notes(path)[0]


def load_trace_and_notes(path: Path | str) -> tuple[Trace, Mapping[str, str]]:
    """As `load_trace`, and the texts that were saved with it."""
    blocks = Blocks(Path(path))
    header = blocks.header
    try:
        if header["format"] != FORMAT:
            raise Malformed(f"it is of format {header['format']!r}")
        arch = _arch(header)
        steps, writes = _natural(header, "steps", 1 << 32), _natural(header, "writes", 1 << 40)
        seed, end, notes = int(header["seed"]), _end(header["end"]), header["notes"]
        if not all(isinstance(text, str) for pair in notes.items() for text in pair):
            raise Malformed("a note is no text")
        images = tuple(_image(blocks, arch, told) for told in header["images"])
        regions = tuple(_region(blocks, told) for told in header["regions"])
        Regions(regions)  # raises where they overlap
    except TraceFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        told = error if isinstance(error, Malformed) else f"{type(error).__name__}: {error}"
        raise blocks.error(0, f"the header cannot be understood: {told}") from error
    try:
        trace = _columns(blocks, arch, images, regions, steps, writes, end, seed)
    except MemoryError as error:
        raise blocks.error(0, f"{steps} steps and {writes} writes do not fit into memory") from error
    blocks.done()
    return trace, notes


def _columns(
    blocks: Blocks,
    arch: Arch,
    images: tuple[LoadedImage, ...],
    regions: tuple[Region, ...],
    steps: int,
    writes: int,
    end: Exited | EmulationError,
    seed: int,
) -> Trace:
    for kind, rows, what in ((_STEPS, steps, "steps"), (_WRITES, writes, "writes")):
        if blocks.left(kind) != -(-rows // CHUNK):
            raise blocks.error(0, f"the header claims {rows} {what}; the file has {blocks.left(kind)} chunks of them")
    registers, sizes = np.empty((steps, len(arch.registers)), np.uint64), np.empty(steps, np.uint8)
    for at in range(0, steps, CHUNK):
        content, offset = blocks.take(_STEPS, f"the chunk of step {at}")
        try:
            decode_steps(arch, content, registers[at : at + CHUNK], sizes[at : at + CHUNK])
        except Malformed as error:
            raise blocks.error(offset, f"the chunk of step {at}: {error}") from error
    journal = Writes(
        np.empty(writes, np.uint32),
        np.empty(writes, np.uint64),
        np.empty(writes, np.uint8),
        np.empty(writes, np.uint64),
    )
    for at in range(0, writes, CHUNK):
        content, offset = blocks.take(_WRITES, f"the chunk of write {at}")
        try:
            decode_writes(content, steps, journal, at, min(at + CHUNK, writes))
        except Malformed as error:
            raise blocks.error(offset, f"the chunk of write {at}: {error}") from error
    return Trace(arch, images, registers, sizes, journal, regions, end, seed)


def _natural(told: Mapping[str, Any], key: str, limit: int) -> int:
    value = told[key]
    if not isinstance(value, int) or not 0 <= value < limit:
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


def _image(blocks: Blocks, arch: Arch, told: Mapping[str, Any]) -> LoadedImage:
    path, bias = Path(told["path"]), _natural(told, "bias", 1 << 64)
    records = {str(isa): FrameRecord(**record) for isa, record in told["frame_records"].items()}
    content, offset = _bytes(blocks, _FILE, _natural(told, "bytes", 1 << 40), f"the program file {path.name}")
    try:
        image = read_image(path, records, arch=arch, content=content)
    except ImageError as error:
        raise blocks.error(offset, f"the program file {path.name} in it: {error.detail}") from error
    if image.arch is not arch:
        raise blocks.error(offset, f"the program file {path.name} in it is for {image.arch}, not {arch}")
    return LoadedImage(image, bias)


def _region(blocks: Blocks, told: Mapping[str, Any]) -> Region:
    address = _natural(told, "address", 1 << 64)
    size = _natural(told, "bytes", (1 << 64) - address)
    return Region(address, _bytes(blocks, _MEMORY, size, f"memory at {address:#x}")[0])


def _bytes(blocks: Blocks, kind: bytes, size: int, what: str) -> tuple[bytes, int]:
    """Bytes that were written in parts, and the offset of the first one."""
    parts: list[bytes] = []
    first = 0
    for at in range(0, size, PART):
        content, offset = blocks.take(kind, what)
        if len(content) != min(PART, size - at):
            raise blocks.error(offset, f"{what}: a part has {len(content)} bytes, not {min(PART, size - at)}")
        parts.append(content)
        first = first if at else offset
    return b"".join(parts), first
