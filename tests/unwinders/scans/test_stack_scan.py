"""Stack scanners: what counts as a return address, how far they look, what they cannot know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.arch import Arch
from testbed.contract.frames import Backtrace
from testbed.contract.unwinder import Unwinder
from testbed.image import Image, LoadedImage, Segment, Symbol
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.frames import ARM32, ARM64, X86_64, snapshot, words
from unwinders.formats.call_instructions import call_before
from unwinders.scans.stack_scan import STACK_SCAN
from unwinders.scans.stack_scan_breakpad import STACK_SCAN_BREAKPAD
from unwinders.scans.stack_scan_strict import STACK_SCAN_STRICT

STACK, CODE = 0x8000, 0x1000
CALLS = {  # at CODE + 0x10: a call of CODE; at CODE + 0x20: a call through a register; the addresses behind them
    "x86_64": (bytes.fromhex("e8ebffffff"), bytes.fromhex("ffd0"), 0x1015, 0x1022),
    "arm64": (bytes.fromhex("fcffff97"), bytes.fromhex("20003fd6"), 0x1014, 0x1024),
    "a32": (bytes.fromhex("faffffeb"), bytes.fromhex("33ff2fe1"), 0x1014, 0x1024),
    "thumb": (bytes.fromhex("fff7f6ff"), bytes.fromhex("9847"), 0x1014, 0x1022),
}
ARCH = {"x86_64": X86_64, "arm64": ARM64, "a32": ARM32, "thumb": ARM32}
ISAS = pytest.mark.parametrize("isa", CALLS)
NOP = {"x86_64": b"\x90", "arm64": bytes.fromhex("1f2003d5"), "a32": bytes.fromhex("00f020e3"), "thumb": b"\x00\xbf"}


def code(isa: str, *, bias: int = 0) -> LoadedImage:
    """Functions ``f`` [0x1000, 0x1010) and ``g`` [0x1010, 0x1100); g calls f, and something by a register."""
    arch, (direct, indirect, _, _) = ARCH[isa], CALLS[isa]
    content = bytearray(NOP[isa] * (0x100 // len(NOP[isa])))
    content[0x10 : 0x10 + len(direct)] = direct
    content[0x20 : 0x20 + len(indirect)] = indirect
    marks = ((CODE, next(i for i in arch.isas if i.name == isa)),) if isa in ("a32", "thumb") else ()
    symbols = (Symbol("f", CODE, 0x10, True), Symbol("g", CODE + 0x10, 0xF0, True))
    segment = Segment(CODE, bytes(content), len(content), True, False, True)
    return LoadedImage(Image(Path("made-up"), arch, CODE, (segment,), {}, symbols, marks), bias)


def at(isa: str, *stack: int, pc: int = CODE + 4, bias: int = 0) -> Snapshot:
    arch = ARCH[isa]
    values = {register.name: 0 for register in arch.registers} | {arch.pc: pc + bias, arch.sp: STACK}
    return snapshot(arch, values, [(STACK, words(arch, *stack))], [code(isa, bias=bias)])


def pointer(isa: str, address: int) -> int:
    return address | (isa == "thumb")


def pcs(said: Backtrace) -> list[int]:
    return [frame.pc for frame in said.frames]


@ISAS
def test_calls_are_recognised_from_behind(isa: str) -> None:
    image, (_, _, direct, indirect) = code(isa).image, CALLS[isa]
    call = call_before(image, direct)
    assert call is not None
    assert call.target == CODE
    call = call_before(image, indirect)
    assert call is not None
    assert call.target is None
    assert call_before(image, direct + 4) is None
    assert call_before(image, CODE) is None, "nothing is mapped before it"
    assert call_before(image, 0x7777_0000) is None


@pytest.mark.parametrize(
    "call",
    [
        "ff10",
        "ff1424",
        "ff5008",
        "ff542408",
        "ff9000010000",
        "ff942400010000",
        "41ffd3",
        "42ff94e000010000",
        "ff1500000000",
    ],
)
def test_every_length_of_an_indirect_call_on_x86(call: str) -> None:
    content = b"\x90" * 16 + bytes.fromhex(call)
    segment = Segment(CODE, content, len(content), True, False, True)
    image = Image(Path("made-up"), X86_64, CODE, (segment,), {}, ())
    assert call_before(image, CODE + len(content)) is not None


@pytest.mark.parametrize(("isa", "marked"), [("a32", "thumb"), ("thumb", "a32")])
def test_where_no_symbol_says_the_instruction_set_the_pointer_does(isa: str, marked: str) -> None:
    """A stripped library's code is taken for that of the evidence before it, which another function gave."""
    marks = ((CODE, next(each for each in ARCH[isa].isas if each.name == marked)),)
    named = replace(code(isa).image, isa_marks=marks)
    stripped = replace(named, symbols=())
    _, _, direct, _ = CALLS[isa]
    for image, found in ((stripped, [CODE + 4, direct]), (named, [CODE + 4])):
        values = {register.name: 0 for register in ARCH[isa].registers} | {"pc": CODE + 4, "sp": STACK}
        stack = [(STACK, words(ARCH[isa], pointer(isa, direct), pointer(marked, direct)))]
        assert pcs(STACK_SCAN.unwind(snapshot(ARCH[isa], values, stack, [LoadedImage(image)]))) == found


