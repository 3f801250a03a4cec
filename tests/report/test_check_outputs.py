"""A check in every format: each report as a whole in ``golden/outputs``; what schemas and readers say of it."""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import Failure, JUnitXml
from rich.console import Console

from testbed.arch import ARCHES
from testbed.checks.model import (
    FileCheck,
    FindingKind,
    FunctionCheck,
    HowKnown,
    Severity,
    SourceEdit,
    SourcePlace,
    TableFinding,
    WrongThing,
)
from testbed.checks.options import CheckOptions
from testbed.image.disassembly import disassemble
from testbed.report.check_html import check_html, instructions_around, sources_around
from testbed.report.check_report import (
    FORMATS,
    BrokenInput,
    CheckReport,
    KnownFinding,
    baseline_text,
    gone_from,
    read_baseline,
    reported,
    told_beside,
)
from testbed.report.check_sarif import SARIF_SCHEMA, sarif_data
from testbed.report.check_text import print_check
from testbed.report.check_words import sentence
from testbed.report.json_forms import schema
from testbed.words.errors import UsageError
from testbed.words.files import own_version
from testbed.words.printable import printable
from tests import corpus
from tests.golden.whole import golden
from tests.report.checked import (
    CHECK,
    CLEAN,
    FUNCTIONS,
    NO_ROW,
    PATCHED,
    RESTORED,
    START,
    STATIC,
    UNREADABLE,
    WHOLE_TABLE,
    WRONG,
)
from tests.report.chromium import PHONE, SCROLLS_ONLY_DOWN, Walk, opened, walk

OFFICIAL = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
EVIL = "f\x1b[2J,%:<&\r\n::error::\u202e\udcff\x00"
ODD = replace(UNREADABLE, where=EVIL, instruction=EVIL, table=EVIL, source=EVIL, line=1)
PARTS = FunctionCheck("memcpy.cold", 0x200, 0x210, 4, forced=4), FunctionCheck("_start", 0x300, 0x310, 4)
TWIN = replace(FUNCTIONS[0], start=0x5000, end=0x5100)
ROWLESS = tuple(replace(NO_ROW, function=name, where=name, pc=0x2000, repair=None) for name in ("inflate", "g", "h"))


def of(*checks: FileCheck, **more: Any) -> CheckReport:
    return CheckReport(tuple(map(reported, checks)), **more)


def found(*findings: TableFinding) -> FileCheck:
    return replace(CHECK, findings=findings)


REPORTS: Mapping[str, CheckReport] = {
    "mixed": CheckReport(
        (reported(CHECK, [finding is WRONG for finding in CHECK.findings]), reported(CLEAN)),
        (BrokenInput(Path("x.o"), "x.o: no\nline two"), BrokenInput(Path("y.o"), "why", "f")),
        ("f+0x4 was wrong",),
        Path("base.json"),
    ),
    "one": of(CHECK),
    "evil": of(
        replace(
            found(ODD, STATIC, replace(WRONG, where=EVIL, source=EVIL, instruction=EVIL)),
            path=Path("lib\x1b\udcff.so"),
            notes=(EVIL,),
            dropped={EVIL: 1},
            functions=(replace(FUNCTIONS[0], name=EVIL, note=EVIL),),
        )
    ),
    "parts": of(replace(CLEAN, parts=PARTS, findings=(replace(WRONG, pc=0x200, function="memcpy.cold"),))),
    "clean-parts": of(replace(CLEAN, parts=PARTS)),
    "whole-table": of(found(PATCHED, WHOLE_TABLE)),
    "twins": of(replace(CHECK, functions=(*FUNCTIONS, TWIN), findings=(WRONG, RESTORED, replace(WRONG, pc=0x5004)))),
    "lost": of(found(replace(UNREADABLE, pc=0x9000, where=""))),
    "alike": of(found(replace(ROWLESS[0], alike=ROWLESS), replace(NO_ROW, kind=FindingKind.OTHER_ENTRY))),
    "nothing": CheckReport(()),
}


def printed(report: CheckReport, width: int = 100, **how: bool) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    print_check(console, report, **how)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


FORMS: Mapping[str, Callable[[CheckReport], str]] = {
    "txt": printed,
    "all.txt": lambda report: printed(report, coverage=True, notes=True),
    "narrow.txt": lambda report: printed(report, 60, coverage=True, notes=True),
    **{name: form for name, form in FORMATS.items() if name != "html"},  # the page is read in a browser, below
}


