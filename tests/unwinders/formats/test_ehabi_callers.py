"""EHABI operations applied: the caller's registers."""

from __future__ import annotations

import pytest

from testbed.contract.frames import Frame, FrameKind
from testbed.image import LoadedImage
from tests.unwinders.formats.ehabi_texts import described, renamed
from tests.unwinders.frames import ARM32, START, snapshot, words
from unwinders.formats.ehabi_rows import exidx_row
from unwinders.rows.apply import apply

STACK = 0x8000


def caller(text: str, *stack: int, **registers: int) -> Frame:
    values = {register.name: 0x7000 for register in ARM32.registers} | {"pc": START, "sp": STACK, **registers}
    made = renamed(described(text))
    at = snapshot(ARM32, values, [(STACK, words(ARM32, *stack))], [LoadedImage(made)])
    _, found = apply(exidx_row(made, START), Frame(FrameKind.CALLER, START, values), at)
    assert found is not None
    return found


# operations, words on the stack, the frame's registers, those of the caller
CALLERS: list[tuple[str, tuple[int, ...], dict[str, int], dict[str, int]]] = [
    ("84 08", (0x1234, 0x1041), {}, {"pc": 0x1040, "r7": 0x1234, "sp": STACK + 8}),  # without the Thumb bit
    ("8c 00", (0x1010, 0x1020), {"lr": 0x1030}, {"pc": 0x1020}),  # a popped pc wins over lr
    ("b0", (), {"lr": 0x1030}, {"pc": 0x1030}),
    # `pop {r7}; mov sp, r7; pop {lr}`: vsp is what the stack says, not what this frame's r7 is.
    (
        "80 08 97 84 00",
        (STACK + 8, 0x5, 0x1040, 0x6),
        {"r7": 0x666},
        {"pc": 0x1040, "sp": STACK + 12, "r7": STACK + 8},
    ),
    # Through two loads, and back from a stack that was loaded.
    ("80 08 97 80 10 98", (STACK + 8, 0, STACK + 4), {}, {"pc": 0x7000, "sp": STACK + 4, "r8": STACK + 4}),
    ("80 08 97 a0 9b", (STACK + 8, 0, 0x44), {"r11": STACK + 4}, {"pc": 0x7000, "sp": STACK + 4, "r4": 0x44}),
    ("86 00", (STACK + 12, 0x1040), {}, {"pc": 0x1040, "sp": STACK + 12}),  # a popped sp is the caller's
]


@pytest.mark.parametrize(("text", "stack", "registers", "expected"), CALLERS)
def test_operations_give_the_callers_registers(
    text: str, stack: tuple[int, ...], registers: dict[str, int], expected: dict[str, int]
) -> None:
    found = caller(text, *stack, **registers)
    assert {"pc": found.pc} | {name: found.registers[name] for name in expected if name != "pc"} == expected
