"""What was watched of a run: who executes each step, and what the trace shows of each; `Truth` is made of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from testbed.arch import FrameRecord
from testbed.image import LoadedImage, image_covering
from testbed.trace.words import WordHistory
from testbed.truth import function_facts as facts
from testbed.truth.code_facts import CodeFacts
from testbed.truth.signatures import find_signed
from testbed.truth.transfers import Bools, distinct
from testbed.truth.vectors import vector_columns


@dataclass(frozen=True, eq=False)
class Watched(CodeFacts):
    """Which activation executes each step, and the facts of each step; ``transition[k]`` marks steps at which no single
    answer is right."""

    @property
    def transition(self) -> Bools:
        return self.sites.transition

    @cached_property
    def records(self) -> tuple[FrameRecord, ...]:
        """The layout of frame records, by instruction set."""
        image = self.trace.images[0].image
        return tuple(image.frame_records.get(isa.name, isa.records[0]) for isa in self.trace.arch.isas)

    @cached_property
    def kept_columns(self) -> list[int]:
        """The columns of the callee-saved registers that chain no frames."""
        return [self.trace.arch.index[name] for name in facts.kept_registers(self.trace.arch)]

    @cached_property
    def vector_columns(self) -> list[int]:
        """The columns of the callee-saved floating-point registers."""
        return vector_columns(self.trace.arch)

    @cached_property
    def vectors_changed(self) -> Bools:
        """By activation and vector column: whether its own steps have changed it before this trace begins."""
        return np.zeros((len(self.activations), len(self.vector_columns)), np.bool_)

    @cached_property
    def words(self) -> WordHistory:
        """Words of memory before any step."""
        return WordHistory(self.trace)

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
    def framed(self) -> frozenset[int]:
        """The functions that have a frame at some instruction."""
        return frozenset(self.function(pc) for pc in self.framed_pcs.tolist())

    @cached_property
    def entered_framed(self) -> frozenset[int]:
        """The functions that have a frame at their very first instruction, at least once."""
        return frozenset(pc for pc in self.framed_pcs.tolist() if self.function(pc) == self.function(pc + 1) == pc)

    def is_framed_at_label(self, pc: int) -> bool:
        """A label counts as a function by itself, and its first instruction that runs has something on the stack."""
        label = self.label_by_itself(pc)
        return label != self.function(pc) and self._runs_from(label) in self.framed_at

    def label_by_itself(self, pc: int) -> int:
        """The symbol next before a pc, or further in front, one after the other, as long as that one reaches over pc.

        So a function's symbol covers its first label, and no label behind that; one without a size ends at the next.
        """
        loaded = image_covering(self.trace.images, pc)
        if loaded is None:
            return pc
        address, ends = pc - loaded.bias, self._symbol_ends(loaded)
        place = bisect_right(ends, (address, 1 << 65)) - 1
        while place > 0 and ends[place - 1][1] > address:
            place -= 1
        return ends[place][0] + loaded.bias if place >= 0 else pc

    def _symbol_ends(self, loaded: LoadedImage) -> list[tuple[int, int]]:
        """Where each symbol of an image begins and, by its size, ends: in order, each address once."""
        if loaded.bias not in self._ends:
            ends: dict[int, int] = {}
            for symbol in loaded.image.symbols:
                ends[symbol.address] = max(symbol.address + symbol.size, ends.get(symbol.address, 0))
            self._ends[loaded.bias] = sorted(ends.items())
        return self._ends[loaded.bias]

    @cached_property
    def _ends(self) -> dict[int, list[tuple[int, int]]]:
        return {}

    def has_other_in_front(self, pc: int) -> bool:
        """The instruction in front, by address, never runs, or one of it and this one has something on the stack."""
        place = int(np.searchsorted(self.executed[:, 0], np.uint64(pc))) - 1
        before, size = self.executed[place].tolist() if place >= 0 else (0, 0)
        return before + size != pc or (before in self.framed_at) != (pc in self.framed_at)

    def _runs_from(self, pc: int) -> int:
        """The first instruction from an address on that is executed; the address itself where none is."""
        place = int(np.searchsorted(self.executed[:, 0], np.uint64(pc)))
        return int(self.executed[place, 0]) if place < len(self.executed) else pc

    @cached_property
    def framed_at(self) -> frozenset[int]:
        """The instructions at which an activation had something on the stack."""
        return frozenset(self.framed_pcs.tolist())

    def is_nameless(self, pc: int) -> bool:
        """No symbol of a function covers this code."""
        loaded = image_covering(self.trace.images, pc)
        return loaded is None or loaded.image.function_at(pc - loaded.bias) is None

    def is_in_no_file(self, pc: int) -> bool:
        return image_covering(self.trace.images, pc) is None

    def is_partly_run(self, pc: int) -> bool:
        """Less of the function there was executed than its symbol covers."""
        start, loaded = self.function(pc), image_covering(self.trace.images, pc)
        symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
        return symbol is not None and self._run_bytes.get(start, 0) < symbol.size

    def is_passed_over(self, pc: int) -> bool:
        """Less was executed between the beginning of the function there and this instruction than lies between them."""
        start = self.function(pc)
        first, end = np.searchsorted(self.executed[:, 0], [np.uint64(start), np.uint64(pc)])
        return int(self.executed[first:end, 1].sum()) < pc - start

    @cached_property
    def _run_bytes(self) -> Mapping[int, int]:
        """By function: how many bytes of its code were executed."""
        found: Counter[int] = Counter()
        for pc, size in self.executed.tolist():
            found[self.function(pc)] += size
        return found

    @cached_property
    def code(self) -> facts.CodeRanges:
        """Where code is: the start and the end of every executable segment."""
        return facts.code_spans(self.trace.images)

    @cached_property
    def mapped(self) -> facts.CodeRanges:
        """Where images are, from the first byte of each to its last."""
        return facts.image_spans(self.trace.images)

    def named_function(self, pc: int) -> int:
        """The start of the function that symbols give a pc; 0 where none does."""
        if pc not in self._named:
            loaded = image_covering(self.trace.images, pc)
            symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
            self._named[pc] = symbol.address + loaded.bias if loaded and symbol else 0
        return self._named[pc]

    def label(self, pc: int) -> int:
        """The symbol next before a pc, whatever it stands for; the pc itself where there is none."""
        if pc not in self._labels:
            loaded = image_covering(self.trace.images, pc)
            named = [s.address for s in loaded.image.symbols if s.address <= pc - loaded.bias] if loaded else []
            self._labels[pc] = max(named) + loaded.bias if loaded and named else pc
        return self._labels[pc]

    @cached_property
    def _named(self) -> dict[int, int]:
        return {}

    @cached_property
    def _labels(self) -> dict[int, int]:
        return {}

    @cached_property
    def kept(self) -> dict[tuple[int, int], object]:
        """A place for what is made of one frame and asked for several times; who fills it keeps it small."""
        return {}
