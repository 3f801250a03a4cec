"""Memory that is mostly zeros: the same bytes as ever, and no room for the zeros."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest

from testbed.trace import Region, Writes
from testbed.trace.native import PAGE
from testbed.trace.rolling_memory import RollingMemory
from testbed.trace.sparse import copy_used, sparse_bytes, used_pages

SIZES = [0, 1, 7, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE, 64 * PAGE + 24]


def some(random: Random, size: int, count: int) -> bytes:
    """Zeros, but for a few bytes."""
    out = bytearray(size)
    for at in random.sample(range(size), min(count, size)):
        out[at] = random.randrange(256)
    return bytes(out)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 9])
def test_what_is_copied_sparsely_is_the_same(size: int, count: int) -> None:
    data = some(Random(size + count), size, count)
    used = used_pages(data)
    assert used.tolist() == [any(data[at : at + PAGE]) for at in range(0, size, PAGE)]
    into = np.zeros(size, np.uint8)
    copy_used(data, used, into)
    assert into.tobytes() == data == sparse_bytes(into, used)


def test_memory_rolled_forward_is_what_was_written() -> None:
    random = Random(7)
    regions = [Region(0x7000, some(random, 3 * PAGE + 5, 40)), Region(0x1_0003, bytes(PAGE)), Region(0x8_0000, b"xyz")]
    memory, plain = RollingMemory(regions), {region.address: bytearray(region.data) for region in regions}
    for _ in range(6):
        rows = []
        for _ in range(30):
            region, size = random.choice(regions), random.randint(1, 8)
            rows.append((region.address + random.randrange(-4, len(region.data) + 4), size, random.getrandbits(64)))
        address, sizes, value = zip(*rows, strict=True)
        memory.apply(
            Writes(
                np.zeros(len(rows), np.uint32),
                np.array(address, np.uint64),
                np.array(sizes, np.uint8),
                np.array(value, np.uint64),
            )
        )
        for at, size, word in rows:
            for i in range(size):
                for start, octets in plain.items():
                    if start <= at + i < start + len(octets):
                        octets[at + i - start] = word >> 8 * i & 0xFF
        assert {region.address: region.data for region in memory.regions()} == plain
    before = memory.regions()
    assert all(now is then for now, then in zip(memory.regions(), before, strict=True)), "made anew without a write"


def resident() -> int:
    (kb,) = re.findall(r"VmRSS:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(kb) << 10


def test_zeros_take_no_room() -> None:
    size, before = 512 << 20, resident()
    memory, kept = RollingMemory([Region(0, bytes(size))]), []
    for step in range(4):
        one = np.array([step * 100 * PAGE], np.uint64)
        memory.apply(Writes(np.zeros(1, np.uint32), one, np.ones(1, np.uint8), np.ones(1, np.uint64)))
        kept.append(memory.regions())
    assert [region.used.sum() for (region,) in kept] == [1, 2, 3, 4]
    assert resident() - before < 64 << 20
