"""Every walk ends: SP or the frame pointer goes outwards, and where it need not, no frame comes a second time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from testbed.arch import Arch
from testbed.contract.frames import FrameKind
from testbed.contract.rows import AtRegister, Constant, Offset, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.words.errors import NoProgress
from tests.unwinders.frames import START, image, snapshot, words
from tests.unwinders.rows.walked import ALL, STACK, always, machine, row
from unwinders.rows.walk import walk


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
WALKS: list[
    tuple[Mapping[int, Rules], Sequence[Word], Mapping[str, Word], Sequence[int], str | None, Sequence[int] | None]
] = [
    # SP may not go back
    ({ANY: sp(-1, to(A))}, [], {}, [START], "sp goes back", None),
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
    ({ANY: of("kept", 0, AtRegister("sp", -1))}, [A, A], {"kept": Up(-1), "sp": Up(1)}, [START], "sp goes back", None),
    # nor by a frame pointer while a register has the return address: in a prologue it is another function's yet
    ({ANY: of("fp", 0, KEPT)}, [], {"fp": Up(-2), "kept": A}, [START], "sp goes back", None),
    # nor to what memory says: the row of a signal's trampoline, used for a frame that is none
    ({ANY: (AtRegister("sp", 0), AtRegister("sp", 1), {})}, [0x1000, A], {}, [START], "sp goes back", None),
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
        for on, why in ((0, "fp stays"), (-1, "fp goes back"))
    ),
    ({B: ROOT, ANY: LINKS}, [Up(2), A, 0, B], {"fp": Up(0)}, [START, A, B], None, None),  # zero is no step back
    ({ANY: LINKS}, [Up(0), START], {"fp": Up(0)}, [START, START], "fp stays", None),
]


@ALL
@pytest.mark.parametrize(("rows", "stack", "registers", "pcs", "why", "sps"), WALKS)
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
    assert isinstance(said.stopped, NoProgress) and f"{arch.sp} goes back" in str(said.stopped)


@ALL
def test_the_interrupted_pc_may_be_its_own_return_address(arch: Arch) -> None:
    """``call f`` is the last instruction of its function, f stands right behind it, and f has not moved SP."""
    inner, outer = row(arch, RegisterPlus(arch.sp, 0), Constant(START)), row(arch, None, Undefined())
    said = walk(machine(arch), lambda frame, loaded: inner if frame.kind is FrameKind.INTERRUPTED else outer)
    assert (said.stopped, [frame.pc for frame in said.frames]) == (None, [START, START])
