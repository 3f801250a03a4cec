"""Names that an unwinder writes and nobody reads: a key in other letters, a register that the architecture lacks.

The protocol lets a program write keys of its own, so these are no mistakes; but what stands there is never judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from testbed.arch import Arch
from testbed.words.nearest import nearest
from testbed.words.printable import printable

HELLO = ("type", "protocol", "name", "version", "arches", "stack_below", "stack_above")
FRAMES = ("type", "id", "frames", "root", "stopped")
FRAME = ("pc", "cfa", "registers", "interrupted")
_CLOSE = 0.75  # of 1: "CFA" and "register" are, "function" and "line" are not
_SHOWN = 40


def in_hello(said: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about the keys of a greeting."""
    yield from _keys(said, HELLO, "its hello")


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
