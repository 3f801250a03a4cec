"""Machines and rows for the tests of the walk."""

from __future__ import annotations

import pytest

from testbed.arch import Arch
from testbed.contract.rows import Offset, RegisterPlus, Rule, Undefined, UnwindRow
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from tests.unwinders.frames import ARM32, ARM64, START, X86_64, image, snapshot, words
from unwinders.rows.walk import RowFor

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


def until_root(the_row: UnwindRow, arch: Arch, root: int) -> RowFor:
    """The same row everywhere, and the root's at one pc."""
    return lambda frame, loaded: row(arch, None, Undefined()) if frame.pc == root else the_row
