"""How an instruction moves SP: by what is no constant of the code, to a copy, or to an alignment."""

from __future__ import annotations

import pytest

from testbed.micro.stack_moves import MoveKind, may_be_sized, stack_move


@pytest.mark.parametrize(
    ("isa", "text", "kind", "sized"),
    [
        ("x86_64", "sub rsp, rax", MoveKind.AMOUNT, True),
        ("x86_64", "lea rsp, [rsp + rax*8]", MoveKind.AMOUNT, True),
        ("x86_64", "mov rsp, rax", MoveKind.COPY, True),
        ("x86_64", "mov rsp, rbp", MoveKind.COPY, False),
        ("x86_64", "leave ", MoveKind.COPY, False),
        ("x86_64", "sub rsp, 0x20", None, False),
        ("x86_64", "lea rsp, [rsp - 8]", None, False),
        ("x86_64", "and rsp, 0xfffffffffffffff0", None, False),
        ("x86_64", "and rsp, 0xffffffffffffffe0", MoveKind.ALIGNED, False),
        ("arm64", "sub sp, sp, x9", MoveKind.AMOUNT, True),
        ("arm64", "mov sp, x29", MoveKind.COPY, False),
        ("arm64", "mov sp, x0", MoveKind.COPY, True),
        ("arm64", "sub sp, sp, #0x40", None, False),
        ("arm64", "and sp, x9, #0xffffffffffffffe0", MoveKind.ALIGNED, False),
        ("a32", "sub sp, sp, r3", MoveKind.AMOUNT, True),
        ("a32", "sub sp, fp, #8", MoveKind.COPY, False),
        ("a32", "bic sp, sp, #7", None, False),
        ("thumb", "sub.w sp, sp, r3", MoveKind.AMOUNT, True),
        ("thumb", "add sp, r3", MoveKind.AMOUNT, True),
        ("thumb", "mov sp, r7", MoveKind.COPY, False),
        ("thumb", "add sp, #8", None, False),
    ],
)
def test_how_instructions_move_sp(isa: str, text: str, kind: MoveKind | None, sized: bool) -> None:
    move = stack_move(isa, text)
    assert (move and move.kind, may_be_sized(isa, text)) == (kind, sized)
