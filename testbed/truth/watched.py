"""What was watched of a run: who executes each step, and what the trace shows of each: tail calls, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.image import image_covering
from testbed.trace import Trace
from testbed.trace.distinct_rows import distinct
from testbed.truth.events import Bools, Ints
from testbed.truth.frame_sites import heights
from testbed.truth.model import Activations
from testbed.truth.signatures import find_signed
from testbed.truth.sites import SiteFacts

NO_FUNCTION = -1


@dataclass(frozen=True, eq=False)
class Watched:
    """Which activation executes each step, and the facts of each step; ``transition[k]`` marks steps at which no single
    answer is right, ``undecided[k]`` those of them whose stack no effect decides.

    ``node[k]`` indexes ``activations``.
    """

    trace: Trace
    activations: Activations = field(repr=False)
    node: NDArray[np.int32] = field(repr=False)
    sites: SiteFacts = field(repr=False)
    undecided: Bools = field(repr=False)
    _named: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def transition(self) -> Bools:
        return self.sites.transition | self.undecided

    @cached_property
    def callers(self) -> Ints:
        """How many callers each activation has."""
        return heights(self.activations.parent)

    @cached_property
    def signed(self) -> Bools:
        """Steps at which the innermost activation's return address is signed."""
        return find_signed(self.trace, self.activations, self.node)

    @cached_property
    def returns(self) -> NDArray[np.uint64]:
        """The return addresses of all activations of the run, in order."""
        return distinct(self.activations.return_address[self.activations.parent >= 0])

    @cached_property
    def returned_to(self) -> frozenset[int]:
        """The same as a set of numbers."""
        return frozenset(self.returns.tolist())

    def function(self, pc: int) -> int:
        """The start of the function at a pc, the pc itself where no function is."""
        return self.named_function(pc) or pc

    def named_function(self, pc: int) -> int:
        """The start of the function that symbols give a pc; 0 where none does."""
        if pc not in self._named:
            loaded = image_covering(self.trace.images, pc)
            symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
            self._named[pc] = symbol.address + loaded.bias if loaded and symbol else 0
        return self._named[pc]

    @cached_property
    def functions(self) -> Ints:
        """Per step, the start of the function that executes it; NO_FUNCTION where no symbol says."""
        pcs, place = np.unique(self.trace.pc, return_inverse=True)
        return np.array([self.whole_function(pc) for pc in pcs.tolist()], np.int64)[place]

    def whole_function(self, pc: int) -> int:
        """The start of the function that a pc belongs to: a piece that was split off (``f.cold``) is of ``f``."""
        loaded = image_covering(self.trace.images, pc)
        function = loaded.image.function_at(pc - loaded.bias) if loaded else None
        if loaded is None or function is None:
            return NO_FUNCTION
        stem, piece, _ = function.name.partition(".cold")
        whole = loaded.image.symbol_named(stem) if piece else None
        return (whole or function).address + loaded.bias

    @cached_property
    def tail_calls(self) -> Ints:
        """The steps at which, inside one activation, control came to the first instruction of a function, of another
        one or the same, with SP where it was at the activation's first step."""
        node, trace = self.node[1:], self.trace
        first = self.functions[1:] == trace.pc[1:].view(np.int64)
        home = trace.sp[1:] == self.activations.entry_sp[node]
        return np.flatnonzero((node == self.node[:-1]) & first & home) + 1
