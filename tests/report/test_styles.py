"""Backtraces in the dialects that people know, on sites whose frames are known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.names import true_frames
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.image import LoadedImage, Symbol
from testbed.naming.symbolize import symbolize
from testbed.report.styles import STYLES, PrintedBacktrace, shown
from testbed.runs.run import Run, run_program
from testbed.trace import Memory, Snapshot
from testbed.words.errors import NoUnwindInfo
from tests.image.hand_made import BASE, image_of


@cache
def run_of(program: str, arch: str, recipe: str = "clang-O2") -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)


def site(program: str, arch: str, location: str, recipe: str = "clang-O2") -> PrintedBacktrace:
    run = run_of(program, arch, recipe)
    step = run.step_at(location)
    said = Backtrace(true_frames(run, step), None)
    return shown(run[step], said, symbolize(run.trace.images, said), program)


def lines(style: str, one: PrintedBacktrace) -> list[str]:
    return list(STYLES[style](one))


def pcs(one: PrintedBacktrace) -> list[int]:
    return [frame.pc or 0 for frame in one.physical]


def test_gdb() -> None:
    one = site("inline_chain", "arm64", "leaf#2")
    assert [re.sub(r"0x0{10}[0-9a-f]{6}", "PC", line) for line in lines("gdb", one)] == [
        "#0  leaf () at inline_chain.c:18",
        "#1  PC in level2 () at inline_chain.c:41",
        "#2  level1 () at inline_chain.c:46",
        "#3  worker () at inline_chain.c:55",
        "#4  PC in main () at inline_chain.c:64",
        "#5  PC in _start ()",
    ]
    second = lines("gdb", site("inline_chain", "arm64", "leaf+0x4"))[0]
    assert second.startswith("#0  0x") and " in leaf () at inline_chain.c:18" in second, "not at the start of its line"


def test_gdb_says_why_a_walk_stopped_and_what_is_ambiguous() -> None:
    run = run_of("tail_branches", "arm64")
    step = run.step_at("meet")
    said = Backtrace(true_frames(run, step)[:2], NoUnwindInfo("nothing covers it"))
    printed = lines("gdb", shown(run[step], said, symbolize(run.trace.images, said)))
    assert printed[2] == "Backtrace stopped: NoUnwindInfo: nothing covers it"
    assert printed[3].startswith("(ambiguous tail calls: several chains of tail calls lead there: ")
    assert printed[3].endswith(" above meet)")


def test_glibc_has_the_linkers_name_the_hexadecimal_offset_and_the_return_address() -> None:
    one = site("cxx_names", "x86_64", "_ZN5shape4areaEi")
    first, second, *_ = lines("glibc", one)
    here, back = pcs(one)[:2]
    assert first == f"./cxx_names(_ZN5shape4areaEi+0x0) [{here:#x}]"
    assert re.fullmatch(rf"\./cxx_names\(_ZN5shape3Box6volumeEi\+0x[0-9a-f]+\) \[{back:#x}\]", second)
    assert len(lines("glibc", one)) == len(one.physical), "inlined calls are not its business"


def test_libunwind() -> None:
    one = site("tail_chain", "arm64", "leaf")
    printed = lines("libunwind", one)
    assert printed[0] == f"{pcs(one)[0]:#x}: (leaf+0x0)"
    assert [re.sub(r".*\((\w+)\+0x[0-9a-f]+\)$", r"\1", line) for line in printed] == ["leaf", "last", "main", "_start"]


@pytest.mark.parametrize(("arch", "recipe", "digits"), [("arm64", "clang-O2", 16), ("arm32", "clang-thumb-O2", 8)])
def test_android_has_all_registers_and_a_callers_pc_is_its_call(arch: str, recipe: str, digits: int) -> None:
    one = site("inline_chain", arch, "leaf", recipe)
    printed = lines("android", one)
    split = printed.index("backtrace:")
    cells = re.findall(rf"(\w+) +([0-9a-f]{{{digits}}})(?= |$)", "  ".join(printed[:split]))
    link = one.snapshot.arch.link or ""
    assert {
        ("lr" if n == link else n): f"{one.snapshot.registers[n]:0{digits}x}" for n in ("pc", "sp", link)
    }.items() <= dict(cells).items()
    assert len(cells) > 15
    first, second, *_ = printed[split + 1 :]
    assert first == f"      #00 pc {pcs(one)[0]:0{digits}x}  inline_chain (leaf+0)"
    symbol = one.snapshot.images[0].image.symbol_named("worker")
    assert symbol is not None
    call = pcs(one)[1] - 4  # a `bl` has four bytes on both
    assert second == f"      #01 pc {call:0{digits}x}  inline_chain (worker+{call - symbol.address})"


def test_android_finds_a_call_of_two_bytes_too() -> None:
    """``blx r3`` is 98 47: Thumb's short call."""
    image = image_of(symbols=(Symbol("f", BASE, 0x10, True),), arch="arm32")
    thumb = ARCHES["arm32"].isa_named("thumb")
    assert thumb is not None
    code = bytes.fromhex("00bf 00bf 9847 00bf".replace(" ", ""))
    segment = replace(image.segments[0], data=code + image.segments[0].data[len(code) :])
    image = replace(image, segments=(segment,), isa_marks=((BASE, thumb),))
    frames = (Frame(FrameKind.INTERRUPTED, BASE, {}), Frame(FrameKind.CALLER, BASE + 6, {}))
    registers = {register.name: 0 for register in ARCHES["arm32"].registers}
    snapshot = Snapshot(ARCHES["arm32"], registers, Memory.of(()), (LoadedImage(image),))
    said = Backtrace(frames, None)
    assert lines("android", shown(snapshot, said, symbolize(snapshot.images, said)))[-1] == (
        f"      #01 pc {BASE + 4:08x}  hand-made (f+4)"
    )


