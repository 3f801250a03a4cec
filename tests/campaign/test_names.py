"""Names judged against what was watched, over the corpus: nothing is ever invented."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import recipes_for
from testbed.campaign.names import NameOutcome, NameReport, judge_declared, judge_names, judge_site, true_frames
from testbed.contract.assumption import LEADS, ZERO
from testbed.image import LoadedImage, Symbol
from testbed.image.debug.tail_chains import Certainty
from testbed.naming.symbolize import NamedBacktrace, NamedFrame, Origin, Unsure, symbolize
from testbed.program.model import Expectation
from testbed.runs.by_name import run_file
from testbed.runs.run import Run, judge, run_program
from testbed.truth.departures import TrueCalls, find_departures
from testbed.words.errors import UsageError
from tests.golden import OURS, all_cells
from tests.image.debugged import DWARF_4, built, built_by_gcc
from tests.image.hand_made import BASE, image_of
from unwinders import UNWINDERS

SOME = ("clang-O2", "clang-thumb-O2", "clang-asm", "clang-asm-thumb")
CELLS = [
    (program.name, arch.name, recipe.name)
    for program in PROGRAMS.values()
    for arch in program.arches()
    for recipe in recipes_for(program, arch)
    if recipe.name in SOME
]
CHAINS = ("tail_chain", "tail_branches")
THREE = ("x86_64", "arm64", "arm32")


@cache
def report(program: str, arch: str, recipe: str) -> NameReport:
    return judge_names(run_program(PROGRAMS[program], ARCHES[arch], recipe))


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_nothing_is_invented_at_any_site(program: str, arch: str, recipe: str) -> None:
    found = report(program, arch, recipe)
    assert len(found.verdicts) + np.count_nonzero(found.run.watched.transition) == len(found.run) > 10
    assert [verdict for verdict in found.verdicts.values() if verdict.outcome is NameOutcome.INVENTED] == []
    assert found.invented == 0


def test_a_function_with_room_to_patch_at_its_entry_has_one_beginning() -> None:
    """GCC's debug information begins behind the room, which is where the call leads."""
    found = report("entry_nops", "arm64", "nops-O2")
    assert found.counts[NameOutcome.EXACT] == len(found.verdicts) == 20


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_where_no_tail_call_was_watched_every_site_is_exact_or_admits_a_cycle(
    program: str, arch: str, recipe: str
) -> None:
    found = report(program, arch, recipe)
    if found.departures.count == 0:
        assert found.counts[NameOutcome.MISSING] == 0
        assert found.counts[NameOutcome.EXACT] > 0


@pytest.mark.parametrize("arch", THREE)
def test_a_unique_chain_is_exact_at_every_site_and_declared_place(arch: str) -> None:
    found = report("tail_chain", arch, "clang-O2")
    assert found.departures.count == 2
    assert set(found.verdicts.values()) == {next(iter(found.verdicts.values()))}
    assert found.counts[NameOutcome.EXACT] == len(found.verdicts) == len(found.run)
    assert [verdict.outcome for _, _, verdict in found.declared] == [NameOutcome.EXACT] * 4


@pytest.mark.parametrize("arch", THREE)
def test_where_the_way_leaves_no_trace_every_such_site_is_ambiguous(arch: str) -> None:
    found = report("tail_branches", arch, "clang-O2")
    assert found.departures.count == 9
    assert found.counts[NameOutcome.AMBIGUOUS] > 20
    assert found.counts[NameOutcome.MISSING] == found.counts[NameOutcome.INVENTED] == 0
    assert {verdict.outcome for _, _, verdict in found.declared} == {NameOutcome.AMBIGUOUS}
    choose = found.run.steps_in("left")[0]
    assert found.verdicts[choose].outcome is NameOutcome.EXACT, "left has one way to it"


@pytest.mark.parametrize("arch", THREE)
@pytest.mark.parametrize("program", ["inline_chain", "cxx_names"])
def test_declared_inlined_calls_are_exact(program: str, arch: str) -> None:
    found = report(program, arch, "clang-O2")
    assert {verdict.outcome for _, _, verdict in found.declared} == {NameOutcome.EXACT}
    assert len(found.declared) >= 2


