"""Functions without a row are one finding where they are many, and a baseline knows each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from testbed.checks.alike import MANY_ALIKE, as_one, divided, group_findings
from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, FindingKind, HowKnown, Repair, TableFinding
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.report.check_baseline import baseline_text, gone_from, read_baseline, told_beside
from testbed.report.check_json import CheckForm
from testbed.report.check_report import CheckReport, reported
from testbed.report.check_sarif import sarif_data
from testbed.report.check_words import repair_words, sentence
from testbed.report.junit import check_junit
from testbed.store.codec import encoded

BARE = "{0}:\n pushq %rdi\n popq %rax\n ret\n"
RIGHT = "{0}: .cfi_startproc\n movl $1, %eax\n ret\n .cfi_endproc\n"
HALF = "{0}: .cfi_startproc\n movl $1, %eax\n .cfi_endproc\n addl $1, %eax\n ret\n"


def checked(folder: Path, bare: list[str], *, half: int = 1) -> FileCheck:
    """A source with functions that have no row, one that has, and some that have rows in part."""
    bodies = {"right": RIGHT, **dict.fromkeys(bare, BARE), **{f"half{k}": HALF for k in range(half)}}
    head = ".globl {0}\n.type {0}, @function\n"
    code = "".join(f"{(head + body).format(name)}.size {name}, . - {name}\n" for name, body in bodies.items())
    path = folder / "code.S"
    path.write_text(f".text\n{code}")
    return check_file(path, CheckOptions(runs=20, steps=200), READERS)


def test_functions_without_a_row_are_one_finding_of_its_own_words(tmp_path: Path) -> None:
    names = [f"bare{k}" for k in range(8)]
    several, half = sorted(checked(tmp_path, names).findings, key=lambda each: not each.alike)
    assert [each.function for each in several.each] == names
    assert (several.kind, several.evidence) == (FindingKind.NO_ROW, HowKnown.EXECUTED)
    assert (several.functions, several.instructions, several.function, several.line) == (8, 24, "bare0", 12)
    assert half.function == "half0" and not half.alike, "a row that ends early is a cause of its own"
    named = "bare0, bare1, bare2, bare3, bare4, bare5 and 2 more"
    said = sentence(several)
    assert f"no row covers 8 functions that are called: {named}:" in said
    assert "23 more instructions in 7 more functions by the same cause" in said
    assert repair_words(several) == (
        "add `.cfi_startproc` before the first instruction of each, and `.cfi_endproc` before the end of each"
    )
    assert several.repair is not None and several.repair.repaired == 16, "of three, the one behind the push needs more"


def test_a_few_are_told_one_by_one(tmp_path: Path) -> None:
    found = checked(tmp_path, [f"bare{k}" for k in range(MANY_ALIKE - 1)], half=0).findings
    assert [each.functions for each in found] == [1] * (MANY_ALIKE - 1)


def test_a_baseline_knows_each_function(tmp_path: Path) -> None:
    names = [f"bare{k}" for k in range(8)]
    before = checked(tmp_path, names, half=0)
    (tmp_path / "known.json").write_text(baseline_text((before,)))
    known = read_baseline(tmp_path / "known.json")
    assert len(known) == 8
    assert [r.known for r in told_beside(known, (before,))[0].findings] == [True]

    after = checked(tmp_path, [*names[1:], "later"], half=0)
    (file,) = told_beside(known, (after,))
    said = {r.known: [each.function for each in r.finding.each] for r in file.findings}
    assert said == {True: names[1:], False: ["later"]}
    assert [r.finding.repair and r.finding.repair.place for r in file.findings if not r.known] == ["before it"]
    assert ["bare0" in gone for gone in gone_from(known, (after,), CheckOptions())] == [True]
    report = CheckReport((file,))
    assert (report.failing, report.status) == (1, 1)
    assert "8 of 9 functions have code without a row" in report.answer


def test_every_format_tells_it_of_all_these_functions(tmp_path: Path) -> None:
    names = [f"bare{k}" for k in range(8)]
    report = CheckReport((reported(checked(tmp_path, names, half=0)),))
    (finding,) = encoded(CheckForm, report)["files"][0]["findings"]
    assert [each["function"] for each in finding["alike"]] == names
    assert len({each["fingerprint"] for each in finding["alike"]}) == 8
    (result,) = sarif_data(report)["runs"][0]["results"]
    assert [each["message"]["text"] for each in result["relatedLocations"]] == names[1:]
    lines = [each["physicalLocation"]["region"]["startLine"] for each in result["relatedLocations"]]
    assert lines == [each.line for each in report.files[0].findings[0].finding.each][1:]
    cases = ElementTree.fromstring(check_junit(report)).findall(".//testcase")
    assert {case.get("name"): case.find("failure") is not None for case in cases} == {
        "right": False,
        **dict.fromkeys(names, True),
    }


def test_advice_that_differs_is_the_first_one_s() -> None:
    def finding(name: str, *directives: str) -> TableFinding:
        repair = Repair(directives, "", 2, place=f"before {name}")
        kind = FindingKind.CANNOT_UNWIND
        return TableFinding(kind, ".ARM.exidx", name, 0, name, "nop", (), HowKnown.EXECUTED, 2, repair)

    alike = [finding(name, ".save {lr}") for name in "abcde"]
    (one,) = group_findings(alike)
    assert one.repair is not None and (one.repair.repaired, one.repair.place) == (
        10,
        "before the first instruction of each",
    )
    (one,) = group_findings([*alike[:-1], finding("e", ".save {r4, lr}")])
    assert one.repair == alike[0].repair
    parts = divided(one, [True, False, True, False, True])
    assert [([each.function for each in part.each], known) for part, known in parts] == [
        (["b", "d"], False),
        (["a", "c", "e"], True),
    ]
    assert as_one(alike[:1]) is alike[0]
    assert replace(one, alike=()).functions == 1
