"""The tables of one file held against each other, at instructions that nothing executed.

Where an instruction was executed each table was held against the truth, and the one that is wrong has a finding. The
same holds where an abstract interpretation of the instructions says which is wrong. What is left: two tables that
contradict each other, of which one must be wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from testbed.arch import Arch
from testbed.checks.code_words import CodeWords
from testbed.checks.groups import PieceCounts
from testbed.checks.model import FindingKind, HowKnown, TableFinding, WrongThing
from testbed.checks.readers import AT_CALLS
from testbed.checks.rule_words import cfa_words, rule_words
from testbed.contract.rows import AtCfa, RegisterPlus, RowTable, UnwindRow


def formats_differ(
    tables: Mapping[str, RowTable],
    counted: Sequence[PieceCounts],
    executed: Collection[int],
    words: CodeWords,
    arch: Arch,
) -> Iterator[TableFinding]:
    """One finding for each function in which two tables contradict each other; ``executed`` instructions are left out.

    Tables that promise rows at calls only say nothing of single instructions, and are left out.
    """
    asked = {name: table for name, table in tables.items() if name not in AT_CALLS}
    for (one_name, one), (other_name, other) in combinations(asked.items(), 2):
        for counts in counted:
            told = {
                pc
                for name in (one_name, other_name)
                if (static := counts.static.get(name)) is not None
                for pc in static.differing
            }
            pcs = [pc for pc in counts.instructions.tolist() if pc not in executed and pc not in told]
            found = {pc: things for pc in pcs if (things := _contradictions(one, other, pc, arch))}
            if found:
                pc = next(iter(found))
                file, line = words.source(pc)
                yield TableFinding(
                    FindingKind.FORMATS_DIFFER,
                    one.source,
                    str(counts.piece),
                    pc,
                    words.where(pc),
                    words.instruction(pc),
                    found[pc],
                    HowKnown.STATIC,
                    len(found),
                    None,
                    file,
                    line,
                )


def _contradictions(one: RowTable, other: RowTable, pc: int, arch: Arch) -> tuple[WrongThing, ...]:
    """What the rows of two tables say of one instruction that cannot both be so."""
    a, b = one.at(pc), other.at(pc)
    if a is None or b is None:
        return ()
    things = []
    both = isinstance(a.cfa, RegisterPlus) and isinstance(b.cfa, RegisterPlus) and a.cfa.register == b.cfa.register
    if both and a.cfa != b.cfa:
        says = f"CFA = {cfa_words(a.cfa)}"
        things.append(WrongThing("CFA", says, f"and {other.source} says CFA = {cfa_words(b.cfa)}"))
    for name in (a.return_address, *arch.preserved):
        said, against = _slot(a, name), _slot(b, name)
        if said is not None and against is not None and said != against:
            true = f"and {other.source} says it is {rule_words(against, name)}"
            things.append(WrongThing(name, f"{name} is {rule_words(said, name)}", true))
    return tuple(things)


def _slot(row: UnwindRow, name: str) -> AtCfa | None:
    """Where a row says a register is saved; None where that cannot be compared with another row's."""
    rule = row.registers.get(name)
    return rule if isinstance(rule, AtCfa) else None
