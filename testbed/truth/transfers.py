"""The steps at which control may have changed hands, found from the columns of a trace.

With ``fall(k) = pc[k-1] + size[k-1]``, the address after the instruction of step ``k - 1``:

* step ``k`` is a *transfer* when ``pc[k] != fall(k)``, or it popped the address it is at, or that is in the link
  register: a return to the next one;
* it has the *effect of a call* when the machine now knows ``fall(k)`` as the place to come back to: in the link
  register, or, where calls push, in the word that this very step pushed; or that lies at SP already when it transfers.

No mnemonic is asked for, so ``bl``, ``blx``, ``mov lr, pc; bx``, ``call`` by any encoding are all one effect, and so is
a call in two instructions: ``lea rax, [rip + back]; push rax; jmp callee; back:``, ``adr x30, back; b callee; back:``.
A Thumb instruction that an IT block skips leaves no step: it looks like a short jump, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.trace import History, Trace, Writes
from testbed.words.errors import UnreadableMemory

Bools = NDArray[np.bool_]
NOWHERE = -1  # the call site of what no instruction called


def distinct(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The values in order, each once. `numpy.unique` loads numpy.ma, which takes longer than a short run."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


class Event(NamedTuple):
    """A candidate step. ``site`` is the pc of the instruction before it, ``fall`` the address after that one,
    ``before`` SP before it. ``drops``: what was called takes the address off the stack at once. A ``promise`` comes
    behind the jump that makes it: ``fall`` is the address to come back to, ``sp`` as if that had been pushed.
    """

    step: int
    pc: int
    sp: int
    site: int
    fall: int
    before: int
    transfer: bool
    call: bool
    drops: bool
    promise: bool = False


@dataclass(frozen=True, eq=False)
class Transfers:
    """Per step: did control leave the fall-through address, and did it have the effect of a call.

    ``drops`` are the calls whose word comes off the stack at once, and ``stored`` the code addresses that were stored
    until the end, other than by the calls themselves; only where calls push.
    """

    trace: Trace
    fall: NDArray[np.uint64]
    transfer: Bools
    call: Bools
    drops: Bools
    stored: NDArray[np.uint64]

    def events(self) -> Iterator[Event]:
        """The candidate steps in order."""
        steps = np.flatnonzero(self.transfer | self.call)
        pc, sp = self.trace.pc, self.trace.sp
        columns = (steps, pc[steps], sp[steps], pc[steps - 1], self.fall[steps], sp[steps - 1])
        flags = (self.transfer[steps], self.call[steps], self.drops[steps])
        return map(Event, *(column.tolist() for column in (*columns, *flags)))


NOTHING_STORED = np.empty(0, np.uint64)


def find_transfers(trace: Trace, stored: NDArray[np.uint64] = NOTHING_STORED) -> Transfers:
    """Every transfer and every call effect of a trace. Step 0 is neither. ``stored`` is that of what came before."""
    pc = trace.pc
    fall = pc.copy()
    fall[1:] = pc[:-1] + trace.sizes[:-1]
    transfer = pc != fall
    if not trace.arch.link:
        transfer |= _returned_to_next(trace, transfer)
    transfer[list(trace.resumed)] = True  # the interrupted code may lie right behind the trampoline
    if trace.arch.link:
        transfer[_loaded_with_sp(trace, transfer)] = True
        call = _linked(trace, fall, transfer)
        # A return to the very next address: a handler whose trampoline stands right behind it.
        transfer |= trace.column(trace.arch.link) & np.uint64(trace.arch.code_mask & ~trace.arch.signature) == pc
        drops = np.zeros(len(trace), np.bool_)
    else:
        call, drops, stored = _pushed(trace, fall, transfer, stored)
    call[:1] = False
    return Transfers(trace, fall, transfer, call, drops, stored)


def _linked(trace: Trace, fall: NDArray[np.uint64], transfer: Bools) -> Bools:
    """The link register holds the fall-through address, and control left it, or *this* step wrote it.

    The second form is a call to the very next address: ``bl _Exit`` as the last instruction before ``_Exit``.
    """
    link = trace.column(trace.arch.link or "") & np.uint64(trace.arch.code_mask)
    linked: Bools = link == fall
    fresh = linked.copy()
    fresh[1:] &= link[:-1] != fall[1:]
    return linked & (transfer | fresh)


FAR = 4096  # no instruction adds more to SP than this and loads other registers too


def _loaded_with_sp(trace: Trace, transfer: Bools) -> list[int]:
    """``ldmia r1, {r4-r11, sp, pc}``: SP and pc were loaded from one place, pc with the next instruction's address.

    A switch of stacks does so if the other stack's first function stands right behind it. No instruction is decoded:
    SP went far, a callee-saved register changed too, and a register pointed to words one of which is SP and another pc.
    """
    sp = trace.sp
    far = np.flatnonzero(sp[1:] - sp[:-1] + np.uint64(FAR) > np.uint64(2 * FAR)) + 1
    return loaded_beside(trace, far[~transfer[far]])


def loaded_beside(trace: Trace, far: NDArray[np.int64]) -> list[int]:
    """Those of the steps at which SP went far that loaded pc from beside it."""
    arch = trace.arch
    if not len(far):
        return []
    others = [arch.index[name] for name in arch.preserved if name not in (arch.sp, arch.pc)]
    registers = trace.registers
    far = far[(registers[far][:, others] != registers[far - 1][:, others]).any(axis=1)]
    reach = len(arch.registers) * arch.word
    return [step for step in far.tolist() if _side_by_side(trace, step, reach)]


def _side_by_side(trace: Trace, step: int, reach: int) -> bool:
    memory, arch = trace.memory(step), trace.arch
    for base in trace.registers[step - 1].tolist():
        try:
            words = np.frombuffer(memory.read(base, reach), f"<u{arch.word}")
        except UnreadableMemory:
            continue
        if trace.sp[step] in words and trace.pc[step] in words & np.asarray(arch.code_mask, words.dtype):
            return True
    return False


def _pushed(
    trace: Trace, fall: NDArray[np.uint64], transfer: Bools, stored: NDArray[np.uint64]
) -> tuple[Bools, Bools, NDArray[np.uint64]]:
    """This step lowered SP by one word and stored the fall-through address there; or that lay there before a transfer.

    Also which of these calls take the word off at once, and the code addresses stored in other ways, with the
    ``stored`` ones. A call to the next address that does is none.
    """
    word = trace.arch.word
    writes, sp = trace.writes, trace.sp
    whole = np.flatnonzero((writes.size == word) & (writes.step.astype(np.int64) + 1 < len(trace)))
    after = writes.step[whole].astype(np.int64) + 1
    pushed = (
        (writes.address[whole] == sp[after])
        & (writes.value[whole] == fall[after])
        & (sp[after] + np.uint64(word) == sp[after - 1])
    )
    call = np.zeros(len(trace), np.bool_)
    call[after[pushed]] = True
    others = writes.value[whole[~pushed]]
    stored = np.union1d(stored, others[in_code(trace, others)])
    undone = _takes_its_address_off(sp, word, call, transfer)
    still = np.zeros(len(trace), np.bool_)
    still[1:] = sp[1:] == sp[:-1]  # a return or a call would have moved it
    made = _made_before(trace, fall, transfer & still, stored)
    return (call & (transfer | ~undone)) | made, undone & transfer, stored


def _made_before(trace: Trace, fall: NDArray[np.uint64], jump: Bools, stored: NDArray[np.uint64]) -> Bools:
    """Jumps at which the word at SP is the fall-through address: the address to come back to was made before.

    It may be a pointer to the function behind the jump's own, pushed for another reason: then nothing comes back.
    """
    near = np.flatnonzero(jump & np.isin(fall, stored)) if len(stored) else np.empty(0, np.int64)
    return fall_at_sp(trace, fall, near)


def fall_at_sp(trace: Trace, fall: NDArray[np.uint64], near: NDArray[np.int64]) -> Bools:
    """Those of some steps at which the word at SP is the fall-through address."""
    found = np.zeros(len(trace), np.bool_)
    if len(near):
        history = history_of(trace, np.unique(trace.sp[near]))
        for step in near.tolist():
            found[step] = word_at(history, int(trace.sp[step]), trace.arch.word, step) == int(fall[step])
    return found


def in_code(trace: Trace, values: NDArray[np.uint64]) -> Bools:
    """Which of some values are addresses of code."""
    found = np.zeros(len(values), np.bool_)
    for loaded in trace.images:
        for segment in loaded.image.segments:
            if segment.executable:
                low = segment.address + loaded.bias
                found |= (values >= low) & (values < low + len(segment.data))
    return found


def _returned_to_next(trace: Trace, transfer: Bools) -> Bools:
    """``push next; ret; next:``: a return to the very next address, as a retpoline before its target makes it.

    SP rose by one word, and the word that it passed is where control is now. No other register has changed: that
    is asked first, since memory is slower to look at and every ``pop`` raises SP.
    """
    sp, word = trace.sp, trace.arch.word
    rose = np.zeros(len(trace), np.bool_)
    rose[1:] = ~transfer[1:] & (sp[1:] == sp[:-1] + np.uint64(word))
    near = np.flatnonzero(rose)
    moving = (trace.arch.pc, trace.arch.sp, trace.arch.flags)
    # What a `pop` loads, a callee-saved register nearly always, comes first: few steps are left after these.
    for name in dict.fromkeys((*trace.arch.preserved, *(register.name for register in trace.arch.registers))):
        if name not in moving:
            column = trace.column(name)
            near = near[column[near] == column[near - 1]]
    return came_off(trace, near)


def came_off(trace: Trace, near: NDArray[np.int64]) -> Bools:
    """Those of some steps at which the word that SP passed is where control is."""
    sp, word, rose = trace.sp, trace.arch.word, np.zeros(len(trace), np.bool_)
    if not len(near):
        return rose
    near = near[may_hold(trace, sp[near - 1], trace.pc[near])]
    if not len(near):
        return rose
    history = history_of(trace, distinct(sp[near - 1]))
    for step in near.tolist():
        rose[step] = word_at(history, int(sp[step - 1]), word, step) == int(trace.pc[step])
    return rose


def word_at(history: History, address: int, word: int, step: int) -> int | None:
    try:
        return int.from_bytes(history.read(address, word, step), "little")
    except UnreadableMemory:
        return None


def history_of(trace: Trace, address: NDArray[np.uint64]) -> History:
    """Memory at some words; the index of all of it is more work than the rest of the truth."""
    writes, word = trace.writes, np.uint64(trace.arch.word)
    first, last = writes.address // word, (writes.address + writes.size.astype(np.uint64) - np.uint64(1)) // word
    words = np.concatenate((address // word, (address + word - np.uint64(1)) // word))
    there = np.flatnonzero(np.isin(first, words) | np.isin(last, words))
    chosen = Writes(writes.step[there], writes.address[there], writes.size[there], writes.value[there])
    return History(trace.initial, chosen)


def may_hold(trace: Trace, address: NDArray[np.uint64], value: NDArray[np.uint64]) -> Bools:
    """Whether a word may ever have been at an address: written at once, or in parts, or there before the first step."""
    writes, mix, word = trace.writes, np.uint64(0x9E37_79B9_7F4A_7C15), trace.arch.word
    found = np.isin(address * mix ^ value, writes.address * mix ^ writes.value)
    parts = writes.address[writes.size != word] // np.uint64(word)
    for byte in (0, word - 1):
        found |= np.isin((address + np.uint64(byte)) // np.uint64(word), parts)
    for region in trace.initial:
        inside = np.flatnonzero((address >= region.address) & (address + np.uint64(word) <= region.end))
        if len(inside):
            content = np.frombuffer(region.data, np.uint8)
            first = (address[inside] - np.uint64(region.address)).astype(np.int64)
            octets = content[first[:, None] + np.arange(word)]
            found[inside] |= np.ascontiguousarray(octets).view(f"<u{word}").reshape(-1) == value[inside]
    return found


def _takes_its_address_off(sp: NDArray[np.uint64], word: int, call: Bools, transfer: Bools) -> Bools:
    """``call next; next: pop rbx``: a call one of whose first two instructions undoes the push, and does not return.

    Position-independent code of 32-bit days asks for its own pc so; ``call 1f; int3; 1: add rsp, 8`` fills the
    processor's return predictor.
    """
    undone = np.zeros(len(sp), np.bool_)
    places = np.flatnonzero(call)
    for distance in (1, 2):  # the second one, if the first leaves SP alone
        places = places[places + distance < len(sp)]
        places = places[~transfer[places + distance]]
        undone[places[sp[places + distance] == sp[places] + np.uint64(word)]] = True
        places = places[sp[places + distance] == sp[places]]
    return undone
