"""The matrix page in a real browser: it filters, adds up, links, and opens first differences."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Matrix, Unit, UnitResult, units
from testbed.campaign.matrix import judge_unit
from testbed.campaign.score_card import ScoreCard
from testbed.report.junit import write_matrix_junit
from testbed.report.matrix_text import dividing, write_matrix_html
from testbed.report.narrow_tables import ColumnBlocks, NumberedRow, numbered_table
from testbed.report.phrases import percent, share
from testbed.report.score_text import badge, score_data, score_html, score_markdown, score_page
from testbed.report.stepper import pages_beside, stepper_link, write_unit_stepper
from testbed.truth.phases import PHASES
from testbed.verdicts.verdict import Counts, SiteKind
from testbed.words.outcome import Outcome
from tests.campaign.scored import card_of, counts
from tests.golden.whole import golden
from tests.report.chromium import PHONE, SCROLLS_ONLY_DOWN, opened, walk
from tests.report.terminal import shown
from unwinders import UNWINDERS

SHOWN = "#matrix tbody tr:visible"


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    programs = [PROGRAMS[name] for name in ("leaf_call", "leaf_no_frame")]
    planned = units(programs, ARCHES.values(), [RECIPES["keystone"]])
    return Matrix(tuple(judge_unit(unit, PROGRAMS, list(UNWINDERS.values())) for unit in planned), len(planned))


@pytest.fixture(scope="module")
def page_file(matrix: Matrix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("matrix") / "matrix.html"
    write_matrix_html(matrix, path, {name: program.summary for name, program in PROGRAMS.items()})
    return path


def test_the_headline_is_the_sum_of_the_cells_shown(page_file: Path, matrix: Matrix) -> None:
    def number(page: object, key: str) -> int:
        return int(page.inner_text(f"#total-{key}").replace(",", ""))  # type: ignore[attr-defined]

    with opened(page_file) as page:
        assert number(page, "exact") == sum(cell.exact for cell in matrix.cells) > 0
        page.fill("input[name=unwinder]", "fp_chain_entry")
        page.select_option("select[name=arch]", "arm64")
        shown = [c for c in matrix.cells if c.unwinder == "fp_chain_entry" and c.unit.arch == "arm64"]
        assert number(page, "exact") == sum(cell.exact for cell in shown)
        assert number(page, "lying") == sum(cell.lying for cell in shown) > 0
        assert page.locator(SHOWN).count() == len(shown) == 2
        page.click("button[type=reset]")
        page.wait_for_function("document.querySelectorAll('#matrix tbody tr:not([hidden])').length === 6")
        assert number(page, "exact") == sum(cell.exact for cell in matrix.cells)


def test_the_filter_is_in_the_address(page_file: Path) -> None:
    steps = [
        *(("count", SHOWN, 1), ("fill", "input[name=program]", "leaf")),
        *(("wait_for_function", "location.hash === '#program=leaf&arch=arm32'"), ("count", SHOWN, 2)),
        *(("select_option", "select[name=only]", "unexplained"), ("count", SHOWN, 0)),
    ]
    with opened(page_file, fragment="#program=leaf_no*&arch=arm32") as page:
        walk(page, steps)


def test_a_cell_opens_its_first_difference(page_file: Path, matrix: Matrix) -> None:
    cell = next(cell for cell in matrix.cells if cell.unwinder == "fp_chain" and cell.first)
    steps = [
        *(("focus", "#matrix .cell >> nth=0"), ("press", "Enter"), ("says", "#difference-title", "fp_chain")),
        *(("says", "#difference", cell.first.sentence), ("says", "#difference pre", f"#step={cell.first.step}")),
        *(("press", "Escape"), ("count", "#difference:visible", 0)),
    ]
    with opened(page_file) as page:
        walk(page, steps)


def test_the_traps_name_whom_they_catch(page_file: Path, matrix: Matrix) -> None:
    with opened(page_file) as page:
        first = page.inner_text(".traps tbody tr >> nth=0")
    lies = {p: sum(c.lying for c in matrix.cells if c.unit.program == p) for p in ("leaf_call", "leaf_no_frame")}
    assert first.startswith(max(lies, key=lambda program: lies[program]))
    assert "fp_chain (" in first


def test_it_opens_with_a_heat_map_that_chooses_cells(page_file: Path, matrix: Matrix) -> None:
    mine = [cell for cell in matrix.cells if cell.unwinder == "fp_chain" and cell.unit.arch == "arm64"]
    exact, sites = sum(cell.exact for cell in mine), sum(cell.sites - cell.transition for cell in mine)
    with opened(page_file) as page:
        assert page.locator("#heat tbody tr").count() == len(matrix.unwinders)
        hot = page.locator("#heat button[data-unwinder=fp_chain][data-arch=arm64]")
        assert hot.inner_text() == share(exact, sites)
        hot.click()
        assert page.locator(SHOWN).count() == len(mine)
        assert page.inner_text("#total-exact") == f"{exact:,}"  # and not those of fp_chain_entry


def test_the_programs_that_divide_unwinders_most_come_first(page_file: Path, matrix: Matrix) -> None:
    rows = dividing(matrix, {})
    assert [row["unit"].program for row in rows] == ["leaf_no_frame", "leaf_call"]
    for row in rows:
        cells = [matrix.cells[bar["index"]] for bar in row["bars"]]
        assert {cell.unit for cell in cells} == {row["unit"]}
        assert row["right"].split(", ") == [c.unwinder for c in cells if c.exact == c.sites - c.transition]
        assert [sum(n for _, n in bar["parts"]) for bar in row["bars"]] == [c.sites - c.transition for c in cells]
    with opened(page_file) as page:
        page.click(".dividing li >> nth=1 >> .bars button >> nth=0")
        assert page.inner_text("#difference-title").startswith("leaf_call")


def test_every_cell_links_to_its_stepper_there(matrix: Matrix, tmp_path: Path) -> None:
    path, unit = tmp_path / "a matrix.html", matrix.results[0].unit
    write_unit_stepper(unit, PROGRAMS, list(UNWINDERS.values()), pages_beside(path))
    write_matrix_html(matrix, path, {}, lambda each: stepper_link(path, each))
    cell = next(c for c in matrix.cells if c.unit == unit and c.unwinder == "fp_chain_entry")
    steps = [
        ("count", "#matrix a.cell", len(matrix.cells)),
        ("click", f"#matrix a.cell[href*='{unit}'][href$='focus=fp_chain_entry']"),
        *(("click", ".to-stepper"), ("wait_for_selector", "html[data-ready=yes]")),
        *(("is", "stepper.at()", cell.first_lie.step), ("says", "#sentence", "fp_chain_entry")),
    ]
    with opened(path) as page:
        walk(page, steps)


def test_a_phone_scrolls_only_down(page_file: Path) -> None:
    right = "Math.max(...[...document.querySelectorAll('#heat button')].map((b) => b.getBoundingClientRect().right))"
    with opened(page_file, **PHONE) as page:
        walk(page, [SCROLLS_ONLY_DOWN, ("is", f"{right} <= 390", True)])  # every number of the heat map is there


# The matrix as JUnit XML is well-formed, whatever programs and errors are called.


def test_control_characters_are_spelled_out(tmp_path: Path) -> None:
    unit = Unit("bad\x1b[31m\x00name\x08", "x86_64", "clang-O2")
    failed = UnitResult(unit, failed="first\x0bline\nsecond\ud800 line\x07 & <b>")
    write_matrix_junit(Matrix((failed, UnitResult(unit, skipped="\x01")), 2), tmp_path / "x.xml")
    root = ET.fromstring((tmp_path / "x.xml").read_bytes())
    [suite] = root
    assert suite.attrib["name"] == r"bad\x1b[31m\x00name\x08"
    # An attribute keeps a line's end where the writer wrote it as a character reference.
    assert {child.attrib["message"].replace("\n", " ") for case in suite for child in case} == {
        r"first\x0bline second\ud800 line\x07 & <b>",
        r"\x01",
    }


# The score card as text of any width, as JSON, as a page and as a badge.


def card(mine: Any = None) -> ScoreCard:
    others = {f"tool_{i}": counts(20 - i, i // 2) for i in range(12)}
    return card_of(others, mine=mine or counts(11, 5))


def printed(width: int, mine: Any = None) -> str:
    return shown(score_page(card(mine), {"mine": "-u mine"}, everything=False, width=width), width)


@pytest.mark.parametrize("width", [140, 100, 80, 60, 44, 30])
def test_no_number_is_cut_however_narrow_it_is(width: int) -> None:
    text = printed(width)
    assert all(len(line) <= width for line in text.splitlines())
    joined = " ".join(text.split())
    for number in ("55.0", "25.0", "20.0", "35.0"):
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", joined), number
    assert "testbed run leaf_call -a x86_64 -r keystone --at @3 -u mine" in joined
    assert "10 of 13" in joined


SHARES = {"green": (1000, 0, 0), "fair": (900, 95, 5), "bad": (900, 0, 100)}


def of(exact: int, stopped: int, wrong: int) -> Counts:
    kinds = map(SiteKind, (Outcome.EXACT, Outcome.STOPPED, Outcome.WRONG))
    return Counts(dict(zip(kinds, (exact, stopped, wrong), strict=True)))


COMMANDS = {"mine": "--unwinder-cmd './my unwinder'"}
OUTPUTS: Mapping[str, Callable[[], str]] = {
    "140.txt": partial(printed, 140),
    "60.txt": partial(printed, 60),
    "never_lies.txt": partial(printed, 100, counts(15, 5)),
    "exact.txt": partial(printed, 100, counts(20, 0)),
    "data.json": lambda: json.dumps(score_data(card(), COMMANDS, everything=False), indent=1),
    "ranking.md": lambda: score_markdown(card()),
    **{f"{name}.svg": partial(badge, of(*numbers)) for name, numbers in SHARES.items()},
}


def test_an_unwinder_that_finds_every_caller_and_never_claims_the_root_is_told_so() -> None:
    kinds = {SiteKind(Outcome.STOPPED, phase=PHASES[2], whole=True): 15, SiteKind(Outcome.WRONG, phase=PHASES[2]): 5}
    text = " ".join(printed(100, Counts(kinds)).split())
    assert "75.0 % honest stops (at 75.0 % behind the last caller: no root is claimed), 25.0 % lies" in text
    assert "it stops more often than it claims the root" in text


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_score_is_told_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    golden(f"score/{name}", str(OUTPUTS[name]()), request)


def test_a_badge_is_a_picture_whatever_its_label() -> None:
    assert ElementTree.fromstring(badge(of(1, 0, 0), '<&"')).attrib["aria-label"].startswith('<&"')


def test_a_table_becomes_paragraphs_where_it_does_not_fit() -> None:
    rows = [NumberedRow(("a long name",), ("1,234,567", "3 of 9"))]
    text = shown(numbered_table(("name",), ("sites", "place"), rows, 20), 20)
    assert "1,234,567" in text and "place 3 of 9" in " ".join(text.split())


def test_the_page_is_whole_and_fetches_nothing() -> None:
    page = score_html(card(), {"mine": "--unwinder-cmd './<script>'"}, everything=True)
    assert page.count("<section") == page.count("</section>") == 3
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    assert "./<script>" not in page and "&lt;script&gt;" in page
    assert "10 of 13" in page and "tool_11" in page
    assert "<strong>mine is exact at 55.0 % of 20 sites, and lies at 20.0 %, most at calls on x86_64 (100 %)." in page


def test_a_share_is_0_or_100_only_if_it_is() -> None:
    assert [percent(part, 10_000) for part in (0, 1, 5_000, 9_999, 10_000)] == ["0", "0.1", "50.0", "99.9", "100"]
    assert percent(0, 0) == "-"


@pytest.mark.parametrize("width", [24, 40, 60, 100])
def test_columns_that_do_not_fit_stand_below_behind_the_words_again(width: int) -> None:
    numbers = tuple(f"{i}{i},{i * 111:03}" for i in range(1, 9))
    heads = tuple(f"head\n{i}" for i in range(8))
    table = ColumnBlocks(("unwinder", "arch"), heads, (("fp_chain", "arm64", *numbers),))
    lines = shown(table, width).splitlines()
    assert all(len(line) <= width and "…" not in line for line in lines)
    told = [line for line in lines if line.startswith("fp_chain  arm64 ")]
    assert [word for line in told for word in line.split()[2:]] == list(numbers)
    assert (len(told) == 1) == (width == 100)
