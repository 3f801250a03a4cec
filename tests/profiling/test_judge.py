"""A process judged: every wrong step is a named function's wrong row, the two witnesses agree, samples are counted."""

import subprocess
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from testbed.contract.assumption import KIND
from testbed.image.symbols import symbol_for
from testbed.naming.symbolize import name_of
from testbed.process import ProcessRun, run_process
from testbed.process.process_run import run_in_pieces
from testbed.profiling.judge import judge_in_pieces, judge_process, sampled_steps, watch_process
from testbed.profiling.places import joined_places
from testbed.profiling.result import (
    CodePart,
    CodeShare,
    ProcessCode,
    UnwinderShare,
    WatchedProcess,
    WrongPlace,
    WrongReason,
    code_of_steps,
    joined_code,
    own_steps,
    reaches_own_code,
    shares_of_code,
)
from testbed.profiling.samples import TRUTH, Mark, SampledProfile, marked, sampled_profiles
from testbed.profiling.thread_run import thread_run
from testbed.report.process_text import line_of
from testbed.report.profile_html import ProfiledBuild, profile_data, profile_html
from testbed.verdicts.trace import verdict_at
from testbed.verdicts.verdict import Accord
from tests.corpus import tool
from tests.process.builds import built, ran
from tests.report.chromium import opened
from tests.witness.witnessed import agreed
from unwinders import UNWINDERS


@cache
def watched(name: str, target: str, link: str) -> WatchedProcess:
    return watch_process(ran(name, target, link, "abc"))


@pytest.mark.parametrize("target", ["x86_64", "arm64", "thumb"])
def test_two_witnesses_agree_about_a_process_with_a_libc(target: str) -> None:
    (thread,) = watched("hello", target, "static").threads
    proof = agreed(thread.watched)
    assert proof.agreed == proof.steps > 5_000


@pytest.mark.parametrize(("target", "table"), [("x86_64", "eh_frame"), ("arm64", "eh_frame"), ("thumb", "ehabi")])
def test_every_step_that_a_table_gets_wrong_is_a_functions_row(target: str, table: str) -> None:
    share = judge_process(watched("hello", target, "static"), UNWINDERS[table])
    assert share.unexplained == 0, [place for place in share.places if not place.explained]
    assert share.exact + share.whole + share.stops + share.lying + share.transition == share.sites
    assert sum(place.steps for place in share.places) == share.judged - share.exact
    if table == "eh_frame":
        assert share.exact > 0.98 * share.judged
        assert "the table has no row" in {place.because for place in share.places if place.function == "_init"}


def test_the_lazy_resolver_of_arm64_has_a_wrong_cfa_and_spoils_what_it_calls() -> None:
    share = judge_process(watched("hello", "arm64", "dynamic"), UNWINDERS["eh_frame"])
    assert not share.unexplained
    (place,) = (each for each in share.places if each.library.startswith("ld-linux") and each.lies > 1_000)
    assert place.because == "CFA is sp+0xd0, true sp+0xe0" and place.lies > 0.9 * share.lying
    assert place.function == f"+{int(place.known, 16):#x}", "no symbol: where its entry in the table begins"
    assert place.command == f"testbed check {place.file} --function {place.known}"


@pytest.mark.parametrize(
    ("name", "target", "link", "table", "function", "because"),
    [
        (
            "contexts",
            "x86_64",
            "static",
            "eh_frame",
            "__start_context",
            "return address is at CFA-0x8, and nobody called",
        ),
        ("contexts", "x86_64", "static", "eh_frame", "__swapcontext", "r12 is still in r12, true nowhere in the frame"),
        ("contexts", "x86_64", "static", "eh_frame", "__setcontext", "CFA is rdx, true rsp+0x8"),
        (
            "hello",
            "thumb",
            "static",
            "ehabi",
            "__libc_start_main",
            "for calls only: r4 is still in r4, true at CFA-0x8",
        ),
    ],
)
def test_of_a_wrong_row_it_is_told_what_it_says_and_what_is_true(
    name: str, target: str, link: str, table: str, function: str, because: str
) -> None:
    share = judge_process(watch_process(ran(name, target, link)), UNWINDERS[table])
    (place,) = (each for each in share.places if each.function == function)
    assert place.because.endswith(because) and place.lies


