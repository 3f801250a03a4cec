"""One row damaged of each agreeing entry of real libraries, nine ways: how often the static pass notices.

Counted are damages that change what an unwinder gets, which another disassembler says (capstone): a rule that is gone
where the register has its caller's value still, or a CFA that counts from another register that says the same, changes
nothing. A damage is noticed where its entry agrees no more, or another one is suspect for a row of it.

    python -m tests.sweep.table_damage FILE... [--most N] [--seed N]
"""

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import capstone
import numpy as np
from numpy.typing import NDArray

from testbed.image import Image, read_image
from testbed.sweep.native import entries, room, rows
from testbed.sweep.static_pass import StaticPass, rows_held, static_pass

_MUCH = 1 << 20  # bytes of code for which compiling pays
_R11 = 11  # DWARF's number: no frame is counted from it
_NAMES = MappingProxyType(
    {3: ("rbx", "ebx", "bx", "bl", "bh"), 6: ("rbp", "ebp", "bp", "bpl")}
    | {k: (f"r{k}", f"r{k}d", f"r{k}w", f"r{k}b") for k in range(12, 16)}
)
_ENDS = ("ret", "jmp", "ud2", "hlt", "repz ret", "notrack jmp", "bnd jmp", "bnd ret")
_FILLING = ("nop", "int3", "xchg", "data16")


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An instruction: where it is, and which saved registers it overwrites, or takes back from the stack."""

    pc: int
    end: int
    overwrites: frozenset[int]
    takes_back: frozenset[int]
    ends: bool
    is_dead: bool  # filling behind an end


@dataclass(frozen=True, slots=True)
class DamagePlace:
    """A row of an entry that may be damaged: ``index`` is its place among all, ``next`` where the one behind begins.

    ``code`` are the entry's instructions; empty where none were asked for.
    """

    told: NDArray[np.int64]
    index: int
    next: int
    kept: tuple[int, ...]
    code: Sequence[_Instruction] = ()

    @property
    def row(self) -> NDArray[np.int64]:
        return self.told[self.index]

    def saved(self) -> list[int]:
        """The saved registers that have a slot."""
        return [k for k in self.kept if self.row[rows.RULES + k] & ((1 << rows.BITS) - 1) == rows.AT_CFA]

    def changed(self, register: int) -> bool:
        """Whether a register may have another value than the caller's at some instruction of the row."""
        ever = now = False
        for each in self.code:
            if self.row[rows.PC] <= each.pc < self.next and now and not each.is_dead:
                return True
            now = (now or register in each.overwrites) and register not in each.takes_back
            ever = ever or register in each.overwrites
            now = ever if each.ends else now
        return False

    def beside(self, distance: int) -> int | None:
        """The instruction so far before or behind the row's begin, if the row and the one before it hold it."""
        pcs = [each.pc for each in self.code]
        begin = int(self.row[rows.PC])
        if begin not in pcs or not 0 <= pcs.index(begin) + distance < len(pcs):
            return None
        found = pcs[pcs.index(begin) + distance]
        passed = self.code[pcs.index(begin) + min(distance, 0)]
        if passed.is_dead:
            return None
        before = int(self.told[self.index - 1][rows.PC])
        return found if before < found < self.next else None


Damaged = Callable[[DamagePlace, random.Random], "Mapping[int, int] | None"]


def _moved_cfa(distance: int) -> Damaged:
    def damaged(place: DamagePlace, _: random.Random) -> Mapping[int, int] | None:
        counts = place.row[rows.CFA_REGISTER] >= 0
        return {rows.CFA_OFFSET: int(place.row[rows.CFA_OFFSET]) + distance} if counts else None

    return damaged


def _moved_slot(place: DamagePlace, chance: random.Random) -> Mapping[int, int] | None:
    saved = place.saved()
    if not saved:
        return None
    column = rows.RULES + chance.choice(saved)
    return {column: int(place.row[column]) + (8 << rows.BITS)}


def _swapped(place: DamagePlace, chance: random.Random) -> Mapping[int, int] | None:
    saved = place.saved()
    if len(saved) < 2:
        return None
    one, other = (rows.RULES + k for k in chance.sample(saved, 2))
    return {one: int(place.row[other]), other: int(place.row[one])}


def _gone(place: DamagePlace, chance: random.Random) -> Mapping[int, int] | None:
    saved = [k for k in place.saved() if place.changed(k)]
    return {rows.RULES + chance.choice(saved): rows.SAME} if saved else None


def _invented(place: DamagePlace, chance: random.Random) -> Mapping[int, int] | None:
    unsaved = [k for k in place.kept if place.row[rows.RULES + k] == rows.SAME]
    return {rows.RULES + chance.choice(unsaved): -64 << rows.BITS | rows.AT_CFA} if unsaved else None


def _shifted(distance: int) -> Damaged:
    def damaged(place: DamagePlace, _: random.Random) -> Mapping[int, int] | None:
        before = place.told[place.index - 1]
        at = place.beside(distance)
        columns = (rows.CFA_REGISTER, rows.CFA_OFFSET)
        same = all(before[column] == place.row[column] for column in columns)
        both_say = distance > 0 and before[rows.CFA_REGISTER] != place.row[rows.CFA_REGISTER]  # `mov %rsp, %rbp` before
        return None if at is None or same or both_say else {rows.PC: at}

    return damaged


