"""Instructions that move SP otherwise than by a constant: for an array of any size, or for a larger alignment.

It is a disassembler's text, and no truth: only where a check is careful rests on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from testbed.arch import Arch, PerIsa
from testbed.image import Image
from testbed.image.disassembly import disassembler


class MoveKind(Enum):
    """How an instruction gives SP a value that is not SP and a constant."""

    AMOUNT = "SP and a register"
    ALIGNED = "SP, or a register, without its low bits"
    COPY = "a register, perhaps with a constant, or a word of memory"


@dataclass(frozen=True, slots=True)
class StackMove:
    """One such instruction. ``registers``: the amount, or what is copied; none where that is a word of memory."""

    kind: MoveKind
    registers: tuple[str, ...] = ()


_Patterns = tuple[tuple[MoveKind, re.Pattern[str]], ...]


def _patterns(*patterns: tuple[MoveKind, str]) -> _Patterns:
    return tuple((kind, re.compile(pattern)) for kind, pattern in patterns)


# Group 1, if there is one, names the register.
_ARM = _patterns(
    (MoveKind.AMOUNT, r"(?:sub|add)\S* sp, (?:sp, )?((?!sp\b)[a-z]\w+)(?:, (?:lsl|lsr|asr|ror|uxtw|uxtx|sxtw)\b.*)?$"),
    (MoveKind.ALIGNED, r"(?:bic|and|bfc|bfi)\S* sp, (?!sp, #[13]$|#[13]$)"),
    (MoveKind.COPY, r"(?:sub|add)\S* sp, ((?!sp\b)[a-z]\w+), #"),
    (MoveKind.COPY, r"mov\S* sp, ([a-z]\w+)$"),
    (MoveKind.COPY, r"(?:ldr\S* sp, |ldm\S* [^{]*\{.*\bsp\b)"),
)
_MOVES: PerIsa[_Patterns] = PerIsa(
    {
        "x86_64": _patterns(
            (MoveKind.AMOUNT, r"(?:sub|add) rsp, (r\w+)$"),
            (MoveKind.AMOUNT, r"lea rsp, \[rsp [+-] (r\w+)"),
            (MoveKind.AMOUNT, r"lea rsp, \[r\w+ \+ (r\w+)"),
            # Who aligns to what the ABI gives does not count on that.
            (MoveKind.ALIGNED, r"and rsp, (?!0xfffffffffffffff8$|-0x8$|-8$)"),
            (MoveKind.COPY, r"mov rsp, (r\w+)$"),
            (MoveKind.COPY, r"lea rsp, \[(r(?!sp)\w+)(?: [+-] (?:0x)?[0-9a-f]+)?\]$"),
            (MoveKind.COPY, r"(?:leave|enter|pop rsp|mov rsp, |xchg .*\brsp\b|cmov\w+ rsp)"),
        ),
        "arm64": _patterns(
            (MoveKind.AMOUNT, r"(?:sub|add) sp, sp, ([xwf]\w+|lr)"),
            (MoveKind.AMOUNT, r"(?:sub|add) sp, [xf]\w+, ([xw]\w+)"),
            (MoveKind.ALIGNED, r"and sp, \w+, #(?!0xfffffffffffffff[08]$)"),
            (MoveKind.COPY, r"(?:sub|add) sp, ((?!sp)\w+), #"),
            (MoveKind.COPY, r"(?:mov|and) sp, (\w+)"),
        ),
        "a32": _ARM,
        "thumb": _ARM,
    }
)


def stack_move(isa: str, text: str) -> StackMove | None:
    """How an instruction, as ``mnemonic operands``, moves SP, where it is not by a constant."""
    for kind, pattern in _MOVES[isa]:
        if match := pattern.match(text):
            return StackMove(kind, match.groups())
    return None


# As a disassembler writes them.
_ARM_FRAME_POINTERS = frozenset({"fp", "r7"})
_FRAME_POINTERS: PerIsa[frozenset[str]] = PerIsa(
    {
        "x86_64": frozenset({"rbp"}),
        "arm64": frozenset({"x29"}),
        "a32": _ARM_FRAME_POINTERS,
        "thumb": _ARM_FRAME_POINTERS,
    }
)


def may_be_sized(isa: str, text: str) -> bool:
    """Whether an instruction may move SP by what an argument or SP says; copies of a frame pointer give memory back."""
    if "sp, " not in text or (move := stack_move(isa, text)) is None:
        return False
    copied = move.kind is MoveKind.COPY and _FRAME_POINTERS[isa].isdisjoint(move.registers)
    return copied or move.kind in (MoveKind.AMOUNT, MoveKind.ALIGNED)


@lru_cache(maxsize=1 << 16)
def stack_move_at(image: Image, pc: int) -> StackMove | None:
    """How the instruction at a link-time pc of an image moves SP, where it is not by a constant."""
    isa = image.isa_at(pc)
    for _, _, mnemonic, operands in disassembler(isa.name).disasm_lite(image.bytes_at(pc, 16), pc, 1):
        move, names = stack_move(isa.name, f"{mnemonic} {operands}"), _names(image.arch)
        return move and StackMove(move.kind, tuple(names.get(each, each) for each in move.registers))
    return None


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """What an instruction reads and writes, by the architecture's names, without pc and the flags.

    ``loads``: a word of memory that is no constant beside the code.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    loads: bool


@lru_cache(maxsize=1 << 12)
def register_use(image: Image, pc: int) -> RegisterUse | None:
    """What the instruction at a link-time pc reads and writes; None where nothing can be decoded."""
    for insn in disassembler(image.isa_at(pc).name, detail=True).disasm(image.bytes_at(pc, 16), pc, 1):
        names = _names(image.arch)
        reads, writes = (
            frozenset(names.get(name, name) for name in map(insn.reg_name, numbers) if name not in _NO_INPUTS)
            for numbers in insn.regs_access()
        )
        return RegisterUse(reads, writes, _LOADS.search(f"{insn.mnemonic} {insn.op_str}") is not None)
    return None


_NO_INPUTS = frozenset({"pc", "rip", "cpsr", "nzcv", "rflags", "eflags"})
_LOADS = re.compile(r"^(?!lea\b|.*\[(?:rip|pc)\b).*(?:\[|\{)")
_LETTERS = {f"r{letters}": f"e{letters}" for letters in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")}
_CALLED = {"x29": "fp", "x30": "lr", "r9": "sb", "r10": "sl", "r11": "fp", "r12": "ip"}


@lru_cache(maxsize=4)
def _names(arch: Arch) -> Mapping[str, str]:
    """The architecture's names of what capstone calls registers, and their lower halves."""
    names = {}
    for register in arch.registers:
        own = register.name
        half = f"w{own[1:]}" if own.startswith("x") else _LETTERS.get(own, f"{own}d")
        names.update({own: own, half: own})
        if arch.link and own in _CALLED:
            names[_CALLED[own]] = own
    return names
