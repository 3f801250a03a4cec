"""Returns that were none: a jump to the function that stands right behind a call which never returns.

``bl f; g:`` where ``f`` leaves by ``b g``, with the link register as the call left it: pc, SP and every register are
then what they are after a return. Only what the instruction would have done tells the two apart. So it is executed once
more (`testbed.machine.once_more`), with other values in its registers; it is watched, not decoded:

* with another link register it goes elsewhere: it came `BACK`, and so it did if it needs memory to say where it goes;
* with all registers changed it goes to the same place: `DIRECT`, a jump that has its address from nowhere;
* otherwise it has its address from `ANOTHER` register: a copy of the return address, or the address of a function.

The last two go on to a function if the code there stores the link register as the call left it, for a return of its
own: who has come back has no use for that. A direct jump also does if a symbol says that a function begins there; for
nothing that is executed tells a function that stores nothing and never returns from the rest of the caller. It is no
return, unless the caller went on: it returned later, or it called from the same place once more.

A direct jump back into the function of the call, which went to the middle of that very function, was no return, and
the call none: ``bl far`` where a branch does not reach, and ``b next`` to what stands behind it. Symbols say that, too.

Where calls push, a return takes its address off the stack, and a jump does not: there SP tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from testbed.arch import Arch
from testbed.image import image_covering
from testbed.trace import History, Trace
from testbed.trace.sparse import PAGE
from testbed.truth.transfers import NOWHERE, Event, history_of
from testbed.words.errors import UnreadableMemory

SiteAndTarget = tuple[int, int]  # the pc of a jump, and where it went


class AddressFrom(Enum):
    """What an instruction has the address from, to which it goes."""

    BACK = auto()
    ANOTHER = auto()
    DIRECT = auto()


class Ended(NamedTuple):
    """A return that may have been a jump: the row behind it, the pc of the call, and where that went."""

    row: int
    call: int
    callee: int


@dataclass(frozen=True, slots=True)
class Straight:
    """What is known of returns that took nothing off the stack, as the jumps that they may have been.

    ``direct`` go to where a function begins, ``unsure`` are the others that do not come back, ``back`` the return
    addresses of those that do. ``inside`` are calls in one function that a direct jump ended: the pc, and the return
    address. ``lived_on`` are the jumps whose caller went on; ``stored`` the return addresses that the code behind the
    call stored.
    """

    direct: frozenset[SiteAndTarget] = frozenset()
    unsure: frozenset[SiteAndTarget] = frozenset()
    back: frozenset[int] = frozenset()
    inside: frozenset[tuple[int, int]] = frozenset()
    lived_on: frozenset[SiteAndTarget] = frozenset()
    stored: frozenset[int] = frozenset()

    def __or__(self, other: Straight) -> Straight:
        return Straight(*(getattr(self, each.name) | getattr(other, each.name) for each in fields(Straight)))

    @property
    def no_returns(self) -> frozenset[SiteAndTarget]:
        """Those that were jumps."""
        return (self.direct | {jump for jump in self.unsure if jump[1] in self.stored}) - self.lived_on

    def no_calls(self, kept: Collection[int]) -> frozenset[int]:
        """The pcs of calls that were jumps. ``kept``: see `testbed.truth.links`."""
        return frozenset(call for call, fall in self.inside if fall not in self.back and fall not in kept)


class OnceMore:
    """Where instructions have their address from: each one, as its bytes, is executed once more, once."""

    def __init__(self) -> None:
        self._ways: dict[tuple[int, bytes], AddressFrom] = {}

    def look(
        self,
        trace: Trace,
        ended: Mapping[SiteAndTarget, Ended],
        lived_on: Iterable[SiteAndTarget],
        steps: slice = slice(None),
    ) -> Straight:
        """What some steps show. ``ended`` has one of the returns by each jump."""
        stored = _stored_behind(trace, steps)
        if not ended:
            return Straight(lived_on=frozenset(lived_on), stored=stored)
        history: History | None = None
        direct, unsure, back, inside = set[SiteAndTarget](), set[SiteAndTarget](), set[int](), set[tuple[int, int]]()
        gone_on = frozenset(lived_on)
        for jump, each in ended.items():
            function, fall = _function(trace, each.callee), jump[1]
            within = function == _function(trace, each.call) not in (None, each.callee)
            if jump in gone_on and not within:
                continue
            if history is None:
                history = history_of(trace, np.array([site for site, _ in ended], np.uint64))
            way = self._way(trace, history, each.row)
            if way is AddressFrom.BACK:
                back.add(fall)
            elif way is AddressFrom.DIRECT and _function(trace, fall) == fall:
                direct.add(jump)
            else:
                unsure.add(jump)
            if within and way is AddressFrom.DIRECT and fall != function:
                inside.add((each.call, fall))
        sets = frozenset(direct), frozenset(unsure), frozenset(back), frozenset(inside)
        return Straight(*sets, gone_on, stored)

    def _way(self, trace: Trace, history: History, row: int) -> AddressFrom:
        arch, step = trace.arch, row - 1
        pc, registers = int(trace.pc[step]), trace.registers[step].tolist()
        isa = 0 if arch.isa_flag is None else registers[arch.index[arch.flags]] >> arch.isa_flag & 1
        try:
            instruction = history.read(pc, int(trace.sizes[step]), step)
            if (isa, instruction) not in self._ways:
                self._ways[isa, instruction] = address_from(
                    trace.arch, _page(history, pc, step), registers, int(trace.pc[row])
                )
        except UnreadableMemory:
            return AddressFrom.BACK
        return self._ways[isa, instruction]


def _page(history: History, pc: int, step: int) -> tuple[int, bytes]:
    """The code around an instruction: its page and the next one, if that is mapped."""
    start = pc & -PAGE
    try:
        return start, history.read(start, 2 * PAGE, step)
    except UnreadableMemory:
        return start, history.read(start, PAGE, step)


def _function(trace: Trace, pc: int) -> int | None:
    """Where the function at a pc begins, by its symbol."""
    loaded = image_covering(trace.images, pc)
    symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
    return symbol.address + loaded.bias if loaded and symbol else None


_OTHERS = 1 << 20, 1 << 21  # bits of an address, each of which makes it another one in the same instruction set


def address_from(arch: Arch, code: tuple[int, bytes], registers: Sequence[int], target: int) -> AddressFrom:
    """What the instruction at pc had ``target`` from, where it went. ``code``: where a page begins, and its bytes."""
    from testbed.machine.once_more import goes_to  # the emulator: most runs that are read from a file need it not

    start, content = code
    kept = {arch.index[name] for name in (arch.pc, arch.sp, arch.flags)}
    pc, link = registers[arch.index[arch.pc]], arch.index[arch.link or ""]

    def goes_there(changed: Callable[[int, int], bool]) -> bool:
        """With one of the bits changed in some registers: a condition may ask for either, and no branch be taken."""
        return any(
            goes_to(arch, content, start, pc, [v ^ bit if changed(i, v) else v for i, v in enumerate(registers)])
            == target
            for bit in _OTHERS
        )

    if not goes_there(lambda i, _: i == link):
        return AddressFrom.BACK
    return AddressFrom.DIRECT if goes_there(lambda i, value: value != 0 and i not in kept) else AddressFrom.ANOTHER


_BEGINNING = 32  # bytes of a function in which it stores the link register


def _stored_behind(trace: Trace, steps: slice) -> frozenset[int]:
    """The return addresses that were stored, while the link register held them, by the code that they lead to.

    By its first instructions, in the same function: who was called there may lie right behind, and stores it too.
    """
    arch, writes = trace.arch, trace.writes
    if arch.link is None:
        return frozenset()
    first, end, _ = steps.indices(len(trace))
    low, high = np.searchsorted(writes.step, [first, end]).tolist()
    step = writes.step[low:high].astype(np.int64)
    link, pc = trace.column(arch.link)[step], trace.pc[step]
    whole = (writes.value[low:high] == link) & (writes.size[low:high] == arch.word)
    address = link & np.uint64(arch.code_mask & ~arch.signature)
    there = whole & (pc >= address) & (pc < address + np.uint64(_BEGINNING))
    pairs = set(zip(address[there].tolist(), pc[there].tolist(), strict=True))
    return frozenset(fall for fall, at in pairs if _function(trace, fall) == _function(trace, at))


class Ends:
    """The returns of one readable pass."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._links = trace, trace.arch.link is not None
        # Of each activation the jump, what it ended, and its caller.
        self._ended: dict[int, tuple[SiteAndTarget, Ended, int]] = {}
        self._called_again: set[int] = set()  # those whose caller then called from the same place
        self._came_back: set[int] = set()  # activations that returned themselves

    def may_jump(self, event: Event, opening: Event) -> bool:
        """May this return to what ``opening`` handed over have been a jump? Signals and promises are no calls."""
        return self._links and event.sp == event.before and opening.site != NOWHERE and not opening.promise

    def over(self, index: int, parent: int, event: Event, opening: Event | None) -> None:
        """An activation has returned; if it was opened by ``opening``, the return may have been a jump."""
        self._came_back.add(index)
        if opening:
            ended = Ended(event.step, opening.site, opening.pc)
            self._ended[index] = ((event.site, event.pc), ended, parent)

    def calls_again(self, before: int | None, parent: int) -> None:
        """``parent`` calls from where it called activation ``before``, if that was its own."""
        if before in self._ended and self._ended[before][2] == parent:
            self._called_again.add(before)

    def shown(self, instructions: OnceMore) -> Straight:
        """What the pass has shown."""
        ended = {jump: each for jump, each, _ in self._ended.values()}
        lived_on = {
            jump
            for index, (jump, _, parent) in self._ended.items()
            if index in self._called_again or parent in self._came_back
        }
        return instructions.look(self._trace, ended, lived_on)
