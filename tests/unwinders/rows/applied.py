"""A frame, the row that is applied to it, and the stack that both are about."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.frames import Frame, FrameKind
from testbed.contract.rows import Offset, RegisterPlus, Rule, UnwindRow
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, words
from unwinders.rows.apply import apply

STACK = 0x8000
ARCHES = pytest.mark.parametrize("arch", [X86_64, ARM64, ARM32], ids=str)


def stack(arch: Arch) -> list[tuple[int, bytes]]:
    """Sixteen words 0x4400, 0x4411, ... 0x44ff at STACK; the CFA of these tests is its fifth word."""
    return [(STACK, words(arch, *(0x4400 + 0x11 * i for i in range(16))))]


def cfa_of(arch: Arch) -> int:
    """The CFA of these tests."""
    return STACK + 4 * arch.word


def state(arch: Arch, **registers: int) -> Snapshot:
    """A snapshot at START whose registers all differ."""
    values = {register.name: 0x7000 + i for i, register in enumerate(arch.registers)}
    values |= {arch.pc: START, arch.sp: STACK, **registers}
    return snapshot(arch, values, stack(arch), [LoadedImage(image(arch))])


def frame(at: Snapshot, *, kind: FrameKind = FrameKind.INTERRUPTED, without: tuple[str, ...] = ()) -> Frame:
    """The frame that a row is applied to."""
    return Frame(kind, at.pc, {name: v for name, v in at.registers.items() if name not in without})


def row(arch: Arch, rules: dict[str, Rule] | None = None, *, cfa: Rule | None = None, **kind: object) -> UnwindRow:
    """A row whose CFA is SP + 4 words and whose return address is the word below it, unless told otherwise."""
    rules = {arch.return_address: Offset(-arch.word), **(rules or {})}
    cfa = cfa or RegisterPlus(arch.sp, 4 * arch.word)
    return UnwindRow(0, 1 << 64, cfa, rules, arch.return_address, **kind)  # type: ignore[arg-type]


def callers(at: Snapshot, its_row: UnwindRow, **kind: object) -> Frame:
    """The frame that a row makes of a snapshot's."""
    _, caller = apply(its_row, frame(at, **kind), at)  # type: ignore[arg-type]
    assert caller is not None
    return caller
