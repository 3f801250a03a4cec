"""Programs of some instructions: what is run, what stores, and what ends in a fault."""

import re
from functools import cache

from testbed.arch import ARCHES, Arch, Isa
from testbed.build import build
from testbed.build.directives import MODE_DIRECTIVES
from testbed.build.recipes import RECIPES
from testbed.image import Image
from testbed.program.model import program_from_text
from testbed.program.start import START
from testbed.trace import Trace


def arch_of(isa: str) -> tuple[Arch, Isa]:
    """The architecture that has this instruction set."""
    return next((arch, found) for arch in ARCHES.values() if (found := arch.isa_named(isa)))


def expanded(isa: str, body: str) -> str:
    """``fn NAME`` as the directives of a function that ends where the next one begins."""
    kind = "@function" if isa == "x86_64" else "%function"
    out, last = [], None
    for line in [*body.splitlines(), "fn"]:
        if match := re.match(r"\s*fn\b\s*(\S*)$", "fn" if line == ".bss" else line):
            if last:
                out.append(f".size {last}, . - {last}")
            last = match[1]
            if last:
                thumb = ".thumb_func\n" if isa == "thumb" else ""
                out.append(f".globl {last}\n.type {last}, {kind}\n{thumb}{last}:")
        if not match or line == ".bss":
            out.append(line)
    return "\n".join(out) + "\n"


@cache
def image_of(isa: str, body: str, *, start: bool = True) -> Image:
    """The snippet as a program file; without ``start`` the body has a ``fn _start`` of its own."""
    arch, chosen = arch_of(isa)
    mode = MODE_DIRECTIVES[chosen.name]
    own = f".syntax unified\n{mode}\n" if mode else ""
    own = ".intel_syntax noprefix\n" if isa == "x86_64" else own
    text = (START[chosen.name] if start else own) + expanded(isa, body)
    suffix = "" if chosen is arch.isas[0] else f"-{isa}"
    return build(program_from_text("snippet", arch, text, isa=isa), arch, RECIPES[f"clang-asm{suffix}"]).image


# Snippets that store, in loops, calls and IT blocks. `STORES` exit with 42, `IT_STORES` with 15.


# Stores of every size, across granules and unaligned; floating-point registers; loops; calls.
STORES = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 96
    mov ecx, 20
loop:
    mov [rsp + rcx], cl
    mov [rsp + rcx + 31], cx
    mov [rsp + 2*rcx + 3], ecx
    mov [rsp + rcx + 5], rbx
    movq xmm0, rbx
    punpcklqdq xmm0, xmm0
    movups [rsp + rcx + 41], xmm0
    call bump
    dec ecx
    jnz loop
    mov rdi, rsp
    mov ecx, 5
    mov al, 0x55
    rep stosb
    xor [rsp + 8], rbx
    mov eax, 42
    leave
    ret
fn bump
    add rbx, 0x1234567
    push rbx
    pop rdx
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-128]!
    mov x29, sp
    mov x1, #20
