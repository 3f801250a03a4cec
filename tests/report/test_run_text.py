"""A run on the terminal: columns, widths, long runs, the last sentence."""

import re
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console, Group

from programs import PROGRAMS
from testbed.campaign.cells import Difference, cell_of
from testbed.profiling.result import (
    CodePart,
    CodeShare,
    CountedProcess,
    ProcessCode,
    UnwinderShare,
    WrongPlace,
    WrongReason,
)
from testbed.referee import REFEREES
from testbed.report.catalogue_text import catalogue_table, shown_traps, traps_table
from testbed.report.narrow_tables import ColumnBlocks, NumberedRow, NumberedTable, WordTable
from testbed.report.process_text import (
    _circumstances,
    _functions,
    _LabelledLine,
    _LabelledLines,
    _places,
    _summary,
    process_answer,
)
from testbed.report.run_text import run_page
from testbed.report.step_lines import TRANSITION, Judged, StepLines, differing, first_visits, mark_columns
from testbed.report.step_text import print_site, step_page
from testbed.report.step_view import step_view
from testbed.report.table_text import LEGEND, cfa_text, rule_text, table_page
from testbed.runs.run import Run, judge_all
from testbed.verdicts.trace import EXACT
from testbed.verdicts.verdict import OUTCOMES, Accord, SiteKind
from testbed.words.outcome import Outcome
from tests import corpus
from tests.golden.whole import golden
from tests.report.terminal import shown
from unwinders import UNWINDERS


@cache
def judged(program: str, arch: str, names: tuple[str, ...], natively: bool | None = None) -> tuple[Run, Judged]:
    run = corpus.ran(program, arch)
    made = [(name, judge_all(run, UNWINDERS[name], natively=natively)) for name in names]
    return run, [(cell_of(run, UNWINDERS[name], verdicts), verdicts) for name, verdicts in made]


ALL = ("fp_chain", "fp_chain_entry", "lr_leaf", "eh_frame", "sframe", "stack_scan", "stack_scan_breakpad")


def test_each_mark_stands_below_the_end_of_its_unwinders_line() -> None:
    run, verdicts = judged("leaf_call", "arm64", ALL)
    lines = shown(StepLines(run, mark_columns(verdicts), range(len(run)))).splitlines()
    at = {name: line.index("┌") for line in lines if "┌" in line for name in line.split("┌")[1].split(", ")}
    places = {name.strip(): place for name, place in at.items()}
    assert places.keys() == set(ALL) and places["eh_frame"] == places["lr_leaf"] == places["sframe"]
    for cell, by_step in verdicts:
        for step, verdict in enumerate(by_step):
            (line,) = [line for line in lines if re.match(rf" *{step}  ", line)]
            assert line[places[cell.unwinder]] == verdict.outcome.mark, (cell.unwinder, step)


@pytest.mark.parametrize("width", [30, 40, 60, 100])
def test_no_sum_is_left_out_however_narrow_it_is(width: int) -> None:
    run, verdicts = judged("leaf_call", "arm64", ALL)
    words = " ".join(shown(run_page(run, verdicts), width).split())
    for cell, _ in verdicts:
        stops = cell.sites - cell.exact - cell.lying
        numbers = rf"(exact )?{cell.exact},? (honest stops )?{stops},? (lies )?{cell.lying},? (exact of all )?\d"
        assert re.search(rf"{cell.unwinder}:? {numbers}", words), cell.unwinder


