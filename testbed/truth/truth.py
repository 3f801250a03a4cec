"""The truth about a recorded run, watched by effect: no disassembler, no symbols, no unwind tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from testbed.image import image_covering
from testbed.trace import Trace
from testbed.truth.follow import follow
from testbed.truth.leftovers import find_code_pointers, find_leftovers
from testbed.truth.model import Activations, CallStack, TrueFrame
from testbed.truth.outer_traits import OuterTraits, outer_traits
from testbed.truth.signatures import find_signed
from testbed.truth.sites import SiteFacts, describe_sites
from testbed.truth.transfers import find_transfers
from testbed.words.traits import Trait

_STACKS_KEPT = 256


@dataclass(frozen=True, slots=True)
class _Outer:
    """What the activations further out add to a site: the same for all steps of one activation."""

    traits: frozenset[Trait] = frozenset()
    isas: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Truth:
    """Which activation executes each step, and from that the true call stack and the traits of any step.

    ``node[k]`` indexes ``activations``; ``transition[k]`` marks steps at which no single answer is right.
    """

    trace: Trace
    activations: Activations = field(repr=False)
    node: NDArray[np.int32] = field(repr=False)
    sites: SiteFacts = field(repr=False)

    @property
    def transition(self) -> NDArray[np.bool_]:
        return self.sites.transition

    def stack(self, step: int) -> CallStack:
        """The true frames before ``step`` executes, innermost first."""
        index = int(self.node[step])
        activation = self.activations[index]
        values = self.trace.registers[step, self._columns].tolist()
        registers = MappingProxyType(dict(zip(self._names, values, strict=True)))
        innermost = TrueFrame(registers[self.trace.arch.pc], activation.cfa, registers, index, calling=False)
        return CallStack((innermost, *self._callers(index)), self.trace.images)

    def traits(self, step: int) -> frozenset[Trait]:
        """What the trace shows about ``step``."""
        index, sites = int(self.node[step]), self.sites
        outer = self._outer(index)
        isa = int(sites.isa[step])
        here = (
            (Trait.PROLOGUE, sites.prologue[step]),
            (Trait.EPILOGUE, sites.epilogue[step]),
            (Trait.FRAMELESS, sites.frameless[step]),
            (Trait.FP_REUSED, self._reuses_pointer(index, step)),
            (Trait.MIXED_ISA, bool(outer.isas - {isa})),
            (Trait.TRANSITION, sites.transition[step]),
            (Trait.ROOT, self.activations[index].parent is None),
            (Trait.CALLED, self.activations[index].parent is not None),
            (Trait.SIGNED, self.signed[step]),
            (Trait.LEFTOVER, self.leftovers[step]),
            (Trait.CODE_POINTER, self.code_pointers[step]),
            (Trait.TAIL_CALLED, self._tail_called(index, step)),
            *self._link_traits(index, step),
            (Trait.NO_CODE, self._leads_nowhere(step)),
        )
        return outer.traits | {trait for trait, holds in here if holds}

    def _link_traits(self, index: int, step: int) -> tuple[tuple[Trait, bool], ...]:
        """What the link register holds, where there is one: zero says nothing."""
        arch = self.trace.arch
        value = int(self.trace.registers[step, arch.index[arch.link]]) if arch.link else 0
        live = arch.without_signature(value) == self.activations[index].return_address
        return (Trait.LINK_LIVE, live), (Trait.LINK_STALE, value != 0 and not live)

    @cached_property
    def signed(self) -> NDArray[np.bool_]:
        """Steps at which the innermost activation's return address is signed."""
        return find_signed(self.trace, self.activations, self.node)

    @cached_property
    def leftovers(self) -> NDArray[np.bool_]:
        """Steps with the return address of a call that is over at or above SP."""
        return find_leftovers(self.trace, self.activations, self.node)

    @cached_property
    def code_pointers(self) -> NDArray[np.bool_]:
        """Steps with a code address that is no return address at or above SP."""
        return find_code_pointers(self.trace, self.activations)

    def _tail_called(self, index: int, step: int) -> bool:
        """By the names of the functions at the activation's first step and at this one."""
        if self.activations[index].signal:  # opened at the handler's first step: it has not run yet
            return False
        opened = self.activations[index].opened
        return self.function(int(self.trace.pc[opened])) != self.function(int(self.trace.pc[step]))

    def function(self, pc: int) -> int:
        """The start of the function at a pc, the pc itself where no function is."""
        if pc not in self._functions:
            loaded = image_covering(self.trace.images, pc)
            symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
            self._functions[pc] = symbol.address + loaded.bias if loaded and symbol else pc
        return self._functions[pc]

    @cached_property
    def _functions(self) -> dict[int, int]:
        return {}

    @cached_property
    def outer(self) -> OuterTraits:
        """What further activations add to the traits of each, in columns."""
        return outer_traits(self.trace, self.activations, self.sites, self.signed, self.function)

    def _leads_nowhere(self, step: int) -> bool:
        """Only where a signal came instead of an instruction can there be none."""
        return self.trace.interrupted(step) and image_covering(self.trace.images, int(self.trace.pc[step])) is None

    @cached_property
    def _names(self) -> tuple[str, ...]:
        arch = self.trace.arch
        return (*arch.preserved, arch.sp, arch.pc)

    @cached_property
    def _columns(self) -> list[int]:
        return [self.trace.arch.index[name] for name in self._names]

    @cached_property
    def _frames(self) -> dict[int, TrueFrame]:
        return {}

    def _caller(self, index: int) -> TrueFrame | None:
        """The frame that activation ``index`` comes back to.

        A call changes no callee-saved register, and the callee has changed none at its first step. A signal gives
        back every register as it was.
        """
        activation = self.activations[index]
        if activation.parent is None or activation.return_address is None or activation.cfa is None:
            return None
        if index not in self._frames:
            parent = self.activations[activation.parent]
            if activation.signal:
                names = tuple(register.name for register in self.trace.arch.registers)
                values = self.trace.registers[activation.opened - 1].tolist()
            else:
                names, values = self._names, self.trace.registers[activation.opened, self._columns].tolist()
            registers = dict(zip(names, values, strict=True))
            registers[self.trace.arch.sp] = activation.cfa
            registers[self.trace.arch.pc] = activation.return_address
            self._frames[index] = TrueFrame(
                activation.return_address,
                parent.cfa,
                MappingProxyType(registers),
                activation.parent,
                calling=not activation.signal and not parent.signal,
                goes_on=activation.goes_on,
            )
        return self._frames[index]

    @cached_property
    def _stacks(self) -> dict[int, tuple[TrueFrame, ...]]:
        return {}

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

    @cached_property
    def _outers(self) -> list[_Outer]:
        """For every activation; a parent always comes before its children."""
        known: list[_Outer] = []
        for activation in self.activations:
            if activation.parent is None:
                known.append(_Outer())
                continue
            parent, call = activation.parent, activation.opened - 1
            if self.activations[parent].signal:  # the handler, and the trampoline that it returns to: one event
                known.append(known[parent])
                continue
            added = set()
            if activation.signal:
                added.add(Trait.SIGNAL)
                if image_covering(self.trace.images, activation.return_address or 0) is None:
                    added.add(Trait.NO_CODE)
            if self.activations[parent].parent is not None and not self.sites.moved[call]:
                added.add(Trait.FRAMELESS_CALLER)
            if self.signed[call]:
                added.add(Trait.SIGNED)
            if self._reuses_pointer(parent, call):
                added.add(Trait.FP_REUSED)
            if self._tail_called(parent, call):
                added.add(Trait.TAIL_CALLED)
            outer = known[parent]
            known.append(_Outer(outer.traits | added, outer.isas | {int(self.sites.isa[call])}))
        return known

    def _outer(self, index: int) -> _Outer:
        return self._outers[index]

    def _reuses_pointer(self, index: int, step: int) -> bool:
        """FP is neither its entry value nor an address in the activation's own frame, SP up to the CFA."""
        if not self.sites.moved[step]:
            return False
        activation = self.activations[index]
        pointer = int(self.sites.frame_pointer[step])
        end = activation.cfa if activation.cfa is not None else activation.entry_sp + self.trace.arch.word
        return not int(self.trace.sp[step]) <= pointer < end


def observe(trace: Trace) -> Truth:
    """Watch a trace: the truth about all of its steps, however it ended."""
    transfers = find_transfers(trace)
    path = follow(trace, transfers)
    return Truth(trace, path.activations, path.node, describe_sites(trace, transfers, path))
