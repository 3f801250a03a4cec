"""Deliberate defects of unwinders: an answer that its technique would not give is noticed, wrong anyhow or not.

Each is planted in what an unwinder says or asks; the assumption, which shares nothing with it, tells the two apart at
some site of a few programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import run_unit, units
from testbed.campaign.results import Unit
from testbed.contract.frames import Backtrace, Frame
from testbed.contract.rows import AtRegister, Offset, RegisterPlus, Rule, SameValue, UnwindRow, ValOffset
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.verdicts.assumptions.along import Accord
from testbed.words.errors import NoProgress
from tests.verdicts.assumptions.accords import beside, evenly
from unwinders import UNWINDERS
from unwinders.rows import walk as walk_module
from unwinders.scans import stack_scan, stack_scan_strict
from unwinders.scans.scan_walk import scan

UNITS = [unit for unit in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())]
Answer = Callable[[Snapshot], Backtrace]


@lru_cache(maxsize=64)
def run_of(unit: Unit) -> Run:
    return run_unit(unit, PROGRAMS)


def runs_for(name: str) -> Iterator[Run]:
    """Runs to which an unwinder applies, of all architectures by turns."""
    for unit in [each for each in UNITS if not RECIPES[each.recipe].tool.gnu][::29]:
        run = run_of(unit)
        if UNWINDERS[name].applies_to(run.built.image):
            yield run


# What an answer is made into.


def last_dropped(said: Backtrace) -> Backtrace:
    return replace(said, frames=said.frames[:-1] or said.frames)


def root_for_a_stop(said: Backtrace) -> Backtrace:
    return replace(said, stopped=None)


def stop_for_the_root(said: Backtrace) -> Backtrace:
    return replace(said, stopped=said.stopped or NoProgress("planted"))


def first_twice(said: Backtrace) -> Backtrace:
    return replace(said, frames=(*said.frames[:2], *said.frames[1:]))


def first_left_out(said: Backtrace) -> Backtrace:
    return replace(said, frames=(said.frames[0], *said.frames[2:]))


def with_callers(said: Backtrace, change: Callable[[Frame], Frame]) -> Backtrace:
    return replace(said, frames=(said.frames[0], *map(change, said.frames[1:])))


def pcs_one_on(said: Backtrace) -> Backtrace:
    return with_callers(said, lambda frame: replace(frame, pc=frame.pc + 4))


def cfa_off(said: Backtrace) -> Backtrace:
    off = [replace(f, cfa=None if f.cfa is None else f.cfa + 8) for f in said.frames]
    return replace(said, frames=tuple(off))


def registers_off(said: Backtrace) -> Backtrace:
    return with_callers(said, lambda f: replace(f, registers={n: v ^ 1 for n, v in f.registers.items()}))


CHANGED_ANSWERS = {
    ("fp_chain", last_dropped),
    ("fp_chain", root_for_a_stop),
    ("fp_chain", stop_for_the_root),
    ("fp_chain", cfa_off),
    ("fp_chain_entry", first_left_out),
    ("fp_chain_entry", registers_off),
    ("lr_leaf", first_twice),
    ("bs_backtrace", first_left_out),
    ("qi_stack_frame", last_dropped),
    ("builtin_return_address", root_for_a_stop),
    ("glibc_backtrace_fp", stop_for_the_root),
    ("glibc_backtrace_fp", pcs_one_on),
    ("stack_scan", first_left_out),
    ("stack_scan_strict", pcs_one_on),
    ("stack_scan_breakpad", root_for_a_stop),
    ("eh_frame", registers_off),
    ("eh_frame", cfa_off),
    ("debug_frame", root_for_a_stop),
}


def noticed(name: str, answer: Answer) -> Iterator[str]:
    changed = replace(UNWINDERS[name], unwind=answer)
    for run in runs_for(name):
        for judged in beside(run, [changed], evenly(run, 16)):
            if judged.accord not in (Accord.HOLDS, Accord.FAILS):
                yield judged.told(run)


def by_name(case: object) -> str:
    return getattr(case, "__name__", str(case))


@pytest.mark.parametrize(("name", "change"), sorted(CHANGED_ANSWERS, key=lambda c: (c[0], by_name(c[1]))), ids=by_name)
def test_a_changed_answer_is_noticed(name: str, change: Callable[[Backtrace], Backtrace]) -> None:
    unwind = UNWINDERS[name].unwind
    assert next(noticed(name, lambda snapshot: change(unwind(snapshot))), "") != ""


# What a row or a word is made into: lying readers.


def rule_off(rule: Rule) -> Rule:
    match rule:
        case Offset(offset):
            return Offset(offset - 8)
        case ValOffset(offset):
            return ValOffset(offset + 8)
        case AtRegister(register, offset):
            return AtRegister(register, offset + 8)
        case RegisterPlus(register, offset):
            return RegisterPlus(register, offset + 8)
        case _:
            return rule


def cfa_rule_off(row: UnwindRow) -> UnwindRow:
    return replace(row, cfa=None if row.cfa is None else rule_off(row.cfa))


def register_rules_off(row: UnwindRow) -> UnwindRow:
    return replace(row, registers={n: r if n == row.return_address else rule_off(r) for n, r in row.registers.items()})


def return_in_a_register(row: UnwindRow) -> UnwindRow:
    return replace(row, registers={**row.registers, row.return_address: SameValue()})


def never_outermost(row: UnwindRow) -> UnwindRow:
    return replace(row, outermost_if_zero=None)


LYING_ROWS = [
    ("fp_chain", cfa_rule_off),
    ("fp_chain", register_rules_off),
    ("fp_chain", never_outermost),
    ("fp_chain_entry", cfa_rule_off),
    ("eh_frame", cfa_rule_off),
    ("eh_frame", register_rules_off),
    ("debug_frame", cfa_rule_off),
    ("debug_frame", register_rules_off),
    ("ehabi", register_rules_off),
    ("ehabi", return_in_a_register),
    ("sframe", cfa_rule_off),
    ("orc", cfa_rule_off),
    ("compact_unwind", cfa_rule_off),
]


@pytest.mark.parametrize(("name", "change"), LYING_ROWS, ids=by_name)
def test_a_lying_reader_is_noticed(
    name: str, change: Callable[[UnwindRow], UnwindRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = walk_module.apply
    monkeypatch.setattr(walk_module, "apply", lambda row, *rest: apply(change(row), *rest))
    assert next(noticed(name, UNWINDERS[name].unwind), "") != ""


def anything(snapshot: Snapshot, value: int, below: Frame) -> bool:
    return True


CALLEE_NOT_ASKED = replace(stack_scan_strict.SCAN, plausible=stack_scan.behind_a_call)
SCANS = {
    "any code address": ("stack_scan", replace(stack_scan.SCAN, plausible=anything)),
    "the callee is not asked": (
        "stack_scan_strict",
        replace(stack_scan_strict.SCAN, plausible=stack_scan.behind_a_call),
    ),
    "few words": ("stack_scan", replace(stack_scan.SCAN, first_words=2, words=2)),
    "SP is claimed": ("stack_scan", replace(stack_scan.SCAN, claims_sp=True)),
}


@pytest.mark.parametrize("what", SCANS)
def test_another_scan_is_noticed(what: str) -> None:
    name, options = SCANS[what]
    assert next(noticed(name, lambda snapshot: scan(snapshot, options)), "") != ""


def test_no_defect_no_notice() -> None:
    assert next(noticed("fp_chain", UNWINDERS["fp_chain"].unwind), "") == ""