def test_an_unwinder_that_does_not_say_what_its_table_says_is_unexplained() -> None:
    false = replace(UNWINDERS["eh_frame"], unwind_trace=UNWINDERS["fp_chain"].unwind_trace)
    share = judge_process(watched("hello", "x86_64", "static"), false)
    assert share.unexplained > 0.9 * share.judged
    assert share.foretold == share.judged - share.exact - share.unexplained


def test_an_unwinder_of_snapshots_is_asked_at_a_seeded_sample_of_steps() -> None:
    process = watched("hello", "x86_64", "static")
    first, second = (judge_process(process, UNWINDERS["bs_backtrace"], sample=40) for _ in range(2))
    assert first == second
    assert first.sampled and first.sites == 40 == first.exact + first.whole + first.stops + first.lying


def test_a_sample_is_of_your_own_code_first() -> None:
    process = watched("hello", "x86_64", "dynamic")
    few, more = (judge_process(process, UNWINDERS["bs_backtrace"], sample=number) for number in (20, 700))
    own = judge_process(process, UNWINDERS["fp_chain"]).of(CodePart.OWN).steps
    assert 20 < own < 700
    assert few.of(CodePart.OWN).steps == few.judged == 20
    assert more.of(CodePart.OWN).steps == own and more.of(CodePart.LINKER).steps > 0


def test_steps_are_chosen_part_by_part_as_from_the_whole() -> None:
    own = [np.arange(40) % 8 == 3, np.arange(25) % 8 == 3]
    parts = [[each[:17], each[17:]] for each in own]
    for number in (3, 8, 30, 65, 99):
        whole, pieces = sampled_steps(5, [[each] for each in own], number), sampled_steps(5, parts, number)
        assert all(np.array_equal(one, other) for one, other in zip(whole, pieces, strict=True))
        assert sum(map(len, whole)) == min(number, 65) and all((np.diff(each) > 0).all() for each in whole)
        chosen = np.concatenate([mine[steps] for mine, steps in zip(own, whole, strict=True)])
        assert chosen.sum() == min(number, 8)


def test_what_nobody_claims_of_a_tool_is_not_unexplained() -> None:
    closed = replace(UNWINDERS["bs_backtrace"], assumption=None, counted=True)
    share = judge_process(watched("hello", "x86_64", "static"), closed, sample=60)
    assert share.lying + share.stops > 0 == share.unexplained
    assert {place.because for place in share.places} == {Accord.UNCLAIMED.value}


def test_the_verdicts_of_a_sample_are_those_of_every_step() -> None:
    """The readable way beside the native one, at the same steps."""
    process, unwinder = watched("hello", "arm64", "static"), UNWINDERS["eh_frame"]
    everywhere = judge_process(process, unwinder)
    readable = judge_process(process, replace(unwinder, unwind_trace=None), sample=process.steps // 10)
    assert abs(readable.exact / readable.sites - everywhere.exact / everywhere.sites) < 0.02
    assert {str(place) for place in readable.places} <= {str(place) for place in everywhere.places}


def test_a_profiler_puts_no_sample_in_the_wrong_place_where_the_table_is_right() -> None:
    process, every = watched("hello", "x86_64", "static"), 50
    true, table, chain = sampled_profiles(process, [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]], every)
    assert 0.9 * process.steps / every < true.samples == table.samples <= -(-process.steps // every)
    assert (true.misplaced, true.cut) == (0, 0)
    assert table.misplaced <= 0.02 * table.samples and chain.misplaced > 0.5 * chain.samples
    assert chain.cut <= chain.misplaced
    assert "main" in chain.own and "_start" not in chain.own and chain.inner.samples <= chain.samples
    assert all(stack[0] in chain.own for stack in true.inner.stacks) and not true.inner.misplaced
    assert table.inner.misplaced <= table.misplaced and chain.inner.misplaced > 0.5 * chain.inner.samples
    data = profile_data("hello", (true, table, chain))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    assert {names[stack[0]] for stack in data["profiles"][0]["samples"]} == {"_start"}
    assert all(sum(each["weights"]) == each["endValue"] == every * true.samples for each in data["profiles"])
    told = [tuple(names[i] for i in stack) for stack in data["profiles"][0]["samples"]]
    assert told == [said for said, _ in groupby(said for _, said in true.seen)] and told[-1] != told[0] in true.stacks
    assert len(told) > len(true.stacks), "in the order of time a stack comes back"


def test_without_a_sample_of_its_own_code_nothing_is_said_to_be_right(run: ProcessRun) -> None:
    seen = [(("_start", "main"), ("_start",))] * 9
    for own, said in ((("main",), "shows 100 % in the wrong place"), ((), "No sample has functions of sort on the")):
        builds = [ProfiledBuild(run, [SampledProfile(name, 10, seen, frozenset(own)) for name in (TRUTH, "x")], [])]
        assert said in profile_html(builds)


def test_judged_in_pieces_it_is_the_same_to_every_count_and_place() -> None:
    whole = watched("hello", "x86_64", "static")
    made: list[int] = []
    hello = built("hello", "x86_64", "static")
    long = run_in_pieces(hello, ["abc"], budget=4_000_000, piece=7_000, progress=made.append)
    unwinders = [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]]
    done: list[tuple[int, str]] = []
    counted, shares = judge_in_pieces(long, unwinders, progress=lambda *said: done.append(said))
    assert shares == [judge_process(whole, each) for each in unwinders]
    assert counted.pieces == len(made) == len(done) == 3 and done == sorted(done)
    assert made[-1] == done[-1][0] == counted.steps == whole.steps
    for part, thread in zip(counted.threads, whole.threads, strict=True):
        assert (part.activations, part.transition) == (thread.activations, thread.transition)