EVERY_FORM = ("mixed", "evil", "alike", "lost", "nothing")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in REPORTS for form in FORMS if "txt" in form or name in EVERY_FORM]
)
def test_a_report_is_told_as_it_was(name: str, form: str, request: pytest.FixtureRequest) -> None:
    text = FORMS[form](REPORTS[name]).replace(f'"{own_version()}"', '"VERSION"')
    assert not set(text) & {"\x1b", "\u202e", "\udcff", "\r", "\x00"}
    assert not any(line.lstrip().startswith("::error::") for line in text.splitlines())
    golden(f"check/{name}.{form}", text, request)


def test_a_narrow_terminal_cuts_nothing() -> None:
    narrow, wide = (printed(of(CHECK), width, coverage=True, notes=True) for width in (60, 200))
    heads = [line for line in narrow.splitlines() if len(line) > 60]
    assert heads == narrow.splitlines()[-1:]  # the answer is one line at any width: the terminal folds it
    assert set(narrow.replace(",", "").split()) >= set(wide.replace(",", "").replace("─", "").split())


def _executed(number: int, static: int = 0) -> FileCheck:
    return replace(CLEAN, functions=(replace(CLEAN.functions[0], executed=number, static=static),))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            _executed(16),
            "memcpy.o: every row that was executed is right; 16 of 32 instructions were executed (50.0 %), 16",
        ),
        (_executed(16, static=16), "16 of 32 instructions were executed (50.0 %), 16 only read."),
        (_executed(8, static=20), "8 of 32 instructions were executed (25.0 %), 20 only read, 4 undecided, in memcpy."),
        (_executed(0), "memcpy.o: nothing was compared, so no row is known to be right; 0 of 32 instructions were"),
        (
            _executed(0, static=32),
            "no row is known to be right; 0 of 32 instructions were executed (0 %), 32 only read.",
        ),
        (
            found(START),
            "libz.so.1: every row that was executed is right; 180 of 324 instructions were executed (55.6 %)",
        ),
    ],
)
def test_the_last_line_tells_what_was_executed_from_what_was_only_read(check: FileCheck, said: str) -> None:
    assert said in printed(of(check)).splitlines()[-1]


def test_each_kind_of_evidence_is_told_apart() -> None:
    told = {printed(of(found(replace(WRONG, evidence=known)))) for known in HowKnown}
    assert len(told) == len(HowKnown)
    nothing = WrongThing("row", "nothing", "and there is a caller to be found")
    assert sentence(replace(NO_ROW, things=(nothing,))) == sentence(NO_ROW)


@pytest.mark.parametrize(
    ("report", "status", "failing"),
    [
        (of(CHECK), 1, 5),
        (of(found(START)), 0, 0),
        (of(CLEAN), 0, 0),
        (of(CHECK, fail_on=None), 0, 0),
        (of(found(START), fail_on=Severity.NOTE), 1, 1),
        (of(found(START), fail_on=Severity.WARNING), 0, 0),
        (CheckReport((reported(CHECK, [True] * 6),)), 0, 0),
        (of(CLEAN, broken=(BrokenInput(Path("x"), "no"),)), 2, 0),
        (REPORTS["mixed"], 2, 4),
        (replace(REPORTS["mixed"], fail_on=Severity.NOTE), 2, 5),
    ],
)
def test_the_status_follows_what_is_new_and_how_heavy_it_is(report: CheckReport, status: int, failing: int) -> None:
    assert (report.status, report.failing) == (status, failing)
    cases = [case for suite in JUnitXml.fromstring(FORMATS["junit"](report)) for case in suite]
    failures = [[each for each in case.result if isinstance(each, Failure)] for case in cases]
    assert all(len(each) <= 1 for each in failures)  # a test case fails once
    assert sum(len(each.text.splitlines()) for its in failures for each in its) == failing


