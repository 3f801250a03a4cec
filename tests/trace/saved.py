"""Traces that are saved, and the files that they make."""

from collections import Counter
from pathlib import Path

from testbed.trace.file_blocks import Blocks


def blocks_of(path: Path) -> list[tuple[bytes, bytes]]:
    """Kind and content of every block."""
    found, seen = Blocks(path), Counter[bytes]()
    out = []
    for block in found._blocks:
        out.append((block.kind, found.read(block.kind, seen[block.kind], "")[0]))
        seen[block.kind] += 1
    return out
