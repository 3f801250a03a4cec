"""Traces that are saved, and the files that they make."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.runs.run import Run, run_program
from testbed.trace.file_blocks import Blocks


@cache
def ran(name: str, arch: str, recipe: str) -> Run:
    return run_program(PROGRAMS[name], ARCHES[arch], recipe)


def blocks_of(path: Path) -> list[tuple[bytes, bytes]]:
    """Kind and content of every block."""
    found, seen = Blocks(path), Counter[bytes]()
    out = []
    for block in found._blocks:
        out.append((block.kind, found.read(block.kind, seen[block.kind], "")[0]))
        seen[block.kind] += 1
    return out
