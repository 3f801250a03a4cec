"""A table's rows beside the truth of the frame they describe: where a row is wrong, and which directive makes it right.

A strategy's verdict says that a stack came out wrong; this says which row did it. At every executed instruction the
row that a table has for it is held against the innermost activation alone::

    true CFA              = SP just before the call that opened this activation
    true value of a rule  = the caller's register, as it was before the call

A register's rule is tried with the true CFA, so a wrong CFA is one finding and not one per register. A rule is right
when it finds the right value: a slot below SP that still holds it (a red zone) is legal, and so is a register that is
pushed already while its rule still says "same value". What a row says of the return address's signature has to be true
even where there is none to take off: who authenticates it fails. Expressions are not tried: nothing here evaluates
DWARF.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from testbed.contract.rows import (
    AtCfa,
    AtRegister,
    CfaPlus,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.truth import TrueFrame
from testbed.words.errors import NoUnwindInfo, UnreadableMemory

_MOST_SLOTS = 4096  # words of a frame that are searched for a saved register
_ABOVE = 16  # the same of one that lies in the caller's


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that a row says wrongly: what it says, what is true, the directive that would say so."""

    what: str  # "CFA", a register, or the "signature" of the return address
    says: str
    true: str
    directive: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The findings at one instruction, and at the ``more`` ones behind it that are wrong in the same things."""

    source: str
    step: int
    pc: int
    where: str
    instruction: str
    findings: tuple[LintFinding, ...]
    directives: tuple[str, ...]
    remembered: str = ""  # where the state that `.cfi_restore_state` gives back would be remembered
    more: int = 0

    @property
    def sentence(self) -> str:
        said = "; ".join(f"the row says {f.says}, {f.true}" for f in self.findings)
        fix = " and ".join(f"`{directive}`" for directive in self.directives)
        rest = f" ({self.more} more instruction{'s' * (self.more > 1)} behind it alike)" if self.more else ""
        add = f": add {fix} before it" if fix else ""
        add += f", with `.cfi_remember_state` before {self.remembered}" if self.remembered else ""
        return f"{self.where} ({self.instruction}): {said}{add}{rest}"


def lint(run: Run, table: RowTable) -> tuple[Advice, ...]:
    """What is wrong in a table at the executed instructions, in the order of their addresses.

    An instruction that is executed several times is wrong if it is so once. Steps in transition are left out.
    """
    wrong: dict[int, tuple[int, tuple[LintFinding, ...]]] = {}
    for step, pc in enumerate(run.trace.pc.tolist()):
        if pc not in wrong and not run.watched.transition[step] and (found := findings(run, step, table)):
            wrong[pc] = (step, found)
    executed = sorted({(pc, int(size)) for pc, size in zip(run.trace.pc.tolist(), run.trace.sizes, strict=True)})
    return tuple(_grouped(run, table, wrong, executed))


def findings(run: Run, step: int, table: RowTable) -> tuple[LintFinding, ...]:
    """What the row of one executed instruction says wrongly; empty where there is none, or no row."""
    row = _row(run, step, table)
    if row is None:
        why = table.stop_at(_link_time(run, step))
        if why is None or isinstance(why, NoUnwindInfo):
            return ()
        return (LintFinding("row", "nothing that can be read", str(why), ""),)
    frames = run.truth(step).frames
    if frames[0].cfa is None or len(frames) < 2:
        return _of_the_root(row)
    return tuple(_of_a_frame(run, run[step], row, frames[0].cfa, frames[1]))


def _row(run: Run, step: int, table: RowTable) -> UnwindRow | None:
    return table.at(_link_time(run, step))


def _link_time(run: Run, step: int) -> int:
    """The pc of a step as the table counts it."""
    own = next(loaded for loaded in run.trace.images if loaded.image is run.built.image)
    return int(run.trace.pc[step]) - own.bias


def _of_the_root(row: UnwindRow) -> tuple[LintFinding, ...]:
    rule = row.registers.get(row.return_address)
    if isinstance(rule, Undefined):
        return ()
    name = row.return_address
    says = f"{name} is {_words(rule, name)}"
    return (LintFinding(name, says, "and nobody called this function", f".cfi_undefined {name}"),)


def _of_a_frame(run: Run, at: Snapshot, row: UnwindRow, cfa: int, caller: TrueFrame) -> Iterator[LintFinding]:
    arch = run.arch
    if isinstance(row.cfa, RegisterPlus) and at.registers[row.cfa.register] + row.cfa.offset != cfa:
        distance = cfa - at.sp
        directive = f".cfi_def_cfa_offset {distance:#x}"
        if row.cfa.register != arch.sp:
            directive = f".cfi_def_cfa {arch.sp}, {distance:#x}"
        true = f"the true CFA is {arch.sp}+{distance:#x} here"
        yield LintFinding("CFA", f"CFA = {row.cfa.register}+{row.cfa.offset:#x}", true, directive)
    signed = bool(at.step is not None and run.watched.signed[at.step])
    if row.is_signed != signed:
        says = f"the return address is {'' if row.is_signed else 'not '}signed"
        yield LintFinding("signature", says, f"and here it is{'' if signed else ' not'}", ".cfi_negate_ra_state")
    for name in dict.fromkeys((row.return_address, *arch.preserved)):
        is_address = name == row.return_address
        true_value = caller.pc if is_address else caller.registers[name]
        rule = row.registers.get(name)
        size = arch.by_name[name].bits // 8

        def same(value: int | None, true_value: int = true_value, is_address: bool = is_address) -> bool:
            if value is None or not is_address:
                return value == true_value
            return caller.is_at(arch.without_signature(value))

        known, value = _value(rule, name, at, cfa, size)
        if not known or same(value):
            continue
        says = f"{name} is {_words(rule, name)}"
        if name in at.registers and name != arch.pc and same(at.registers[name]):
            yield LintFinding(name, says, f"{name} still has the caller's value", f".cfi_restore {name}")
            continue
        slots = range(at.sp, min(_end(at, cfa), at.sp + _MOST_SLOTS * arch.word), arch.word)
        slot = next((slot for slot in slots if same(_read(at, slot, size))), None)
        if slot is None:
            yield LintFinding(name, says, f"the caller's {name} is nowhere in the frame", "")
        else:
            directive = f".cfi_offset {name}, {slot - cfa:#x}"
            yield LintFinding(name, says, f"the caller's {name} is at CFA{slot - cfa:+#x}", directive)


def _end(at: Snapshot, cfa: int) -> int:
    """Where a frame ends: at the CFA; of a function that has gone up into its caller's frame, a little above SP."""
    return cfa if at.sp <= cfa else at.sp + _ABOVE * at.arch.word


