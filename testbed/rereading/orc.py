"""`.orc_unwind` with `.orc_unwind_ip`: the entry in force at a pc, as the kernel's unwinder takes it.

An entry has three half-words: an offset for SP, one for BP, and bits: the register that SP is counted from (4), the one
for BP (4), and what kind of frame it is. Source: Linux, arch/x86/include/asm/orc_types.h, arch/x86/kernel/unwind_orc.c.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from enum import Enum

from testbed.image import Image
from testbed.rereading.dwarf import SecondReader
from testbed.rereading.rows import Lost, NoRow, Plus, SecondRow, SecondRule, Word

_BASES = {2: "rdx", 3: "rdi", 4: "rbp", 5: "rsp", 6: "r10", 7: "r13"}
_PREVIOUS_SP, _BP_INDIRECT, _SP_INDIRECT = 1, 8, 9
# Where an interrupt left them: struct pt_regs, or from its ip on.
_IP, _SP = 128, 152
_SAVED = {"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbp": 32, "rbx": 40}


class _EntryKind(Enum):
    NOTHING, END, CALL, REGISTERS, INTERRUPT = range(5)


# Up to Linux 6.2 a kind has two bits, and a bit above them marks the end of the stack.
_OLD_KINDS = (_EntryKind.CALL, _EntryKind.REGISTERS, _EntryKind.INTERRUPT)
_OLD_END = 1 << 10
_SIGNAL = 1 << 11  # from Linux 6.4 on


def orc(image: Image) -> SecondReader:
    """The rows of ``.orc_unwind``: an entry holds up to the next one."""
    entries, places = image.sections[".orc_unwind"], image.sections[".orc_unwind_ip"]
    halves = list(struct.iter_unpack("<hhH", entries.data))
    distances = (distance for (distance,) in struct.iter_unpack("<i", places.data))
    at = [(places.address + 4 * i + distance, i) for i, distance in enumerate(distances)]
    # Of two at one place one is an entry for a gap, without registers; the other one, sorted behind it, holds.
    at.sort(key=lambda each: (each[0], halves[each[1]][2] & 0xFF != 0))
    code_end = max((s.address + s.size for s in image.segments if s.executable), default=0)
    # The newer layout has a kind for "nothing known": with a register for SP, kind 0 is the older one's call.
    is_old = any(bits & 0x0F and not bits & 0x700 for _, _, bits in halves)
    arch = image.arch

    def row_at(pc: int) -> SecondRow | NoRow:
        i = bisect_right(at, pc, key=lambda each: each[0]) - 1
        if i < 0 or pc >= code_end:
            return NoRow(f"no entry of .orc_unwind covers {pc:#x}")
        start, entry = at[i]
        end = at[i + 1][0] if i + 1 < len(at) else code_end
        sp_offset, bp_offset, bits = halves[entry]
        if is_old:
            nothing = _EntryKind.END if bits & _OLD_END else _EntryKind.NOTHING
            kind = _OLD_KINDS[bits >> 8 & 3] if bits & 0x0F else nothing
            is_signal = kind is not _EntryKind.CALL
        else:
            kind, is_signal = _EntryKind(bits >> 8 & 7), bool(bits & _SIGNAL)
        if kind is _EntryKind.NOTHING:
            return NoRow("the entry says that nothing is known here")
        if kind is _EntryKind.END:
            return SecondRow(arch, start, end, 6 * entry, None, Lost(), {}, False)
        cfa, returns, registers = _rules(kind, sp_offset, bp_offset, bits)
        return SecondRow(arch, start, end, 6 * entry, cfa, returns, registers, False, is_signal)

    return row_at


def _rules(
    kind: _EntryKind, sp_offset: int, bp_offset: int, bits: int
) -> tuple[SecondRule, SecondRule, dict[str, SecondRule]]:
    """The previous SP, the return address and the registers that are known."""
    sp_register, bp_register = bits & 0x0F, bits >> 4 & 0x0F
    sp = _previous_sp(sp_register, sp_offset)
    previous, returns = sp, Word(_plus(sp, -8), 8)
    registers: dict[str, SecondRule] = {"rbp": Plus("rbp")}
    if kind is not _EntryKind.CALL:
        frame = sp if kind is _EntryKind.REGISTERS else _plus(sp, -_IP)
        previous, returns = Word(_plus(frame, _SP), 8), Word(_plus(frame, _IP), 8)
    if kind is _EntryKind.REGISTERS:
        registers = {name: Word(_plus(sp, at), 8) for name, at in _SAVED.items()}
    if bp_register:
        base = sp if bp_register == _PREVIOUS_SP else Plus(_BASES[bp_register])
        registers["rbp"] = Word(_plus(base, bp_offset), 8)
    return previous, returns, registers


def _plus(rule: SecondRule, offset: int) -> Plus:
    return Plus(rule.base, rule.offset + offset) if isinstance(rule, Plus) else Plus(rule, offset)


def _previous_sp(register: int, offset: int) -> SecondRule:
    if register == _SP_INDIRECT:
        return Plus(Word(Plus("rsp"), 8), offset)
    if register == _BP_INDIRECT:
        return Word(Plus("rbp", offset), 8)
    return Plus(_BASES[register], offset if _BASES[register] in ("rbp", "rsp") else 0)