@pytest.mark.parametrize("arch", THREE)
@pytest.mark.parametrize("program", CHAINS)
def test_without_call_sites_tail_calls_are_missing_and_nothing_worse(program: str, arch: str) -> None:
    """-O0 lists no call sites; clang for Thumb lists tail calls only, though it claims that all calls are listed."""
    for recipe in ("clang-O0", "clang-thumb-O2") if arch == "arm32" else ("clang-O0",):
        found = report(program, arch, recipe)
        assert found.counts[NameOutcome.MISSING] > 10
        assert found.counts[NameOutcome.AMBIGUOUS] == found.invented == 0


@pytest.mark.parametrize("arch", THREE)
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("program", CHAINS)
def test_what_gcc_lists_is_judged_the_same(program: str, version: int, arch: str) -> None:
    found = judge_names(run_file(built_by_gcc(program, arch, version).path))
    assert found.departures.count == (2 if program == "tail_chain" else 9)
    wanted = {NameOutcome.EXACT} if program == "tail_chain" else {NameOutcome.EXACT, NameOutcome.AMBIGUOUS}
    assert {verdict.outcome for verdict in found.verdicts.values()} == wanted


@pytest.mark.parametrize("arch", THREE)
def test_the_older_form_of_call_sites_is_judged_the_same(arch: str) -> None:
    found = judge_names(run_file(built("tail_chain", arch, "clang-O2", DWARF_4).path))
    assert found.counts[NameOutcome.EXACT] == len(found.verdicts)
    assert found.departures.count == 2


# The judge itself: it must see a lie.

LOADED = LoadedImage(image_of(symbols=(Symbol("f", BASE, 0x10, True),)))
A, B, C = BASE, BASE + 0x10, BASE + 0x20


def named(*calls: tuple[Origin, int | None], unsure: tuple[Unsure, ...] = ()) -> NamedBacktrace:
    frames = tuple(NamedFrame(origin, 0, entry, False, "f", LOADED, entry=entry) for origin, entry in calls)
    return NamedBacktrace(frames, unsure, ())


HERE = (Origin.PHYSICAL, A)
TWO_WAYS = (Unsure(0, Certainty.AMBIGUOUS, "two ways", ()),)
NOT_LISTED = (Unsure(0, Certainty.UNKNOWN, "nothing listed", ()),)


@pytest.mark.parametrize(
    ("true", "said", "outcome"),
    [
        (TrueCalls(A, ()), named(HERE), NameOutcome.EXACT),
        (TrueCalls(A, (B, C)), named(HERE, (Origin.TAIL_CALL, B), (Origin.TAIL_CALL, C)), NameOutcome.EXACT),
        (TrueCalls(A, (B, C)), named(HERE, (Origin.TAIL_CALL, C), (Origin.TAIL_CALL, B)), NameOutcome.INVENTED),
        (TrueCalls(A, ()), named(HERE, (Origin.TAIL_CALL, B)), NameOutcome.INVENTED),
        (TrueCalls(A, (B,)), named(HERE, (Origin.TAIL_CALL, C)), NameOutcome.INVENTED),
        (TrueCalls(A, (B, B)), named(HERE, (Origin.TAIL_CALL, B)), NameOutcome.MISSING),
        (TrueCalls(A, (B,)), named(HERE), NameOutcome.MISSING),
        (TrueCalls(B, ()), named(HERE), NameOutcome.INVENTED),
        (TrueCalls(A, ()), named((Origin.PHYSICAL, None)), NameOutcome.MISSING),
        (TrueCalls(None, ()), named((Origin.PHYSICAL, None)), NameOutcome.EXACT),
        (TrueCalls(A, ()), named((Origin.INLINED, None), HERE), NameOutcome.EXACT),
        # ambiguity is honest, but excuses no lie
        (TrueCalls(A, (B,)), named(HERE, unsure=TWO_WAYS), NameOutcome.AMBIGUOUS),
        (TrueCalls(A, (B,)), named(HERE, (Origin.TAIL_CALL, C), unsure=TWO_WAYS), NameOutcome.INVENTED),
        (TrueCalls(A, (B,)), named(HERE, unsure=NOT_LISTED), NameOutcome.MISSING),
    ],
)
def test_the_verdict_on_one_frame(true: TrueCalls, said: NamedBacktrace, outcome: NameOutcome) -> None:
    assert judge_site((true,), said).outcome is outcome


