"""symbolic's STACK CFI text as a referee, and our evaluator of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.referee.model import Finding
from testbed.referee.symbolic.stack_cfi import caller, evaluated, read_records
from testbed.referee.symbolic.strategy import REFEREE, Texts, find, unwind_by
from testbed.runs.judging import judge_all
from testbed.trace import Memory
from testbed.words.errors import MalformedTable, ToolCrashed, ToolHung, UnknownRegister
from unwinders import UNWINDERS

UNITS = [
    ("leaf_call", "x86_64", "keystone", "symbolic", "eh_frame"),
    ("leaf_call", "arm32", "keystone-thumb", "symbolic_debug_frame", "debug_frame"),
    ("early_return", "arm64", "keystone", "symbolic", "eh_frame"),
    ("big_frame", "x86_64", "macho-O2-nofp", "symbolic_compact", "compact_unwind"),
    ("alloca_vla", "arm64", "macho-O2", "symbolic_compact", "compact_unwind"),
    ("alloca_vla", "arm32", "clang-O2", "symbolic_debug_frame", "debug_frame"),
    ("signal", "x86_64", "keystone", "symbolic", "eh_frame"),
]
needs_symbolic = pytest.mark.skipif(find() is None, reason="PyPI package: symbolic")
X86, ARM64 = ARCHES["x86_64"], ARCHES["arm64"]


@needs_symbolic
@pytest.mark.parametrize(("program", "arch", "recipe", "name", "ours"), UNITS)
def test_where_it_is_exact_it_says_what_our_reader_says(
    program: str, arch: str, recipe: str, name: str, ours: str
) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    unwinder = next(each for each in REFEREE.unwinders if each.name == name)
    assert unwinder.applies_to(run.built.image)
    verdicts = judge_all(run, unwinder)
    assert any(v.exact for v in verdicts)
    for step in (step for step in range(0, len(run), 7) if verdicts[step].exact):
        mine = UNWINDERS[ours].unwind(run[step])
        if not testbed.judge(run, step, mine).exact:
            continue
        assert [(f.pc, f.cfa) for f in unwinder.unwind(run[step]).frames] == [(f.pc, f.cfa) for f in mine.frames]


@needs_symbolic
@pytest.mark.parametrize("finding", REFEREE.findings, ids=lambda finding: finding.title)
def test_each_finding_shows_where_it_says(finding: Finding) -> None:
    run = testbed.run(finding.program, arch=finding.arch, recipe=finding.recipe)
    unwinder = next(each for each in REFEREE.unwinders if each.name == finding.unwinder)
    at = run.at(finding.at)
    verdict = testbed.judge(run, at, unwinder.unwind(at), unwinder)
    assert not verdict.exact
    ours = UNWINDERS["compact_unwind" if "compact" in finding.unwinder else "eh_frame"]
    correct = testbed.judge(run, at, ours.unwind(at), ours)
    assert correct.exact or not correct.outcome.lying, "the table is right there, so ours is not wrong"


TEXT = """MODULE Linux x86_64 0 a
FUNC 10 5 0 f
STACK CFI INIT 10 20 .cfa: $rsp 8 + .ra: .cfa 8 - ^
STACK CFI 14 .cfa: $rsp 16 + $rbp: .cfa -16 + ^
STACK CFI 18 $rbp: .undef
STACK CFI INIT 40 8 .cfa: $rsp 8 +
"""


def test_rules_accumulate_within_a_range() -> None:
    records = read_records(TEXT)
    assert records.rules_at(0xF) is None and records.rules_at(0x30) is None and records.rules_at(0x48) is None
    assert records.rules_at(0x13) == {".cfa": ("$rsp", "8", "+"), ".ra": (".cfa", "8", "-", "^")}
    at_14 = records.rules_at(0x14)
    assert at_14 is not None and at_14[".cfa"] == ("$rsp", "16", "+") and at_14["rbp"] == (".cfa", "-16", "+", "^")
    at_2f = records.rules_at(0x2F)
    assert at_2f is not None and at_2f["rbp"] == (".undef",) and at_2f[".ra"] == (".cfa", "8", "-", "^")


def test_a_caller_by_hand() -> None:
    memory = Memory.of([(0x100, b"".join(value.to_bytes(8, "little") for value in (0xAA, 0x1234, 0xBB)))])
    registers = {"rsp": 0x100, "rbp": 7, "rbx": 9, "rip": 0x14, "rax": 1}
    rules = read_records(TEXT).rules_at(0x14)
    assert rules is not None
    assert caller(X86, rules, registers, memory) == (0x110, 0x1234, {"rbp": 0xAA, "rbx": 9, "rsp": 0x110})
    rules = read_records(TEXT).rules_at(0x18)
    assert rules is not None
    assert "rbp" not in caller(X86, rules, registers, memory)[2]
    root = read_records(TEXT).rules_at(0x40)
    assert root is not None and caller(X86, root, registers, memory)[:2] == (0x108, None)
    d8 = {"sp": 0x100, "x30": 0x44, "d8": 1, "x19": 2, "x29": 3, "pc": 0}
    rules = {".cfa": ("sp", "0", "+"), ".ra": ("x30",)}
    assert caller(ARM64, rules, d8, memory) == (0x100, 0x44, {"x19": 2, "x29": 3, "sp": 0x100})


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("5 3 -", 2),
        ("5 3 *", 15),
        ("17 5 /", 3),
        ("17 5 %", 2),
        ("23 16 @", 16),
        ("0 1 -", (1 << 64) - 1),
        ("1 0 /", 0),
        ("$rbx 256 + ^", 0x42),
        (".cfa -8 +", 0x1F8),
    ],
)
def test_operators(words: str, value: int) -> None:
    memory = Memory.of([(0x100, bytes([0x42, 0, 0, 0, 0, 0, 0, 0]))])
    assert evaluated(X86, tuple(words.split()), {"rbx": 0}, memory, 0x200) == value


@pytest.mark.parametrize(
    ("words", "error"),
    [("+", MalformedTable), ("1 2", MalformedTable), ("^", MalformedTable), ("$xyz", MalformedTable),
     ("$rbp", UnknownRegister), ("1 " * 300, MalformedTable)],
)  # fmt: skip
def test_expressions_that_are_none(words: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluated(X86, tuple(words.split()), {}, Memory.of([]), None)


@pytest.mark.parametrize("text", ["STACK CFI INIT 1", "STACK CFI 1 .cfa: x", "STACK CFI INIT x 1 .cfa: 1"])
def test_records_that_are_none(text: str) -> None:
    with pytest.raises(MalformedTable, match=r"STACK CFI\+0x1"):
        read_records(text)


@pytest.mark.parametrize(
    ("body", "seconds", "error"), [("os._exit(3)", 60.0, ToolCrashed), ("time.sleep(60)", 1.0, ToolHung)]
)
def test_a_dead_or_hung_symbolic_is_asked_once_per_image(
    body: str, seconds: float, error: type[Exception], tmp_path: Path
) -> None:
    script = tmp_path / "tool.py"
    script.write_text(f"import os, sys, time\nos.fdopen(int(sys.argv[1])).readline()\n{body}\n")
    started = []

    def command(requests: int, replies: int) -> list[str]:
        started.append(script)
        return [sys.executable, str(script), str(requests), str(replies)]

    texts = Texts(command, seconds)
    run = testbed.run("leaf_call", arch="arm64")
    for step in (3, 4):
        said = unwind_by(texts, run[step])
        assert isinstance(said.stopped, error) and len(said.frames) == 1
    assert len(started) == 1
