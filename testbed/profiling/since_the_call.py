"""What was right at a call and is wrong later: rows that hold where they stand, and still give a false caller.

Two things are no mistake of a row at its own place. A function that is called may write over a slot in which its
caller's row says that a register is kept: `uw_install_context` of libgcc does, to load the registers of another frame.
And a table may have no way to say that a signal interrupted the caller (EHABI), so that its pc is taken for a return
address. Both are found by what is true: a slot's word at the step beside the register as it was at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.checks.native.codes import REGISTERS, RETURN_ADDRESS
from testbed.checks.row_columns import caller_columns
from testbed.checks.row_rules import register_rules, return_address_rule
from testbed.checks.rule_words import rule_words
from testbed.checks.swept import load_words
from testbed.contract.rows import AtCfa, RowTable, UnwindRow
from testbed.image import LoadedImage
from testbed.truth import Truth
from testbed.truth.frame_sites import FrameSites

# Bits of a mask beside those of `testbed.checks.native.codes`. WRITTEN_OVER stands with the bits of registers.
WRITTEN_OVER, NOT_A_SIGNALS = 1 << 62, 1 << 61


def later_masks(
    watched: Truth, sites: FrameSites, places: NDArray[np.uint64], loaded: LoadedImage, table: RowTable
) -> NDArray[np.uint64]:
    """What is wrong with the rows of some frames of one image. ``places`` are the run-time pcs that they are of."""
    found = np.zeros(len(sites), np.uint64)
    index, of_site = np.unique(np.stack((places, sites.node.astype(np.uint64)), axis=1), axis=0, return_inverse=True)
    of_site = of_site.reshape(-1)
    order = np.argsort(of_site, kind="stable")
    ends = np.searchsorted(of_site[order], np.arange(len(index)), "right")
    slots = _FrameWords(watched)
    start = 0
    for (place, node), end in zip(index.tolist(), ends.tolist(), strict=True):
        own, start = order[start:end], end
        row = table.at(place - loaded.bias)
        if row is None:
            continue
        if watched.activations[node].signal and not row.signal_frame:
            found[own] = NOT_A_SIGNALS
        else:
            slots.add(own[sites.depth[own] > 0], sites, node, row)
    slots.mark(found)
    return found


class _FrameWord(NamedTuple):
    """A slot in the frame of some sites, and the value that it should have at their steps."""

    own: NDArray[np.int64]
    step: NDArray[np.int64]
    address: int
    true: int
    bit: int


class _FrameWords:
    """The slots of some frames that should have a caller's register still: what is read of all together.

    Of a word only what ``mask`` has is compared: a return address carries an instruction set, or a signature.
    """

    def __init__(self, watched: Truth) -> None:
        self._watched = watched
        self._slots: dict[tuple[int, int], list[_FrameWord]] = {}  # by size and mask

    def add(self, own: NDArray[np.int64], sites: FrameSites, node: int, row: UnwindRow) -> None:
        watched, arch = self._watched, self._watched.trace.arch
        if not len(own) or watched.activations.parent[node] < 0:
            return
        cfa, steps = int(watched.activations.cfa[node]), sites.step[own]
        at_call = watched.trace.registers[int(caller_columns(watched).own[node])]
        for name, rule in register_rules(row, arch).items():
            if isinstance(rule, AtCfa) and name in arch.preserved:
                size, column = arch.by_name[name].bits // 8, arch.index[name]
                mask = (1 << 8 * size) - 1
                slot = _FrameWord(
                    own, steps, cfa + rule.offset & arch.word_mask, int(at_call[column]) & mask, 1 << REGISTERS + column
                )
                self._slots.setdefault((size, mask), []).append(slot)
        address = return_address_rule(row, arch)
        if isinstance(address, AtCfa) and not watched.activations.goes_on[node]:
            mask = arch.code_mask & ~arch.signature
            true = int(watched.activations.return_address[node]) & mask
            slot = _FrameWord(own, steps, cfa + address.offset & arch.word_mask, true, RETURN_ADDRESS)
            self._slots.setdefault((arch.word, mask), []).append(slot)

    def mark(self, found: NDArray[np.uint64]) -> None:
        for (size, mask), slots in self._slots.items():
            counts = [len(slot.own) for slot in slots]
            steps = np.concatenate([slot.step for slot in slots])
            addresses = np.repeat(np.array([slot.address for slot in slots], np.uint64), counts)
            true = np.repeat(np.array([slot.true for slot in slots], np.uint64), counts)
            bits = np.repeat(np.array([slot.bit | WRITTEN_OVER for slot in slots], np.uint64), counts)
            values, mapped = load_words(self._watched.trace, steps, addresses, size)
            differ = ~mapped | (values & np.uint64(mask) != true)
            np.bitwise_or.at(found, np.concatenate([slot.own for slot in slots])[differ], bits[differ])


def later_words(row: UnwindRow, mask: int, names: Callable[[int], tuple[str, ...]]) -> str:
    """Such a mask in words; "" where it is none of these."""
    if mask & NOT_A_SIGNALS:
        return "the row does not say that a signal interrupted the caller"
    if not mask & WRITTEN_OVER:
        return ""
    first, *more = names(mask & ~WRITTEN_OVER)
    others = f" (and {', '.join(more)})" if more else ""
    register = row.return_address if mask & RETURN_ADDRESS else first
    what = "the return address" if mask & RETURN_ADDRESS else first
    return f"{what} is {rule_words(row.registers.get(register), register)}, written over since the call{others}"
