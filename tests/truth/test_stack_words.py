"""A leftover of a call that is over: one as long as its word is the address, whoever stores into the word."""

from __future__ import annotations

import pytest

from testbed.words.traits import Trait
from tests.truth.watched import steps_at, watch

# main calls first, whose call of leaf leaves a return address; then it makes room over it without a store, stores what
# is there already into a part of that word, something else into another part, and what was there once more.
PARTS = {
    "x86_64": """
fn main
    push rbx
    call first
    sub rsp, 0x40
    mov qword ptr [rsp + 0x38], 0
left_there:
    mov dword ptr [rsp + 0x34], 0
repeated:
    mov word ptr [rsp + 0x36], 0
repeated_again:
    mov byte ptr [rsp + 0x37], 1
changed:
    mov byte ptr [rsp + 0x37], 0
changed_back:
    add rsp, 0x40
    pop rbx
    mov eax, 42
    ret
fn first
    call leaf
    ret
fn leaf
    ret
""",
    "arm64": """
fn main
    str x30, [sp, #-16]!
    bl first
    sub sp, sp, #0x20
left_there:
    str wzr, [sp, #0x14]
repeated:
    strh wzr, [sp, #0x16]
repeated_again:
    mov w0, #1
    strb w0, [sp, #0x17]
changed:
    strb wzr, [sp, #0x17]
changed_back:
    add sp, sp, #0x20
    ldr x30, [sp], #16
    mov x0, #42
    ret
fn first
    str x30, [sp, #-16]!
    bl leaf
    ldr x30, [sp], #16
    ret
fn leaf
    ret
""",
    "a32": """
fn main
    push {r4, lr}
    bl first
    sub sp, sp, #0x10
    ldr r1, [sp, #0xc]
    lsr r2, r1, #16
left_there:
    strh r2, [sp, #0xe]
repeated:
    strb r1, [sp, #0xc]
repeated_again:
    add r1, r1, #4
    strb r1, [sp, #0xc]
changed:
    sub r1, r1, #4
    strb r1, [sp, #0xc]
changed_back:
    add sp, sp, #0x10
    mov r0, #42
    pop {r4, pc}
fn first
    push {r4, lr}
    bl leaf
    pop {r4, pc}
fn leaf
    bx lr
""",
}
PARTS["thumb"] = PARTS["a32"].replace("lsr r2", "lsrs r2")


@pytest.mark.parametrize("isa", PARTS)
def test_a_leftover_is_one_as_long_as_its_word_is_the_address_whoever_stores_it(isa: str) -> None:
    truth = watch(isa, PARTS[isa], "leaf = leaf, first, main, _start")
    for label in ("left_there", "repeated", "repeated_again", "changed", "changed_back"):
        has = Trait.LEFTOVER in truth.traits(steps_at(truth, label)[0])
        assert has == (label != "changed"), label