def test_where_a_later_piece_revises_an_earlier_one_all_are_judged_again() -> None:
    """A piece may end in a transition, as only the jump in the next one tells."""
    whole = watched("long_jumps", "x86_64", "static")
    long = run_in_pieces(built("long_jumps", "x86_64", "static"), ["abc"], budget=4_000_000, piece=1_000)
    unwinders, passes = [UNWINDERS["eh_frame"], UNWINDERS["fp_chain"]], dict[str, int]()
    counted, shares = judge_in_pieces(long, unwinders, progress=lambda done, what: passes.update({what: done}))
    assert shares == [judge_process(whole, each) for each in unwinders]
    assert passes == {"watching and judging": whole.steps, "watching again": whole.steps}
    assert counted.steps == whole.steps and counted.threads[0].transition == whole.threads[0].transition > 1_000


@pytest.mark.parametrize(("name", "target", "piece"), [("threads", "arm64", 9_000), ("threads", "thumb", 6_000)])
def test_in_pieces_a_sample_is_asked_at_the_same_steps_and_says_the_same(name: str, target: str, piece: int) -> None:
    """Of all threads; some pieces of some threads have none of the chosen steps."""
    whole = watched(name, target, "static")
    long = run_in_pieces(built(name, target, "static"), ["abc"], budget=4_000_000, piece=piece)
    unwinders = [UNWINDERS[each] for each in ("lr_leaf", "bs_backtrace", "fp_chain", "qi_stack_frame")]
    counted, shares = judge_in_pieces(long, unwinders, sample=60)
    assert len(counted.threads) > 2 and counted.pieces > 4
    assert shares == [judge_process(whole, each, sample=60) for each in unwinders]
    assert [(each.sites, each.sampled) for each in shares if each.name != "fp_chain"] == [(60, True)] * 3
    assert not any(each.unexplained for each in shares)
    (few,) = judge_in_pieces(long, unwinders[1:2], sample=2)[1]
    assert few.sites == 2 and few == judge_process(whole, unwinders[1], sample=2)


def test_the_start_of_a_dynamic_linker_is_named_and_so_is_what_its_missing_row_costs() -> None:
    share = judge_process(watched("hello", "x86_64", "dynamic"), UNWINDERS["eh_frame"])
    place = share.places[0]
    assert (place.function, place.because) == ("_start", "the table has no row and so no root can be claimed")
    assert place.library.startswith("ld-linux") and place.lies == 0 and place.steps > 0.95 * share.whole
    assert not share.unexplained
    assert sum(place.whole for place in share.places) == share.whole
    assert sum(place.not_right for place in share.places) == share.stops + share.lying


