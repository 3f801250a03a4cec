"""The walk: its frames in order, who is looked up where, and that no stop throws away what was found."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from testbed.arch import Arch
from testbed.contract.rows import (
    AtRegister,
    Constant,
    Offset,
    RegisterPlus,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValExpression,
)
from testbed.contract.unwinder import Frame, FrameKind
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.errors import NoProgress, NoUnwindInfo, UnreadableMemory, UnwindError
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, u, words
from tests.unwinders.rows.expressions import parse
from unwinders.rows.walk import MAX_FRAMES, RowFor, walk

# Machines and rows for the tests of the walk.


STACK = 0x8000
ALL = pytest.mark.parametrize("arch", [X86_64, ARM64, ARM32], ids=str)


def machine(arch: Arch, *stack: int, **registers: int) -> Snapshot:
    """A snapshot at START, with these words from SP on; registers that are not given are 0."""
    values = {register.name: 0 for register in arch.registers} | {arch.pc: START, arch.sp: STACK, **registers}
    return snapshot(arch, values, [(STACK, words(arch, *stack))], [LoadedImage(image(arch))])


def row(arch: Arch, cfa: Rule | None, return_address: Rule | None = None, **rules: Rule) -> UnwindRow:
    """A row for every pc."""
    if return_address is not None:
        rules[arch.return_address] = return_address
    return UnwindRow(0, 1 << 64, cfa, rules, arch.return_address, found_by="test row")


def popping(arch: Arch) -> UnwindRow:
    """Every frame is one word, the return address: SP moves by a word."""
    return row(arch, RegisterPlus(arch.sp, arch.word), Offset(-arch.word))


def always(the_row: UnwindRow) -> RowFor:
    """The same row everywhere."""
    return lambda frame, loaded: the_row


# words of the stack, the pc with the root's row; how many frames are found, why the walk stops, what it tells
WALKS: list[tuple[Sequence[int], int, int, type[UnwindError] | None, str]] = [
    ([0x1010, 0x1020, 0x1030], 0x1030, 4, None, ""),
    ([0x1010, 0], -1, 2, None, ""),  # a return address of zero is the root
    ([0x1010, 0x1020], -1, 3, UnreadableMemory, ""),  # what was found until then is kept
    # Every frame is further out than the last, so only the number of frames can end this.
    ([0x1010] * (MAX_FRAMES + 10), -1, MAX_FRAMES, NoProgress, f"more than {MAX_FRAMES} frames"),
    ([0x1010] * (MAX_FRAMES - 1) + [0], -1, MAX_FRAMES, None, ""),
]


@ALL
@pytest.mark.parametrize(("stack", "root", "count", "stop", "told"), WALKS)
def test_frames_of_one_word(
    arch: Arch, stack: Sequence[int], root: int, count: int, stop: type[UnwindError] | None, told: str
) -> None:
    rows = popping(arch), row(arch, None, Undefined())
    said = walk(machine(arch, *stack), lambda frame, loaded: rows[frame.pc == root])
    assert [frame.pc for frame in said.frames] == [START, *stack][:count]
    cfas = [STACK + arch.word * (i + 1) for i in range(count)]
    assert [frame.cfa for frame in said.frames] == [*cfas[:-1], None if stop or root > 0 else cfas[-1]]
    assert [frame.found_by for frame in said.frames] == ["registers"] + ["test row"] * (count - 1)
    assert [frame.kind for frame in said.frames] == [FrameKind.INTERRUPTED] + [FrameKind.CALLER] * (count - 1)
    assert said.stopped is None if stop is None else isinstance(said.stopped, stop)
    assert said.stopped is None or told in str(said.stopped)
    assert said.stopped is None or said.stopped.pc == said.frames[-1].pc


@ALL
def test_the_first_frame_has_all_registers(arch: Arch) -> None:
    at = machine(arch, 0x1010)
    assert walk(at, always(row(arch, None, Undefined()))).frames[0].registers == at.registers


@ALL
def test_callers_are_looked_up_inside_the_call(arch: Arch) -> None:
    asked: list[tuple[int, int | None]] = []

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        asked.append((frame.lookup_pc, None if loaded is None else loaded.bias))
        return popping(arch)

    walk(machine(arch, 0x2000, 0x1000), row_for)
    assert asked == [(START, 0), (0x1FFF, 0), (0x0FFF, None)]


@ALL
def test_an_address_in_a_row_of_no_image_is_that_address(arch: Arch) -> None:
    address = parse(b"\x03" + u(arch.word, 0x4000), arch.word)
    made = row(arch, RegisterPlus(arch.sp, arch.word), ValExpression(address))

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if frame.pc == 0x4000:
            raise NoUnwindInfo("nothing here")
        return made if loaded is None else popping(arch)

    assert [frame.pc for frame in walk(machine(arch, 0x900), row_for).frames] == [START, 0x900, 0x4000]


def test_no_row_stops_at_the_frame_that_has_none() -> None:
    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if frame.pc == 0x1010:
            raise NoUnwindInfo("nothing here")
        return popping(X86_64)

    said = walk(machine(X86_64, 0x1010, 0x1020), row_for)
    assert isinstance(said.stopped, NoUnwindInfo)
    assert (said.stopped.pc, len(said.frames)) == (0x1010, 2)


def test_a_bug_in_an_unwinder_is_no_answer() -> None:
    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        walk(machine(X86_64, 0x1010), row_for)


def test_a_signal_frame_may_lead_to_another_stack() -> None:
    """A handler on an alternate stack above the interrupted one: SP goes back, and that is the truth."""
    to_signal = popping(X86_64)
    signal = UnwindRow(0, 1, RegisterPlus("rsp", 8), {"rip": Offset(-8), "rsp": Constant(0x100)}, "rip", True)
    rows = {START: to_signal, 0x1010: signal}
    at = machine(X86_64, 0x1010, 0x1020)
    said = walk(at, lambda frame, loaded: rows.get(frame.pc, row(X86_64, None, Undefined())))
    assert said.stopped is None
    assert [frame.registers["rsp"] for frame in said.frames] == [STACK, STACK + 8, 0x100]
    assert said.frames[-1].kind is FrameKind.INTERRUPTED


def test_a_pc_of_zero_that_was_interrupted_is_no_end_of_the_stack() -> None:
    """A call through a null pointer: the signal's frame holds a pc of zero."""
    signal = UnwindRow(0, 1, RegisterPlus("rsp", 8), {"rip": Offset(-8)}, "rip", True)
    said = walk(machine(X86_64, 0), always(signal))
    assert [frame.pc for frame in said.frames] == [START, 0]
    assert isinstance(said.stopped, UnreadableMemory)


