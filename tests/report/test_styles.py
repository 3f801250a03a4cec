"""Backtraces in the dialects that people know, on sites whose frames are known: each whole, in ``golden/outputs``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.campaign.names import true_frames
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.image import Image, LoadedImage, Symbol
from testbed.naming.symbolize import symbolize
from testbed.report.styles import STYLES, PrintedBacktrace, shown
from testbed.runs.run import run_program
from testbed.trace import Memory, Snapshot
from testbed.words.errors import NoUnwindInfo
from tests.golden.whole import golden
from tests.image.hand_made import BASE, image_of


def site(program: str, arch: str, location: str, recipe: str = "clang-O2", most: int | None = None) -> PrintedBacktrace:
    """The true frames at a place; of a walk that stops, the first ones."""
    run = run_program(PROGRAMS[program], ARCHES[arch], recipe)
    step = run.step_at(location)
    stop = NoUnwindInfo("nothing covers it") if most else None
    said = Backtrace(true_frames(run, step)[:most], stop)
    return shown(run[step], said, symbolize(run.trace.images, said), program)


def of_file(image: Image, *callers: int) -> PrintedBacktrace:
    """A walk through a file made by hand, of which only the first frame has registers."""
    frames = (Frame(FrameKind.INTERRUPTED, BASE + 4, {}), *(Frame(FrameKind.CALLER, pc, {}) for pc in callers))
    registers = {register.name: 0 for register in image.arch.registers}
    snapshot = Snapshot(image.arch, registers, Memory.of(()), (LoadedImage(image),))
    said = Backtrace(frames, NoUnwindInfo("no more"))
    return shown(snapshot, said, symbolize(snapshot.images, said))


def short_call() -> PrintedBacktrace:
    """``blx r3`` is 98 47: Thumb's short call."""
    image = image_of(symbols=(Symbol("f", BASE, 0x10, True),), arch="arm32")
    thumb, code = ARCHES["arm32"].isa_named("thumb"), bytes.fromhex("00bf00bf984700bf")
    assert thumb is not None
    segment = replace(image.segments[0], data=code + image.segments[0].data[len(code) :])
    return of_file(replace(image, segments=(segment,), isa_marks=((BASE, thumb),)), BASE + 6)


SITES: Mapping[str, Callable[[], PrintedBacktrace]] = {
    "inlined": partial(site, "inline_chain", "arm64", "leaf#2"),
    "within_a_line": partial(site, "inline_chain", "arm64", "leaf+0x4"),
    "thumb": partial(site, "inline_chain", "arm32", "leaf", "clang-thumb-O2"),
    "tail_calls": partial(site, "tail_chain", "arm64", "leaf"),
    "ambiguous": partial(site, "tail_branches", "arm64", "leaf"),
    "stopped": partial(site, "tail_branches", "arm64", "meet", most=2),
    "cxx": partial(site, "cxx_names", "x86_64", "_ZN5shape4areaEi"),
    "short_call": short_call,
    "no_name_and_no_image": lambda: of_file(image_of(symbols=(Symbol("f", BASE, 0x10, True),)), BASE + 0x80, 0x40),
}


@pytest.mark.parametrize("name", SITES)
def test_a_backtrace_is_printed_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    one = SITES[name]()
    assert json.loads("\n".join(STYLES["json"](one)))["stopped"] == (one.stopped or None)
    told = ("\n".join((f"== {style}", *lines(one), "")) for style, lines in STYLES.items())
    golden(f"styles/{name}.txt", "\n".join(told), request)
