"""The matrix page in a real browser: it filters, adds up, links, and opens first differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.matrix import judge_unit
from testbed.campaign.results import Matrix
from testbed.campaign.units import units
from testbed.report.matrix_html import write_matrix_html
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
        page.focus("#matrix button >> nth=0")
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


def test_a_phone_scrolls_only_down(page_file: Path) -> None:
    with opened(page_file, viewport={"width": 390, "height": 844}, color_scheme="dark") as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
