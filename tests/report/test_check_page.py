"""The page of a check in a real browser: it answers, filters, and opens findings at the instruction."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.checks.model import FunctionCheck
from testbed.image.disassembly import disassemble
from testbed.report.check_html import check_html, instructions_around, source_around
from testbed.report.check_report import BrokenInput, CheckReport, reported
from tests.report.checked import CHECK, CLEAN, WRONG
from tests.report.chromium import opened

REPORT = CheckReport(
    (reported(CHECK, [finding is WRONG for finding in CHECK.findings]), reported(CLEAN)),
    (BrokenInput(Path("x.o"), "x.o: at offset 0x0: no"),),
    ("libz.so.1: f+0x4 was wrong",),
    Path("base.json"),
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("check") / "check.html"
    path.write_text(check_html(REPORT), encoding="utf-8")
    return path


def test_it_answers_and_tells_everything(page_file: Path) -> None:
    with opened(page_file) as page:
        assert page.inner_text(".answer") == REPORT.answer
        text = page.inner_text("body")
        for said in ("x.o: at offset 0x0: no", "libz.so.1: f+0x4 was wrong", "fell off the function's end 3"):
            assert said in text
        assert page.locator(".finding").count() == 6
        assert page.locator(".functions tbody tr").count() == 4
        assert page.locator(".s-known").count() == 2  # the finding, and its mark beside the function


def test_the_filter_chooses_and_is_in_the_address(page_file: Path) -> None:
    with opened(page_file) as page:
        page.fill("input[name=function]", "crc*")
        assert page.locator(".finding:visible").count() == 3
        assert page.locator(".functions tbody tr:visible").count() == 1
        page.select_option("select[name=evidence]", "static")
        assert page.locator(".finding:visible").count() == 1
        assert page.evaluate("location.hash") == "#function=crc*&evidence=static"
        page.click("button[type=reset]")
        page.wait_for_function("document.querySelectorAll('.finding:not([hidden])').length === 6")
        page.select_option("select[name=only]", "part")
        assert page.locator(".functions tbody tr:visible").count() == 2
    with opened(page_file, fragment="#severity=note") as page:
        assert page.locator(".finding:visible").count() == 1


def test_a_finding_opens_from_its_function_and_from_a_link(page_file: Path) -> None:
    with opened(page_file) as page:
        page.click(".functions tbody tr >> nth=1 >> a >> nth=0")
        page.wait_for_selector(".finding[open]")
        assert "no row covers this instruction" in page.inner_text(".finding[open]")
    with opened(page_file, fragment="#finding-0-0") as page:
        assert ".cfi_def_cfa_offset 0x10" in page.inner_text(".finding[open] .directives >> nth=0")


def test_a_phone_scrolls_only_down(tmp_path: Path) -> None:
    check = replace(CHECK, path=Path("lib" + 90 * "z"), functions=(replace(CHECK.functions[0], name=90 * "f"),))
    path = tmp_path / "page.html"
    path.write_text(check_html(CheckReport((reported(check),))), encoding="utf-8")
    with opened(path, viewport={"width": 390, "height": 844}, color_scheme="dark") as page:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_it_needs_no_other_file_and_obeys_no_name(tmp_path: Path) -> None:
    evil = "</script><script>throw 1</script><img src=x onerror=alert(1)>\x1b\udcff"
    finding = replace(WRONG, where=evil, instruction=evil, source=evil)
    check = replace(CHECK, findings=(finding,), functions=(replace(CHECK.functions[0], name=evil, note=evil),))
    path = tmp_path / "page.html"
    path.write_text(check_html(CheckReport((reported(check),))), encoding="utf-8")
    assert not re.search(r'src="|href="(?!#)|@import|url\(', path.read_text(encoding="utf-8"))
    with opened(path) as page:
        assert "<img src=x" in page.inner_text(".functions tbody th >> nth=0")


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_the_code_around_a_finding_is_that_of_the_file(arch: str) -> None:
    built = build(PROGRAMS["leaf_call"], ARCHES[arch], RECIPES["keystone"])
    symbol = built.image.symbol_named("leaf")
    assert symbol is not None
    function = FunctionCheck("leaf", symbol.address, symbol.address + symbol.size, 1)
    check = replace(CHECK, path=built.path, arch=ARCHES[arch], functions=(function,))
    listed = instructions_around(check, function, replace(WRONG, pc=symbol.address, instruction="nothing of the kind"))
    assert listed == ()  # another file than the one that was checked
    first = built.image.bytes_at(symbol.address, 16)
    text = disassemble(built.image.isa_at(symbol.address), first, symbol.address)
    listed = instructions_around(check, function, replace(WRONG, pc=symbol.address, instruction=text))
    assert (listed[0].label, listed[0].text, listed[0].here) == ("leaf+0x0", text, True)
    assert len(listed) > 1 and not any(line.here for line in listed[1:])


def test_the_lines_around_a_finding_are_those_of_its_source(tmp_path: Path) -> None:
    source = tmp_path / "a.S"
    source.write_text("".join(f"line\t{number}\n" for number in range(1, 31)))
    beside = replace(CHECK, path=tmp_path / "a.o")
    finding = replace(WRONG, source=str(source), line=9)
    lines = source_around(beside, finding)
    assert [line.label for line in lines] == [str(number) for number in range(3, 16)]
    assert [line.text for line in lines if line.here] == ["line    9"]
    for missing in (replace(WRONG, source=str(source), line=31), replace(WRONG, source="no.S"), replace(WRONG, line=0)):
        assert source_around(beside, missing) == ()
    assert source_around(replace(CHECK, path=tmp_path / "elsewhere" / "a.o"), finding) == (), "another's file"