loop:
    add x2, sp, x1
    strb w1, [x2, #17]
    strh w1, [x2, #33]
    stur w20, [x2, #41]
    stur x21, [x2, #51]
    stp x22, x23, [sp, #64]
    fmov d8, x24
    stur q8, [x2, #70]
    bl bump
    subs x1, x1, #1
    b.ne loop
    mov x0, #42
    ldp x29, x30, [sp], #128
    ret
fn bump
    add x20, x20, #0x123
    add x24, x24, x20
    str x20, [sp, #-16]!
    ldr x3, [sp], #16
    ret
""",
    "a32": """
fn main
    push {r4, r5, r11, lr}
    sub sp, sp, #128
    mov r1, #20
loop:
    add r2, sp, r1
    strb r1, [r2, #17]
    strh r1, [r2, #33]
    str r6, [r2, #41]
    strd r8, r9, [sp, #64]
    vmov d8, r6, r8
    vstr d8, [sp, #80]
    vpush {d8-d9}
    vpop {d8-d9}
    bl bump
    subs r1, r1, #1
    bne loop
    mov r0, #42
    add sp, sp, #128
    pop {r4, r5, r11, pc}
fn bump
    add r6, r6, #0x120
    tst r1, #1
    ite eq
    addeq r8, r8, r6
    pushne {r6}
    it ne
    popne {r3}
    bx lr
""",
}


STORES["thumb"] = STORES["a32"]


IT_STORES = """
fn main
    push {r4, r5, r6, lr}
    sub sp, sp, #8
    mov r4, #5
    mov r5, #0
loop:
    tst r4, #1
    it ne
    strne r4, [sp]
    adds r5, r5, #3
    tst r4, #1
    itete eq
    streq r5, [sp]
    ldrne r6, [sp, #4]
    ldreq r6, [sp]
    strne r4, [sp, #4]
    subs r4, r4, #1
    bne loop
    mov r0, r5
    add sp, sp, #8
    pop {r4, r5, r6, pc}
"""


# Snippets that end in a fault, with what is said of it.


NOP = {
    "x86_64": "nop\n mov ebx, 0x10\n",
    "arm64": "nop\n mov x19, #0x10\n",
    "a32": "nop\n mov r4, #0x10\n",
    "thumb": "nop\n movs r4, #0x10\n",
}
FAULTS = {
    "x86_64": {
        "wild jump: 0x1230000 is not mapped": "mov eax, 0x1230000\nlast: jmp rax",
        "wild jump: 0x0 is not mapped": "xor eax, eax\nlast: call rax",
        "wild jump: 0x7f[0-9a-f]+ is not executable": "last: jmp rsp",
        "reads 8 bytes at 0x10, which is not mapped": "last: mov rax, [rbx]",
        "writes 8 bytes at 0x18, which is not mapped": "last: mov [rbx + 8], rax",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "lea rax, [rip + last]\nlast: mov [rax], ecx",
        "undefined instruction": "last: ud2",
        "breakpoint": "last: int3",
        "divide error": "xor ecx, ecx\nlast: div ecx",
        "system call 39 is not emulated": "mov eax, 39\nlast: syscall",
    },
    "arm64": {
        "wild jump: 0x1230000 is not mapped": "mov x0, #0x1230000\nlast: br x0",
        "wild jump: 0x0 is not mapped": "mov x0, #0\nlast: blr x0",
        "wild jump: 0x7f[0-9a-f]+ is not executable": "mov x0, sp\nlast: br x0",
        "reads 8 bytes at 0x10, which is not mapped": "last: ldr x0, [x19]",
        "writes 8 bytes at 0x18, which is not mapped": "last: str x0, [x19, #8]",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "adr x0, last\nlast: str w1, [x0]",
        "undefined instruction": "last: udf #0",
        "breakpoint": "last: brk #1",
        "system call 172 is not emulated": "mov x8, #172\nlast: svc #0",
    },
    "a32": {
        "wild jump: 0x1200000 is not mapped": "mov r0, #0x1200000\nlast: bx r0",
        "wild jump: 0x0 is not mapped": "mov r0, #0\nlast: blx r0",
        "wild jump: 0xbe[0-9a-f]+ is not executable": "mov r0, sp\nlast: bx r0",
        "reads 4 bytes at 0x10, which is not mapped": "last: ldr r0, [r4]",
        "writes 4 bytes at 0x18, which is not mapped": "last: str r0, [r4, #8]",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "sub r0, pc, #16\nlast: str r1, [r0]",
        "undefined instruction": "last: udf #0",
        "breakpoint": "last: bkpt #1",
        "system call 20 is not emulated": "mov r7, #20\nlast: svc #0",
    },
}


FAULTS["thumb"] = FAULTS["a32"] | {
    "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "mov r0, pc\nlast: str r1, [r0]"
}
CASES = [(isa, detail, code) for isa, faults in FAULTS.items() for detail, code in faults.items()]


def visits(trace: Trace, label: str) -> list[int]:
    """The steps that execute at a label; there are some."""
    at = trace.arch.code_address(trace.images[0].image.symbol_named(label).address)
    steps = [step for step, pc in enumerate(trace.pc.tolist()) if pc == at]
    assert steps, f"{label} is never executed"
    return steps
