"""Theorem, converse and foretelling, by technique and architecture, at sites of the whole corpus.

``pytest --update-golden tests/verdicts/assumptions/test_theorem.py`` writes the counts anew; those of GCC's recipes are
not in them, since they change with its version. All sites of all programs: ``pytest --everything`` with this file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import run_unit, units
from testbed.campaign.results import Unit
from testbed.contract.assumption import FIRST
from testbed.contract.frames import Backtrace, Frame
from testbed.contract.rows import AtRegister, Offset, RegisterPlus, Rule, SameValue, UnwindRow, ValOffset
from testbed.contract.unwinder import Unwinder
from testbed.runs.judging import judge
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.verdicts.assumptions import Failed, FoundCaller, failed_at
from testbed.verdicts.assumptions.along import Accord, accord
from testbed.verdicts.assumptions.words import reason
from testbed.verdicts.one import compare
from testbed.verdicts.trace import failed_in
from testbed.words.errors import NoProgress
from tests.golden import OURS
from unwinders import UNWINDERS
from unwinders.rows import walk as walk_module
from unwinders.scans import stack_scan, stack_scan_strict
from unwinders.scans.scan_walk import scan

# Every unwinder with an assumption beside it, at some sites of a run.


class Judged(NamedTuple):
    """An unwinder at a site: how its answer and its assumption stand to each other."""

    unwinder: str
    step: int
    accord: Accord
    failed: Failed | None

    def told(self, run: Run) -> str:
        """Where it is, and why, for people."""
        why = reason(self.failed, run.trace.images) if self.failed else "it holds"
        return f"{run}, {self.unwinder} at @{self.step}: {self.accord.value}; {why}"


def evenly(run: Run, most: int) -> range:
    """Steps of a run, at most about so many, at the same distance."""
    return range(0, len(run), max(1, len(run) // most))


def beside(run: Run, unwinders: Iterable[Unwinder], steps: Iterable[int]) -> Iterator[Judged]:
    """The unwinders that have an assumption, and apply."""
    chosen = [each for each in unwinders if each.assumption is not None and each.applies_to(run.built.image)]
    steps = list(steps)
    failed = [failed_at(run.watched, steps, each.assumption) for each in chosen if each.assumption is not None]
    for i, step in enumerate(steps):
        snapshot = run.trace.snapshot(step)
        true = run.truth(step).frames
        for unwinder, where in zip(chosen, failed, strict=True):
            said = unwinder.unwind(snapshot)
            outcome, _, _, frames = compare(run.arch, true, said)
            yield Judged(unwinder.name, step, accord(unwinder.held_to, outcome, frames, said, where[i]), where[i])


BESIDE = (Accord.HOLDS, Accord.FAILS, Accord.LUCK, Accord.UNFOUNDED, Accord.OTHERWISE, Accord.OPEN)


def table(counts: Counter[tuple[str, str, Accord]]) -> str:
    """Sites by unwinder and architecture, a line each, and of each accord how many."""
    lines = [f"{'unwinder':24}{'arch':8}" + "".join(f"{each.name.lower():>11}" for each in BESIDE)]
    for name, arch in dict.fromkeys(key[:2] for key in counts):
        lines.append(f"{name:24}{arch:8}" + "".join(f"{counts[name, arch, each]:11}" for each in BESIDE))
    return "\n".join(lines) + "\n"


GOLDEN = OURS.folder / "assumptions.txt"
UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
PART, SITES = 11, 24  # of so many units one, and of it so many sites


def test_theorem_converse_and_foretelling(request: pytest.FixtureRequest) -> None:
    counts: Counter[tuple[str, str, Accord]] = Counter()
    for unit in [each for each in UNITS if not RECIPES[each.recipe].tool.gnu][::PART]:
        run = run_unit(unit, PROGRAMS)
        for judged in beside(run, UNWINDERS.values(), evenly(run, SITES)):
            assert not judged.accord.unexplained, judged.told(run)
            if judged.failed is not None:
                assert judged.failed.clause in UNWINDERS[judged.unwinder].assumption.clauses, judged.told(run)
            counts[judged.unwinder, unit.arch, judged.accord] += 1
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(table(counts), encoding="utf-8")
    assert table(counts) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.everything
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_at_every_site(unit: Unit) -> None:
    run = run_unit(unit, PROGRAMS)
    for judged in beside(run, UNWINDERS.values(), range(len(run))):
        assert judged.accord in (Accord.HOLDS, Accord.FAILS, Accord.OPEN), judged.told(run)


# Reasons in words: whose a return address is that a scan finds, and what was foretold of an unexplained answer.


def run_of(program: str, arch: str, recipe: str = "keystone") -> Run:
    return run_unit(Unit(program, arch, recipe), PROGRAMS)


@pytest.mark.parametrize(
    ("program", "recipe", "kinds"),
    [
        ("stale_addresses", "keystone", {"an earlier call of"}),
        ("moved_return", "keystone", {"in a copy that"}),
    ],
)
def test_a_copy_of_a_return_address_is_told_from_the_original(program: str, recipe: str, kinds: set[str]) -> None:
    """On x86-64 the original is the word below its activation's CFA: here by place, in the words by who wrote it."""
    run, told = run_of(program, "x86_64", recipe), Counter[str]()
    writers: dict[int, dict[int, int]] = {}  # by step: of each word the step that wrote it last
    last: dict[int, int] = {}
    writes = iter(zip(run.trace.writes.step.tolist(), run.trace.writes.address.tolist(), strict=True))
    write = next(writes, None)
    for step in range(len(run)):
        while write is not None and write[0] < step:
            last[write[1] & ~7] = write[0]
            write = next(writes, None)
        writers[step] = dict(last)
    for step in evenly(run, 200):
        failed = failed_in(run.watched, UNWINDERS["stack_scan"], step)
        if failed is None or failed.clause is not FIRST or not isinstance(failed.foretold, FoundCaller):
            continue
        at, reason = failed.foretold.at, run.reason(failed, step)
        assert at is not None
        originals = [
            activation
            for activation in run.watched.activations
            if (activation.return_address, activation.cfa) == (failed.foretold.pc, at + 8)
            and activation.opened - 1 == writers[step].get(at)
        ]
        assert ("in a copy that" in reason) is (not originals), reason
        if not originals:
            assert f"in a copy that {run.function(int(run.trace.pc[writers[step][at]]))} wrote" in reason
        told.update(kind for kind in kinds if kind in reason)
    assert told.keys() == kinds