# Every walk ends: SP or the frame pointer goes outwards, and where it need not, no frame comes a second time.


class Up(NamedTuple):
    """An address, in words from the interrupted frame's SP upwards."""

    words: int


Word = int | Up
Rules = tuple[Rule | None, Rule | None, Mapping[str, Rule]]  # of the CFA, the return address, other registers


def sp(distance: int, ra: Rule | None) -> Rules:
    """A row whose CFA counts from SP."""
    return RegisterPlus("sp", distance), ra, {}


def of(register: str, distance: int, ra: Rule) -> Rules:
    """A row whose CFA counts from another register: ``kept`` is callee-saved, ``fp`` the frame pointer."""
    return RegisterPlus(register, distance), ra, {}


def to(pc: int) -> Rule:
    return Constant(pc)


ANY = 0  # a pc: the row of all others
KEPT = RegisterPlus("kept", 0)
# A frame-pointer row that does not know SP.
LINKS: Rules = (None, AtRegister("fp", 1), {"sp": Undefined(), "fp": AtRegister("fp", 0)})
ROOT: Rules = (None, Undefined(), {})
A, B = 0x1010, 0x1020

# rows by pc, all distances in words; the stack; registers; the pcs of the frames; what is told where it ends (None: the
# root); where SP is in each frame
ENDLESS: list[
    tuple[Mapping[int, Rules], Sequence[Word], Mapping[str, Word], Sequence[int], str | None, Sequence[int] | None]
] = [
    # SP may not go back
    ({ANY: sp(-1, to(A))}, [], {}, [START], "sp would go back", None),
    # but where the return address lies on the stack: a function moves it up the stack, and SP with it
    *(
        (
            {START: of("kept", 0, Offset(2 + up)), A: sp(8, Offset(-1)), ANY: ROOT},
            [*[A] * 5, B],
            {"kept": Up(-2)},
            [START, A, B],
            None,
            [0, -2, 6],
        )
        for up in (0, 3)
    ),
    # not for a return address from below it
    (
        {ANY: of("kept", 0, AtRegister("sp", -1))},
        [A, A],
        {"kept": Up(-1), "sp": Up(1)},
        [START],
        "sp would go back",
        None,
    ),
    # nor by a frame pointer while a register has the return address: in a prologue it is another function's yet
    ({ANY: of("fp", 0, KEPT)}, [], {"fp": Up(-2), "kept": A}, [START], "sp would go back", None),
    # nor to what memory says: the row of a signal's trampoline, used for a frame that is none
    ({ANY: (AtRegister("sp", 0), AtRegister("sp", 1), {})}, [0x1000, A], {}, [START], "sp would go back", None),
    # it may where the return address is in a register: arguments are off the stack before a function returns
    ({START: sp(-2, KEPT), ANY: ROOT}, [0], {"kept": A}, [START, A], None, [0, -2]),
    ({A: sp(-2, KEPT), ANY: sp(2, to(A))}, [], {"kept": B}, [START, A, B], "there already", None),  # back and forth
    # it may stay for the interrupted frame only: a caller of its own must have pushed what is read from memory
    ({ANY: sp(0, Offset(0))}, [A, B], {}, [START, A], "sp stays", None),
    # or where a register keeps the return address: a helper pushes nothing
    ({START: sp(0, None), A: sp(0, KEPT), ANY: ROOT}, [], {"link": A, "kept": B}, [START, A, B], None, None),
    ({A: ROOT, ANY: sp(0, SameValue())}, [], {"link": A}, [START, A], None, None),
    # no frame comes a second time
    ({ANY: sp(0, to(START))}, [], {}, [START, START], "same stack", None),
    ({START: sp(0, to(A)), ANY: sp(0, to(START))}, [], {}, [START, A, START], "there already", None),
    # where SP is unknown the frame pointer moves outwards: the interrupted frame's may stay, its caller's may not
    *(
        ({ANY: LINKS}, [Up(4), A, 0, 0, Up(4 + 2 * on), B], {"fp": Up(0)}, [START, A], why, None)
        for on, why in ((0, "fp stays"), (-1, "fp would go back"))
    ),
    ({B: ROOT, ANY: LINKS}, [Up(2), A, 0, B], {"fp": Up(0)}, [START, A, B], None, None),  # zero is no step back
    ({ANY: LINKS}, [Up(0), START], {"fp": Up(0)}, [START, START], "fp stays", None),
]