@ISAS
def test_what_lies_between_is_passed_over(isa: str) -> None:
    """Numbers, data addresses and code addresses that follow no call are no return addresses."""
    _, _, direct, indirect = CALLS[isa]
    noise = (7, STACK + 8, 0, pointer(isa, CODE + 0x40))
    said = STACK_SCAN.unwind(at(isa, *noise, pointer(isa, direct), *noise, pointer(isa, indirect), *noise))
    assert (said.stopped, pcs(said)) == (None, [CODE + 4, direct, indirect])
    arch = ARCH[isa]
    assert said.frames[1].found_by == f"scan, at {STACK + 4 * arch.word:#x}"
    assert dict(said.frames[1].registers) == {arch.pc: direct}


@ISAS
def test_a_load_bias_is_taken_off(isa: str) -> None:
    direct = CALLS[isa][2]
    said = STACK_SCAN.unwind(at(isa, pointer(isa, direct + 0x5_0000), bias=0x5_0000))
    assert pcs(said)[1:] == [direct + 0x5_0000]


def test_an_even_word_never_returns_to_thumb_code() -> None:
    assert pcs(STACK_SCAN.unwind(at("thumb", CALLS["thumb"][2])))[1:] == []
    assert pcs(STACK_SCAN.unwind(at("a32", CALLS["a32"][2] | 1)))[1:] == []


@ISAS
def test_the_strict_scan_wants_a_call_of_the_frame_below(isa: str) -> None:
    """The direct call names f: it is believed for a frame in f, and not for one in g."""
    _, _, direct, _ = CALLS[isa]
    assert pcs(STACK_SCAN_STRICT.unwind(at(isa, pointer(isa, direct))))[1:] == [direct]
    assert pcs(STACK_SCAN_STRICT.unwind(at(isa, pointer(isa, direct), pc=CODE + 0x40)))[1:] == []
    assert pcs(STACK_SCAN.unwind(at(isa, pointer(isa, direct), pc=CODE + 0x40)))[1:] == [direct]


@ISAS
def test_the_strict_scan_cannot_check_a_call_through_a_register(isa: str) -> None:
    indirect = CALLS[isa][3]
    assert pcs(STACK_SCAN_STRICT.unwind(at(isa, pointer(isa, indirect), pc=CODE + 0x40)))[1:] == [indirect]


@ISAS
def test_breakpad_believes_any_address_in_a_function(isa: str) -> None:
    arch = ARCH[isa]
    said = STACK_SCAN_BREAKPAD.unwind(at(isa, 7, pointer(isa, CODE + 0x40)))
    assert pcs(said)[1:] == [CODE + 0x40]
    assert said.frames[1].registers[arch.sp] == STACK + 2 * arch.word


@pytest.mark.parametrize(
    ("scanner", "first"), [(STACK_SCAN_BREAKPAD, 160), (STACK_SCAN, 4096)], ids=["breakpad", "scan"]
)
def test_the_scan_gives_up_after_its_number_of_words(scanner: Unwinder, first: int) -> None:
    direct = CALLS["x86_64"][2]
    near = scanner.unwind(at("x86_64", *([0] * (first - 1)), direct, *([0] * 5000)))
    assert pcs(near)[1:] == [direct]
    far = scanner.unwind(at("x86_64", *([0] * first), direct, *([0] * 5000)))
    assert isinstance(far.stopped, NoUnwindInfo)
    assert pcs(far)[1:] == []
    assert far.stopped.pc == CODE + 4


def test_later_frames_of_breakpads_scan_get_fewer_words() -> None:
    direct = CALLS["x86_64"][2]
    assert len(pcs(STACK_SCAN_BREAKPAD.unwind(at("x86_64", direct, *([0] * 39), direct)))) == 3
    assert len(pcs(STACK_SCAN_BREAKPAD.unwind(at("x86_64", direct, *([0] * 40), direct, *([0] * 50))))) == 2


def test_a_stack_full_of_return_addresses_is_cut() -> None:
    said = STACK_SCAN.unwind(at("x86_64", *([CALLS["x86_64"][2]] * 3000)))
    assert isinstance(said.stopped, NoUnwindInfo)
    assert len(said.frames) == 1024


def test_the_end_of_the_mapped_stack_is_the_claim_of_the_root() -> None:
    assert STACK_SCAN.unwind(at("x86_64", 0, 0, 0)).stopped is None


@pytest.mark.parametrize("arch", [X86_64, ARM64, ARM32], ids=str)
def test_an_unmapped_stack_is_an_honest_stop(arch: Arch) -> None:
    values = {register.name: 0 for register in arch.registers} | {arch.pc: CODE}
    for scanner in (STACK_SCAN, STACK_SCAN_STRICT, STACK_SCAN_BREAKPAD):
        said = scanner.unwind(snapshot(arch, values))
        assert said.stopped is not None
        assert pcs(said) == [CODE]
