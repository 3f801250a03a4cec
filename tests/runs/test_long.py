"""A run judged in pieces: the same counts and the same verdict at every site as judged at once."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

import testbed
from benchmarks.workload import TARGETS, workload
from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Cell, build_unit, cell_of, cell_of_long
from testbed.contract.assumption import CodeRow
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.runs.by_name import FileFacts, run_file
from testbed.runs.long import LongRun, judge_long, judge_piece, watch_long
from testbed.runs.run import judge_all, run_built
from testbed.runs.side_by_side import WAITING, SideBySide, side_by_side
from testbed.trace import Snapshot
from testbed.verdicts.verdict import Verdict, counted
from testbed.words.errors import EmulationError, UsageError
from testbed.words.traits import Trait
from tests import corpus
from tests.truth.pieces import LESS, agree_in_pieces, said
from unwinders import UNWINDERS

PIECE = 64
MODES = {f"{arch.name}-{isa.name}": (arch, isa) for arch in ARCHES.values() for isa in arch.isas}


def words(verdict: Verdict) -> tuple[object, ...]:
    return verdict.outcome, verdict.depth, verdict.difference, verdict.clause, verdict.accord, verdict.transition


def asks_the_whole_run(unwinder: Unwinder) -> bool:
    """True of prologue analysis: its assumption asks what all visits of an instruction show, and a piece has some."""
    return isinstance(unwinder.assumption, CodeRow)


def told(cell: Cell) -> object:
    """What is said of the first differences, but for whose return address a word is: a piece lacks calls."""
    firsts = (cell.first, cell.first_lie, cell.first_unexplained)
    return [each and (each.step, each.where, each.outcome, each.clause, each.seen) for each in firsts]


@pytest.mark.parametrize("mode", MODES)
def test_verdicts_are_the_same_in_pieces(mode: str, request: pytest.FixtureRequest) -> None:
    """On a part of the corpus; `--everything`: on all of it."""
    arch, isa = MODES[mode]
    here = [u for u in corpus.UNITS if u.arch == arch.name and RECIPES[u.recipe].isa_on(arch) in (isa, None)]
    every = 1 if request.config.getoption("--everything") else 31
    compared, pieces, inside = 0, 0, Counter[Trait]()
    read_anew = next(unit for unit in here if unit.program == "gen_9")  # its later pieces say what its first ones are
    for unit in {*here[::every], read_anew}:
        built = build_unit(unit, PROGRAMS)
        if built.source.header.signals:
            with pytest.raises(UsageError, match="signals arrive"):
                watch_long(built, budget=1_000_000)
            continue
        unwinders = [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(built.image)]
        on_the_way = unwinders[::2]  # the others afterwards
        whole, run = run_built(built), watch_long(built, budget=1_000_000, chunk=PIECE, judging=on_the_way)
        assert (len(run), run.end, run.failure) == (len(whole), whole.trace.end, whole.failure)
        wanted = {unwinder.name: judge_all(whole, unwinder) for unwinder in unwinders}
        for unwinder, found in zip(unwinders, judge_long(run, unwinders), strict=True):
            right = counted(wanted[unwinder.name])
            if asks_the_whole_run(unwinder):
                assert (found.outcomes, found.callers) == (right.outcomes, right.callers), (unit, unwinder.name)
                continue
            assert found == right, (unit, unwinder.name)
            cells = cell_of_long(run, unwinder, found), cell_of(whole, unwinder, wanted[unwinder.name])
            assert [told(cell) for cell in cells[:1]] == [told(cell) for cell in cells[1:]], (unit, unwinder.name)
        for piece, window in run.pieces():
            pieces += 1
            for unwinder in unwinders:
                verdicts = judge_piece(piece, window, unwinder)
                for step in range(window.first, window.end):
                    each, wholly = verdicts[window.row(step)], wanted[unwinder.name][step]
                    same = words(each) == words(wholly)
                    assert same or asks_the_whole_run(unwinder), (unit, unwinder.name, step)
                    assert each.outcome is wholly.outcome
                    compared += 1
            for step in range(window.first, window.end, 5):
                row = window.row(step)
                less = frozenset() if piece.watched.sites.told[piece.watched.node[row]] else LESS
                assert piece.words(row) - less == whole.words(step) - less, (unit, step)
                inside.update(piece.words(row))
    assert compared > 5_000 and pieces > 20
    assert inside.keys() >= LESS


def test_a_piece_that_a_later_one_says_more_of_is_judged_again() -> None:
    """The jump comes in the second piece, and makes the last step of the first one transitional."""
    built = build_unit(next(u for u in corpus.UNITS if u.program == "longjmp" and u.arch == "arm32"), PROGRAMS)
    some = [each for each in UNWINDERS.values() if each.soon_judged and each.applies_to(built.image)]
    some = [each for each in some if not asks_the_whole_run(each)]
    run = watch_long(built, budget=1_000_000, chunk=PIECE, judging=some)
    assert len(run.firsts) == 2
    for unwinder, found in zip(some, judge_long(run, some), strict=True):
        assert found == counted(judge_all(run_built(built), unwinder)), unwinder.name
    again = watch_long(built, budget=1_000_000, chunk=PIECE, judging=some)
    assert {tuple(again.judged(each).pieces) for each in some} == {(again.firsts[1],)}


@pytest.mark.parametrize("arch", ARCHES)
def test_the_truth_is_the_same_in_pieces_of_any_length(arch: str) -> None:
    pieces = 0
    for unit in [u for u in corpus.UNITS if u.arch == arch][3::61]:
        built = build_unit(unit, PROGRAMS)
        if not built.source.header.signals:
            whole = run_built(built)
            pieces += sum(agree_in_pieces(whole.watched, length, every=11).windows for length in (4, 17, 100))
    assert pieces > 50


@pytest.mark.parametrize("length", [4, 7, 20, 64])
def test_signatures_are_remembered_from_piece_to_piece(length: int) -> None:
    signed = 0
    for unit in corpus.UNITS:
        if (
            unit.arch == "arm64"
            and (unit.program.startswith("pac_") or "pac" in unit.recipe)
            and "busy" not in unit.program
        ):
            whole = run_built(build_unit(unit, PROGRAMS))
            run = watch_long(whole.built, budget=1_000_000, chunk=length)
            for piece, window in run.pieces() if len(whole) < 2000 else ():
                own = slice(window.start, window.stop)
                assert piece.watched.signed[own].tolist() == whole.watched.signed[window.first : window.end].tolist()
                signed += int(piece.watched.signed[own].sum())
    assert signed > 50


def test_most_pieces_of_a_long_run_are_judged_once() -> None:
    """What a first look takes for granted of a piece most often holds."""
    built = workload(TARGETS[0], 4)
    every = [each for each in UNWINDERS.values() if each.soon_judged and each.applies_to(built.image)]
    run = watch_long(built, budget=1_000_000, chunk=1000, judging=every)
    assert len(run.firsts) > 10 and len(every) > 3
    for each in every:
        assert len(run.judged(each).pieces) > 0.6 * len(run.firsts), each.name


def recursion(piece: int = 50) -> LongRun:
    built = build_unit(next(u for u in corpus.UNITS if u.program == "recursion" and u.arch == "arm64"), PROGRAMS)
    return watch_long(built, budget=1_000_000, chunk=piece)


def test_any_step_is_found_again_in_any_order() -> None:
    run = recursion()
    whole = run_built(run.built)
    assert run.known.windows > 5
    list(run.pieces())  # notes where each piece begins
    for step in (len(run) - 1, 0, len(run) // 2, 51, 50, 49, 7, len(run) - 60):
        piece, window = run.piece(step)
        row = window.row(step)
        assert said(piece.truth(row)) == said(whole.truth(step)) and piece.words(row) - LESS == whole.words(step) - LESS
        assert piece.trace.snapshot(row).registers == whole[step].registers
        assert piece.instruction(row) == whole.instruction(step)
    assert run.piece(51)[0] is run.piece(52)[0], "a piece is made once"
    with pytest.raises(UsageError, match=f"@0 to @{len(run) - 1}"):
        run.piece(len(run))


def test_few_places_are_kept_and_all_steps_are_found_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.runs.long.KEPT", 3)
    run = recursion(20)
    whole = run_built(run.built)
    list(run.pieces())
    assert run.known.windows > 12 and len(run._places) <= 3
    for step in range(0, len(run), 37):
        piece, window = run.piece(step)
        assert said(piece.truth(window.row(step))) == said(whole.truth(step))


def test_a_location_is_looked_for_in_all_pieces() -> None:
    run = recursion()
    whole = run_built(run.built)
    function = whole.built.image.symbol_named("main")
    assert function
    for location in ("_start", "main", "main+0x4", "@0", f"@{len(whole) - 1}"):
        assert run.step_at(location) == whole.step_at(location)
    name = max((s.name for s in whole.built.image.symbols if s.is_function), key=lambda n: len(whole.steps_in(n)))
    for visit in (1, 2, 4):
        assert run.step_at(f"{name}#{visit}") == whole.step_at(f"{name}#{visit}")
    for location in (f"{name}#9999", "nowhere", "1 + 1", "@99999999", "@" + "9" * 5000):
        with pytest.raises(UsageError) as ours:
            run.step_at(location)
        with pytest.raises(UsageError) as theirs:
            whole.step_at(location)
        assert str(ours.value) == str(theirs.value) or location.startswith("@")


def test_a_run_that_does_not_exit_says_so() -> None:
    built = recursion().built
    run, whole = watch_long(built, budget=120, chunk=50), run_built(built, budget=120)
    assert len(run) == 120 and isinstance(run.end, EmulationError)
    assert run.failure == whole.failure != ""


# What a value looks like at a prompt: a line, not a screen.


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_values_fit_a_screen(arch: str) -> None:
    run = testbed.run("leaf_call", arch=arch)
    at = run.at("leaf")
    values = (run, run.trace, run.built, run.program, run.loaded, run.built.image, at, run.truth(at), run.arch)
    for value in values:
        assert len(repr(value)) < 400, repr(value)
    assert repr(run).startswith(f"<Run leaf_call · {arch} · keystone: ")
    assert repr(at).startswith("<Snapshot step ")
    assert len(repr(run.watched)) < 2000


# Program files from elsewhere, and what is said of them.


def exact(path: Path, facts: FileFacts, unwinder: str) -> int:
    """How many sites are exact."""
    return sum(verdict.exact for verdict in judge_all(run_file(path, facts=facts), UNWINDERS[unwinder]))


@pytest.mark.parametrize(
    ("program", "recipe", "layout"),
    [("recursion", "gcc-O2-fp", "r11-gcc"), ("recursion", "clang-thumb-O2-aapcs", "r11-clang")],
)
def test_a_file_can_be_told_the_layout_of_its_frame_records(program: str, recipe: str, layout: str) -> None:
    path = corpus.built(program, "arm32", recipe).path
    before = exact(path, FileFacts(), "fp_chain")
    assert exact(path, FileFacts((layout,)), "fp_chain") > 2 * before


def test_no_such_layout_is_named() -> None:
    with pytest.raises(UsageError, match="r11-clang"):
        run_file(corpus.built("leaf_call", "arm32").path, facts=FileFacts(frame_records=("r11-clan",)))


def test_the_front_door_takes_a_source_and_a_file(tmp_path: Path) -> None:
    source = tmp_path / "mine.c"
    source.write_text("// summary: seven\n// exit: 7\n\nint main(void) { return 7; }\n")
    for path in (source, str(source)):
        run = testbed.run(path, arch="arm64", recipe="clang-O2")
        assert (run.program.name, str(run.arch), run.failure) == ("mine", "arm64", "")
    again = testbed.run(run.built.path)
    assert (again.arch, len(again)) == (run.arch, len(run))
    with pytest.raises(UsageError, match="already built"):
        testbed.run(run.built.path, recipe="clang-O2")
    with pytest.raises(UsageError, match="did you mean leaf_call"):
        testbed.run("leaf_cal")


# Threads for a run in pieces: the same verdicts, nothing lost, and what goes wrong in a thread is told.

SHORT_PIECE = 20  # steps


@pytest.mark.parametrize("arch", ARCHES)
def test_by_threads_the_verdicts_are_the_same(arch: str) -> None:
    for program in ("recursion", "longjmp"):
        built = build_unit(next(u for u in corpus.UNITS if u.program == program and u.arch == arch), PROGRAMS)
        judging = [each for each in UNWINDERS.values() if each.applies_to(built.image) and each.unwind_trace][:3]
        alone = watch_long(built, budget=1_000_000, chunk=SHORT_PIECE, judging=judging)
        expected, firsts = judge_long(alone, judging), list(alone.firsts)
        assert len(firsts) > 2
        run = watch_long(built, budget=1_000_000, chunk=SHORT_PIECE, judging=judging, jobs=2)
        assert (len(run), run.end, list(run.firsts)) == (len(alone), alone.end, firsts)
        assert run.judged(judging[0]).pieces, "judged on the way"
        assert judge_long(run, judging) == expected, program


def test_what_an_unwinder_raises_in_a_thread_ends_the_run() -> None:
    def broken(snapshot: Snapshot) -> Backtrace:
        raise ZeroDivisionError("of this test")

    built = build_unit(next(u for u in corpus.UNITS if u.program == "recursion" and u.arch == "arm64"), PROGRAMS)
    unwinder = replace(UNWINDERS["fp_chain"], unwind=broken, unwind_trace=None)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="of this test"):
        watch_long(built, budget=1_000_000, chunk=SHORT_PIECE, judging=[unwinder], jobs=2)
    assert threading.active_count() == before


def test_items_are_made_one_ahead_and_in_order() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(6):
            made.append(number)
            yield number
        raise KeyError("the end")

    seen, coming = [], SideBySide(2).ahead(numbers())
    for number in range(6):
        seen.append(next(coming))
        assert len(made) <= number + 2
    assert seen == list(range(6))
    with pytest.raises(KeyError, match="the end"):
        next(coming)


def test_no_more_pieces_wait_than_are_held() -> None:
    go_on = threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        go_on.wait(60)
        done.append(number)

    with side_by_side(2) as beside:
        for number in range(WAITING + 1):
            beside.do([lambda number=number: work(number)])  # type: ignore[misc]
        assert not done
        timer = threading.Timer(0.05, go_on.set)
        timer.start()
        beside.do([lambda: work(9)])
        assert 0 in done, "it waited for the first"
        beside.wait()
    assert sorted(done) == [*range(WAITING + 1), 9]


def test_what_has_not_begun_is_given_up() -> None:
    beside, begun, go_on = SideBySide(2), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        go_on.wait(60)

    def second() -> NoReturn:
        raise AssertionError("begun after all")

    beside.do([first, second])
    begun.wait(60)
    threading.Timer(0.05, go_on.set).start()
    beside.end()
    with pytest.raises(CancelledError):
        beside.wait()