@ALL
@pytest.mark.parametrize(("rows", "stack", "registers", "pcs", "why", "sps"), ENDLESS)
def test_a_walk_goes_outwards_or_ends(
    arch: Arch,
    rows: Mapping[int, Rules],
    stack: Sequence[Word],
    registers: Mapping[str, Word],
    pcs: Sequence[int],
    why: str | None,
    sps: Sequence[int] | None,
) -> None:
    names = {"sp": arch.sp, "fp": arch.frame_pointers[0], "kept": platform(arch).preserved[-1], "link": arch.link or ""}
    if "link" in registers and arch.link is None:
        pytest.skip("no link register")

    def value(word: Word) -> int:
        return STACK + word.words * arch.word if isinstance(word, Up) else word

    def here(rule: Rule | None) -> Rule | None:
        match rule:
            case RegisterPlus(register, offset) | AtRegister(register, offset):
                return type(rule)(names[register], offset * arch.word)
            case Offset(offset):
                return Offset(offset * arch.word)
        return rule

    def row_at(pc: int) -> UnwindRow:
        cfa, ra, others = rows.get(pc, rows.get(ANY, ROOT))
        return row(arch, here(cfa), here(ra), **{names[name]: here(rule) or rule for name, rule in others.items()})

    given = {names[name]: value(word) for name, word in registers.items()}
    said = walk(machine(arch, *map(value, stack), **given), lambda frame, loaded: row_at(frame.pc))
    assert [frame.pc for frame in said.frames] == pcs
    assert said.stopped is None if why is None else isinstance(said.stopped, NoProgress)
    kind, _, rest = (why or "").partition(" ")
    assert said.stopped is None or f"{names.get(kind, kind)} {rest}".strip() in str(said.stopped)
    assert why is None or said.frames[-1].cfa is None, "a row that leads back is not believed about the CFA either"
    assert sps is None or [frame.registers[arch.sp] for frame in said.frames] == [value(Up(each)) for each in sps]


@ALL
def test_sp_may_not_go_back_around_the_end_of_the_address_space(arch: Arch) -> None:
    """A garbage register as the CFA: the word in front of address 0 is the last one there is, and above SP."""
    wraps = row(arch, RegisterPlus(platform(arch).preserved[0], 0), Offset(-arch.word))
    registers = {r.name: 0 for r in arch.registers} | {arch.pc: START, arch.sp: STACK}
    last = (arch.word_mask + 1 - arch.word, words(arch, A))
    said = walk(snapshot(arch, registers, [last], [LoadedImage(image(arch))]), always(wraps))
    assert isinstance(said.stopped, NoProgress) and f"{arch.sp} would go back" in str(said.stopped)


@ALL
def test_the_interrupted_pc_may_be_its_own_return_address(arch: Arch) -> None:
    """``call f`` is the last instruction of its function, f stands right behind it, and f has not moved SP."""
    inner, outer = row(arch, RegisterPlus(arch.sp, 0), Constant(START)), row(arch, None, Undefined())
    said = walk(machine(arch), lambda frame, loaded: inner if frame.kind is FrameKind.INTERRUPTED else outer)
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, START])
