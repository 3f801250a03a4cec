"""Snippets in which a function jumps to the one right behind its caller's call, and others that only look like it."""

from __future__ import annotations

# The function behind ends the run, or calls one that does; `work` never returns.
_ON = {
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl work
fn work
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    {before}
work_calls:
    bl leaf
fn behind
    {behind}
fn leaf
    {leaf}
fn helper
    ret
fn finish
    mov x0, #42
    mov x8, #93
    svc #0
""",
    "a32": """
fn main
    push {{r4, lr}}
    bl work
fn work
    push {{r4, lr}}
    {before}
work_calls:
    bl leaf
fn behind
    {behind}
fn leaf
    {leaf}
fn helper
    bx lr
fn finish
    mov r0, #42
    mov r7, #1
    svc #0
""",
}
_ON["thumb"] = _ON["a32"]

_STORES = {
    "arm64": "stp x29, x30, [sp, #-16]!\nbehind_body:\n    bl helper\n    bl finish",
    "a32": "push {r4, lr}\nbehind_body:\n    bl helper\n    bl finish",
    "thumb": "push {r4, lr}\nbehind_body:\n    bl helper\n    bl finish",
}
_ENDS = {"arm64": "nop\nbehind_body:\n    b finish", "a32": "nop\nbehind_body:\n    b finish"}
_ENDS["thumb"] = "nop\nbehind_body:\n    b finish"

_LEAVES = {
    "direct": {isa: "nop\n    b behind" for isa in _ON},
    "on a condition": {
        "arm64": "cmp x29, #0\n    b.ne behind\n    brk #1",
        "a32": "cmp sp, #0\n    bne behind\n    bkpt #1",
        "thumb": "cmp r7, r7\n    beq behind\n    bkpt #1",
    },
    "after a frame of its own": {
        "arm64": "stp x29, x30, [sp, #-16]!\n    bl helper\n    ldp x29, x30, [sp], #16\n    b behind",
        "a32": "push {r4, lr}\n    bl helper\n    pop {r4, lr}\n    b behind",
        "thumb": "push {r4, lr}\n    bl helper\n    pop.w {r4, lr}\n    b behind",
    },
    "without its return address": {
        "arm64": "bl helper\n    b behind",
        "a32": "bl helper\n    b behind",
        "thumb": "bl helper\n    b behind",
    },
}
_THROUGH = {
    "arm64": "adr x16, behind\n    br x16",
    "a32": "adr r12, behind\n    bx r12",
    "thumb": "ldr r3, =behind\n    bx r3\n    .ltorg",
}
_RETURNS = {"arm64": "nop\n    ret", "a32": "nop\n    bx lr", "thumb": "nop\n    bx lr"}


def jumps_on(isa: str, leaf: str, behind: str, before: str = "nop") -> str:
    """A leaf, a function behind and what `work` does before its last call."""
    return _ON[isa].format(leaf=leaf, behind=behind, before=before)


def leaves(isa: str) -> dict[str, str]:
    """How a function leaves by a jump, by name."""
    return {name: by_isa[isa] for name, by_isa in _LEAVES.items()}


STORES, ENDS, THROUGH, RETURNS, ISAS = _STORES, _ENDS, _THROUGH, _RETURNS, tuple(_ON)

_WORDS = {
    "arm64": {
        "enter": "stp x29, x30, [sp, #-16]!\n    mov x29, sp",
        "leave": "ldp x29, x30, [sp], #16\n    ret",
        "ret": "ret",
        "promise": "adr x30, back",
        "leave_through": "ldp x29, x16, [sp], #16\n    br x16",
        "count": "mov x19, #3",
        "next": "sub x19, x19, #1\n    cbnz x19, again",
        "result": "mov x0, #42",
        "finish": "mov x0, #42\n    mov x8, #93\n    svc #0",
        "keep": "mov x20, sp\n    adr x21, receiver",
        "longjmp": "mov sp, x20\n    br x21",
        "throw": "stp x29, x30, [sp, #-16]!\n    mov sp, x20\n    b landed",
    },
    "a32": {
        "enter": "push {r4, lr}",
        "leave": "pop {r4, pc}",
        "ret": "bx lr",
        "promise": "ldr r0, =back\n    mov lr, r0",
        "leave_through": "pop {r4}\n    pop {r3}\n    bx r3",
        "count": "mov r5, #3",
        "next": "subs r5, r5, #1\n    bne again",
        "result": "mov r0, #42",
        "finish": "mov r0, #42\n    mov r7, #1\n    svc #0",
        "keep": "mov r8, sp\n    ldr r6, =receiver",
        "longjmp": "mov sp, r8\n    mov pc, r6",
        "throw": "push {r4, lr}\n    mov sp, r8\n    b landed",
    },
}
_WORDS["thumb"] = _WORDS["a32"]


def written(isa: str, body: str) -> str:
    """A body with the words of an instruction set."""
    return body.format(**_WORDS[isa])


FAR_JUMP = """
fn main
    {enter}
    bl work
    {result}
    {leave}
fn work
    {enter}
    bl far
skip:
    bl helper
    {leave}
far:
    b skip
fn helper
    {ret}
"""
DIRECT_RETURN = """
fn main
    {enter}
    bl work
    {result}
    {leave}
fn work
    {enter}
    bl helper
back:
    {leave}
fn helper
    b back
"""
ENDLESS = """
fn main
    {enter}
    {count}
    bl work
fn work
    {enter}
again:
    bl helper
fn back
    {next}
    bl finish
fn helper
    b back
fn finish
    {finish}
"""
NO_FUNCTION = """
fn main
    {enter}
    bl work
fn work
    {enter}
    bl helper
back:
    bl finish
fn helper
    b back
fn finish
    {finish}
"""
RECURSION = """
fn main
    {enter}
    {count}
    bl work
fn work
again:
    {enter}
    bl leaf
fn behind
    {enter}
behind_body:
    {next}
    bl finish
fn leaf
    b behind
fn finish
    {finish}
"""
THROWS = """
fn main
    {enter}
    {keep}
    bl work
landed:
receiver:
    {result}
    {leave}
fn work
    {enter}
    bl leaf
fn behind
    {enter}
behind_body:
    bl throw
fn leaf
    b behind
fn throw
    {throw}
"""
RETURNS_THROUGH_ANOTHER = """
fn main
    {enter}
    bl work
fn work
    {enter}
    bl callee
back:
    bl finish
fn callee
    {enter}
    bl helper
    {leave_through}
fn helper
    {ret}
fn finish
    {finish}
"""
TWO_STEPS = """
fn main
    {enter}
    bl work
fn work
    {enter}
    {promise}
    b helper
    nop
fn back
    bl finish
fn helper
    b back
fn finish
    {finish}
"""
LONGJMP_BEHIND = """
fn main
    {enter}
    bl work
    {result}
    {leave}
fn work
    {enter}
    {keep}
    bl mid
receiver:
    {leave}
fn mid
    {enter}
    bl thrower
fn between
    {ret}
fn thrower
    {longjmp}
"""