@pytest.mark.parametrize("name", REPORTS)
def test_json_and_sarif_follow_their_schemas(name: str) -> None:
    data, sarif = (json.loads(FORMATS[form](REPORTS[name])) for form in ("json", "sarif"))
    jsonschema.validate(data, schema("check"))
    for extra in ({"files": None}, {"status": 3}, {"surprise": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | extra, schema("check"))
    for file in data["files"]:
        coverage = file["coverage"]
        assert coverage["instructions"] == sum(coverage[part] for part in ("executed", "forced", "static", "never"))
    assert OFFICIAL["id"] == SARIF_SCHEMA
    jsonschema.Draft4Validator(OFFICIAL, format_checker=jsonschema.FormatChecker()).validate(sarif)
    rules = sarif["runs"][0]["tool"]["driver"]["rules"]
    levels = [result["level"] for result in sarif["runs"][0]["results"]]
    assert levels == [finding["severity"] for file in data["files"] for finding in file["findings"]]
    for result in sarif["runs"][0]["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]


def results(*findings: TableFinding, folder: Path | None = None) -> list[dict[str, Any]]:
    return list(sarif_data(of(found(*findings)), folder)["runs"][0]["results"])


@pytest.mark.parametrize(
    ("source", "uri", "near"),
    [
        ("{}/src/a b.S", "src/a%20b.S", "src/a b.S"),
        ("/usr/src/x%.S", "file:///usr/src/x%25.S", "/usr/src/x%25.S"),
        ("c:x.S", "c%3Ax.S", "c%3Ax.S"),
    ],
)
def test_files_below_the_folder_are_named_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, uri: str, near: str
) -> None:
    monkeypatch.chdir(tmp_path)
    finding = replace(WRONG, source=source.format(tmp_path), place=None)
    (result,) = results(finding, folder=tmp_path)
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
    assert FORMATS["github"](of(found(finding))).startswith(f"::error file={near},line=120,")


def test_a_service_gets_no_correction_that_gives_code_without_rows_wrong_ones() -> None:
    assert PATCHED.repair is not None
    for many, fixes in ((8, False), (2, True)):
        bare = replace(PATCHED, kind=FindingKind.NO_ROW, instructions=many, repair=replace(PATCHED.repair, repaired=2))
        (result,) = results(bare)
        assert ("fixes" in result) is fixes and ("testbed annotate" in result["message"]["text"]) is not fixes
    assert "fixes" in results(replace(PATCHED, instructions=8, repair=replace(PATCHED.repair, repaired=2)))[0]


def test_notes_that_no_line_shows_take_no_room_among_the_ten_that_github_shows() -> None:
    silent, lined = (replace(START, source=source, line=12) for source in ("", "a.S"))
    lines = FORMATS["github"](of(found(silent, lined, silent))).splitlines()
    assert [line.partition("::")[2].partition("::")[2][:7] for line in lines[1:-1]] == ["2 notes"]
    assert lines[0].startswith("::notice file=a.S,line=12,")


def test_services_are_told_paths_from_the_top_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (folder := tmp_path / "crypto").mkdir()
    monkeypatch.chdir(folder)
    (folder / "leaf.S").write_text("\n" * 117 + "        .cfi_offset  x30, -16 // saved\n")
    report = of(found(replace(WRONG, place=SourcePlace("leaf.S", 118, 9, ".cfi_offset x30, -16"))))
    for asked, name in ((report, "crypto/leaf.S"), (replace(report, relative_to=folder), "leaf.S")):
        place = f"::error file={name},line=118,endLine=118,col=9,endColumn=29,"
        assert FORMATS["github"](asked).startswith(place)
        (result,) = sarif_data(asked)["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"] == {
            "artifactLocation": {"uri": name},
            "region": {
                "startLine": 118,
                "startColumn": 9,
                "endLine": 118,
                "endColumn": 30,
                "snippet": {"text": ".cfi_offset  x30, -16"},
            },
        }
        assert "leaf.S:118:9: error: the caller is lost\n" in printed(asked, 100)
    assert "\ncrypto/leaf.S:118:9: error" in printed(replace(report, relative_to=tmp_path), 100)


def prints(*findings: TableFinding) -> list[str]:
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results(*findings)]


NOWHERE = replace(WRONG, things=(WrongThing("rbx", "still in rbx", "rbx is in no one place at all 7 visits"),))
OFTEN = replace(WRONG, things=(WrongThing("rbx", "still in rbx", "rbx is in no one place at all 90 visits"),))
JUMPS = replace(WRONG, instruction="jne 0x1234")
A, B, C = (replace(WRONG, kind=FindingKind.NO_ROW, function=name, things=()) for name in ("a", "b", "c"))


