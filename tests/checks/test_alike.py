"""Functions without a row are one finding where they are many, and a baseline knows each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from testbed.arch import ARCHES
from testbed.checks.alike import MANY_ALIKE, as_one, divided, group_findings
from testbed.checks.check_file import check_file
from testbed.checks.consequence import between_rows, consequence_at
from testbed.checks.frame_states import StateSpan, state_of
from testbed.checks.model import FileCheck, FindingKind, HowKnown, Repair, Severity, TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.tried_function import TriedFunction, TriedPc
from testbed.checks.true_rows import ObservedRow
from testbed.cli.table_readers import READERS
from testbed.contract.rows import Offset, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.conventions import platform
from testbed.report.check_json import CheckForm
from testbed.report.check_report import CheckReport, baseline_text, gone_from, read_baseline, reported, told_beside
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


def test_the_same_mistake_in_many_functions_is_one_finding_where_no_source_is_known(tmp_path: Path) -> None:
    body = "{0}: .cfi_startproc\n pushq %rax\n nop\n popq %rax\n ret\n .cfi_endproc\n"
    path = tmp_path / "code.S"
    path.write_text(".text\n" + "".join(f".globl f{k}\n{body.format(f'f{k}')}" for k in range(MANY_ALIKE + 1)))
    found = check_file(path, CheckOptions(runs=20, steps=200), READERS).findings
    assert len(found) == MANY_ALIKE + 1, "its author corrects each"
    (several,) = group_findings([replace(each, source="", line=0) for each in found])
    assert [each.function for each in several.each] == [each.function for each in found]
    said = sentence(several)
    assert "the true CFA is %rsp+0x10 here; it is so in 6 functions: f0, f1, f2, f3, f4 and f5" in said
    assert "before the first instruction of each" not in said
    twice = sentence(replace(several, alike=(*several.each, *several.each)))
    assert "it is so in 6 functions: f0, f1, f2, f3, f4 and f5" in twice, "a function that makes it twice is one"
    other = replace(found[0], source="", things=(replace(found[0].things[0], says="CFA = rsp+0x18"),))
    assert len(group_findings([other, *(replace(each, source="") for each in found[2:])])) == MANY_ALIKE


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


# What a wrong row does to the stack that a reader shows: two callers are unwound to, one by SP, one by FP.


ERROR, WARNING = Severity.ERROR, Severity.WARNING


def at(**offsets: int) -> dict[str, Rule]:
    return {name: Offset(offset) for name, offset in offsets.items()}


def row(arch: str, cfa: tuple[str, int], rules: Mapping[str, Rule]) -> UnwindRow:
    return UnwindRow(0, 4, RegisterPlus(*cfa), rules, ARCHES[arch].return_address)


PUSHED = ("x86_64", ("rsp", 32), at(rip=-8, rbx=-16, rbp=-24))
LEAF = ("arm64", ("sp", 32), at(x19=-16, x29=-32) | {"x30": SameValue()})
LOST, SKIPPED, BEHIND = "the caller is lost", "the caller is skipped", "the caller is found, and who called it is lost"


@pytest.mark.parametrize(
    ("true", "cfa", "rules", "wrong", "severity", "what", "shown"),
    [
        (PUSHED, ("rsp", 24), {}, {"CFA"}, ERROR, LOST, "f < no code (the caller's rbx)"),
        (PUSHED, ("rsp", 40), {}, {"CFA"}, ERROR, LOST, "f < no code (the word at CFA+0x0)"),
        (PUSHED, ("rsp", 32 + 0x90), {}, {"CFA"}, ERROR, SKIPPED, "f < main"),
        (PUSHED, None, at(rip=-16), {"rip"}, ERROR, LOST, "f < no code (the caller's rbx)"),
        (PUSHED, None, {"rip": Undefined()}, {"rip"}, ERROR, LOST, "f < nobody"),
        (
            *(PUSHED, None, at(rbp=-16), {"rbp"}, ERROR),
            "the caller, which counts from rbp, is found, and who called it is lost",
            "f < caller < no code (a word that lies elsewhere)",
        ),
        (
            PUSHED,
            None,
            at(rbx=-24),
            {"rbx"},
            WARNING,
            "rbx is shown wrong in the caller",
            "f < caller (rbx wrong) < main",
        ),
        (
            *(PUSHED, None, at(rbx=-32, r12=-24), {"rbx", "r12"}, WARNING, "rbx and r12 are shown wrong in the caller"),
            "f < caller (rbx and r12 wrong) < main",
        ),
        # With a link register the caller is found, and nothing behind it.
        (LEAF, ("sp", 16), {}, {"CFA"}, ERROR, BEHIND, "f < caller < no code (a word of the caller's frame)"),
        (LEAF, None, at(x30=-16), {"x30"}, ERROR, LOST, "f < no code (the caller's x19)"),
        (LEAF, None, at(x19=-8), {"x19"}, WARNING, "x19 is shown wrong in the caller", "f < caller (x19 wrong) < main"),
    ],
)
def test_a_wrong_row(
    true: tuple[str, tuple[str, int], dict[str, Rule]],
    cfa: tuple[str, int] | None,
    rules: dict[str, Rule],
    wrong: set[str],
    severity: Severity,
    what: str,
    shown: str,
) -> None:
    arch, true_cfa, true_rules = true
    said = row(arch, cfa or true_cfa, true_rules | rules)
    found = between_rows(said, row(*true), wrong, platform(ARCHES[arch]), "f+0x4")
    assert (found.severity, found.what, found.shown) == (severity, what, shown)
    assert (found.true, found.where) == ("f < caller < main", "f+0x4")


def test_who_was_not_called_has_no_caller() -> None:
    arch, said = ARCHES["x86_64"], row("x86_64", ("rsp", 8), at(rip=-8))
    span = StateSpan(0, 4, said, state_of(said, platform(arch)), frozenset(), True)
    function = TriedFunction(platform(arch), [TriedPc(0, 4, 0, 0, ObservedRow(0, 1, 0))], [span])
    found = consequence_at(function, 0, span.state, {"rip"}, "_start")
    assert (found.severity, found.what, found.true) == (ERROR, "a caller is invented", "_start")