def test_a_saved_link_register_is_the_original_and_its_reload_stored_again_is_not() -> None:
    run = run_of("leaf_call", "arm64")
    failed = failed_in(run.watched, UNWINDERS["stack_scan"], 7)
    assert failed is not None and "= _start+0xc (main's return address) passes first" in run.reason(failed, 7)


@pytest.mark.parametrize(
    ("chosen", "step", "foretold"),
    [
        ("fp_chain", 7, "foretold are the true callers as far as middle, then _start+0xc, for at middle x29 leads to"),
        ("eh_frame", 7, "foretold are the true callers, to the root"),
    ],
)
def test_an_unexplained_answer_is_told_with_what_was_foretold(chosen: str, step: int, foretold: str) -> None:
    run, unwinder = run_of("leaf_call", "arm64"), UNWINDERS[chosen]
    said = unwinder.unwind(run.trace.snapshot(step))
    verdict = judge(run, step, replace(said, frames=said.frames[:1]), unwinder)
    assert verdict.accord in (Accord.OTHERWISE, Accord.UNFOUNDED)
    assert run.why(verdict, step).startswith(f"UNEXPLAINED: {foretold}")
    reason = "" if verdict.failed is None else run.reason(verdict.failed, step)
    assert reason in run.why(verdict, step)


# Deliberate defects of unwinders: an answer that its technique would not give is noticed, wrong anyhow or not.
#
# Each is planted in what an unwinder says or asks; the assumption, which shares nothing with it, tells the two apart at
# some site of a few programs.


DEFECT_UNITS = [unit for unit in units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())]
Answer = Callable[[Snapshot], Backtrace]


@lru_cache(maxsize=64)
def defect_run(unit: Unit) -> Run:
    return run_unit(unit, PROGRAMS)


def runs_for(name: str) -> Iterator[Run]:
    """Runs to which an unwinder applies, of all architectures by turns."""
    for unit in [each for each in DEFECT_UNITS if not RECIPES[each.recipe].tool.gnu][::29]:
        run = defect_run(unit)
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
            if judged.accord not in (Accord.HOLDS, Accord.FAILS, Accord.OPEN):
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


@pytest.mark.parametrize("name", [name for name, each in UNWINDERS.items() if each.assumption is not None])
def test_no_defect_no_notice(name: str) -> None:
    assert next(noticed(name, UNWINDERS[name].unwind), "") == ""