DAMAGES: Mapping[str, Damaged] = MappingProxyType(
    {
        "CFA 8 more": _moved_cfa(8),
        "CFA 8 less": _moved_cfa(-8),
        "CFA from another register": lambda place, _: (
            {rows.CFA_REGISTER: _R11} if place.row[rows.CFA_REGISTER] >= 0 else None
        ),
        "slot moved by 8": _moved_slot,
        "two slots swapped": _swapped,
        "rule gone": _gone,
        "rule invented": _invented,
        "CFA an instruction late": _shifted(1),
        "CFA an instruction early": _shifted(-1),
    }
)


def code_of(image: Image, start: int, end: int) -> list[_Instruction]:
    """The instructions of a stretch of code, one after the other."""
    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    disassembler.detail = True
    found: list[_Instruction] = []
    for each in disassembler.disasm(image.bytes_at(start, end - start), start):
        written = {each.reg_name(k) for k in each.regs_access()[1]}
        registers = frozenset(k for k, names in _NAMES.items() if written.intersection(names))
        from_stack = each.mnemonic == "pop" or (each.mnemonic == "mov" and "sp" in each.op_str.partition("[")[2])
        taken = registers if from_stack or each.mnemonic == "leave" else frozenset()
        end_of = each.address + each.size
        is_dead = each.mnemonic.startswith(_FILLING) and bool(found) and (found[-1].ends or found[-1].is_dead)
        ends = each.mnemonic.startswith(_ENDS)
        found.append(_Instruction(each.address, end_of, registers - taken, taken, ends, is_dead))
    return found


def places_of(image: Image, made: StaticPass, chance: random.Random, most: int) -> Mapping[int, list[DamagePlace]]:
    """The rows that may be damaged of entries that agree, by the number of the entry."""
    agreeing = np.flatnonzero((made.out[:, room.VERDICT] == room.AGREES) & (made.out[:, room.INSTRUCTIONS] > 0))
    drawn = sorted(chance.sample(agreeing.tolist(), min(most, len(agreeing))))
    kept = tuple(int(k) for k in made.machine.kept)
    found: dict[int, list[DamagePlace]] = {}
    for i in drawn:
        entry, told = made.swept.entries[i], made.swept.rows
        first, last, end = (int(entry[k]) for k in (entries.FIRST_ROW, entries.LAST_ROW, entries.END))
        code = code_of(image, int(entry[entries.START]), end)
        ends = [int(told[k][rows.PC]) for k in range(first + 1, last)] + [end]
        pairs = zip(range(first, last), ends, strict=True)
        found[i] = [DamagePlace(told, k, until, kept, code) for k, until in pairs if told[k][rows.PC] < until]
    return found


def again(made: StaticPass, told: NDArray[np.int64]) -> NDArray[np.int64]:
    """What is said with other rows."""
    return rows_held(made.swept._replace(rows=told, led=np.zeros_like(made.swept.led)), made.machine, _MUCH).out


def measured(path: Path, most: int, seed: int) -> Iterator[tuple[str, int, bool, str]]:
    """Of each damage: its name, the entry, whether it was noticed, which row."""
    image = read_image(path)
    made = static_pass(image)
    chance = random.Random(f"{seed} {path.name}")
    places = places_of(image, made, chance, most)
    for name, damaged in DAMAGES.items():
        told, rows_of = made.swept.rows.copy(), {}
        for i, every in places.items():
            can = [(place, change) for place in every if (change := damaged(place, chance)) is not None]
            if "instruction" in name:
                can = [each for each in can if each[0].index > made.swept.entries[i][entries.FIRST_ROW]]
            if can:
                place, change = chance.choice(can)
                told[place.index, list(change)] = list(change.values())
                rows_of[i] = place
        yield from _noticed(made, again(made, told), name, rows_of)


def _noticed(
    made: StaticPass, out: NDArray[np.int64], name: str, damaged: Mapping[int, DamagePlace]
) -> Iterator[tuple[str, int, bool, str]]:
    blamed = {int(each[room.OUT_ROW]) for each in out if each[room.VERDICT] == room.SUSPECT}
    for i, place in damaged.items():
        entry = made.swept.entries[i]
        own = range(int(entry[entries.FIRST_ROW]), int(entry[entries.LAST_ROW]))
        noticed = out[i, room.VERDICT] != room.AGREES or not blamed.isdisjoint(own)
        yield name, i, bool(noticed), f"{int(entry[entries.START]):#x}, row of {int(place.row[rows.PC]):#x}"


def main() -> None:
    """Print how many damages were noticed, by library and way, and those that were not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=1000, help="entries of each file, drawn by the seed")
    parser.add_argument("--seed", type=int, default=1)
    typed = parser.parse_args()
    whole: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for path in typed.files:
        here: Counter[bool] = Counter()
        for name, _, noticed, where in measured(path, typed.most, typed.seed):
            whole[name][noticed] += 1
            here[noticed] += 1
            if not noticed:
                print(f"missed: {path.name}: {name}: {where}", flush=True)
        print(f"{path.name}: {here[True]:,} of {here.total():,} noticed", flush=True)
    for name, counts in whole.items():
        print(f"{counts[True]:>9,} of {counts.total():>9,}  {100 * counts[True] / counts.total():8.3f} %  {name}")
    every = sum(whole.values(), Counter())
    print(f"{every[True]:>9,} of {every.total():>9,}  {100 * every[True] / every.total():8.3f} %  all")


if __name__ == "__main__":
    main()
