"""From frames to the calls of the source: which address is looked up, tail-call chains, what is missing."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import testbed
from testbed.build.recipes import RECIPES
from testbed.campaign.names import true_frames
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image, LoadedImage, Symbol, describe, read_image
from testbed.image.debug import debug_info
from testbed.image.debug.functions import CallSite, CallTarget, Function
from testbed.naming import symbolize as symbolizing
from testbed.naming.symbolize import Origin, name_of, names_at, symbolize, with_names, with_places
from testbed.words.errors import DebugInfoError, UsageError
from tests import corpus
from tests.corpus import tool
from tests.image.debugged import built
from tests.image.hand_made import BASE, function, image_of, told
from unwinders import UNWINDERS

F, G = Symbol("f", BASE, 0x10, True), Symbol("g", BASE + 0x10, 0x10, True)
BIAS = 0x1800  # one that differs whether taken off or flipped in


def interrupted(pc: int) -> Frame:
    return Frame(FrameKind.INTERRUPTED, pc, {})


def caller(pc: int) -> Frame:
    return Frame(FrameKind.CALLER, pc, {})


def names(image: Image, *frames: Frame, bias: int = 0) -> list[str]:
    return [str(frame) for frame in symbolize((LoadedImage(image, bias),), frames).frames]


def test_a_return_address_is_looked_up_at_its_call_and_an_interrupted_pc_as_it_is() -> None:
    """A call can be a function's last instruction; and a signal can interrupt a function's first one."""
    image = image_of(symbols=(F, G))
    assert names(image, interrupted(BASE + 0x10)) == ["g"]
    assert names(image, interrupted(BASE), caller(BASE + 0x10)) == ["f", "f"]
    signal_frame = interrupted(BASE + 0x10)  # the walk gives a frame that a signal interrupted this kind
    assert names(image, interrupted(BASE), signal_frame, caller(BASE + 0x12)) == ["f", "g", "g"]
    assert [name_of((LoadedImage(image),), BASE + 0x10, caller=c).function for c in (True, False)] == ["f", "g"]
    for named in (names_at((LoadedImage(image),), BASE + 0x10)[-1], name_of((LoadedImage(image),), BASE + 0x10)):
        assert (named.function, named.caller, named.physical) == ("g", False, 0)


def test_the_load_bias_is_taken_off_and_the_offset_is_from_the_symbol() -> None:
    frame = name_of((LoadedImage(image_of(symbols=(F, G)), BIAS),), BIAS + BASE + 0x14)
    assert (frame.function, frame.offset, frame.module_offset) == ("g", 4, BASE + 0x14)
    assert (frame.place, frame.entry) == ("g+0x4", BIAS + BASE + 0x10)


SENTENCE = f"frame 1: {BASE + 0x10:#x}, not {BASE + 0x14:#x}"
REST = f"; .eh_frame+{BASE:#x}, #{BASE:#x}, 0x7fff0000"


@pytest.mark.parametrize(
    ("named", "bias", "text", "said"),
    [
        # an instruction names the address that has a name
        (with_names, 0, f"bl #{BASE + 0x10:#x}", "bl g"),
        (with_names, 0, f"call {BASE + 0x14:#x}", "call g+0x4"),
        *((with_names, 0, text, text) for text in ("cmp x0, #0x10", "bl #0x7fff0000")),
        (with_names, BIAS, f"bl #{BASE + BIAS + 0x14:#x}", "bl g+0x4"),
        # and so does a sentence
        (with_places, 0, SENTENCE + REST, "frame 1: g, not g+0x4" + REST),
        (partial(with_places, caller=True), 0, SENTENCE + REST, "frame 1: f+0x10, not g+0x4" + REST),
        (with_places, BIAS, f"at {BASE + BIAS + 0x14:#x}", "at g+0x4"),
        (partial(with_places, caller=True), BIAS, f"at {BASE + BIAS + 0x10:#x}", "at f+0x10"),
    ],
)
def test_run_time_addresses_in_a_text_are_named(named: Callable[..., str], bias: int, text: str, said: str) -> None:
    assert named((LoadedImage(image_of(symbols=(F, G)), bias),), text) == said


def test_a_function_begins_where_it_is_called() -> None:
    """GCC's debug information begins behind the room to patch at a function's entry; a piece is no function."""
    info = (function("f", BASE + 8, 0x8), function("g", BASE + 0x18, 0x8))
    image = image_of(*info, symbols=(F, replace(G, name="g.cold")))
    images = (LoadedImage(image),)
    assert [name_of(images, BASE + at).entry for at in (0, 8)] == [BASE, BASE]
    assert [name_of(images, BASE + at).function for at in (0, 8)] == ["f", "f"]
    assert name_of(images, BASE + 0x18).entry == BASE + 0x18


def test_a_stripped_file_gives_file_and_offset_and_no_image_gives_the_address(tmp_path: Path) -> None:
    whole = built("inline_chain", "arm64", "clang-O2")
    subprocess.run(
        [tool("llvm-strip", "llvm"), "--strip-all", whole.path, "-o", tmp_path / "stripped"],
        check=True,
        capture_output=True,
    )
    image = read_image(tmp_path / "stripped")
    assert image.symbols == ()
    assert names(image, interrupted(whole.entry), caller(0x40)) == [f"stripped+{whole.entry:#x}", "0x40"]


def test_inlined_calls_come_innermost_first_each_with_its_own_line() -> None:
    image = built("inline_chain", "arm64", "clang-O2")
    place = image.symbol_named("at_level2")
    frames = symbolize((LoadedImage(image),), [interrupted(place.address)]).frames
    assert [(f.function, f.origin.name) for f in frames] == [
        *(("level2", "INLINED"), ("level1", "INLINED"), ("worker", "PHYSICAL"))
    ]
    text = {str(f.line).removeprefix("./"): f for f in frames}
    source = (Path(__file__).parents[2] / "programs" / "inline_chain.c").read_text().splitlines()
    wanted = ("HERE(at_level2)", "level2(x)", "level1(x)")
    for (place_text, _), content in zip(text.items(), wanted, strict=True):
        assert content in source[int(place_text.partition(":")[2]) - 1]


# Chains of tail calls. Each function is 0x10 long; main is called by nobody and calls the first one.


def test_a_caller_in_another_image_is_not_asked() -> None:
    one, other = image_of(symbols=(F,)), image_of(symbols=(G,))
    said = symbolize(
        (LoadedImage(one), LoadedImage(other, 0x10000)), [interrupted(BASE), caller(0x10000 + BASE + 0x14)]
    )
    assert [f.function for f in said.frames] == ["f", "g"]
    assert all(f.origin is Origin.PHYSICAL for f in said.frames)
    assert said.unsure == ()


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_a_slid_mach_o_file_names_every_executed_address_by_its_nearest_symbol(arch: str) -> None:
    """Beside llvm-nm: the symbol at or below, in link-time addresses; the names lose one underscore."""
    found = next(name for name in RECIPES if name.startswith("macho-") and "O2" in name)
    run = corpus.ran("function_pointers", arch, found)
    [loaded] = run.trace.images
    assert loaded.bias, "this run has no slide"
    listed = subprocess.run(
        [tool("llvm-nm", "llvm"), run.built.path], capture_output=True, text=True, check=True
    ).stdout
    code = sorted((int(at, 16), name) for at, kind, name in re.findall(r"^(\w{16}) ([tT]) (.*)$", listed, re.M))
    pcs = sorted(set(run.trace.pc.tolist()))
    assert len(pcs) > 50
    for pc in pcs:
        named = name_of(run.trace.images, pc)
        start, name = [one for one in code if one[0] <= pc - loaded.bias][-1]
        assert named.symbol in {n.removeprefix("_") for at, n in code if at == start}, f"{pc:#x}: {name}"
        assert (named.offset, named.entry) == (pc - loaded.bias - start, start + loaded.bias)
    names_there = [str(f) for f in symbolize(run.trace.images, true_frames(run, run.steps_in("square")[0])).frames]
    assert names_there[0] == "square" and names_there[-1] == "_start"


def test_notebooks_ask_for_the_names_of_an_unwinders_frames_or_of_the_true_ones() -> None:
    run = testbed.run("tail_chain", arch="arm64", recipe="clang-O2")
    at = run.at("last")
    true = testbed.names(run, at)
    assert str(true) == "last < second [tail call] < first [tail call] < main < _start"
    assert testbed.names(run, at, UNWINDERS["eh_frame"].unwind(at)).frames == true.frames
    foreign = replace(at, step=None)
    with pytest.raises(UsageError, match="no true frames"):
        testbed.names(run, foreign)


def test_a_place_is_named_as_people_read_it_and_can_be_asked_for_by_that_name() -> None:
    run = corpus.ran("cxx_names", "arm64", "clang-O2")
    step = run.steps_in("_ZN5shape4areaEi")[1]
    place = run.where(int(run.trace.pc[step]))
    assert place == "shape::area(int)+0x4"
    assert run.step_at(place) == step == run.step_at("_ZN5shape4areaEi+0x4")
    with pytest.raises(UsageError, match="no symbol"):
        run.step_at("shape::area(long)+0x4")


def test_one_rule_names_an_address_whether_debug_information_is_there_or_not() -> None:
    """`describe` is what the rooms below can call; a named frame's place is the same at every address."""
    for program, arch, recipe in (("cxx_names", "x86_64", "clang-O2"), ("cold_split", "arm64", "clang-asm")):
        run = corpus.ran(program, arch, recipe)
        for step in range(len(run)):
            for frame in run.truth(step).frames:
                said = run.calls(frame)[-1]
                assert said.place == describe(run.trace.images, frame.pc, caller=frame.calling) == run.place(frame)


