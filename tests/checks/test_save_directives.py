"""Wrong `.save`, `.pad` and `.setfp`: what is advised, written into the source, makes it right."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path

import pytest

from testbed.arch import ARM32
from testbed.checks.check_file import check_file
from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER
from testbed.checks.model import FileCheck, FindingKind, TableFinding
from testbed.checks.options import CheckOptions
from testbed.checks.save_directives import frame_directives
from testbed.cli.table_readers import READERS
from testbed.contract.rows import AtCfa, AtRegister, Rule
from testbed.report.check_words import repair_words

pytest.importorskip("ziglang", reason="needs pip install ziglang")

# Each with the directives that are right; the calls change what is saved.
PROLOGUES = {
    "pad": ("push {r4, r5, lr}; .save {r4, r5, lr}; sub sp, #12; .pad #12", "add sp, #12; pop {r4, r5, pc}"),
    "dummy": ("push {r3, r4, r5, lr}; .save {r4, r5, lr}; .pad #4", "pop {r3, r4, r5, pc}"),
    "twice": (
        "push {r4-r7, lr}; .save {r4-r7, lr}; sub sp, #4; .pad #4; push {r8, r9}; .save {r8, r9}",
        "pop {r8, r9}; add sp, #4; pop {r4-r7, pc}",
    ),
    "fp": (
        "push {r7, lr}; .save {r7, lr}; mov r7, sp; .setfp r7, sp; sub sp, sp, r0, lsl #3",
        "mov sp, r7; pop {r7, pc}",
    ),
    "fp_above": (
        "push {r4, r7, lr}; .save {r4, r7, lr}; add r7, sp, #4; .setfp r7, sp, #4; sub sp, #20",
        "sub r3, r7, #4; mov sp, r3; pop {r4, r7, pc}",
    ),
    "fp_below": (
        "push {r4, r7, lr}; .save {r4, r7, lr}; sub sp, #4; .pad #4; mov r7, sp; .setfp r7, sp; sub sp, #24",
        "mov sp, r7; add sp, #4; pop {r4, r7, pc}",
    ),
    "floats": ("push {r4, lr}; .save {r4, lr}; vpush {d8, d9}; .vsave {d8, d9}", "vpop {d8, d9}; pop {r4, pc}"),
}
# (prologue, the directives that are right, what stands for them, what is advised)
CASES = [
    ("pad", ".pad #12", "", "add `.pad #12` behind `.save {r4, r5, lr}`"),
    ("pad", ".pad #12", ".pad #16", "write `.pad #12` for `.pad #16`"),
    ("pad", ".save {r4, r5, lr}", ".save {r4, lr}", "write `.save {r4, r5, lr}` for `.save {r4, lr}`"),
    ("pad", ".save {r4, r5, lr}", "", "add `.save {r4, r5, lr}` behind `.fnstart`"),
    ("dummy", ".pad #4", "", "add `.pad #4` behind `.save {r4, r5, lr}`"),
    ("dummy", ".pad #4", ".pad #4; .pad #8", "write `.pad #4` for `.pad #12`"),
    ("twice", ".save {r8, r9}", "", "add `.save {r8, r9}` behind `.pad #4`"),
    ("twice", ".pad #4", "", "add `.pad #4` behind `.save {r4-r7, lr}`"),
    ("fp", ".setfp r7, sp", "", "add `.setfp r7, sp` behind `.save {r7, lr}`"),
    ("fp_above", ".setfp r7, sp, #4", ".setfp r7, sp", "write `.setfp r7, sp, #4` for `.setfp r7, sp`"),
    ("fp_below", ".pad #4", "", "add `.pad #4` behind `.save {r4, r7, lr}`"),
    ("floats", ".vsave {d8, d9}", "", "add `.vsave {d8, d9}` behind `.save {r4, lr}`"),
]
ISAS = ("thumb", "arm")


def source(name: str, isa: str, old: str = "", new: str = "") -> str:
    prologue, epilogue = PROLOGUES[name]
    body = "mov r4, r0; mov r5, r1; mov r8, r0; mov r9, r1; vmov d8, r0, r1; vmov d9, r0, r1"
    saved = prologue.partition(".save")[0] + prologue
    changes = [each for each in body.split("; ") if re.split(r"[ ,]+", each)[1] in _registers(saved)]
    lines = [
        *(".syntax unified", f".{isa}", ".fpu vfpv3", ".text", ".globl f", ".type f, %function", "f:", ".fnstart"),
        *(each for each in prologue.replace(old, new, 1).split("; ") if each),
        *(each for call in ("first", "second") for each in (*changes, f"bl {call}")),
        *(*epilogue.split("; "), ".fnend", ".size f, .-f"),
    ]
    return "\n".join(lines) + "\n"


def _registers(prologue: str) -> set[str]:
    """The registers that are pushed."""
    found = set[str]()
    for low, high in re.findall(r"([rd]\d+)(?:-([rd]\d+))?", prologue):
        found |= {f"{low[0]}{k}" for k in range(int(low[1:]), int((high or low)[1:]) + 1)}
    return found


def checked(folder: Path, text: str) -> FileCheck:
    (folder / "code.S").write_text(text, encoding="utf-8")
    return check_file(folder / "code.S", CheckOptions(arch="arm32", runs=50, steps=200), READERS)


def advice(finding: TableFinding) -> str:
    return repair_words(finding)


def repaired(text: str, finding: TableFinding) -> str:
    """The source with the advice in it."""
    repair = finding.repair
    assert repair is not None
    lines = text.splitlines()
    new = [*repair.directives]
    if repair.replaced:
        at = lines.index(repair.replaced[0]) if repair.replaced[0] in lines else _first_pad(lines)
        gone = (
            {*repair.replaced} if repair.replaced[0] in lines else {each for each in lines if each.startswith(".pad")}
        )
        return "\n".join([*lines[:at], *new, *(each for each in lines[at:] if each not in gone)]) + "\n"
    if repair.place.startswith("behind"):
        at = lines.index(repair.place.split("`")[1]) + 1
        return "\n".join([*lines[:at], *new, *lines[at:]]) + "\n"
    assert repair.place == "before f"
    (end,) = repair.later
    assert (end.where, end.directives) == ("the end of f", (".fnend",))
    at, last = lines.index("f:"), lines.index(".size f, .-f")
    return "\n".join([*lines[:at], *new, *lines[at:last], *end.directives, *lines[last:]]) + "\n"


def _first_pad(lines: list[str]) -> int:
    return next(at for at, line in enumerate(lines) if line.startswith(".pad"))


@pytest.mark.parametrize(("name", "isa"), list(zip(PROLOGUES, cycle(ISAS), strict=False)))
def test_right_directives_are_no_finding(tmp_path: Path, name: str, isa: str) -> None:
    assert not checked(tmp_path, source(name, isa)).findings


@pytest.mark.parametrize(("case", "isa"), list(zip(CASES, cycle(ISAS), strict=False)))
def test_a_wrong_directive_is_one_finding_and_its_advice_repairs_the_source(
    tmp_path: Path, case: tuple[str, str, str, str], isa: str
) -> None:
    name, old, new, said = case
    text = source(name, isa, old, new)
    (finding,) = checked(tmp_path, text).findings
    assert (finding.kind, finding.table) == (FindingKind.WRONG_ROW, ".ARM.exidx")
    assert advice(finding) == said
    assert finding.repair is not None
    assert finding.repair.repaired == finding.instructions > 0
    assert not checked(tmp_path, repaired(text, finding)).findings


@pytest.mark.parametrize("without", [".fnstart .fnend", ".cantunwind"])
def test_a_function_of_which_nothing_is_said_is_described(tmp_path: Path, without: str) -> None:
    text = "\n".join(line for line in source("pad", "thumb").splitlines() if not line.startswith((".save", ".pad")))
    if without == ".cantunwind":
        text = text.replace(".fnstart", ".fnstart\n.cantunwind")
    else:
        text = text.replace(".fnstart\n", "").replace(".fnend\n", "")
    (finding,) = checked(tmp_path, text + "\n").findings
    described = "`.save {r4, r5, lr}` and `.pad #12`"
    if without == ".cantunwind":
        assert (finding.kind, advice(finding)) == (FindingKind.CANNOT_UNWIND, f"write {described} for `.cantunwind`")
    else:
        assert finding.kind is FindingKind.NO_ROW
        assert advice(finding) == (
            "add `.fnstart`, `.save {r4, r5, lr}` and `.pad #12` before f, and `.fnend` before the end of f"
        )
    assert not checked(tmp_path, repaired(text, finding)).findings


def test_a_frame_that_differs_from_call_to_call_has_no_advice(tmp_path: Path) -> None:
    text = source("pad", "thumb").replace("bl second", "push {r0, r1}\nbl second\nadd sp, #8")
    found = checked(tmp_path, text).findings
    assert found
    assert all(finding.repair is None for finding in found)


@pytest.mark.parametrize(
    "rules",
    [
        {"r4": AtCfa(-8), "r5": AtCfa(-8)},
        {"r4": AtCfa(-32)},
        {"r4": AtRegister("sp", 4)},
        {"pc": AtCfa(-4)},
    ],
)
def test_what_no_directives_say_is_refused(rules: dict[str, Rule]) -> None:
    with pytest.raises(ValueError, match=r"no directive|lies where|below SP"):
        frame_directives({CFA_REGISTER: "sp", CFA_OFFSET: 16, **rules}, ARM32)


def test_registers_that_no_one_push_saves_are_two_directives() -> None:
    rules = {"lr": AtCfa(-8), "r4": AtCfa(-4), "d9": AtCfa(-24), "d8": AtCfa(-16)}
    state = {CFA_REGISTER: "sp", CFA_OFFSET: 24, **rules}
    assert frame_directives(state, ARM32) == (".save {r4}", ".save {lr}", ".vsave {d8}", ".vsave {d9}")
