"""Formats side by side: over the corpus they mean one thing, and where not, the clause that fails says why."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import units
from testbed.campaign.results import Unit
from testbed.contract.frames import Backtrace
from testbed.contract.rows import Offset, RegisterPlus, RowTable, Undefined, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.report.table_text import comparison_page
from testbed.runs.run import Run, run_program
from testbed.tables.compare import Agreement, Comparison, FormatAnswer, Site, compare_formats
from testbed.words.outcome import Outcome
from tests.unwinders.frames import ARM64, START, X86_64, image
from unwinders import UNWINDERS

UNITS = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())


def of_unit(unit: Unit) -> tuple[Comparison, Run]:
    run = run_program(PROGRAMS[unit.program], ARCHES[unit.arch], unit.recipe)
    tables = [u for u in UNWINDERS.values() if u.rows is not None and u.applies_to(run.built.image)]
    return compare_formats(run.built.image, tables, run), run


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_formats_mean_the_same_or_a_limit_says_why(unit: Unit) -> None:
    comparison, run = of_unit(unit)
    assert comparison.unexplained == ()
    covered = sum(span.end - span.start for span in comparison.spans)
    assert covered == sum(comparison.bytes_of(agreement) for agreement in Agreement) > 20
    for span in comparison.spans:
        if span.agreement is Agreement.DIFFERENT:
            assert span.site is not None
            assert span.start <= int(run.trace.pc[span.site.step]) - run.trace.images[0].bias < span.end
            assert set(span.site.answers) == {name for name, row in span.rows.items() if row is not None}
    differ = comparison.bytes_of(Agreement.DIFFERENT)
    wrong = {name for span in comparison.spans if span.site for name in span.site.wrong}
    assert differ == 0 or wrong, "something differs, and nothing is wrong"


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_asynchronous_formats_agree_at_every_pc_of_an_assembly_program(arch: str) -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES[arch], "keystone")
    # Formats are sections; what an unwinder reads from the code itself may have SP where a table has FP.
    sections = [u for u in UNWINDERS.values() if u.rows is not None and u.needs and u.applies_to(run.built.image)]
    comparison = compare_formats(run.built.image, sections, run)
    assert comparison.names[:2] == ("eh_frame", "eh_frame_hdr")
    assert "sframe" in comparison.names
    assert all(span.agreement is Agreement.SAME and not span.silent for span in comparison.spans)


def test_a_call_site_format_differs_in_prologues_and_epilogues_and_says_so() -> None:
    comparison, _ = of_unit(Unit("leaf_call", "arm32", "keystone"))
    differ = [span.site for span in comparison.spans if span.site]
    assert differ and all(site.wrong == ("ehabi",) for site in differ)
    page = "".join(text(comparison).split())
    assert all("".join((site.answers["ehabi"].because or "nothing").split()) in page for site in differ)


# Made-up tables.


def row(start: int, end: int, register: str, offset: int, ra: int = -8) -> UnwindRow:
    return UnwindRow(start, end, RegisterPlus(register, offset), {"rip": Offset(ra)}, "rip")


def unwinder(name: str, *rows: UnwindRow) -> Unwinder:
    def unwind(snapshot: object) -> Backtrace:
        raise AssertionError("nothing runs here")

    return Unwinder(name=name, summary=name, unwind=unwind, rows=lambda _: RowTable(f".{name}", rows))


def text(comparison: Comparison) -> str:
    console = Console(width=100, highlight=False, markup=False, file=StringIO())
    with console.capture() as capture:
        console.print(comparison_page(comparison))
    return capture.get()


def compared(*unwinders: Unwinder, of: Image | None = None) -> Comparison:
    return compare_formats(of or image(), unwinders)


def test_code_is_cut_where_a_format_changes_what_it_says() -> None:
    left = unwinder("left", row(START, START + 8, "rsp", 8), row(START + 8, START + 16, "rsp", 16))
    right = unwinder("right", row(START, START + 4, "rsp", 8), row(START + 8, START + 20, "rbp", 16))
    comparison = compared(left, right)
    assert [(s.start - START, s.end - START, s.agreement, s.silent) for s in comparison.spans] == [
        (0, 4, Agreement.SAME, ()),
        (4, 8, Agreement.SAME, ("right",)),
        (8, 16, Agreement.UNDECIDED, ()),
        (16, 20, Agreement.SAME, ("left",)),
    ]
    assert (comparison.bytes_of(Agreement.SAME), comparison.bytes_of(Agreement.UNDECIDED)) == (12, 8)
    assert (comparison.silent_bytes("left"), comparison.silent_bytes("right")) == (4, 4)
    page = text(comparison)
    assert "1004..1008  nothing in right; the same rules in the rest" in page
    assert "CFA rbp+16, ra c-8" in page


def test_neighbours_that_say_the_same_are_one_stretch() -> None:
    left = unwinder("left", row(START, START + 8, "rsp", 8))
    right = unwinder("right", row(START, START + 4, "rsp", 8), row(START + 4, START + 8, "rsp", 8))
    assert [(s.start, s.end) for s in compared(left, right).spans] == [(START, START + 8)]


def test_the_outermost_frame_needs_no_cfa() -> None:
    end = UnwindRow(START, START + 8, None, {"rip": Undefined()}, "rip")
    other = replace(end, cfa=RegisterPlus("rsp", 8))
    assert [s.agreement for s in compared(unwinder("a", end), unwinder("b", other)).spans] == [Agreement.SAME]


def test_without_a_rule_the_return_address_is_in_the_link_register() -> None:
    bare = UnwindRow(START, START + 8, RegisterPlus("sp", 0), {}, "x30")
    saved = replace(bare, registers={"x30": Offset(-8)})
    made = image(ARM64)
    assert [s.agreement for s in compared(unwinder("a", bare), unwinder("b", bare), of=made).spans] == [Agreement.SAME]
    differing = compared(unwinder("a", bare), unwinder("b", saved), of=made)
    assert [s.agreement for s in differing.spans] == [Agreement.UNDECIDED]
    assert "ra s" in text(differing)


def lying(name: str) -> Unwinder:
    """`eh_frame`, and one word more to every CFA, in the row as in the walk."""
    honest = UNWINDERS["eh_frame"]
    assert honest.rows is not None

    def rows(made: Image) -> RowTable:
        assert honest.rows is not None
        moved = [
            replace(r, cfa=RegisterPlus(r.cfa.register, r.cfa.offset + 8)) if isinstance(r.cfa, RegisterPlus) else r
            for r in honest.rows(made)
        ]
        return RowTable(".lies", tuple(moved))

    def unwind(snapshot: object) -> Backtrace:
        said = honest.unwind(snapshot)  # type: ignore[arg-type]
        first = said.frames[0]
        return replace(said, frames=(replace(first, cfa=(first.cfa or 0) + 8), *said.frames[1:]))

    return replace(honest, name=name, rows=rows, unwind=unwind)


def test_a_format_that_lies_is_found_named_and_not_explained() -> None:
    run = run_program(PROGRAMS["leaf_call"], X86_64, "keystone")
    comparison = compare_formats(run.built.image, [UNWINDERS["eh_frame"], lying("liar")], run)
    assert comparison.unexplained
    assert {name for span in comparison.unexplained for name in span.site.unexplained if span.site} == {"liar"}
    assert comparison.bytes_of(Agreement.DIFFERENT) > 20
    page = text(comparison)
    assert "false: UNEXPLAINED" in page
    assert "truth" in page


def test_an_answer_that_stops_claims_nothing() -> None:
    stop = FormatAnswer(None, None, "NoUnwindInfo", None)
    site = Site(0, {"a": stop, "b": FormatAnswer(0x10, 0x20, "", None)}, 0x10, 0x20)
    assert site.unexplained == ()
    assert replace(site, true_cfa=0x18).unexplained == ("b",)
    assert replace(site, true_cfa=None).wrong == ()  # the outermost frame has no known CFA
    assert replace(site, true_caller=None).wrong == ("b",)
    assert Outcome.STOPPED.honest