def test_a_declaration_that_was_not_watched_is_a_mistake_in_the_header() -> None:
    run = report("tail_chain", "arm64", "clang-O2").run
    departures = find_departures(run.watched)
    step = run.step_at("last")
    with pytest.raises(UsageError, match="2 tail calls were watched"):
        judge_declared(run, departures, Expectation("last", None, ("last", "<second>", "main", "_start"), 1), step)
    wrong = Expectation("last", None, ("last", "<first>", "<second>", "main", "_start"), 1)
    assert judge_declared(run, departures, wrong, step).outcome is NameOutcome.INVENTED


@pytest.mark.parametrize("arch", THREE)
def test_beside_a_history_without_tail_calls_the_shown_ones_are_invented(arch: str) -> None:
    run = report("tail_chain", arch, "clang-O2").run
    step = run.step_at("leaf")
    calls = find_departures(run.watched).calls(step)
    said = symbolize(run.trace.images, true_frames(run, step))
    assert judge_site(calls, said).outcome is NameOutcome.EXACT
    without = tuple(replace(call, gone=()) for call in calls)
    assert judge_site(without, said).outcome is NameOutcome.INVENTED


# The steps of the corpus of which no effect tells whose they are: programs that have any, a list that may only shrink.


def test_no_other_program_has_undecided_steps() -> None:
    """Each cell of the matrix counts them, and is held to its golden counts."""
    assert {unit.program for unit, _, counts in all_cells(OURS) if counts.get("undecided", 0)} == {"right_behind"}


# The reason that a report prints is the reason: what a clause says of a frame is found again, another way.


SAMPLE = [
    *(("alloca_vla", arch, "clang-O0") for arch in ARCHES),
    *(("leaf_call", arch, "keystone") for arch in ARCHES),
    *(("early_return", arch, "keystone") for arch in ARCHES),
    *(("recursion", arch, "clang-O2-fp") for arch in ARCHES),
    ("interworking", "arm32", "keystone"),
]


@pytest.mark.parametrize(("program", "arch", "recipe"), SAMPLE)
def test_a_chain_fails_where_no_record_of_that_frame_is_at_its_frame_pointer(
    program: str, arch: str, recipe: str
) -> None:
    """From the snapshot: the true frame's frame pointer, and the words there, are what the reason says."""
    run, chain = run_program(PROGRAMS[program], ARCHES[arch], recipe), UNWINDERS["fp_chain"]
    told = Counter[str]()
    for step in range(len(run)):
        verdict = judge(run, step, chain.unwind(run[step]), chain)
        if verdict.transition:
            continue
        failed, frames = verdict.failed, run.truth(step).frames
        inner = range(failed.frame if failed else len(frames) - 1)
        assert all(_has_record(run, step, frame) for frame in inner), (step, verdict)
        if failed is not None and failed.clause in (LEADS, ZERO):
            assert not _has_record(run, step, failed.frame), (step, verdict)
            told[failed.clause.name] += 1
        if failed is not None and failed.clause is LEADS:
            assert failed.evidence["found"] == _return_address(run, step, failed.frame)
            assert failed.evidence["true"] == frames[failed.frame + 1].pc
    assert told, "nothing to look at"


def _return_address(run: Run, step: int, frame: int) -> int:
    true = run.truth(step).frames[frame]
    record = run.built.image.frame_record_at(true.lookup_pc - run.loaded.bias)
    at = true.registers[record.pointer] + record.return_address
    return run.arch.without_signature(run[step].memory.unsigned(at, run.arch.word))


def _has_record(run: Run, step: int, frame: int) -> bool:
    true, caller = run.truth(step).frames[frame : frame + 2]
    record = run.built.image.frame_record_at(true.lookup_pc - run.loaded.bias)
    pointer = true.registers[record.pointer]
    own = true.registers[run.arch.sp] <= pointer < caller.registers[run.arch.sp]
    return own and _return_address(run, step, frame) == caller.pc
