"""From a disassembler's operands to spots: registers in words, memory as its address is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from capstone import CS_AC_READ, CS_AC_WRITE, CS_OP_IMM, CS_OP_MEM, CS_OP_REG, CsInsn

from testbed.arch import Arch
from testbed.witness.passage import Carry, MemoryWord, Spot

NamedWords = Callable[[str], tuple[str, ...]]  # the words of a register that has capstone's name


@dataclass(frozen=True, slots=True)
class Reading:
    """An instruction as capstone tells it, read with the names of a trace."""

    arch: Arch
    instruction: CsInsn
    words: NamedWords

    @property
    def operands(self) -> list[Any]:
        return list(self.instruction.operands)

    @property
    def registers(self) -> list[Any]:
        return [operand for operand in self.operands if operand.type == CS_OP_REG]

    @property
    def after(self) -> int:
        """The address of the next instruction."""
        return int(self.instruction.address + self.instruction.size)

    @property
    def immediate(self) -> int | None:
        """The last immediate operand: where a direct branch goes."""
        return next((int(o.imm) for o in reversed(self.operands) if o.type == CS_OP_IMM), None)

    def register(self, number: int) -> tuple[str, ...]:
        """The words of a register by capstone's number, lowest first. A part of a register is the whole of it."""
        return self.words(self.instruction.reg_name(number))

    def column(self, number: int) -> int | None:
        """The column of a register in a trace; None for no register, or one that is not recorded."""
        spots = self.register(number) if number else ()
        return self.arch.index.get(spots[0]) if spots else None

    def spots(self, operand: Any, memory: MemoryWord | None, size: int | None = None) -> tuple[Spot, ...]:
        """The words of an operand: none for a constant, or for memory whose address is not known."""
        if operand.type == CS_OP_REG:
            return self.register(operand.reg)
        if operand.type == CS_OP_MEM and memory is not None:
            return words_at(memory, self.arch.word, size or self.arch.word)
        return ()


def words_at(memory: MemoryWord, word: int, size: int) -> tuple[MemoryWord, ...]:
    """The consecutive words of ``size`` bytes of memory."""
    if 0 < size < word:
        return (replace(memory, part=size),)
    return tuple(moved(memory, offset) for offset in range(0, max(size, 1), word))


def moved(memory: MemoryWord, offset: int) -> MemoryWord:
    """The word this far behind another."""
    return replace(memory, displacement=memory.displacement + offset)


def by_word(to: tuple[Spot, ...], *sources: tuple[Spot, ...]) -> tuple[Carry, ...]:
    """Each word comes from the words in the same place of all sources."""
    columns = list(zip_longest(*sources)) if sources else []
    found = []
    for i, spot in enumerate(to):
        given = columns[i] if i < len(columns) else ()
        found.append((spot, tuple(each for each in given if each is not None)))
    return tuple(found)


def reads(operand: Any) -> bool:
    """True for an operand that Capstone says is read."""
    return bool(operand.access & CS_AC_READ)


def writes(operand: Any) -> bool:
    """True for an operand that Capstone says is written."""
    return bool(operand.access & CS_AC_WRITE)


def written(
    reading: Reading, to: Iterable[tuple[Spot, ...]], sources: Sequence[tuple[Spot, ...]], kept: Iterable[Spot]
) -> tuple[Carry, ...]:
    """What an instruction writes comes from its sources, word by word; what else Capstone says it changes from nowhere.

    Of what is ``kept`` nothing is said: a program counter, flags, a base that only moves.
    """
    found = [carry for spots in to for carry in by_word(spots, *sources)]
    known = {spot for spot, _ in found}.union(kept)
    changed = (spot for number in reading.instruction.regs_access()[1] for spot in reading.register(number))
    return (*found, *((spot, ()) for spot in changed if spot not in known))
