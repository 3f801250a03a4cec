"""What a frame's own part of the stack holds: where a search for its return address begins, ends, and is misled.

A search that found every return address so far goes on behind the last one. So frame 0's part begins at SP, and that
of a caller behind the place where the frame before it keeps its return address; it ends at the frame's CFA. Of the
outermost frame it is all that follows. What lies in front of the frame's own return address misleads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from testbed.truth.events import code_of
from testbed.truth.model import Activation
from testbed.truth.watched import Watched
from testbed.words.errors import UnreadableMemory


@dataclass(frozen=True, slots=True)
class OwnPart:
    """``kept``: the return address is there.

    Before it lie ``left``: return addresses of calls that are over; ``copied``: those of activations that are not.
    """

    kept: bool
    left: bool
    copied: bool


def own_part(watched: Watched, step: int, depth: int) -> OwnPart:
    """What frame ``depth`` of a step has on the stack."""
    chain = list(_chain(watched, int(watched.node[step])))
    start, values, place = int(watched.trace.sp[step]), np.empty(0, np.uint64), None
    for activation in chain[: depth + 1]:
        values, place, start = _search(watched, step, activation, start)
    before = values[:place]
    in_code = np.zeros(len(before), np.bool_)
    for low, high in code_of(watched.trace):
        in_code |= (before >= low) & (before <= high)
    misleading = set(before[in_code].tolist())
    living = misleading & {activation.return_address for activation in chain}
    left = (misleading - living) & watched.returned_to
    return OwnPart(place is not None, bool(left), bool(living))


def _search(
    watched: Watched, step: int, activation: Activation, start: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], int | None, int]:
    """The words of an activation's part of the stack, the place of its return address among them, where to go on."""
    arch, memory = watched.trace.arch, watched.trace.memory(step)
    start = -(-start // arch.word) * arch.word
    try:
        end = activation.cfa if activation.cfa is not None else memory.mapped_until(start)
        if end <= start and activation.signal:  # on another stack than its handler
            end = memory.mapped_until(start)
        data = memory.read(start, max(0, end - start) // arch.word * arch.word)
    except UnreadableMemory:
        return np.empty(0, np.uint64), None, max(start, activation.cfa or start)
    values = np.frombuffer(data, f"<u{arch.word}").astype(np.uint64) & np.uint64(arch.code_mask & ~arch.signature)
    wanted = [address for address in (activation.return_address, activation.goes_on) if address]
    found = np.flatnonzero(np.logical_or.reduce([values == address for address in wanted])) if wanted else values[:0]
    if len(found):
        return values, int(found[0]), start + (int(found[0]) + 1) * arch.word
    return values, None, max(start, activation.cfa or start)


def _chain(watched: Watched, index: int | None) -> Iterator[Activation]:
    while index is not None:
        yield watched.activations[index]
        index = watched.activations[index].parent