def _value(rule: Rule | None, name: str, at: Snapshot, cfa: int, size: int) -> tuple[bool, int | None]:
    """Whether a rule can be tried here, and what it finds (None: nothing)."""
    match rule:
        case None | SameValue():
            return True, at.registers[name] if name != at.arch.pc else None
        case AtCfa(offset):
            return True, _read(at, cfa + offset, size)
        case CfaPlus(offset):
            return True, cfa + offset
        case AtRegister(register, offset):
            return True, _read(at, at.registers[register] + offset, size)
        case RegisterPlus(register, offset):
            return True, at.registers[register] + offset
        case _:
            return False, None


def _read(at: Snapshot, address: int, size: int) -> int | None:
    try:
        return at.memory.unsigned(address, size)
    except UnreadableMemory:
        return None


def _words(rule: Rule | None, name: str) -> str:
    match rule:
        case AtCfa(offset):
            return f"at CFA{offset:+#x}"
        case CfaPlus(offset):
            return f"CFA{offset:+#x}"
        case AtRegister(register, offset):
            return f"at {register}{offset:+#x}"
        case RegisterPlus(register, offset):
            return f"{register}{offset:+#x}"
        case None | SameValue():
            return f"still in {name}"
        case _:
            return "what an expression computes"


def _grouped(
    run: Run,
    table: RowTable,
    wrong: dict[int, tuple[int, tuple[LintFinding, ...]]],
    executed: Iterable[tuple[int, int]],
) -> Iterator[Advice]:
    """One piece of advice for neighbouring instructions that are wrong in the same things."""
    pending: Advice | None = None
    end, kinds = -1, frozenset[str]()
    for pc, size in executed:
        here = wrong.get(pc)
        now = frozenset(finding.what for finding in here[1]) if here else frozenset[str]()
        if here and pending is not None and pc == end and (now == kinds or pending.remembered):
            pending = replace(pending, more=pending.more + 1)
        else:
            if pending is not None:
                yield pending
            pending = None
            if here:
                step, found = here
                directives, remembered = _fix(run, step, table, found)
                instruction = run.instruction(step)
                pending = Advice(table.source, step, pc, run.where(pc), instruction, found, directives, remembered)
        end, kinds = pc + size, now
    if pending is not None:
        yield pending


def _fix(run: Run, step: int, table: RowTable, found: tuple[LintFinding, ...]) -> tuple[tuple[str, ...], str]:
    """The directives of the findings; where a row further up in the function says it all, a return to that row."""
    if len(found) > 1 and (row := _remembered(run, step, table)):
        bias = int(run.trace.pc[step]) - _link_time(run, step)
        return (".cfi_restore_state",), run.where(row.end + bias)
    return tuple(dict.fromkeys(finding.directive for finding in found if finding.directive)), ""


def _remembered(run: Run, step: int, table: RowTable) -> UnwindRow | None:
    """The last row of the same function, before this instruction, that would be right here."""
    pc = _link_time(run, step)
    function = run.built.image.function_at(pc)
    frames = run.truth(step).frames
    if function is None or frames[0].cfa is None:
        return None
    earlier = [row for row in table if function.address <= row.start and row.end <= pc]
    for row in reversed(earlier):
        if row.cfa is not None and not any(_of_a_frame(run, run[step], row, frames[0].cfa, frames[1])):
            return row
    return None