def group(*members: TableFinding) -> TableFinding:
    return replace(members[0], alike=members)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (WRONG, replace(WRONG, pc=0x9004, line=300), True),
        (WRONG, replace(WRONG, where=f"{WRONG.function}+0x40"), True),
        (JUMPS, replace(JUMPS, instruction="jne 0x5678"), True),
        (NOWHERE, OFTEN, True),
        (group(A, B), group(B, A), True),
        *((one, other, False) for one, other in ((JUMPS, WRONG), (NOWHERE, WRONG), (WRONG, RESTORED))),
        *((one, other, False) for one, other in ((START, UNREADABLE), (START, WRONG), (UNREADABLE, RESTORED))),
        *((group(A, B), other, False) for other in (group(A, B, C), group(B, C))),
    ],
)
def test_a_fingerprint_stays_when_code_before_moves(one: TableFinding, other: TableFinding, same: bool) -> None:
    assert (prints(one) == prints(other)) is same
    first, second = prints(one, replace(one, pc=1))
    assert (first[-2:], second[-2:]) == (":1", ":2") and first[:-2] == second[:-2]


def test_what_a_terminal_would_obey_is_spelled_out() -> None:
    assert printable(EVIL) == "f\\x1b[2J,%:<&\\r\\n::error::\\u202e\\udcff\\x00"


# A baseline: what it knows fails nothing, what is new does, what is gone is named.


ALL = CheckOptions()


def baseline(folder: Path, *checks: FileCheck) -> tuple[KnownFinding, ...]:
    path = folder / "base.json"
    path.write_text(baseline_text(checks), encoding="utf-8")
    return read_baseline(path)


def known_in(known: Sequence[KnownFinding], checks: Sequence[FileCheck]) -> tuple[tuple[bool, ...], ...]:
    """For each check, whether each of its findings is known, in their order."""
    told = told_beside(known, checks)
    return tuple(
        tuple(next(r.known for r in file.findings if r.finding is finding) for finding in file.check.findings)
        for file in told
    )


def file_of(*findings: TableFinding, **more: Any) -> FileCheck:
    return replace(CHECK, findings=findings, **more)


MOVED = file_of(replace(WRONG, pc=0x9004, line=300), path=Path("/elsewhere/libz.so.1"))
TWICE = file_of(WRONG, replace(WRONG, pc=0x5004))
ODD_FILE = file_of(replace(WRONG, where="f\udcff"))
DEBUG = file_of(RESTORED, tables=(".debug_frame",))


@pytest.mark.parametrize(
    ("before", "now", "known"),
    [
        ((CHECK, CLEAN), (CHECK, CLEAN), ((True,) * 6, ())),
        ((file_of(WRONG),), (MOVED,), ((True,),)),
        ((file_of(WRONG),), (replace(MOVED, path=Path("liby.so")),), ((False,),)),
        ((file_of(WRONG),), (replace(MOVED, arch=CLEAN.arch),), ((False,),)),
        (
            (file_of(WRONG),),
            (file_of(replace(WRONG, where=f"{WRONG.function}+0x80")),),
            ((True,),),
        ),  # code was put before it
        ((file_of(WRONG),), (file_of(replace(WRONG, function="other")),), ((False,),)),
        ((file_of(WRONG),), (file_of(replace(WRONG, instruction="pop rbx")),), ((False,),)),
        ((file_of(WRONG),), (TWICE,), ((True, False),)),  # of two that are alike one is new
        ((ODD_FILE,), (ODD_FILE,), ((True,),)),
    ],
)
def test_a_finding_is_known_wherever_its_file_lies_and_its_code_has_moved(
    tmp_path: Path, before: tuple[FileCheck, ...], now: tuple[FileCheck, ...], known: tuple[tuple[bool, ...], ...]
) -> None:
    assert known_in(baseline(tmp_path, *before), now) == known


