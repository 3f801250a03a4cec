"""Stack scanners: what counts as a return address, how far they look, what they cannot know."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.image import Image, LoadedImage, Segment, Symbol
from testbed.runs.run import run_program
from testbed.trace import Snapshot
from testbed.words.errors import NotInSnapshot, NoUnwindInfo
from tests.unwinders.frames import ARM32, ARM64, X86_64, snapshot, words
from tests.unwinders.said import said
from unwinders import UNWINDERS
from unwinders.formats.call_instructions import call_before
from unwinders.scans import scan_walk
from unwinders.scans.scan_walk import Scan, by_scan, scan
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


# words of the stack: addresses behind the call of f and behind the call through a register, one that follows no call
DIRECT, INDIRECT, NO_CALL, END = "direct", "indirect", "no call", "behind g"
NOISE = (7, STACK + 8, 0, NO_CALL)  # numbers, data addresses and such code addresses are no return addresses
F, G = CODE + 4, CODE + 0x40  # pcs

# a scanner, the interrupted pc, words of the stack, which of them are believed
BELIEVED: list[tuple[Unwinder, int, Sequence[int | str], list[int]]] = [
    (STACK_SCAN, F, [*NOISE, DIRECT, *NOISE, INDIRECT, *NOISE], [4, 9]),
    # The strict scan wants a call of the frame below: the direct one names f. A call through a register names nothing.
    (STACK_SCAN_STRICT, F, [DIRECT], [0]),
    (STACK_SCAN_STRICT, G, [DIRECT], []),
    (STACK_SCAN_STRICT, G, [INDIRECT], [0]),
    (STACK_SCAN, G, [DIRECT], [0]),
    (STACK_SCAN_BREAKPAD, F, [7, NO_CALL], [1]),  # any address in a function
    (STACK_SCAN_BREAKPAD, F, [END], [0]),  # a call may be its last instruction
]


@ISAS
@pytest.mark.parametrize("bias", [0, 0x5_0000])
@pytest.mark.parametrize(("scanner", "pc", "stack", "believed"), BELIEVED)
def test_what_a_scan_believes(
    isa: str, bias: int, scanner: Unwinder, pc: int, stack: Sequence[int | str], believed: list[int]
) -> None:
    arch, (_, _, direct, indirect) = ARCH[isa], CALLS[isa]
    codes = {DIRECT: direct + bias, INDIRECT: indirect + bias, NO_CALL: G + bias, END: CODE + 0x100 + bias}
    values = [word if isinstance(word, int) else pointer(isa, codes[word]) for word in stack]
    said = scanner.unwind(at(isa, *values, pc=pc, bias=bias))
    assert (said.stopped, pcs(said)) == (None, [pc + bias, *(codes[str(stack[i])] for i in believed)])
    for frame, i in zip(said.frames[1:], believed, strict=True):
        sp = {arch.sp: STACK + (i + 1) * arch.word} if scanner is STACK_SCAN_BREAKPAD else {}
        assert {**sp, arch.pc: frame.pc} == dict(frame.registers)
        assert frame.found_by.endswith(f", at {STACK + i * arch.word:#x}")


def test_an_even_word_never_returns_to_thumb_code() -> None:
    assert pcs(STACK_SCAN.unwind(at("thumb", CALLS["thumb"][2])))[1:] == []
    assert pcs(STACK_SCAN.unwind(at("a32", CALLS["a32"][2] | 1)))[1:] == []


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


@pytest.mark.parametrize(
    ("scanner", "here", "more", "stop"),
    [
        (STACK_SCAN, 3, 0, type(None)),  # the end of the mapping is the claim of the root
        (STACK_SCAN, 3, 1, NotInSnapshot),
        (STACK_SCAN_BREAKPAD, 159, 1, NotInSnapshot),
        (STACK_SCAN_BREAKPAD, 160, 1, NoUnwindInfo),  # all the words that it would try
    ],
)
def test_what_is_said_where_nothing_is_found(scanner: Unwinder, here: int, more: int, stop: type[object]) -> None:
    """Of a stack that is mapped for some words more than the snapshot has."""
    found = replace(at("x86_64", *([0] * here)), mappings=((STACK, STACK + 8 * (here + more)),))
    assert type(scanner.unwind(found).stopped) is stop


@pytest.mark.parametrize("arch", [X86_64, ARM64, ARM32], ids=str)
def test_an_unmapped_stack_is_an_honest_stop(arch: Arch) -> None:
    values = {register.name: 0 for register in arch.registers} | {arch.pc: CODE}
    for scanner in (STACK_SCAN, STACK_SCAN_STRICT, STACK_SCAN_BREAKPAD):
        said = scanner.unwind(snapshot(arch, values))
        assert said.stopped is not None
        assert pcs(said) == [CODE]


# Which instruction set a call is read in, where another one begins right behind it.

BL = {"a32": bytes.fromhex("fcffffeb"), "thumb": bytes.fromhex("fff7fcff")}  # back to CODE, from CODE + 8 and + 4


@pytest.mark.parametrize(("isa", "behind"), [("a32", "thumb"), ("thumb", "a32")])
def test_a_call_at_the_end_of_a_function_is_read_as_that_function_is(isa: str, behind: str) -> None:
    """Its return address is where code of the other instruction set begins: a call of what never returns."""
    isas = {each.name: each for each in ARM32.isas}
    content = bytes(8 if isa == "a32" else 4) + BL[isa]
    end = CODE + len(content)
    marks = ((CODE, isas[isa]), (end, isas[behind]))
    segment = Segment(CODE, content + bytes(8), len(content) + 8, True, False, True)
    image = Image(Path("made-up"), ARM32, CODE, (segment,), {}, (), isa_marks=marks)
    call = call_before(image, end)
    assert call is not None and call.target == CODE


# Scanning over a whole trace says what scanning each snapshot says, word for word.


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", ["stack_scan", "stack_scan_strict", "stack_scan_breakpad"])
def test_programs_with_more_than_one_stack(name: str, arch: str) -> None:
    """Two stacks, stacks that move, code on the stack, handlers."""
    unwinder = UNWINDERS[name]
    assert unwinder.unwind_trace is not None
    for program in ("coroutine", "coroutine_open", "longjmp", "other_stack", "signal", "trampoline"):
        if ARCHES[arch] not in PROGRAMS[program].arches():
            continue
        trace = run_program(PROGRAMS[program], ARCHES[arch]).trace
        over = unwinder.unwind_trace(trace)
        for step in range(0, len(trace), max(1, len(trace) // 60)):
            assert said(over[step]) == said(unwinder.unwind(trace.snapshot(step))), (program, step)


@pytest.mark.parametrize(
    ("first", "later", "frames"), [(1, 4, 1024), (3, 2, 1024), (64, 1, 1024), (5, 5, 1024), (64, 64, 4)]
)
def test_a_scan_gives_up_after_as_many_words(
    first: int, later: int, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is plausible is believed here, so that the bounds decide where a chain ends."""
    options = Scan(first, later, lambda snapshot, value, frame: True, claims_sp=True)
    monkeypatch.setattr(scan_walk, "MAX_FRAMES", frames)
    run = run_program(PROGRAMS["recursion"], ARCHES["arm64"])
    unwinder = by_scan(options, name="scan", summary="")
    over = unwinder.unwind_trace(run.trace)
    ends = set()
    for step in range(0, len(run), 11):
        alone = scan(run.trace.snapshot(step), options)
        assert (said(over[step]), over[step].images) == (said(alone), alone.images)
        assert over.depth(step) == len(alone.frames)
        ends.add(type(alone.stopped).__name__)
    assert "NoUnwindInfo" in ends


def test_a_stack_pointer_that_points_nowhere_is_told_as_such() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"])
    trace = run.trace
    registers = trace.registers.copy()
    registers[5, trace.arch.index[trace.arch.sp]] = 0x10
    moved = replace(trace, registers=registers)
    unwinder = UNWINDERS["stack_scan"]
    over = unwinder.unwind_trace(moved)
    for step in range(4, 8):
        assert said(over[step]) == said(unwinder.unwind(moved.snapshot(step)))
    assert "UnreadableMemory" in repr(over[5].stopped)