def test_the_distance_into_a_split_off_piece_is_counted_from_the_piece() -> None:
    whole, piece = Symbol("_Z1fi", BASE, 0x10, True), Symbol("_Z1fi.cold", BASE + 0x20, 0x10, True)
    images = (LoadedImage(image_of(symbols=(whole, piece))),)
    assert describe(images, BASE + 0x24) == "f(int).cold+0x4"
    assert str(name_of(images, BASE + 0x24)) == "f(int)"


def test_what_a_signal_interrupted_was_not_called_and_no_tail_call_lies_between() -> None:
    run = testbed.run("tail_chain", arch="arm64", recipe="clang-O2")
    frames = true_frames(run, run.steps_in("last")[0])
    assert str(symbolize(run.trace.images, frames)).startswith("last < second [tail call] < first [tail call] < main")
    frames = [frames[0], replace(frames[1], kind=FrameKind.INTERRUPTED), *frames[2:]]
    assert str(symbolize(run.trace.images, frames)) == "last < main < _start"


def test_a_line_without_its_function_is_said_only_where_nothing_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    image = built("inline_chain", "arm64", "clang-O2")
    place = image.symbol_named("main")
    assert place is not None
    whole = debug_info(image)
    damage = [DebugInfoError(image.path, ".debug_info", 0, "cut off")]
    nameless = told((), image, whole.tables[0])
    lines = []
    for info in (whole, replace(whole, met=damage), nameless, replace(nameless, met=damage)):
        monkeypatch.setattr(symbolizing, "debug_info", lambda image, info=info: info)
        lines.append(name_of((LoadedImage(image),), place.address).line)
    assert lines == [lines[0], lines[0], lines[0], None] and lines[0] is not None


