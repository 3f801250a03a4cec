"""The matrix page in a real browser: it filters, adds up, links, and opens first differences."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.matrix import judge_unit
from testbed.campaign.results import Matrix, Unit, UnitResult
from testbed.campaign.units import units
from testbed.report.junit import write_matrix_junit
from testbed.report.matrix_html import dividing, write_matrix_html
from testbed.report.phrases import share
from testbed.report.stepper import pages_beside, stepper_link, write_unit_stepper
from tests.report.chromium import opened
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
        page.fill("input[name=strategy]", "fp_chain_entry")
        page.select_option("select[name=arch]", "arm64")
        shown = [c for c in matrix.cells if c.unwinder == "fp_chain_entry" and c.unit.arch == "arm64"]
        assert number(page, "exact") == sum(cell.exact for cell in shown)
        assert number(page, "lying") == sum(cell.lying for cell in shown) > 0
        assert page.locator(SHOWN).count() == len(shown) == 2
        page.click("button[type=reset]")
        page.wait_for_function("document.querySelectorAll('#matrix tbody tr:not([hidden])').length === 6")
        assert number(page, "exact") == sum(cell.exact for cell in matrix.cells)


def test_the_filter_is_in_the_address(page_file: Path) -> None:
    with opened(page_file, fragment="#program=leaf_no*&arch=arm32") as page:
        assert page.locator(SHOWN).count() == 1
        page.fill("input[name=program]", "leaf")
        page.wait_for_function("location.hash === '#program=leaf&arch=arm32'")
        assert page.locator(SHOWN).count() == 2
        page.select_option("select[name=only]", "unexplained")
        assert page.locator(SHOWN).count() == 0


def test_a_cell_opens_its_first_difference(page_file: Path, matrix: Matrix) -> None:
    cell = next(cell for cell in matrix.cells if cell.unwinder == "fp_chain" and cell.first)
    assert cell.first is not None
    with opened(page_file) as page:
        page.focus("#matrix .cell >> nth=0")
        page.keyboard.press("Enter")
        assert page.inner_text("#difference-title").endswith("fp_chain")
        assert cell.first.sentence in page.inner_text("#difference")
        assert f"#step={cell.first.step}" in page.inner_text("#difference pre")
        page.keyboard.press("Escape")
        assert not page.locator("#difference").is_visible()


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
        hot = page.locator("#heat button[data-strategy=fp_chain][data-arch=arm64]")
        assert hot.inner_text() == share(exact, sites)
        hot.click()
        assert page.locator(SHOWN).count() == len(mine)
        assert page.inner_text("#total-exact") == f"{exact:,}"  # and not those of fp_chain_entry


def test_the_programs_that_divide_strategies_most_come_first(page_file: Path, matrix: Matrix) -> None:
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
    assert cell.first_lie is not None
    with opened(path) as page:
        assert page.locator("#matrix a.cell").count() == len(matrix.cells)
        page.click(f"#matrix a.cell[href*='{unit}'][href$='focus=fp_chain_entry']")
        page.click(".to-stepper")
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        assert page.evaluate("stepper.at()") == cell.first_lie.step
        assert page.inner_text("#sentence").startswith("fp_chain_entry")


def test_a_phone_scrolls_only_down(page_file: Path) -> None:
    with opened(page_file, viewport={"width": 390, "height": 844}, color_scheme="dark") as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        buttons = "[...document.querySelectorAll('#heat button')]"
        right = page.evaluate(f"Math.max(...{buttons}.map((b) => b.getBoundingClientRect().right))")
        assert right <= 390  # every number of the heat map is on the screen


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