def test_a_chain_has_a_reason_wherever_it_is_wrong_in_libraries_without_frame_pointers() -> None:
    share = judge_process(watched("hello", "x86_64", "dynamic"), UNWINDERS["fp_chain"])
    assert share.lying > 0.4 * share.judged and not share.unexplained


# Whose code a process's steps are: the program's own functions by name, libraries and the linker as one each.

SORT = """#include <stdlib.h>
extern int twice(int);
static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}
int main(void) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, compare);
    return twice(numbers[0]);
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ProcessRun:
    folder = tmp_path_factory.mktemp("own")
    (folder / "sort.c").write_text(SORT)
    (folder / "twice.c").write_text("int twice(int n) { return 2 * n; }\n")
    for command in (
        "gcc -O0 -g -shared -fPIC -o libtwice.so twice.c",
        "gcc -O0 -g -o sort sort.c -L. -ltwice -Wl,-rpath,/own",
    ):
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return run_process(folder / "sort", folders={"/own": folder})


def test_a_thread_that_has_not_reached_its_own_code_says_so() -> None:
    early, late = (
        watch_process(run_process(built("hello", "x86_64", "dynamic"), budget=n)) for n in (5_000, 4_000_000)
    )
    assert thread_run(early.run, early.threads[0]).whose.endswith("(your code did not run yet)")
    assert thread_run(late.run, late.threads[0]).whose == "your code"


@pytest.mark.parametrize("unwinder", ["fp_chain", "stack_scan"])
def test_own_callers_are_those_out_to_the_outermost_frame_of_own_code(run: ProcessRun, unwinder: str) -> None:
    process = watch_process(run)
    (thread,), own = process.threads, {"main", "compare", "twice"}
    codes, of_step = thread.code
    counted: dict[str, list[int]] = {name: [0, 0, 0, 0] for name in own}
    for step in np.flatnonzero(own_steps(thread.watched.trace, 0, thread.stop)).tolist():
        frames = thread.watched.stack(step).frames
        names = [name_of(run.images, frame.pc, caller=frame.calling).function for frame in frames]
        verdict = verdict_at(
            thread.watched, UNWINDERS[unwinder].unwind(thread.watched.trace.snapshot(step)), None, step
        )
        outermost = max(i for i, name in enumerate(names) if name in own)
        found = counted[codes[of_step[step]].function]
        found[0] += 1
        found[1] += outermost > 0
        found[2] += outermost > 0 and (verdict.exact or verdict.frame >= outermost)
        found[3] += verdict.exact or verdict.frame >= len(names) - 1
    shares = {each.code.function: each for each in judge_process(process, UNWINDERS[unwinder]).code}
    each = ((name, shares[name]) for name in own)
    assert counted == {name: [one.steps, one.called, one.within, one.right] for name, one in each}
    assert not counted["main"][1], "nobody of the program called it"
    more = sum(within - right for _, _, within, right in counted.values())
    assert (more > 0) == (unwinder == "fp_chain"), "libc below main has no frame records"


def test_what_starts_a_program_is_start_up_also_without_a_name(tmp_path: Path) -> None:
    stripped = tmp_path / "hello"
    subprocess.run(["strip", "-o", stripped, built("hello", "x86_64", "dynamic")], check=True)
    trace = run_process(stripped).tracks[0].trace
    codes, of_step = code_of_steps(trace, 0, len(trace))
    init = trace.images[0].image.sections[".init"]
    begins = init.address + trace.images[0].bias
    inside = (trace.pc >= np.uint64(begins)) & (trace.pc < np.uint64(begins + len(init.data)))
    assert inside.any() and {codes[number].part for number in of_step[inside].tolist()} == {CodePart.LINKER}


@pytest.mark.parametrize("target", ["x86_64", "thumb"])
def test_a_stripped_program_has_as_many_own_steps(tmp_path: Path, target: str) -> None:
    """What start files have behind `_start` has no name then, and no row; that of arm64 has rows, as own functions."""
    named, stripped = built("hello", target, "dynamic"), tmp_path / "hello"
    subprocess.run([tool("llvm-strip", "llvm"), named, "-o", stripped], check=True)
    traces = [run_process(each).tracks[0].trace for each in (named, stripped)]
    own, same = (int(np.count_nonzero(own_steps(trace, 0, len(trace)))) for trace in traces)
    assert 0 < own == same


def test_a_name_without_a_size_does_not_reach_into_another_section() -> None:
    image = ran("hello", "x86_64", "dynamic", "abc").images[0].image
    init, plt = (image.sections[name].address for name in (".init", ".plt"))
    named = symbol_for(image, init)
    assert named is not None and (named.name, named.size) == ("_init", 0) and symbol_for(image, plt) is None


def test_own_functions_are_apart_and_a_library_beside_the_program_is_own(run: ProcessRun) -> None:
    trace = run.tracks[0].trace
    codes, of_step = code_of_steps(trace, 0, len(trace))
    own = {code.function: code for code in codes if code.part is CodePart.OWN}
    assert {"main", "compare", "twice"} <= set(own)
    assert [line_of(trace.images, own[name]) for name in ("compare", "main", "twice")] == [
        "sort.c:3",
        "sort.c:6",
        "twice.c:1",
    ]
    assert {code.part for code in codes} == set(CodePart)
    for step in np.flatnonzero(of_step == codes.index(own["main"]))[:3].tolist():
        symbol = trace.images[0].image.symbol_named("main")
        assert symbol is not None and 0 <= trace.pc[step] - trace.images[0].bias - symbol.address < symbol.size
    first = codes[of_step[0]]
    assert first.part is CodePart.LINKER  # it runs before the program does


def test_the_steps_of_each_code_add_up_to_those_that_are_judged(run: ProcessRun) -> None:
    process = watch_process(run)
    for name in ("eh_frame", "fp_chain"):
        share = judge_process(process, UNWINDERS[name])
        assert sum(each.steps for each in share.code) == share.judged
        assert sum(each.right for each in share.code) == share.exact + share.whole
        assert sum(each.lies for each in share.code) == share.lying
    assert share.lying > share.of(CodePart.OWN).lies > 0
    table = judge_process(process, UNWINDERS["eh_frame"])
    main = next(each for each in table.code if each.code.function == "main")
    assert main.right == main.steps > 0


def test_a_program_that_never_begins_is_no_pass(run: ProcessRun) -> None:
    def reaches(run: ProcessRun) -> bool:
        return reaches_own_code([judge_process(watch_process(run), UNWINDERS["fp_chain"])])

    assert reaches(run)
    lacking = run_process(run.path)  # nobody shows it the library beside it
    assert lacking.status == 127 and not reaches(lacking)
    sampled = judge_process(watch_process(lacking), UNWINDERS["eh_frame"], sample=1)
    assert reaches_own_code([replace(sampled, sampled=True)])


def test_shares_of_parts_of_a_run_are_joined_by_code() -> None:
    main, rest = ProcessCode(CodePart.OWN, "main"), ProcessCode(CodePart.LIBRARY)
    step, yes, no = np.array([0, 0, 1], np.int64), np.array([True, False, True]), np.array([False, True, False])
    once = shares_of_code((main, rest, ProcessCode(CodePart.LINKER)), step, right=yes, lies=no, called=yes, within=no)
    assert once == (CodeShare(main, 2, 1, 1, 1, 1), CodeShare(rest, 1, 1, 0, 1, 0))
    assert joined_code([*once, *once]) == (CodeShare(main, 4, 2, 2, 2, 2), CodeShare(rest, 2, 2, 0, 2, 0))


def test_a_function_at_which_an_unwinder_goes_wrong_has_all_reasons_the_most_frequent_first() -> None:
    linked = WrongPlace("f", "server", "FP is zero", 5, 5, 3, 1, "f+0x1")
    whole = replace(linked, because="no root is claimed", steps=30, lies=0, whole=30, first=1)
    (place,) = joined_places((linked, whole, replace(linked, because="no return", steps=4, lies=1, first=2), linked))
    assert (place.because, place.first, place.also) == ("FP is zero", 3, (WrongReason("no return", 4),))
    assert (place.steps, place.lies, place.whole, place.not_right) == (44, 11, 30, 14)


# Rows that are right where they stand, and false later: a slot that is written over, a signal that no row says.

WRITTEN_OVER = "rbx is at CFA-0x10, written over since the call"
TABLE = UNWINDERS["eh_frame"]


def places(share: UnwinderShare, because: str) -> list[tuple[str, int]]:
    return [(place.function, place.lies) for place in share.places if place.because == because]


def test_a_slot_that_a_callee_writes_over_explains_its_callers_frame() -> None:
    process = watch_process(run_process(built("writes_over", "x86_64", "static")))
    share = judge_process(process, TABLE)
    assert places(share, WRITTEN_OVER) == [("caller", 2)]  # at two instructions the other value lies there
    assert share.unexplained == 0


def test_the_same_in_pieces() -> None:
    long = run_in_pieces(built("writes_over", "x86_64", "static"), budget=100_000, piece=6_000)
    counted, (share,) = judge_in_pieces(long, [TABLE])
    assert counted.pieces > 1 and places(share, WRITTEN_OVER) == [("caller", 2)] and share.unexplained == 0


def test_a_false_register_whose_slot_is_untouched_stays_unexplained() -> None:
    """An unwinder that leaves a register as it is in the innermost frame cannot hide behind the slot."""
    process = watch_process(run_process(built("writes_over", "x86_64", "static")))
    false = replace(TABLE, unwind_trace=UNWINDERS["fp_chain"].unwind_trace)
    share = judge_process(process, false)
    assert share.unexplained > 0.9 * share.judged
    assert sum(lies for _, lies in places(share, WRITTEN_OVER)) <= 2


@pytest.mark.parametrize("target", ["a32", "thumb"])
def test_a_table_that_cannot_say_signal_takes_what_it_interrupted_for_a_caller(target: str) -> None:
    process = watch_process(ran("signals", target, "static"))
    share = judge_process(process, UNWINDERS["ehabi"])
    found = places(share, KIND.wrong)
    assert {name for name, _ in found} == {"__default_sa_restorer", "__default_rt_sa_restorer"}
    assert sum(lies for _, lies in found) > 10 and share.unexplained == 0


def test_what_is_lost_and_what_is_invented_stands_at_its_place() -> None:
    right, lost, invented = Mark.RIGHT, Mark.LOST, Mark.INVENTED
    found = marked(("_start", "main", "up", "leaf"), ("_start", "up", "noise", "leaf"))
    assert found == (("_start", right), ("main", lost), ("up", right), ("noise", invented), ("leaf", right))
    assert marked(("main", "leaf"), ("leaf",)) == (("main", lost), ("leaf", right))
    assert marked(("main",), ()) == (("main", lost),)


def test_a_flame_graph_is_searched_by_the_names_that_it_shows(run: ProcessRun, tmp_path: Path) -> None:
    long, page = "std::map<std::string, std::vector<int>>::find(std::string const&)", tmp_path / "page.html"
    seen = [(("main", long),) * 2, *[(("main", "leaf"),) * 2] * 99]
    profile = SampledProfile(TRUTH, 10, seen, frozenset({"main", long}))
    page.write_text(profile_html([ProfiledBuild(run, [profile], [])]))
    with opened(page) as shown:
        for sought, told in (("std::map<..>::find", "on 1.0 %"), ("vector", "nowhere"), ("leaf", "on 99.0 %")):
            shown.fill(".find", sought)
            assert shown.locator(".found").first.inner_text().endswith(f"{sought}: {told}")


def test_a_flame_graph_shows_short_names_that_fit_and_whole_ones_where_one_points(run: ProcessRun) -> None:
    long = "std::map<std::string, std::vector<int>>::find(std::string const&)"
    seen = [(("_start", "main", long), ("main", long))]
    seen += [(("_start", "main", "leaf"),) * 2] * 98 + [(("_start",),) * 2] * 99
    page = profile_html([ProfiledBuild(run, [SampledProfile(TRUTH, 10, seen, frozenset({"main", long}))], [])])
    whole = "std::map&lt;std::string, std::vector&lt;int&gt;&gt;::find(std::string const&amp;)"
    brief = 'data-brief="std::map&lt;..&gt;::find">find</div>'  # with more room, after a zoom, it says more
    assert f'title="{whole}: 1.0 %" data-name="{whole}" {brief}' in page
    assert f'<th scope="row" title="{whole}">std::map&lt;..&gt;::find</th>' in page
    assert 'data-name="leaf" data-brief="leaf">leaf</div>' in page and "_start" not in page
    assert "99 samples with your functions on the stack, of 198" in page