@pytest.mark.parametrize(
    ("before", "now", "options", "gone"),
    [
        ((CHECK, CLEAN), (CHECK, CLEAN), ALL, []),
        ((TWICE,), (file_of(WRONG),), ALL, ["crc32_z+0x4"]),
        ((file_of(WRONG, RESTORED, NO_ROW),), (file_of(RESTORED),), ALL, ["crc32_z+0x4", "inflate+0x0"]),
        ((file_of(WRONG, RESTORED, NO_ROW),), (file_of(RESTORED),), CheckOptions(functions=("inf*",)), ["inflate+0x0"]),
        ((file_of(WRONG, RESTORED, NO_ROW),), (DEBUG,), CheckOptions(tables=("debug_frame",)), []),
        ((file_of(WRONG, RESTORED, NO_ROW),), (DEBUG,), ALL, ["crc32_z+0x4", "inflate+0x0"]),
        ((file_of(WRONG, RESTORED, NO_ROW),), (CLEAN,), ALL, []),
    ],
)
def test_what_is_gone_is_named_where_it_was_looked_for(
    tmp_path: Path,
    before: tuple[FileCheck, ...],
    now: tuple[FileCheck, ...],
    options: CheckOptions,
    gone: list[str],
) -> None:
    said = gone_from(baseline(tmp_path, *before), now, options)
    assert [sentence.split(" (")[0] for sentence in said] == [f"libz.so.1: {where}" for where in gone]