def test_a_crash_is_no_honest_stop() -> None:
    run, ((cell, verdicts),) = judged("leaf_call", "arm64", ("eh_frame",))
    dead = {Outcome.STOPPED: 2, Outcome.CRASHED: 2, Outcome.HUNG: 1}
    kinds = {SiteKind(Outcome.EXACT): 20, **{SiteKind(outcome, Accord.FAILS, "row"): n for outcome, n in dead.items()}}
    first = Difference(3, "main", Outcome.CRASHED, "NO_CODE", "seen.", "because")
    text = shown(run_page(run, [(replace(cell, kinds=kinds, first=first), verdicts)]))
    assert re.search(r"exact  honest stops  no answer  lies", text)
    assert re.search(r"^eh_frame +20 +2 +3 +0 ", text, re.M)
    assert "eh_frame crashes first" in text and "nobody lies, and eh_frame gives no answer at 3." in text
    assert "no answer" not in shown(run_page(run, [(cell, verdicts)]))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_mark_is_lost_in_a_narrow_terminal_and_what_is_left_out_is_said(width: int) -> None:
    image = judged("leaf_call", "arm64", ())[0].built.image
    run, verdicts = judged("leaf_call", "arm64", tuple(u.name for u in UNWINDERS.values() if u.applies_to(image)))
    columns = mark_columns(verdicts)
    text = shown(StepLines(run, columns, range(len(run))), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    rows = [match[1] for line in lines if (match := re.match(r" *11  ((?:\S[ ?])*)", line))]  # one in every block
    marks = "".join(rows).replace(" ", "")
    assert marks == "".join(OUTCOMES[int(column.marks[11])].mark for column in columns)
    assert bool(re.search(r"  fp$", text, re.M)) != ("left out" in text)


def test_columns_are_the_same_from_objects_and_from_arrays() -> None:
    names = ("fp_chain", "eh_frame", "prologue_analysis")
    plain, native = judged("recursion", "x86_64", names, False)[1], judged("recursion", "x86_64", names, True)[1]
    for one, other in zip(mark_columns(plain), mark_columns(native), strict=True):
        assert one.names == other.names and np.array_equal(one.marks, other.marks)


def test_a_long_run_shows_each_differing_instruction_once_with_its_count() -> None:
    run, verdicts = judged("recursion", "x86_64", ("fp_chain", "eh_frame"))
    assert len(run) > 200
    columns = mark_columns(verdicts)
    steps = differing(columns)
    visits = first_visits(run, columns, steps)
    assert sum(visits.values()) == len(steps) and set(visits) <= set(steps.tolist())
    kinds = {(int(run.trace.pc[step]), *(int(column.marks[step]) for column in columns)) for step in steps.tolist()}
    assert len(kinds) == len(visits)
    others = sorted(set(range(len(run))) - set(steps.tolist()))
    assert all(np.all((column.marks[others] == EXACT) | (column.marks[others] >= TRANSITION)) for column in columns)
    text = shown(run_page(run, verdicts))
    assert f"the first 40 of the {len(visits)} instructions" in text and f"{len(steps):,} in all" in text
    every = shown(run_page(run, verdicts, every_step=True))
    assert len(re.findall(r"^ *\d+  [^ ]", every, re.M)) == len(run)


# A process on the terminal: what is counted as what, how lines wrap, the last sentence.


WHERE = WrongPlace("+0x1a2d0", "ld-linux-x86-64.so.2", "a function uses the frame pointer for " * 4, 12, 12, 3, 1, "f")


@pytest.mark.parametrize("explain", [False, True])
def test_a_word_about_a_frame_further_out_names_the_frame(explain: bool) -> None:
    """`over_data` has reused FP and calls `helper`, which keeps its caller's: the word is not about `helper`."""
    run = corpus.ran("pointer_reused", "arm64", "keystone")
    text = StringIO()
    for place in ("over_data+0x14", "helper"):
        print_site(Console(file=text, width=200), step_view(run, run.step_at(place), []), explain=explain)
    caller, callee = re.findall(r"FP_REUSED(.*?)[:,]", text.getvalue())
    assert (caller, callee) == ("", " of frame 1")
    assert "1  over_data+0x18" in text.getvalue()
    assert "FP_REUSED of frame 1: " in shown(step_page(step_view(run, run.step_at("helper"), [])))


def _share(name: str, *, sampled: bool = False, **outcomes: int) -> UnwinderShare:
    kinds = {
        SiteKind(
            Outcome(word), Accord.HOLDS if word == "exact" else Accord.FAILS, "" if word == "exact" else "leads"
        ): number
        for word, number in outcomes.items()
    }
    exact, lies = outcomes.get("exact", 0), outcomes.get("skipped", 0)
    own = CodeShare(
        ProcessCode(CodePart.OWN, "main"), sum(outcomes.values()), exact, lies, sum(outcomes.values()), exact
    )
    return UnwinderShare(kinds, name=name, sampled=sampled, code=(own,))


FRAMES = WrongPlace("work", "server", "", 30, 30, 3, 1, "f"), WrongPlace("main", "server", "", 90, 9, 3, 1, "f")
LIES = replace(_share("stack_scan", exact=70, skipped=30), places=FRAMES)
MOST_IN_WORK = replace(
    LIES,
    code=(
        CodeShare(ProcessCode(CodePart.OWN, "main"), 60, 50, 10, 0, 0),
        CodeShare(ProcessCode(CodePart.OWN, "work"), 40, 20, 20, 40, 20),
        CodeShare(ProcessCode(CodePart.LIBRARY), 90, 0, 90, 0, 0),
    ),
)
ALL_EXACT, STOPS = _share("eh_frame", exact=100), _share("orc", exact=90, stopped=10)
SAMPLED = _share("gdb", sampled=True, exact=25, stopped=5)
DEAD = _share("drgn", sampled=True, exact=25, stopped=1, crashed=3, hung=1)


def _run(calls: dict[str, int]) -> SimpleNamespace:
    said = {"path": Path("/bin/server"), "images": (), "status": 0, "why": "", "ending": "exit 127"}
    return SimpleNamespace(**said, calls=calls, refused=(), notes=(), conventions=(), becomes="", children=())


class _Process:
    threads = ()
    run = _run({})
    left = 0


PROCESS = cast(CountedProcess, _Process())
THREADS = cast(CountedProcess, SimpleNamespace(run=_Process.run, threads=(None, None)))


def printed(part: object) -> str:
    return shown(part, 60, crop=False)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([ALL_EXACT], "eh_frame is right at all 100 steps of your code, and nobody lies there."),
        (
            [STOPS, ALL_EXACT],
            "eh_frame is right at all 100 steps of your code, and nobody lies there; orc finds your callers at 90.0 %, "
            "worst in main.",
        ),
        ([SAMPLED], "gdb is right at 83.3 % of the 30 sampled steps of your code, and nobody lies there."),
        (
            [ALL_EXACT, DEAD],
            "eh_frame is right at all 100 steps of your code, and nobody lies there; drgn finds your callers at "
            "83.3 %, worst in main; drgn gives no answer at 4.",
        ),
        (
            [STOPS, LIES],
            "orc is right at 90.0 % of the 100 steps of your code; stack_scan finds your callers at 70.0 % and lies at "
            "30.0 %, most often in main.",
        ),
        (
            [UnwinderShare(name="eh_frame", sampled=False)],
            "No step of your code was judged: exit 127.",
        ),
        (
            [MOST_IN_WORK],
            "stack_scan is right at 70.0 % of the 100 steps of your code; it lies at 30.0 %, most often in work.",
        ),
    ],
)
def test_the_answer_is_about_your_code(shares: list[UnwinderShare], said: str) -> None:
    assert process_answer(PROCESS, shares).text == said


