"""Where exceptions land: which frame they find there, as the code from there on tells."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from testbed.contract.rows import Offset, Rule
from tests.unwinders.analysis.rows_said import Said, cfa, rows_say, rsp, sp

# x21 is saved on one of two ways only, and both of them call.
SAVES_ON_ONE_WAY = (
    "stp x29, x30, [sp, #-0x40]!; mov x29, sp; stp x19, x20, [sp, #0x10]; mov x19, x0; bl 0x9000; cbz x0, 0x1028; "
    "str x21, [sp, #0x20]; mov x21, x0; bl 0x9000; ldr x21, [sp, #0x20]; "
    "ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret; "
)
BEHIND = 13 * 4
SAVED = Offset(-0x20)


def x21(rules: Iterable[Rule | None]) -> Said:
    """What each instruction where exceptions land says of x21."""
    return {BEHIND + 4 * i: {"x21": rule} for i, rule in enumerate(rules)}


# code where exceptions land, behind the function above; what its rows say
LANDINGS: list[tuple[str, Said]] = [
    # Most is saved where the code does not say otherwise.
    ("mov x19, x0; bl 0x9100; mov x0, x19; bl 0x9200", x21([SAVED] * 4)),
    # What is saved there was not saved before.
    (
        "mov x19, x0; str x21, [sp, #0x20]; bl 0x9100; mov x0, x19; bl 0x9200",
        {**x21([None] * 2 + [SAVED] * 3), BEHIND: {"x21": None, "x19": Offset(-0x30)}},
    ),
    # What is never given back was not saved: by a return, and by going on where the frame without it goes on.
    ("bl 0x9100; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret", x21([None] * 4)),
    ("bl 0x9100; b 0x1028", x21([None] * 2)),
    # What is given back was.
    ("bl 0x9100; ldr x21, [sp, #0x20]; b 0x1028", x21([SAVED] * 2)),
    (
        "bl 0x9100; ldr x21, [sp, #0x20]; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret",
        {BEHIND + 16: sp(0, x19=None, x21=None, x29=None, x30=None)},
    ),
    # A function called at the very end does not come back elsewhere either: behind the first call of 0x9200 another
    # exception lands. No register is saved there that was saved before.
    (
        "mov x19, x0; bl 0x9100; mov x0, x19; bl 0x9200; mov x19, x0; str x21, [sp, #0x20]; bl 0x9100; bl 0x9200",
        x21([SAVED] * 4 + [None] * 2 + [SAVED] * 2),
    ),
]

# an instruction set, a function, what its rows say
OTHERS: list[tuple[str, str, Said]] = [
    # Constants behind the last call are no code: the word at the end, which would be an instruction, is loaded.
    (
        "a32",
        "push {r4, lr}; sub sp, sp, #8; mov r4, r0; bl 0x9000; cmp r0, #0; beq 0x1028; str r5, [sp]; "
        "ldr r5, [pc, #28]; bl 0x9000; ldr r5, [sp]; add sp, sp, #8; pop {r4, pc}; mov r4, r0; "
        "bl 0x9200; str r5, [sp]; bl 0x9200; .byte 0x00, 0x00, 0xa0, 0xe1",
        {0x30 + 4 * i: {"r5": rule} for i, rule in enumerate([Offset(-16), Offset(-16), None, Offset(-16)])},
    ),
    # SP is sure where a frame pointer is the same place. Else the last call's arguments may lie below, which are off
    # the stack where its exceptions land.
    (
        "x86_64",
        "push rbp; mov rbp, rsp; push 1; push 2; call 0x9000; leave; ret; mov rdi, rax; call 0x9100",
        {18: cfa("rbp", 16)},
    ),
    (
        "arm64",
        "stp x29, x30, [sp, #-16]!; mov x29, sp; stp x0, x1, [sp, #-16]!; bl 0x9000; brk #1; bl 0x9100",
        {20: cfa("x29", 16)},
    ),
    # A register that points into the frame without its saved self there is no frame pointer: on x86_64 a function
    # without one uses rbp as it likes.
    (
        "x86_64",
        "push rbp; sub rsp, 0x20; lea rbp, [rsp + 8]; call 0x9000; add rsp, 0x20; pop rbp; ret; "
        "mov rdi, rax; call 0x9100",
        {21: rsp(0x30)},
    ),
]


@pytest.mark.parametrize(
    ("isa", "code", "said"), [*(("arm64", SAVES_ON_ONE_WAY + code, said) for code, said in LANDINGS), *OTHERS]
)
def test_the_frame_where_exceptions_land(isa: str, code: str, said: Said) -> None:
    rows_say(isa, [code], (), said)