def test_a_baseline_has_one_order(tmp_path: Path) -> None:
    turned = replace(CHECK, findings=tuple(reversed(CHECK.findings)))
    assert baseline_text((CHECK, CLEAN)) == baseline_text((CLEAN, turned))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no baseline"),
        ("[]", "is no baseline"),
        ('{"schema": 2, "findings": [{"file": "a"}]}', "is no baseline"),
        ('{"schema": 1}', "of another version"),
        (None, "cannot be read: No such file"),
    ],
)
def test_what_is_no_baseline_is_said(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "base.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_baseline(path)


# The page of a check in a real browser: it answers, filters, and opens findings at the instruction.


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


FOUND, SHOWN = ".finding:visible", ".functions tbody tr:visible"
WALKS: Mapping[str, Sequence[tuple[str, Walk]]] = {
    "it answers and tells everything": [
        (
            "",
            [
                ("says", ".answer", REPORT.answer),
                *(
                    ("says", "body", said)
                    for said in (
                        "x.o: at offset 0x0: no",
                        "libz.so.1: f+0x4 was wrong",
                        "fell off the function's end 3",
                    )
                ),
                *(("count", ".finding", 6), ("count", ".functions tbody tr", 4)),
                ("count", ".s-known", 2),  # the finding, and its mark beside the function
            ],
        )
    ],
    "the filter chooses and is in the address": [
        (
            "",
            [
                *(("fill", "input[name=function]", "crc*"), ("count", FOUND, 3), ("count", SHOWN, 1)),
                *(("select_option", "select[name=evidence]", "static"), ("count", FOUND, 1)),
                ("is", "location.hash", "#function=crc*&evidence=static"),
                ("click", "button[type=reset]"),
                ("wait_for_function", "document.querySelectorAll('.finding:not([hidden])').length === 6"),
                *(("select_option", "select[name=only]", "part"), ("count", SHOWN, 3)),
            ],
        ),
        ("#severity=note", [("count", FOUND, 1)]),
    ],
    "a finding opens from its function and from a link": [
        (
            "",
            [
                ("click", ".functions tbody tr >> nth=1 >> a >> nth=0"),
                ("wait_for_selector", ".finding:focus-within"),
                ("says", ".finding:focus-within", "no row covers this instruction"),
            ],
        ),
        ("#finding-0-0", [("says", "#finding-0-0[open]", ".cfi_def_cfa_offset 0x10")]),  # which the baseline knows
    ],
    "of several files each is listed, and leads to its findings by their weight": [
        (
            "",
            [
                ("count", ".files tbody tr", 2),
                ("says", ".files tbody tr >> nth=0", "1 known"),
                ("click", ".files tbody tr >> nth=0 >> .s-error"),
                ("wait_for_selector", ".finding:focus-within"),
                ("says", ".finding:focus-within .chip", "error"),
                ("click", ".files tbody tr >> nth=1 >> a"),
                ("is", "location.hash", "#file-1"),
                ("count", "#file-1 .finding", 0),
            ],
        )
    ],
    "new findings stand open with what comes of them": [
        (
            "",
            [
                ("count", ".finding[open]", 4),  # two are known, or only noted
                ("says", ".finding[open] .stacks >> nth=0", "inflate < caller < main"),
                ("says", ".finding[open] .stacks >> nth=0", "inflate < nothing more"),
            ],
        )
    ],
}


@pytest.mark.parametrize("name", WALKS)
def test_the_page_does_what_a_reader_asks(page_file: Path, name: str) -> None:
    for fragment, steps in WALKS[name]:
        with opened(page_file, fragment=fragment) as page:
            walk(page, steps)


def test_a_phone_scrolls_only_down(tmp_path: Path) -> None:
    check = replace(CHECK, path=Path("lib" + 90 * "z"), functions=(replace(CHECK.functions[0], name=90 * "f"),))
    path = tmp_path / "page.html"
    path.write_text(check_html(CheckReport((reported(check),))), encoding="utf-8")
    opens = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
    with opened(path, **PHONE) as page:
        walk(page, [("evaluate", opens), SCROLLS_ONLY_DOWN])


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
    built = corpus.built("leaf_call", arch, "keystone")
    symbol = built.image.symbol_named("leaf")
    assert symbol is not None
    function = FunctionCheck("leaf", symbol.address, symbol.address + symbol.size, 1)
    check = replace(CHECK, path=built.path, arch=ARCHES[arch], functions=(function,))
    listed = instructions_around(check, function, replace(WRONG, pc=symbol.address, instruction="nothing of the kind"))
    assert listed == ()  # another file than the one that was checked
    first = built.image.bytes_at(symbol.address, 16)
    text = disassemble(built.image.isa_at(symbol.address), first, symbol.address)
    listed = instructions_around(check, function, replace(WRONG, pc=symbol.address, instruction=text))
    assert (listed[0].label, listed[0].text, listed[0].mark) == ("leaf+0x0", text, "here")
    assert len(listed) > 1 and not any(line.mark for line in listed[1:])


def test_the_lines_around_a_finding_are_those_of_its_source(tmp_path: Path) -> None:
    source = tmp_path / "a.S"
    source.write_text("".join(f"line\t{number}\n" for number in range(1, 31)))
    beside = replace(CHECK, path=tmp_path / "a.o")
    finding = replace(WRONG, source=str(source), line=9, place=SourcePlace(str(source), 8, 1, "line 8"))
    (lines,) = sources_around(beside, finding)
    assert [line.label for line in lines] == [str(number) for number in range(4, 14)]
    assert [(line.text, line.mark) for line in lines if line.mark] == [("line    8", "changed"), ("line    9", "here")]
    for missing in (replace(finding, line=31), replace(finding, source="no.S", place=None), replace(WRONG, line=0)):
        assert list(sources_around(beside, missing)) == []
    assert list(sources_around(replace(CHECK, path=tmp_path / "elsewhere" / "a.o"), finding)) == [], "another's file"


def test_the_lines_around_a_finding_show_its_correction(tmp_path: Path) -> None:
    source, macros = tmp_path / "a.S", tmp_path / "macros.h"
    source.write_text("".join(f"line {number}\n" for number in range(1, 31)))
    macros.write_text("first\n old 8 // said\nlast\n")
    use = SourcePlace(str(source), 8, 1, "USE", "USE", str(macros), 2, "old 8 // said")
    edits = (SourceEdit(str(macros), 2, 2, "old 8", "new 16", use), SourceEdit(str(source), 20, 1, "", " more\n"))
    assert WRONG.repair is not None
    finding = replace(WRONG, source=str(source), line=9, place=use, repair=replace(WRONG.repair, edits=edits))
    in_macro, in_source = sources_around(replace(CHECK, path=tmp_path / "a.o"), finding)
    assert [(line.label, line.text, line.mark) for line in in_macro] == [
        ("1", "first", ""),
        ("2", " old 8 // said", "old"),
        ("+", " new 16 // said", "new"),
        ("3", "last", ""),
    ]
    assert [(line.label, line.mark) for line in in_source] == [
        *((str(k), "here" if k == 9 else "") for k in range(5, 14)),
        ("", ""),
        *((str(k), "") for k in range(16, 20)),
        ("+", "new"),
        *((str(k), "") for k in range(20, 25)),
    ]
    changed = (replace(edits[0], old="old 7"), edits[1])  # the source, since it was checked
    finding = replace(finding, repair=replace(WRONG.repair, edits=changed))
    in_macro, _ = sources_around(replace(CHECK, path=tmp_path / "a.o"), finding)
    assert [(line.text, line.mark) for line in in_macro] == [("first", ""), (" old 8 // said", "changed"), ("last", "")]
