"""A snapshot that is small enough to be damaged at every byte: one page of stack, one short program file."""

from __future__ import annotations

from dataclasses import replace

import testbed
from testbed.trace import Memory, Snapshot


def small(arch: str = "arm64") -> Snapshot:
    """``leaf_call`` in its leaf, with a few words of stack and of code: every unwinder can still walk."""
    run = testbed.run("leaf_call", arch=arch)
    at = run.at("leaf_body")
    code = run.loaded.entry
    parts = [(code, at.memory.read(code, 0x40)), (at.sp & -64, at.memory.read(at.sp & -64, 0x100))]
    return replace(at, memory=Memory.of(parts))
