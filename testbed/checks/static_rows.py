"""A table's rows beside what the instructions alone say, for code that nothing executed.

The instructions' rows come from an abstract interpretation of the function. It is believed for a function only if it
says the same as the table at every instruction of it that was executed. Two rows can be compared where they count the
CFA from the same register; a saved register, where both say a slot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from testbed.arch import Arch
from testbed.checks.code_words import cfa_words, rule_words
from testbed.checks.model import WrongThing
from testbed.checks.true_rows import ObservedRow, TruePlace
from testbed.contract.rows import Offset, RegisterPlus, RowTable, SameValue, UnwindRow
from testbed.conventions import Convention, platform
from testbed.image import Image
from testbed.image.disassembly import disassemble
from testbed.micro.code_scan import scan
from testbed.words.errors import UnwindError

RowAt = Callable[[Image, int], UnwindRow]  # raises UnwindError where nothing is known
_KNOWN = (Offset, SameValue)


@dataclass(frozen=True, slots=True)
class StaticDifference:
    """What a row says wrongly, and the row that the instructions say."""

    things: tuple[WrongThing, ...]
    said: UnwindRow


@dataclass(frozen=True, slots=True)
class StaticFunction:
    """What was tried of one function: at ``agreed`` instructions the two say the same, at ``differing`` they do not.

    ``said`` are the instructions' rows at all that could be compared, where some differ.
    """

    agreed: frozenset[int]
    differing: Mapping[int, StaticDifference]
    said: Mapping[int, UnwindRow] = field(default_factory=dict)

    def true(self, table: RowTable, convention: Convention) -> dict[int, ObservedRow]:
        """What is true at each instruction, as if it had been executed; of what is not known, the table is believed."""
        return {pc: _observed(pc, said, row, convention) for pc, said in self.said.items() if (row := table.at(pc))}


def _observed(pc: int, said: UnwindRow, row: UnwindRow, convention: Convention) -> ObservedRow:
    places = {}
    for name in (*convention.preserved, row.return_address):
        match said.registers.get(name):
            case Offset(offset):
                places[name] = TruePlace(False, frozenset((offset,)))
            case SameValue():
                places[name] = TruePlace(True)
    cfa = {said.cfa.register: said.cfa.offset} if isinstance(said.cfa, RegisterPlus) else {}
    return ObservedRow(pc, 1, 1, cfa, places, row.is_signed, max(cfa.values(), default=None))


def static_function(
    image: Image,
    table: RowTable,
    row_at: RowAt,
    tried: Collection[int],
    untried: Mapping[int, int],
    orphans: Collection[int] = (),
) -> StaticFunction:
    """Compare a function's rows at the ``untried`` instructions; ``tried`` are those at which the table is right.

    ``untried`` says how long each is. Where nothing leads to an instruction (``orphans``), what stands before it says
    nothing against its row, nor against those behind it. So it is behind a call of another file's function where the
    table has another frame: that function never returns, as `__assert_fail`.
    """
    nothing = StaticFunction(frozenset(), {})
    agreed, differing, told = set[int](), dict[int, StaticDifference](), dict[int, UnwindRow]()
    known: dict[tuple[int, int], tuple[WrongThing, ...] | None] = {}  # most instructions share both rows with others
    for pc in (*tried, *untried):
        row, said = table.at(pc), _said(image, row_at, pc)
        if row is None or said is None:
            continue
        pair = (row.start, said.start)
        if pair not in known:
            known[pair] = _differences(row, said, image.arch)
        things = known[pair]
        if things is None:
            continue
        if things and pc in tried:
            return nothing
        told[pc] = said
        if things:
            differing[pc] = StaticDifference(things, said)
        elif pc not in tried:
            agreed.add(pc)
    doubtful = -1  # where control goes on behind an instruction of which nothing is known
    for pc in sorted(differing):
        if pc in orphans or pc == doubtful or _is_behind_the_end(image, table, pc, {*tried, *untried}):
            doubtful = pc + untried[pc]
            del differing[pc], told[pc]
    return StaticFunction(frozenset(agreed), differing, told if differing else {})


_CALL = re.compile(r"(?:\w+ )*call |blx? |blr\w* ")
_LONGEST = 15  # bytes of an instruction


def _is_behind_the_end(image: Image, table: RowTable, pc: int, known: Collection[int]) -> bool:
    """Does a call of a function of another file stand before an instruction, and the table say another frame here?

    No-operations may lie between the two.
    """
    row, end, at = table.at(pc), pc, _before(pc, known)
    while at is not None and at in scan(image, at, end).filling:
        end, at = at, _before(at, known)
    before = None if at is None else table.at(at)
    if at is None or row is None or before is None or (before.cfa, before.registers) == (row.cfa, row.registers):
        return False
    return is_call(image, at) and not _is_own(image, scan(image, at, end).calls.get(at))


def is_call(image: Image, pc: int) -> bool:
    """Is the instruction at a place a call?"""
    return _CALL.match(disassemble(image.isa_at(pc), image.bytes_at(pc, _LONGEST), pc)) is not None


def _before(pc: int, known: Collection[int]) -> int | None:
    """The instruction before another one."""
    return next((at for at in range(pc - 1, pc - 1 - _LONGEST, -1) if at in known), None)


def _is_own(image: Image, target: int | None) -> bool:
    """Is the target of a call a function of this file, and no slot of its linkage table?"""
    sections = (each for each in image.sections.values() if target is not None and each.address <= target)
    found = next((each for each in sections if target is not None and target < each.address + len(each.data)), None)
    return found is not None and not found.name.startswith((".plt", ".iplt"))


def agrees(image: Image, table: RowTable, row_at: RowAt, pc: int, asked: Iterable[str] = ()) -> bool | None:
    """Whether the instructions say of a place what the table says; None where that cannot be told.

    Of the registers that are ``asked`` for, a slot and "same value" are a contradiction: elsewhere a row may leave out
    a register that is saved and not changed yet.
    """
    row, said = table.at(pc), _said(image, row_at, pc)
    if row is None or said is None or _differences(row, said, image.arch) != ():
        return None
    rules = ((row.registers.get(name, SameValue()), said.registers.get(name, SameValue())) for name in asked)
    return not any(one != other and isinstance(one, _KNOWN) and isinstance(other, _KNOWN) for one, other in rules)


def _said(image: Image, row_at: RowAt, pc: int) -> UnwindRow | None:
    try:
        return row_at(image, pc)
    except UnwindError:
        return None


def _differences(row: UnwindRow, said: UnwindRow, arch: Arch) -> tuple[WrongThing, ...] | None:
    """What the instructions say otherwise than a row; None where that cannot be told."""
    before = "the instructions before it"
    return (
        contradictions(row, said, arch, f"{before} leave the CFA at", f"{before} save it")
        if _alike(row, said)
        else None
    )


def contradictions(one: UnwindRow, other: UnwindRow, arch: Arch, cfa_is: str, it_is: str) -> tuple[WrongThing, ...]:
    """What two rows say that cannot both be so: the CFA, or where a register is saved.

    ``cfa_is`` and ``it_is`` begin the words for what the other one says.
    """
    things = []
    if _alike(one, other) and one.cfa != other.cfa:
        things.append(WrongThing("CFA", f"CFA = {cfa_words(one.cfa)}", f"{cfa_is} {cfa_words(other.cfa)}"))
    for name in (one.return_address, *platform(arch).preserved):
        here, there = one.registers.get(name), other.registers.get(name)
        if isinstance(here, Offset) and isinstance(there, Offset) and here != there:
            things.append(WrongThing(name, f"{name} is {rule_words(here, name)}", f"{it_is} {rule_words(there, name)}"))
    return tuple(things)


def _alike(one: UnwindRow, other: UnwindRow) -> bool:
    """Whether two rows count the CFA from the same register."""
    here, there = one.cfa, other.cfa
    return isinstance(here, RegisterPlus) and isinstance(there, RegisterPlus) and here.register == there.register
