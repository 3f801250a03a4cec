"""What was watched of a run: who executes each step, and what the trace shows of each: tail calls, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.arch import FrameRecord
from testbed.image import image_covering
from testbed.trace import Trace
from testbed.trace.distinct_rows import distinct
from testbed.truth.events import Bools, Ints
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

    @cached_property
    def transition(self) -> Bools:
        return self.sites.transition | self.undecided

    @cached_property
    def callers(self) -> Ints:
        """How many callers each activation has."""
        deep: list[int] = []
        for parent in self.activations.parent.tolist():  # a parent comes before its children
            deep.append(0 if parent < 0 else deep[parent] + 1)
        return np.array(deep, np.int64)

    @cached_property
    def records(self) -> tuple[FrameRecord, ...]:
        """The layout of frame records, by instruction set."""
        image = self.trace.images[0].image
        return tuple(image.frame_records.get(isa.name, isa.records[0]) for isa in self.trace.arch.isas)

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

    @cached_property
    def code(self) -> tuple[tuple[int, int], ...]:
        """Where code is: the start and the end of every executable segment."""
        segments = [(loaded.bias, segment) for loaded in self.trace.images for segment in loaded.image.segments]
        return tuple((s.address + bias, s.address + bias + len(s.data)) for bias, s in segments if s.executable)

    def is_nameless(self, pc: int) -> bool:
        """No symbol of a function covers this code."""
        loaded = image_covering(self.trace.images, pc)
        return loaded is None or loaded.image.function_at(pc - loaded.bias) is None

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

    @cached_property
    def _named(self) -> dict[int, int]:
        return {}
