"""Stack scanning: the walk that asks every word of the stack whether it could be a return address.

From SP upwards, one word at a time::

    location       = first word at or above SP (then above the last one found) that is plausible
    return address = *location,  caller's SP = location + one word

What counts as plausible, and how many words are tried, is the unwinder's choice. The scan that reaches the end of the
stack's mapping has seen every word there is, so it claims the root; one that gives up before that stops honestly, and
so does one that reaches the end of what a dump has of the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from testbed.contract.unwinder import Backtrace, Frame, FrameKind, followed, interrupted_frame
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NotInSnapshot, NoUnwindInfo

MAX_FRAMES = 1024

Plausible = Callable[[Snapshot, int, Frame], bool]
"""(snapshot, code address, the frame that would return there) -> could it be a return address?"""


@dataclass(frozen=True, slots=True)
class Scan:
    """One scanner: how many words from SP for the first caller, how many for each later one, and what it believes."""

    first_words: int
    words: int
    plausible: Plausible
    claims_sp: bool  # takes location + one word for the caller's SP, whatever the ABI says
    possible: Plausible | None = None  # what a word must be whatever the frame; None: plausible looks at no frame


def scan(snapshot: Snapshot, options: Scan) -> Backtrace:
    """The callers that one scanner finds on the stack."""
    return followed(snapshot, _callers(snapshot, options))


def _callers(snapshot: Snapshot, options: Scan) -> Iterator[Frame]:
    arch, frame = snapshot.arch, interrupted_frame(snapshot)
    location = -(-snapshot.sp // arch.word) * arch.word
    end, whole = snapshot.stack_end()
    words = options.first_words
    for _ in range(1, MAX_FRAMES):
        behind = location + words * arch.word
        found = _next(snapshot, options, frame, location, min(end, behind))
        if found is None:
            if behind >= end and whole:
                return
            if behind > end:
                raise NotInSnapshot(end)
            raise NoUnwindInfo(f"no plausible return address in {words} words from {location:#x}")
        at, pc = found
        location, words = at + arch.word, options.words
        registers = {arch.pc: pc} | ({arch.sp: location} if options.claims_sp else {})
        frame = Frame(FrameKind.CALLER, pc, registers, found_by=f"scan, at {at:#x}")
        yield frame
    raise NoUnwindInfo(f"more than {MAX_FRAMES} frames")


def _next(snapshot: Snapshot, options: Scan, frame: Frame, location: int, end: int) -> tuple[int, int] | None:
    """Where the next plausible return address is, and the code address it names."""
    arch = snapshot.arch
    low, high = code_range(snapshot.images)
    data = snapshot.memory.read(location, max(0, end - location) // arch.word * arch.word)
    words = np.frombuffer(data, f"<u{arch.word}")
    # Almost no word of a stack points anywhere near code.
    for i in np.flatnonzero((words > low) & (words <= high | 1)).tolist():
        value = int(words[i])
        if options.plausible(snapshot, value, frame):
            return location + i * arch.word, arch.code_address(value)
    return None


@lru_cache(maxsize=64)
def code_range(images: tuple[LoadedImage, ...]) -> tuple[int, int]:
    """The lowest and the highest run-time address around executable segments."""
    spans = [
        (s.address + loaded.bias, s.address + len(s.data) + loaded.bias)
        for loaded in images
        for s in loaded.image.segments
        if s.executable
    ]
    return min((low for low, _ in spans), default=0), max((high for _, high in spans), default=0)