@pytest.mark.parametrize(("behind", "at"), [(0x21, None), (0x30, None), (None, 0x20), (None, 0x2F), (None, None)])
def test_a_jump_is_looked_up_at_its_address_or_in_front_of_the_one_behind_it(
    behind: int | None, at: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GCC lists tail calls in DWARF 4 by the address behind. The jump may be all of a function, or its last one.

    Where there are two jumps, nobody knows which one it was.
    """
    names_there = ("main", "before", "jumps", "last")
    sites = {"main": (CallSite(BASE + 8, None, CallTarget("jumps", BASE + 0x20), tail=False),)}
    place = tuple(None if offset is None else BASE + offset for offset in (behind, at))
    both = [place] if behind or at else [(None, BASE + 0x24), (None, BASE + 0x28)]
    sites["jumps"] = tuple(CallSite(*one, CallTarget("last", BASE + 0x30), tail=True) for one in both)
    functions = tuple(
        Function(name, "", ((low, low + 0x10),), low, (), sites.get(name, ()), True, (low,))
        for low, name in zip(range(BASE, BASE + 0x40, 0x10), names_there, strict=True)
    )
    info = told(functions)
    monkeypatch.setattr(symbolizing, "debug_info", lambda image: info)
    said = symbolize((LoadedImage(info.image),), [interrupted(BASE + 0x34), caller(BASE + 8)])
    assert str(said) == "last < jumps [tail call] < main"
    pc = BASE + (behind or at or 0) if behind or at else None
    assert (said.frames[1].pc, said.frames[1].caller, said.frames[1].entry) == (pc, behind is not None, BASE + 0x20)
