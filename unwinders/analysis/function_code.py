"""The instructions of a function, decoded on demand, from wherever control reaches.

Decoding runs straight on from there, so that a Thumb IT block keeps its conditions, until it meets what is decoded
already, the end of the function, bytes that are no instruction, or has done enough for once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from testbed.arch import Isa, PerIsa
from testbed.image import Image, once_per_image
from testbed.image.disassembly import disassembler
from testbed.words.errors import BudgetExceeded, NoUnwindInfo, UnsupportedRule
from unwinders.analysis.abstract_machine import ReadCode
from unwinders.analysis.function_bounds import FunctionParts, functions_of
from unwinders.analysis.operations import Instruction

AT_ONCE, LONGEST = 512, 15  # instructions decoded from where control reaches; bytes of one of them
FIRST_AT_ONCE = 8
MOST_OF_CALLEE = 1 << 16  # bytes of a called function in which its returns are looked for
MOST_SLOTS = 6_000_000  # of the stack, in all states of a function
RETURN_AND_POP = 0xC2  # x86: ret, with the bytes of arguments that the callee takes away
RETURNS = frozenset({"ret", "retf", "iretq", "sysretq"})
Decode = Callable[[Any, Isa, ReadCode], Instruction]


def _decode_x86(insn: Any, isa: Isa, read: ReadCode) -> Instruction:
    from unwinders.analysis.decode_x86 import decode  # a decoder is loaded for code of its own

    return decode(insn)


def _decode_arm64(insn: Any, isa: Isa, read: ReadCode) -> Instruction:
    from unwinders.analysis.decode_arm64 import decode

    return decode(insn)


def _decode_arm32(insn: Any, isa: Isa, read: ReadCode) -> Instruction:
    from unwinders.analysis.decode_arm32 import decode

    return decode(insn, isa, read)


# By instruction set: how capstone's instruction becomes ours, and the smallest distance between two instructions.
DECODERS = PerIsa[tuple[Decode, int] | None](
    {
        "x86_64": (_decode_x86, 1),
        "arm64": (_decode_arm64, 4),
        "a32": (_decode_arm32, 4),
        "thumb": (_decode_arm32, 2),
    }
)


def decoder_of(isa: Isa) -> tuple[Decode, int]:
    """An instruction set's entry in `DECODERS`. Raises NoUnwindInfo where there is no decoder."""
    decoder = DECODERS[isa.name]
    if decoder is None:
        raise NoUnwindInfo(f"the instructions of {isa.name} are not decoded here: {DECODERS.because[isa.name]}")
    return decoder


def spend(image: Image, kind: str, amount: int, pc: int) -> None:
    """So much more of what analysing an image may cost. Raises UnsupportedRule where that is too much."""
    try:
        image.account.share("instructions").spend(kind, amount, pc)
    except BudgetExceeded as why:
        raise UnsupportedRule(f"{image}: {why.detail}; if you trust the file: {why.option}") from why


@dataclass(eq=False)
class FunctionCode:
    """The code of one function of an image."""

    image: Image
    function: FunctionParts
    isa: Isa = field(init=False)
    _known: dict[int, Instruction | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.isa = self.image.isa_at(self.function.entry)

    @property
    def step(self) -> int:
        """The smallest distance between two instructions."""
        return decoder_of(self.isa)[1]

    def at(self, pc: int) -> Instruction | None:
        """The instruction at a pc of the function; None where there is none."""
        if pc not in self._known:
            self._decode_from(pc)
        return self._known.get(pc)

    def read(self, address: int, size: int) -> int | None:
        """A constant in memory that the program cannot write to."""
        for segment in self.image.segments:
            if not segment.writable and segment.address <= address <= segment.address + len(segment.data) - size:
                at = address - segment.address
                return int.from_bytes(segment.data[at : at + size], "little")
        return None

    def spend_state(self, slots: int, all_slots: int) -> None:
        """One more state of so many slots, of so many in all that are kept. Raises UnsupportedRule for too many."""
        if all_slots > MOST_SLOTS:
            raise UnsupportedRule(f"{self.function.name} keeps too much on its stack to be followed")
        spend(self.image, "steps", 4 + slots // 16, self.function.entry)

    def pops(self, target: int | None) -> int:
        """The bytes of arguments that the function at a call's target takes off the stack as it returns (``ret 8``)."""
        if target is None or self.image.arch.link is not None:  # a return address in a register lies in nobody's way
            return 0
        return _popped(self.image, target)

    def _decode_from(self, pc: int) -> None:
        end = next((end for start, end in self.function.parts if start <= pc < end), pc)
        decode, step = decoder_of(self.isa)
        at = pc
        if pc % step == 0:
            data = self.image.bytes_at(pc, min(end - pc, AT_ONCE * LONGEST))
            for done, insn in enumerate(self._disassembled(data, pc)):
                if insn.address in self._known:
                    return
                instruction = decode(insn, self.isa, self.read)
                if done >= AT_ONCE and (instruction.condition is None or not self.isa.address_bit):
                    return  # not inside an IT block: what comes is decoded as well from here on
                self._known[insn.address] = instruction
                at = insn.address + insn.size
        self._known.setdefault(at, None)

    def _disassembled(self, data: bytes, pc: int) -> Iterator[Any]:
        """capstone's instructions, which decodes as many as it is given at once: few at first, where few may be new."""
        disassembled, at = disassembler(self.isa.name, detail=True).disasm, 0
        # An IT block must not be cut.
        at_once = 0 if self.isa.address_bit else FIRST_AT_ONCE
        while at < len(data):
            spend(self.image, "steps", at_once or len(data) // self.step, pc)
            begun = at
            for insn in disassembled(data[at : at + at_once * LONGEST] if at_once else data, pc + at, at_once):
                yield insn
                at = insn.address + insn.size - pc
            if at == begun or not at_once:
                return
            at_once = min(4 * at_once, AT_ONCE)


@once_per_image
def _popped(image: Image, target: int) -> int:
    isa = image.isa_at(target)
    _, step = decoder_of(isa)
    try:
        function = functions_of(image).at(target)
    except NoUnwindInfo:
        return 0
    start, end = function.parts[0]
    data = image.bytes_at(start, min(end - start, MOST_OF_CALLEE))
    if function.entry != target or RETURN_AND_POP not in data:
        return 0
    found, pc = set[int](), start
    while pc < start + len(data):
        # Names and operands alone are read: that is faster by far.
        spend(image, "steps", 1 + (len(data) - (pc - start)) // 8, target)
        named = disassembler(isa.name).disasm_lite(data[pc - start :], pc)
        for address, size, mnemonic, operands in named:
            pc = address + size
            if mnemonic.rpartition(" ")[2] in RETURNS:
                found.add(int(operands or "0", 0))
        pc += step
    return found.pop() if len(found) == 1 else 0