def _system_calls(calls: dict[str, int]) -> _LabelledLines:
    return _LabelledLines(tuple(_circumstances(cast(Any, SimpleNamespace(threads=(), run=_run(calls))))))


TWO_REASONS = replace(
    WHERE, because="FP is zero, and this is not the root", lies=5, also=(WrongReason("it reads where nothing is", 3),)
)
PARTS = {
    "sums": Group(*_summary(PROCESS, [ALL_EXACT, SAMPLED, LIES])),
    "sums_with_crashes": Group(*_summary(PROCESS, [SAMPLED, DEAD])),
    "functions": Group(*_functions(PROCESS, [ALL_EXACT, LIES])),
    "places": Group(*_places(THREADS, replace(ALL_EXACT, done_by="debuggers", places=(WHERE,)))),
    "places_of_two_reasons": Group(*_places(PROCESS, replace(ALL_EXACT, places=(TWO_REASONS,)))),
    "no_calls": _system_calls({}),
    "calls": _system_calls({"write": 2, "exit": 1}),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_told_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    golden(f"process/{name}.txt", printed(PARTS[name]), request)


def test_where_every_caller_is_found_nothing_is_not_right() -> None:
    """An honest stop without a root counts as right beside the sums, so it is no step at which it is not right."""
    some, none = (replace(STOPS, places=(replace(WHERE, lies=0, whole=whole),)) for whole in (7, 12))
    assert "\n    5 steps  +0x1a2d0" in printed(Group(*_places(PROCESS, some)))
    assert printed(Group(*_places(PROCESS, none))).strip() == ""


def test_of_one_thread_its_number_is_not_told_again() -> None:
    assert "first at @3, f" in printed(Group(*_places(PROCESS, replace(LIES, places=(WHERE,)))))


def test_a_path_is_whole_however_narrow_and_a_name_is_broken_only_where_it_has_to_be() -> None:
    path = f"/srv/{'very/' * 12}long"
    wide = _functions(PROCESS, [replace(ALL_EXACT, name="stack_scan_strict")])
    assert path in printed(_LabelledLines((_LabelledLine("refused", f"open at main: ENOENT, {path} is not shown"),)))
    assert "stack_scan_strict" in printed(Group(*wide))


def test_long_names_leave_room_for_the_numbers_of_many_unwinders() -> None:
    names = ("fp_chain", "eh_frame", "stack_scan", "libgcc_backtrace")
    code = CodeShare(ProcessCode(CodePart.OWN, f"handle_{'request_' * 6}now"), 12_000, 12_000, 0, 12_000, 12_000)
    shares = [replace(ALL_EXACT, name=name, code=(code,)) for name in names]
    lines = shown(Group(*_functions(PROCESS, shares)), 80).splitlines()
    assert max(map(len, lines)) <= 80 and sum("your callers found in" in line for line in lines) == 1
    assert [line.count("100 %") for line in lines if "%" in line] == [4]
    assert "".join(line[:32].strip() for line in lines[-4:]).endswith("request_now")
    assert re.search(r" stack_ +libgcc_\n.* scan +backtrace\n", "\n".join(lines)), lines
    heads = ("glibc_backtrace_fp", "builtin_return_address", "_leading_underscore_")
    table = ColumnBlocks(("unit",), heads * 3, (("x" * 60, *("1",) * 9),))
    assert "backtrace_" in shown(table, 70) and "underscore_" in shown(table, 70)  # and that ends


def test_functions_of_one_brief_name_are_told_apart_by_what_is_in_their_templates() -> None:
    long = "std::vector<expr::Operation, std::allocator<expr::Operation> >"
    names = {
        "expr::Binary<expr::Add>::visit(expr::Visitor const&)": "expr::Binary<expr::Add>::visit ",
        "expr::Binary<expr::Mul>::visit(expr::Visitor const&)": "expr::Binary<expr::Mul>::visit ",
        f"expr::sorted<{long}>(expr::Context&)": "expr::sorted<..> ",
        f"expr::sorted<{long}, 2>(expr::Context&)": "expr::sorted<.., 2..> ",
        "expr::parse(std::string const&, expr::Context const&)": "expr::parse ",
    }
    code = tuple(
        CodeShare(ProcessCode(CodePart.OWN, name, start=0x1000 * i), 100 - i, 9, 0, 9, 9)
        for i, name in enumerate(names)
    )
    lines = shown(Group(*_functions(PROCESS, [replace(ALL_EXACT, code=code)])), 120).splitlines()
    assert [line[: len(said)] for line, said in zip(lines[3:], names.values(), strict=True)] == list(names.values())


# Rows of tables on terminals of any width: nothing is cut, and what differs looks different.


def table(chosen: str, width: int, program: str = "leaf_call", arch: str = "arm64") -> str:
    image = corpus.built(program, arch, "keystone").image
    rows = UNWINDERS[chosen].rows
    return shown(table_page(chosen, image, rows(image)), width)


def told(text: str) -> dict[tuple[str, str], str]:
    """By (loc, column) what the tables say, and of registers told below them by (function's first loc, register)."""
    out: dict[tuple[str, str], str] = {}
    heads: list[str] = []
    locs: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["loc"]:
            heads, locs = words, []
        elif (found := re.match(r"(\S+) in all these rows: (.*)", line)) is not None:
            out |= {(loc, name): found[1] for loc in locs for name in found[2].split(", ")}
        elif heads and len(words) == len(heads) and re.fullmatch("[0-9a-f]+", words[0]):
            locs.append(words[0])
            out |= {(words[0], head): word for head, word in zip(heads[1:], words[1:], strict=True)}
    return out


@pytest.mark.parametrize("width", [100, 80, 60, 40])
@pytest.mark.parametrize("chosen", ["sframe", "eh_frame", "fp_chain", "prologue_analysis"])
def test_every_rule_is_told_at_any_width(chosen: str, width: int) -> None:
    unwinder = UNWINDERS[chosen]
    image = corpus.built("leaf_call", "arm64", "keystone").image
    if unwinder.rows is None:
        pytest.skip(f"{unwinder} has no rows")
    text = table(chosen, width)
    assert "…" not in text and max(map(len, (line.rstrip() for line in text.splitlines()))) <= width
    if width == 40:  # lists of names may wrap there
        return
    said = told(re.sub(r", *\n", ", ", text))
    for row in unwinder.rows(image):
        loc = f"{row.start:x}"
        assert said[loc, "CFA"] == cfa_text(row.cfa)
        for name, rule in row.registers.items():
            assert said[loc, "ra" if name == row.return_address else name] == rule_text(rule)


def test_no_caller_and_still_in_its_register_look_different() -> None:
    text = table("eh_frame", 80)
    said = told(text)
    image = corpus.built("leaf_call", "arm64", "keystone").image
    at = {symbol.name: f"{symbol.address:x}" for symbol in image.symbols}
    assert said[at["_start"], "ra"] == "u"  # .cfi_undefined: the root
    assert said[at["leaf"], "ra"] == "-"  # the first instruction: x30 has it
    assert "-: no rule, the register is unchanged" in LEGEND and "u: lost; of ra: no caller" in LEGEND


# Lists of names and words on terminals of any width: what has to be typed or opened is there, whole.

WIDTHS = [200, 100, 80, 60, 40]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_word_is_there_in_one_piece(width: int) -> None:
    words = {
        *PROGRAMS,
        *UNWINDERS,
        *(each.name for referee in REFEREES.values() for each in referee.unwinders),
        *(word for referee in REFEREES.values() for word in referee.package.split() if referee.find() is None),
        *(word for referee in REFEREES.values() if (found := referee.find()) for word in found.path.split()),
        *(reference for trap in shown_traps(PROGRAMS) for reference in trap.references),
    }
    listed = {"programs": PROGRAMS, "unwinders": UNWINDERS, "referees": REFEREES}
    tables = (*(catalogue_table(what, known.values()) for what, known in listed.items()), traps_table(PROGRAMS))
    text = "".join(shown(table, width, crop=False) for table in tables)
    there = {word.strip(",()") for word in text.split()}
    assert {word for word in words if word.strip(",()") not in there} == set()
    assert "…" not in text


def test_a_wide_terminal_has_columns_and_a_narrow_one_paragraphs() -> None:
    table = WordTable(
        ("name", "needs", "what"), (("one", "-", "a b c"), ("two", "x", "https://host.example/" + 40 * "y"))
    )
    assert shown(table).splitlines()[0].split() == ["name", "needs", "what"]
    assert shown(table, 30, crop=False).splitlines() == [
        *("one", "  a b c", "two", "  needs: x"),
        "  https://host.example/" + 40 * "y",
    ]
    sums = NumberedTable(("name",), ("in the\nwrong place", "cut"), (NumberedRow(("one",), ("1", "2\n3")),))
    assert shown(sums, 20, crop=False).split() == ["one:", "in", "the", "wrong", "place", "1,", "cut", "2", "3"]
