"""The truth about a recorded run, watched by effect: no disassembler, no unwind tables, no symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from testbed.conventions import Convention, platform
from testbed.conventions.chosen import convention_at
from testbed.trace import Trace
from testbed.truth.events import find_transfers
from testbed.truth.frame_sites import FrameSite, frame_site
from testbed.truth.frame_traits import OUTER, RULES
from testbed.truth.model import CallStack, TrueFrame
from testbed.truth.path import path_of
from testbed.truth.sites import SiteFacts
from testbed.truth.transitions import OwnRows, mark_transitions
from testbed.truth.watched import Watched
from testbed.truth.windows.window import Known
from testbed.words.traits import Trait

_STACKS_KEPT = 256


@dataclass(frozen=True, eq=False)
class Truth(Watched):
    """What was watched of a run, as the true call stack and the words about any step."""

    _outers: dict[int, tuple[dict[Trait, int], dict[int, int]]] = field(default_factory=dict, init=False, repr=False)
    _frames: dict[int, TrueFrame] = field(default_factory=dict, init=False, repr=False)
    _stacks: dict[int, tuple[TrueFrame, ...]] = field(default_factory=dict, init=False, repr=False)

    def stack(self, step: int) -> CallStack:
        """The true frames before ``step`` executes, innermost first."""
        return next(self.stacks([step]))

    def stacks(self, steps: Sequence[int]) -> Iterator[CallStack]:
        """The same of many steps, one after the other."""
        arch = self.trace.arch
        names = (*platform(arch).preserved, arch.sp, arch.pc)
        columns = [arch.index[name] for name in names]
        values = np.asarray(self.trace.registers)[np.array(steps, np.int64)[:, None], columns].tolist()
        for index, own in zip(self.node[np.array(steps, np.int64)].tolist(), values, strict=True):
            registers = MappingProxyType(dict(zip(names, own, strict=True)))
            innermost = TrueFrame(own[-1], self.activations[index].cfa, registers, index, calling=False)
            yield CallStack((innermost, *self._callers(index)), self.trace.images)

    def traits(self, step: int) -> frozenset[Trait]:
        """What the trace shows about ``step``: about its innermost frame, and what is `OUTER` of the others."""
        return frozenset(self._whose_traits(step))

    def frames_of_traits(self, step: int) -> dict[Trait, int]:
        """The same, each with the number of the innermost frame that it is true of."""
        whose, index = self._whose_traits(step), int(self.node[step])
        numbers = {index: 0}
        while not numbers.keys() >= set(whose.values()) and (parent := self.activations[index].parent) is not None:
            index, numbers[parent] = parent, len(numbers)
        return {trait: numbers[its] for trait, its in whose.items()}

    def frame_traits(self, step: int, depth: int) -> frozenset[Trait]:
        """What the trace shows about one frame of a step; of the outermost one where there are not that many."""
        at = frame_site(self.trace, self.activations, self.node, step, depth)
        return frozenset(trait for trait, rule in RULES.items() if rule(self, at))

    def _whose_traits(self, step: int) -> dict[Trait, int]:
        """Of each word about a step the innermost activation that it is true of."""
        traits, isas = self._outer_traits(int(self.node[step]))
        mixed = [(Trait.MIXED_ISA, its) for isa, its in isas.items() if isa != int(self.sites.isa[step])]
        return traits | dict(mixed) | dict.fromkeys(self.frame_traits(step, 0), int(self.node[step]))

    def _outer_traits(self, index: int) -> tuple[dict[Trait, int], dict[int, int]]:
        """Of all frames further out than an activation: the same at all of its steps. Words, and instruction sets."""
        chain = []
        while index not in self._outers and (parent := self.activations[index].parent) is not None:
            chain.append((index, parent))
            index = parent
        traits, isas = self._outers.get(index, ({}, {}))
        for index, parent in reversed(chain):
            activation = self.activations[index]
            call = activation.opened - 1
            at = FrameSite(call, 1, parent, call, activation.return_address or 0)
            if own := [trait for trait in OUTER if RULES[trait](self, at)]:
                traits = traits | dict.fromkeys(own, parent)
            isas = isas | {int(self.sites.isa[call]): parent}
            self._outers[index] = traits, isas
        return traits, isas

    def promised(self, index: int) -> tuple[str, ...]:
        """The registers, SP and pc apart, that are the same again when an activation is over: by its convention."""
        conventions, of_activation = self.conventions
        return conventions[int(of_activation[index])].judged

    @cached_property
    def conventions(self) -> tuple[tuple[Convention, ...], NDArray[np.int64]]:
        """The conventions of this run, and the number of each activation's.

        It is that of the function that was called: a tail call goes on under what its caller was promised.
        """
        entries, of_entry = np.unique(self.trace.pc[self.activations.opened], return_inverse=True)
        each = [convention_at(self.trace.images, pc, self.trace.arch) for pc in entries.tolist()]
        numbers = {convention: number for number, convention in enumerate(dict.fromkeys(each))}
        return tuple(numbers), np.array([numbers[its] for its in each], np.int64)[of_entry.reshape(-1)]

    def _registers(self, step: int, names: Iterable[str]) -> dict[str, int]:
        columns = {name: self.trace.arch.index[name] for name in names}
        return dict(zip(columns, self.trace.registers[step, [*columns.values()]].tolist(), strict=True))

    def _caller(self, index: int) -> TrueFrame | None:
        """The frame that activation ``index`` comes back to.

        A call changes no register that its callee saves, and the callee has changed none at its first step. A signal
        gives back every register as it was.
        """
        activation = self.activations[index]
        if activation.parent is None or activation.return_address is None or activation.cfa is None:
            return None
        if index not in self._frames:
            parent = self.activations[activation.parent]
            if activation.signal:
                registers = self._registers(activation.opened - 1, self.trace.arch.index)
            else:
                registers = self._registers(activation.opened, self.promised(index))
            registers |= {self.trace.arch.sp: activation.cfa, self.trace.arch.pc: activation.return_address}
            self._frames[index] = TrueFrame(
                activation.return_address,
                parent.cfa,
                MappingProxyType(registers),
                activation.parent,
                calling=not activation.signal and not parent.signal,
                goes_on=activation.goes_on,
                interrupted=activation.signal,
            )
        return self._frames[index]

    def _callers(self, index: int) -> tuple[TrueFrame, ...]:
        """All frames further out than activation ``index``; the last few are kept, deep recursion is not."""
        if index not in self._stacks:
            frames = []
            at = index
            while (frame := self._caller(at)) is not None:
                frames.append(frame)
                at = frame.activation
            if len(self._stacks) >= _STACKS_KEPT:
                self._stacks.clear()
            self._stacks[index] = tuple(frames)
        return self._stacks[index]


def observe(trace: Trace, *, natively: bool | None = None) -> Truth:
    """Watch a trace: the truth about all of its steps, however it ended. ``natively`` None: where it is long."""
    transfers = find_transfers(trace)
    path = path_of(trace, transfers, natively)
    told, transition = np.ones(len(path.activations), np.bool_), np.zeros(len(trace), np.bool_)
    sites = SiteFacts(trace, path.activations, path.node, transfers.transfer, told, transition)
    if path.found is not None:
        mark_transitions(OwnRows(sites, 0, 0, len(trace), 0), None, path.found, Known(), first_time=True)
    return Truth(trace, path.activations, path.node, sites, path.undecided)