def test_ios_marks_inlined_calls_and_has_decimal_offsets() -> None:
    one = site("inline_chain", "arm64", "leaf#2")
    printed = lines("ios", one)
    assert printed[0] == f"0   {'inline_chain':<30}\t{pcs(one)[0]:#018x} leaf + 0 (inline_chain.c:18)"
    assert re.fullmatch(
        r"1   inline_chain +\t0x[0-9a-f]{16} level2 \+ \d+ \[inlined\] \(inline_chain\.c:41\)", printed[1]
    )
    assert re.fullmatch(r"3   inline_chain +\t0x[0-9a-f]{16} worker \+ \d+ \(inline_chain\.c:55\)", printed[3])


def test_perf_script() -> None:
    one = site("inline_chain", "arm64", "leaf#2")
    printed = lines("perf", one)
    assert printed[0] == f"\t{pcs(one)[0]:>16x} leaf+0x0 (inline_chain)"
    assert printed[1] == f"\t{pcs(one)[1]:>16x} level2 (inlined)"
    assert re.fullmatch(r"\t +[0-9a-f]+ worker\+0x[0-9a-f]+ \(inline_chain\)", printed[3])


def test_lldb_marks_inlined_calls_and_reconstructed_ones() -> None:
    printed = lines("lldb", site("tail_chain", "arm64", "leaf"))
    assert printed[0] == "* thread #1"
    assert re.fullmatch(r"  \* frame #0: 0x[0-9a-f]{16} tail_chain`leaf at tail_chain\.c:\d+:\d+", printed[1])
    assert [line.endswith(" [artificial]") for line in printed[1:]] == [False, False, True, True, False, False]
    inlined = lines("lldb", site("inline_chain", "arm64", "leaf#2"))[2]
    assert re.search(
        r"frame #1: 0x[0-9a-f]+ inline_chain`worker \[inlined\] level2 at inline_chain\.c:41:\d+$", inlined
    )


def test_json_has_everything() -> None:
    one = site("tail_branches", "arm64", "leaf")
    data = json.loads("".join(lines("json", one)))
    assert [(f["function"], f["origin"]) for f in data["frames"]] == [
        *(("leaf", "PHYSICAL"), ("meet", "PHYSICAL"), ("main", "PHYSICAL"), ("_start", "PHYSICAL"))
    ]
    assert data["frames"][1]["file"] == "tail_branches.c"
    assert data["frames"][1]["is_return_address"] is True
    ambiguous = [one for one in data["unsure"] if one["certainty"] == "AMBIGUOUS"]
    assert sorted(ambiguous[0]["candidates"]) == [["choose", "left"], ["choose", "right"]]
    assert data["stopped"] is None and data["problems"] == []


@pytest.mark.parametrize("style", [style for style in STYLES if style != "json"])
def test_a_frame_in_no_image_and_one_without_a_name_are_printed_too(style: str) -> None:
    image = image_of(symbols=(Symbol("f", BASE, 0x10, True),))
    frames = (
        Frame(FrameKind.INTERRUPTED, BASE + 4, {}),
        *(Frame(FrameKind.CALLER, pc, {}) for pc in (BASE + 0x80, 0x40)),
    )
    registers = {register.name: 0 for register in ARCHES["x86_64"].registers}
    snapshot = Snapshot(ARCHES["x86_64"], registers, Memory.of(()), (LoadedImage(image),))
    said = Backtrace(frames, NoUnwindInfo("no more"))
    text = "\n".join(STYLES[style](shown(snapshot, said, symbolize(snapshot.images, said))))
    assert ("f" in text and f"{BASE + 0x80:x}" in text) or "1080" in text or "107f" in text
    assert re.search(r"\b0*(0x)?0*(40|3f)\b", text)
