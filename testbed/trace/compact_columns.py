"""Steps and writes as compact bytes, chunk by chunk; every chunk can be read without the others.

A chunk of steps, for registers ``r`` of the architecture in order::

    size of each instruction                                        1 byte per step
    which registers changed against the row before (bit set)        (registers + 7) // 8 bytes per step
    for each register: its changes, value minus the value before    register's width per change

The row before a chunk's first one is zero. The pc is kept as its distance from the address behind the instruction
before it, so only transfers of control count as changes. All differences wrap at the register's width.

A chunk of writes: step minus step before (4 bytes each), address minus address before (8), size (1), value (8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.trace.memory import Writes

CHUNK = 1 << 16  # rows of a chunk
_WRITE = 4 + 8 + 1 + 8


class Malformed(ValueError):
    """Bytes that are no chunk; the text says why."""


def _unsigned(bits: int) -> np.dtype[Any]:
    return np.dtype(f"<u{bits // 8}")


def _fallen(sizes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """How far straight-line execution has brought the pc since the chunk's first step."""
    fallen = np.zeros(len(sizes), np.uint64)
    np.cumsum(sizes[:-1], out=fallen[1:])
    return fallen


def encode_steps(arch: Arch, registers: NDArray[np.uint64], sizes: NDArray[np.uint8]) -> bytes:
    """One chunk of rows."""
    columns: list[bytes] = []
    changed = np.zeros((len(registers), len(arch.registers)), np.bool_)
    for i, register in enumerate(arch.registers):
        column = registers[:, i] - _fallen(sizes) if register.name == arch.pc else registers[:, i]
        difference = np.diff(column, prepend=np.uint64(0)).astype(_unsigned(register.bits))
        changed[:, i] = difference != 0
        columns.append(difference[changed[:, i]].tobytes())
    return b"".join([sizes.tobytes(), np.packbits(changed, axis=1, bitorder="little").tobytes(), *columns])


def decode_steps(arch: Arch, content: bytes, registers: NDArray[np.uint64], sizes: NDArray[np.uint8]) -> None:
    """Fill the rows of one chunk. Raises Malformed where the bytes are not that many rows."""
    sizes[:], places = _places(arch, content, len(registers))
    for i in range(len(arch.registers)):
        registers[:, i] = _column(arch, content, i, sizes, places)


def decode_column(arch: Arch, content: bytes, rows: int, register: str) -> NDArray[np.uint64]:
    """One register of a chunk of so many rows. Raises Malformed as `decode_steps` does."""
    sizes, places = _places(arch, content, rows)
    return _column(arch, content, arch.index[register], sizes, places)


def decode_sizes(arch: Arch, content: bytes, rows: int) -> NDArray[np.uint8]:
    """The sizes of a chunk's instructions. Raises Malformed as `decode_steps` does."""
    return _places(arch, content, rows)[0]


def _places(arch: Arch, content: bytes, rows: int) -> tuple[NDArray[np.uint8], list[tuple[NDArray[np.int64], int]]]:
    """Sizes; and for each register the rows at which it changes, and where its changes are."""
    count = len(arch.registers)
    width = (count + 7) // 8
    at = rows * (1 + width)
    if len(content) < at:
        raise Malformed(f"{len(content)} bytes are too few for {rows} steps")
    packed = np.frombuffer(content, np.uint8, rows * width, rows).reshape(rows, width)
    changed = np.unpackbits(packed, axis=1, count=count, bitorder="little").T
    places = []
    for i, register in enumerate(arch.registers):
        steps = np.flatnonzero(changed[i])
        places.append((steps, at))
        at += len(steps) * (register.bits // 8)
        if at > len(content):
            raise Malformed(f"the changes of {register.name} reach past the end")
    if at != len(content):
        raise Malformed(f"{len(content) - at} bytes follow the last register")
    return np.frombuffer(content, np.uint8, rows), places


def _column(
    arch: Arch, content: bytes, i: int, sizes: NDArray[np.uint8], places: list[tuple[NDArray[np.int64], int]]
) -> NDArray[np.uint64]:
    register, (steps, at) = arch.registers[i], places[i]
    changes = np.zeros(len(sizes), np.uint64)
    changes[steps] = np.frombuffer(content, _unsigned(register.bits), len(steps), at)
    column = np.cumsum(changes, dtype=np.uint64)
    if register.name == arch.pc:
        column += _fallen(sizes)
    masked: NDArray[np.uint64] = column & np.uint64((1 << register.bits) - 1)
    return masked


def encode_writes(writes: Writes, first: int, end: int) -> bytes:
    """One chunk of the journal."""
    step, address = writes.step[first:end], writes.address[first:end]
    return b"".join(
        (
            np.diff(step, prepend=np.uint32(0)).astype("<u4").tobytes(),
            np.diff(address, prepend=np.uint64(0)).astype("<u8").tobytes(),
            writes.size[first:end].tobytes(),
            writes.value[first:end].astype("<u8").tobytes(),
        )
    )


def decode_writes(content: bytes, count: int, steps: int, before: int = 0) -> Writes:
    """One chunk of the journal, which has ``count`` entries; ``before`` is the step of the entry before it.

    Raises Malformed for entries that no run of ``steps`` steps has made.
    """
    if len(content) != count * _WRITE:
        raise Malformed(f"{len(content)} bytes are not {count} writes")
    step = np.cumsum(np.frombuffer(content, "<u4", count), dtype=np.uint64)
    if count and (int(step[0]) < before or int(step.max()) >= steps):
        raise Malformed("the writes are not in the order of the steps")
    size = np.frombuffer(content, np.uint8, count, 12 * count)
    if not ((size >= 1) & (size <= 8)).all():
        raise Malformed("a write has a size that is not 1 to 8 bytes")
    return Writes(
        step.astype(np.uint32),
        np.cumsum(np.frombuffer(content, "<u8", count, 4 * count), dtype=np.uint64),
        size,
        np.frombuffer(content, "<u8", count, 13 * count),
    )
