"""What a run shows of its code: by instruction, and by function, whatever activation executed it.

One row of a table may stand for a whole function, and who follows instructions begins at a symbol, so it matters at one
instruction what happens at another. The columns that these are made of stand in `testbed.truth.function_facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.trace import Trace
from testbed.truth import function_facts as facts
from testbed.truth.model import Activations
from testbed.truth.sites import SiteFacts


@dataclass(frozen=True, eq=False)
class CodeFacts:
    """Which activation executes each step, the facts of each step from registers alone, and what follows for the code.

    ``node[k]`` indexes ``activations``.
    """

    trace: Trace
    activations: Activations = field(repr=False)
    node: NDArray[np.int32] = field(repr=False)
    sites: SiteFacts = field(repr=False)

    @cached_property
    def executed(self) -> NDArray[np.uint64]:
        """Every instruction that was executed, once: its address and its size."""
        return facts.executed(self.trace)

    @cached_property
    def framed_pcs(self) -> facts.Pcs:
        return facts.framed_pcs(self.trace, self.activations, self.node)

    def largest_frame(self, pc: int) -> int:
        """The most that an activation had on the stack at any instruction of the function at a pc; 0 for nothing."""
        return self._largest_frames.get(self.function(pc), 0)

    @cached_property
    def _largest_frames(self) -> Mapping[int, int]:
        found: dict[int, int] = {}
        for pc, size in self.frame_sizes.tolist():
            found[self.function(pc)] = max(size, found.get(self.function(pc), 0))
        return found

    @cached_property
    def frame_sizes(self) -> NDArray[np.uint64]:
        """In order: an instruction, and the most that an activation had on the stack there."""
        return facts.frame_sizes(self.trace, self.activations, self.node)

    @cached_property
    def saves_until(self) -> Mapping[int, int]:
        """By function: the last of its instructions, by address, that saves a caller's register."""
        return {self.function(pc): pc for pc in self.saving_pcs.tolist()}

    @cached_property
    def saving_pcs(self) -> facts.Pcs:
        """In order."""
        return facts.saving_pcs(self.trace, self.activations, self.node, self.trace.arch.preserved)

    @cached_property
    def moves_pointer_from(self) -> Mapping[int, int]:
        """By function: the first of its instructions, by address, that moves FP on within the frame."""
        return {self.function(pc): pc for pc in reversed(self.moving_pcs.tolist())}

    @cached_property
    def moves_pointer_until(self) -> Mapping[int, int]:
        """By function: the last of them."""
        return {self.function(pc): pc for pc in self.moving_pcs.tolist()}

    def moves_pointer_before(self, pc: int) -> bool:
        """True behind the first of them."""
        return pc > self.moves_pointer_from.get(self.function(pc), pc)

    def moves_pointer_around(self, pc: int) -> bool:
        """True between the first and the last of them, and at that one."""
        return self.moves_pointer_before(pc) and pc <= self.moves_pointer_until[self.function(pc)]

    @cached_property
    def moving_pcs(self) -> facts.Pcs:
        return facts.moving_pcs(self.trace, self.activations, self.node, self.sites.frame_pointer)

    @cached_property
    def takes_from(self) -> Mapping[int, int]:
        """By function: the first of its instructions, by address, that moves SP to or by what another register held."""
        return {self.function(pc): pc for pc in reversed(self.taking_pcs.tolist())}

    @cached_property
    def taking_pcs(self) -> facts.Pcs:
        return facts.taking_pcs(self.trace, self.node, facts.general_columns(self.trace.arch))

    @cached_property
    def sets_pointer_late(self) -> frozenset[int]:
        """The functions with an instruction that sets FP and is neither their first nor their second one."""
        sizes = dict(self.executed.tolist())
        functions = [(self.function(pc), pc) for pc in self.setting_pcs.tolist()]
        return frozenset(start for start, pc in functions if pc not in (start, start + sizes.get(start, 0)))

    @cached_property
    def setting_pcs(self) -> facts.Pcs:
        return facts.setting_pcs(self.trace, self.activations, self.node, self.sites.frame_pointer)

    @cached_property
    def saves_return_until(self) -> Mapping[int, int]:
        """By function: the last of its instructions, by address, that stores the link register as it came."""
        return {self.function(pc): pc for pc in self.return_saving_pcs.tolist()}

    @cached_property
    def return_saving_pcs(self) -> facts.Pcs:
        """In order."""
        return facts.saving_pcs(self.trace, self.activations, self.node, self.link)

    @property
    def link(self) -> tuple[str, ...]:
        """The link register, where there is one."""
        return (self.trace.arch.link,) if self.trace.arch.link else ()

    @cached_property
    def stores_registers(self) -> frozenset[int]:
        """The functions that save a caller's register, not FP, by an instruction that leaves SP where it is."""
        return frozenset(map(self.function, self.storing_pcs.tolist()))

    @cached_property
    def storing_pcs(self) -> facts.Pcs:
        kept = facts.kept_registers(self.trace.arch)
        return facts.storing_pcs(self.trace, self.activations, self.node, kept)

    def function(self, pc: int) -> int:
        """The start of the function at a pc, the pc itself where no function is."""
        if pc not in self._functions:
            self._functions[pc] = facts.function_start(self.trace.images, pc)
        return self._functions[pc]

    @cached_property
    def _functions(self) -> dict[int, int]:
        return {}
