"""Every spelling of instructions that a source may have, by instruction set, and what clang makes of it."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from testbed.build.compile import find_zig
from testbed.build.targets import CLANG

_NAMES = "eq ne cs hs cc lo mi pl vs vc hi ls ge lt gt le"
CONDITIONS = tuple(_NAMES.split())


def lines(text: str) -> list[str]:
    """The instructions of a text, of which several stand in one line with ``;`` between them."""
    return [line.strip() for part in text.splitlines() for line in part.split(";") if line.strip()]


# Ways to spell instructions of A32 and Thumb.


_ONE_BY_ONE = """
    bx lr; bx r14; bx r3; blx r3; mov pc, lr; mov lr, pc; mov r15, r14; pop {pc}; pop {r4, pc}; push {lr}
    push {r4-r11, lr}
    ldr pc, [sp], #4; ldmfd sp!, {pc}; ldmia sp!, {r4, pc}; stmfd sp!, {lr}; stmdb sp!, {r4, lr}
    str lr, [sp, #-4]!; push {r0-r3}
    mov r0, #0; movs r0, #0; mov r0, #255; movw r0, #0x1234; movt r0, #0x1234; mov r0, #0xff000000; mvn r0, #0
    mov r0, #-1
    mov ip, sp; mov r12, r13; mov fp, sp; mov r7, sp; add fp, sp, #4; add r11, sp, #4; add r7, sp, #0
    sub sp, fp, #4; sub sp, #8
    sub sp, sp, #8; add sp, #8; add sp, sp, #8; sub.w sp, sp, #0x100; subw sp, sp, #0x123; add sp, sp, r4
    sub sp, sp, r4; add r0, sp, #8
    neg r0, r1; negs r0, r1; rsb r0, r1, #0; rsbs r0, r1, #0; rrx r0, r1; mov r0, r1, rrx; mvns r0, r1; cmp r8, r9
    cmp r0, #255
    mul r0, r1, r2; muls r0, r1, r0; mul r0, r1; mla r0, r1, r2, r3; umull r0, r1, r2, r3; smull r0, r1, r2, r3
    umlal r0, r1, r2, r3
    smlal r0, r1, r2, r3; mls r0, r1, r2, r3; smulbb r0, r1, r2; sdiv r0, r1, r2; udiv r0, r1, r2; clz r0, r1
    rev r0, r1; rev16 r0, r1
    uxtb r0, r1; uxth r0, r1; sxtb r0, r1; sxth r0, r1; uxtb r0, r1, ror #8; uxtab r0, r1, r2; ubfx r0, r1, #3, #5
    bfi r0, r1, #3, #5
    bfc r0, #3, #5; sbfx r0, r1, #1, #2; ssat r0, #8, r1; usat r0, #8, r1; pkhbt r0, r1, r2, lsl #3
    svc #0; svc 0; swi #0; nop; nop.w; bkpt #0; udf #0; dmb ish; dmb; dsb sy; isb; isb sy; wfi; yield; clrex
    mrs r0, apsr; mrs r0, cpsr; msr apsr_nzcvq, r0; msr cpsr_f, r0; mrc p15, 0, r0, c13, c0, 3; ldrex r0, [r1]
    strex r0, r1, [r2]
    ldrexd r4, r5, [r1]; ldrt r0, [r1]; tbb [pc, r0]; tbh [pc, r0, lsl #1]; cbz r0, .Lhere; cbnz r1, .Lhere
    vpush {d8-d9}; vpop {d8-d9}; vpush {d8, d9}; vstmdb sp!, {d8-d15}; vldmia sp!, {d8-d15}; vldm sp!, {d8}
    vstr d8, [sp]; fstmdbd sp!, {d8}
    vldr d8, [sp, #8]; vldr s0, [r0, #-4]; vstmia r0, {s0-s3}; vldmia r0!, {s0-s3}; vadd.f32 s0, s1, s2
    vadd.f64 d0, d1, d2; vadd.f64 d0, d2
    vmov r0, s0; vmov s0, r0; vmov d0, r0, r1; vmov r0, r1, d0; vmov.f32 s0, s1; vmov.f64 d0, d1
    vmrs apsr_nzcv, fpscr; vmrs r0, fpscr
    vmov.i32 q0, #0; vorr q0, q1, q2; vmov q0, q1; vorr q0, q1, q1; vld1.8 {d0, d1}, [r0]; vst1.32 {d0}, [r0]!
    vcmp.f32 s0, s1; vcmp.f64 d0, #0
    vcvt.s32.f32 s0, s1; vdup.32 q0, r0; b .Lhere; beq .Lhere; bcs .Lhere; bhs .Lhere; bcc .Lhere; blo .Lhere
    b.w .Lhere
    b.n .Lhere; adr r0, .Lhere; ldr r0, .Lhere; push.w {r4, lr}; pop.w {r4, lr}; ldmia.w sp!, {r4, r5}
    add.w r0, r0, r1; mov.w r0, r1
    movs.w r0, #1; adds r0, r1, #1; adds r0, #1; adds r0, #200; adds.n r0, #1; addw r0, r1, #1; ldr.n r0, [r1]
    str.w r0, [sp]
    ADD R0, R1, R2; LDMFD SP!, {R4, PC}; BX LR; Push {R4, LR}; ldr r0, [r1, #0]; ldr r0, [r1, #-0]; str r0, [sp, #0]!
    adcs r0, r0, r0; add r0, r0, r0; add r0, r0; adds r0, r0, r0; cmp r0, r0; mov r0, r0; mov r8, r8; movs r0, r1
    lsls r0, r1, #0
    stmia r0!, {r1, r2}; ldmia r0!, {r1, r2}; ldm r0, {r0, r1}; ldm r0!, {r1}; stm r1, {r2, r1}; push {r5, r4}
    ldm sp, {r4, sp}; ldmia sp!, {r7}
"""


def arm32(narrow: bool) -> Iterator[str]:
    """Each spelling, some of them twice; ``narrow``: those of Thumb, without conditions."""
    conditions = ("",) if narrow else ("", "al", *CONDITIONS)
    yield from _arithmetic(conditions, narrow)
    yield from _accesses(narrow)
    yield from _multiple(conditions, narrow)
    yield from _shifts()
    yield from lines(_ONE_BY_ONE)


def _arithmetic(conditions: tuple[str, ...], narrow: bool) -> Iterator[str]:
    for name, condition in product(["add", "sub", "rsb", "and", "orr", "eor", "bic", "adc", "sbc"], conditions):
        yield f"{name}{condition} r0, r1, r2"
    for name in ["add", "sub", "rsb", "and", "orr", "eor", "bic", "adc", "sbc"]:
        yield from (
            f"{name}s r0, r1, r2",
            f"{name} r0, r2",
            f"{name}s r0, r0, r2",
            f"{name}s r0, r2",
            f"{name} r0, r1, r2, lsl #2",
        )
        yield from (f"{name} r8, r9, #1", f"{name} r0, r0, #0x10", f"{name} r0, #16", f"{name} r0, r1, r2, lsl 2")
        yield from (
            f"{name} r0, r1, r2, lsr #32",
            f"{name} r0, r1, r2, rrx",
            f"{name} r0, r1, r2, asr #1",
            f"{name}s r3, #1",
        )
        if not narrow:
            yield from (
                f"{name} r0, r1, r2, lsl r3",
                f"{name}eqs r0, r1, r2",
                f"{name}seq r0, r1, r2",
                f"{name} r0, r1, #0xff, 8",
            )
    for name, condition in product(("mov", "mvn", "cmp", "cmn", "tst", "teq"), conditions):
        yield from (f"{name}{condition} r0, r1", f"{name}{condition} r8, #1")


def _accesses(narrow: bool) -> Iterator[str]:
    places = """
    [sp]; [sp, #0]; [r1]; [r1, #4]; [r1, 4]; [r1, #4]!; [r1], #4; [r1, #-4]!; [r1], #-4; [r1, #-8]; [fp, #-4]
    [ip, #8]; [r13, #4]
    [r1, r2]; [r1, r2, lsl #2]; [sp], #4; [sp, #-4]!; [sl]; [sb, #12]
    """
    more = "" if narrow else "[r1, -r2]; [r1, r2]!; [r1], r2; [r1, -r2, lsl #2]!; [r1], -r2; [r1, r2, ror #3]"
    names = (
        "ldr r0,",
        "str r0,",
        "ldrb r0,",
        "ldr pc,",
        "str lr,",
        "ldr lr,",
        "ldr.w r0,",
        "ldrh r0,",
        "strh r0,",
        "ldrsb r0,",
    )
    for place, name in product(lines(places + more), names):
        yield f"{name} {place}"
    for place in lines(places):
        yield from (f"ldrd r4, r5, {place}", f"strd r4, r5, {place}")


def _multiple(conditions: tuple[str, ...], narrow: bool) -> Iterator[str]:
    for mode, bang, (name, registers) in product(
        ("", "ia", "fd", "db", "ea", "ib", "da", "fa", "ed"),
        ("", "!"),
        (
            ("ldm", "{r4, lr}"),
            ("stm", "{r4-r7, lr}"),
            ("ldm", "{r4, fp, pc}"),
            ("stm", "{r4, r5, r6}"),
            ("stm", "{r8}"),
        ),
    ):
        yield f"{name}{mode} sp{bang}, {registers}"
        yield f"{name}{mode} r0{bang}, {registers}"
        if not narrow and mode:
            yield f"{name}{mode}eq sp{bang}, {registers}"
            yield f"{name}{mode}cs r1{bang}, {registers}"
    for condition, name, registers in product(conditions, ("push", "pop"), ("{r4, lr}", "{r4}", "{lr}", "{r4-r6, r8}")):
        yield f"{name}{condition} {registers}"


def _shifts() -> Iterator[str]:
    for name in ("lsl", "lsr", "asr", "ror"):
        yield from (
            f"{name} r0, r1, #3",
            f"{name}s r0, r1, #3",
            f"{name} r0, r1, r2",
            f"{name}s r0, r0, r2",
            f"{name} r0, #3",
        )
        yield from (
            f"mov r0, r1, {name} #3",
            f"movs r0, r1, {name} #3",
            f"{name} r0, r2",
            f"{name}s r0, r2",
            f"movs r0, r0, {name} r2",
        )


# Ways to spell instructions of AArch64.


_ONE_BY_ONE_ARM64 = """
    ret; ret x30; ret lr; ret x1; br x16; blr x8; br x30; nop; hint #0; hint 7; svc #0; svc 0; brk #1; udf #0; isb
    dsb sy; dmb ish
    mov x0, x1; mov x29, sp; mov fp, sp; add x29, sp, #0; mov sp, x29; add sp, x29, #0; orr x0, xzr, x1
    orr w0, wzr, w1
    mov x0, xzr; mov w0, wzr; mov x0, #1; mov x0, 1; movz x0, #1; movz x0, #0x1234, lsl #16; mov x0, #0x12340000
    movn x0, #0
    mov x0, #-1; movn x0, #15; mov x0, #-16; movk x0, #0x1234, lsl #16; movk x0, #1; movz x0, #0; movz w0, #1, lsl #16
    mov w0, #0xffffffff; mov w0, #-1; orr x0, xzr, #0xff00ff00ff00ff00; mov x0, #0xff00ff00ff00ff00
    cmp x0, x1; cmp x0, #1; cmp sp, #16; subs xzr, x0, x1; subs xzr, x0, #1; cmn x0, #1; adds xzr, x0, #1
    adds wzr, w0, w1
    tst x0, x1; ands xzr, x0, x1; ands xzr, x0, #1; neg x0, x1; sub x0, xzr, x1; negs x0, x1; subs x0, xzr, x1
    mvn x0, x1
    orn x0, xzr, x1; mul x0, x1, x2; madd x0, x1, x2, xzr; mneg x0, x1, x2; msub x0, x1, x2, xzr; madd x0, x1, x2, x3
    smull x0, w1, w2; smaddl x0, w1, w2, xzr; umull x0, w1, w2; udiv x0, x1, x2; sdiv w0, w1, w2; umulh x0, x1, x2
    sxtw x0, w1; sxtb w0, w1; uxtb w0, w1; uxth w0, w1; sxth x0, w1; sbfm x0, x1, #0, #31; ubfm w0, w1, #0, #7
    ubfx x0, x1, #3, #5; ubfm x0, x1, #3, #7; sbfx w0, w1, #1, #2; bfi x0, x1, #3, #5; bfxil x0, x1, #3, #5
    ubfiz x0, x1, #3, #5
    lsl x0, x1, #60; ubfm x0, x1, #4, #3; lslv x0, x1, x2; extr x0, x1, x2, #3; ror x0, x1, #3
    extr x0, x1, x1, #3; rorv x0, x1, x2
    add x0, x1, w2, uxtw; add x0, x1, w2, uxtw #2; add x0, sp, x2; add x0, sp, x2, uxtx; add x0, sp, x2, lsl #2
    sub sp, sp, x1
    clz x0, x1; rbit x0, x1; rev x0, x1; rev16 w0, w1; cls w0, w1; adc x0, x1, x2; sbc x0, x1, x2; ngc x0, x1
    sbc x0, xzr, x1
    ldur x0, [x1, #-8]; ldur x0, [x1, #1]; ldr x0, [x1, #1]; stur w0, [sp, #-4]; str w0, [sp, #-4]
    ldursw x0, [x1, #-4]; ldrsw x0, [x1]
    ldxr x0, [x1]; stxr w0, x1, [x2]; ldaxr w0, [sp]; stlr x0, [x1]; ldar x0, [x1, #0]; clrex; yield; wfe; sev
    mrs x0, tpidr_el0; msr tpidr_el0, x0; mrs x0, nzcv; fmov d0, x0; fmov x0, d0; fmov s0, w0; fmov d0, d1
    fadd d0, d1, d2
    fcmp d0, d1; fcmp d0, #0.0; fcvtzs x0, d0; scvtf d0, x0; movi v0.2d, #0; mov v0.16b, v1.16b
    orr v0.16b, v1.16b, v1.16b
    ld1 {v0.16b}, [x0]; st1 {v0.4s, v1.4s}, [x0], #32; add v0.4s, v1.4s, v2.4s; mov v0.s[1], w1; umov w0, v0.s[1]
    mov w0, v0.s[1]
    dup v0.4s, w0; ldr q0, [x0, x1, lsl #4]; stp q8, q9, [sp, #-32]!; ldp q8, q9, [sp], #32; prfm pldl1keep, [x0]
    paciasp; autiasp; hint #25; hint #29; bti c; bti jc; xpaclri; NOP; RET; Mov X0, X1; STP X29, X30, [SP, #-16]!
    b.eq .Lhere; b.hs .Lhere; b.cs .Lhere; b.lo .Lhere; beq .Lhere; bhs .Lhere; b .Lhere; bl .Lhere
    cbz x0, .Lhere; cbnz w0, .Lhere
    tbz x0, #3, .Lhere; tbz w0, 3, .Lhere; tbnz x0, #40, .Lhere; adr x0, .Lhere
"""


def arm64() -> Iterator[str]:
    """Each spelling, some of them twice."""
    yield from _arithmetic_of_arm64()
    yield from _accesses_of_arm64()
    yield from _conditional()
    for name in ("lsl", "lsr", "asr", "ror"):
        yield from (f"{name} x0, x1, #3", f"{name} x0, x1, 3", f"{name} x0, x1, x2", f"{name} w0, w0, #1")
    yield from lines(_ONE_BY_ONE_ARM64)


def _arithmetic_of_arm64() -> Iterator[str]:
    for name in ["add", "sub", "adds", "subs", "and", "orr", "eor", "bic", "ands"]:
        yield from (
            f"{name} x0, x1, x2",
            f"{name} w0, w1, w2",
            f"{name} x0, x1, x2, lsl #3",
            f"{name} x0, x0, x2, lsl 3",
        )
        yield f"{name} x0, x1, x2, lsl #0"
    for name, value in product(
        ["add", "sub", "adds", "subs"], ("#1", "1", "#0x10", "#4095", "#0x1000", "#1, lsl #12", "#0")
    ):
        yield f"{name} x0, x1, {value}"
        yield f"{name} sp, sp, {value}" if not name.endswith("s") else f"{name} xzr, x1, {value}"
    for name, value in product(("and", "orr", "eor", "tst"), ("#1", "#0xff", "#-16", "#0xf0f0f0f0f0f0f0f0")):
        yield f"{name} {'' if name == 'tst' else 'x0, '}x1, {value}"


def _accesses_of_arm64() -> Iterator[str]:
    places = (
        "[sp]; [sp, #0]; [x1]; [x1, #8]; [x1, 8]; [x1, #16]!; [x1], #16; [x1], 16; [x1, #-16]!; [x1], #-16; [fp, #16]"
    )
    for place, name in product(
        lines(places), ("ldr x0,", "str x0,", "ldr w0,", "ldrb w0,", "str q0,", "ldr d8,", "strh w0,")
    ):
        yield f"{name} {place}"
    for place, pair in product(lines(places), ("x29, x30", "fp, lr", "d8, d9", "w0, w1", "x30, x29")):
        yield from (f"stp {pair}, {place}", f"ldp {pair}, {place}")
    for place in lines(
        "[x1, x2]; [x1, x2, lsl #3]; [x1, x2, lsl 3]; [x1, w2, uxtw]; [x1, w2, sxtw #3]; [x1, w2, uxtw #0]; [x1, #-8]"
    ):
        yield from (f"ldr x0, {place}", f"str x0, {place}")


def _conditional() -> Iterator[str]:
    for condition in CONDITIONS:
        yield from (f"cset x0, {condition}", f"csel x0, x1, x2, {condition}", f"cinc x0, x1, {condition}")
        yield from (
            f"csinc x0, x1, x2, {condition}",
            f"csinc x0, x1, x1, {condition}",
            f"csinc x0, xzr, xzr, {condition}",
        )
        yield from (f"ccmp x0, #1, #4, {condition}", f"csneg w0, w1, w2, {condition}", f"csetm x0, {condition}")


# Ways to spell instructions of x86_64.


_CODES = "o no b c nae ae nb nc e z ne nz be na a nbe s ns p pe np po l nge ge nl le ng g nle"
_ONE_BY_ONE_X86_64 = """
    ret; ret 8; ret 0; push rax; pop r12; push 1; push -1; push 0x1234; push qword ptr [rax]; pop qword ptr [rax + 8]
    push [rax]; call rax; call [rax]; call qword ptr [rax + 8]; jmp rax; jmp [rax]; jmp qword ptr [rax*8 + 16]
    imul rax, rcx; imul rax, rcx, 3; imul rax, rax, 3; imul rax, 3; imul rcx; mul rcx; div ecx; idiv rcx; neg rax
    not eax
    leave; cdq; cdqe; cqo; cwde; nop; hlt; ud2; int3; int 3; int 0x80; syscall; cld; std; pushfq; popfq; endbr64
    nop dword ptr [rax]; nop word ptr [rax + rax]; xchg rax, rcx; xchg rcx, rax; xchg ax, ax; xchg [rax], rcx
    movzx eax, byte ptr [rax]; movzx eax, cl; movsx rax, word ptr [rax]; movsxd rax, ecx; movsx rax, ecx; bswap rax
    movabs rax, 0x1122334455667788; mov rax, 0x1122334455667788; mov eax, 0xffffffff; mov rax, 0xffffffff; mov rax, -1
    mov al, 0xff; mov ax, 0xffff; enter 16, 0; rep movsb; rep stosq; repe cmpsb; repz cmpsb; repne scasb
    repnz scasb; movsq
    lock xadd qword ptr [rdi], rax; lock cmpxchg [rdi], rcx; lock inc dword ptr [rax]; xadd [rdi], eax; bt rax, 5
    bts ecx, 3
    bsf rax, rcx; bsr eax, ecx; test al, 1; test byte ptr [rax], 4; cpuid; rdtsc; pause; mfence; cmpxchg16b [rdi]
    movd xmm0, eax; movq xmm1, rax; movq rax, xmm1; movaps xmm0, xmm1; movups xmm0, [rsp + 16]; movaps [rsp], xmm8
    movaps xmmword ptr [rbp - 32], xmm6; movsd xmm0, qword ptr [rax]; movss xmm0, [rax]; addsd xmm0, xmm1
    pxor xmm0, xmm0
    cvtsi2sd xmm0, rax; cvttsd2si rax, xmm0; ucomisd xmm0, xmm1; movdqa xmm0, [rax]; movdqu xmm0, [rax]
    shufps xmm0, xmm1, 3
    fld qword ptr [rax]; fstp dword ptr [rax]; fnstcw [rsp]; ldmxcsr [rsp]; shld rax, rcx, 4; shrd eax, ecx, cl
    sub rsp, 128
    mov rcx, fs:[0x28]; mov rcx, qword ptr fs:[0x28]; RET; Push RBP; MOV RBP, RSP; retq; callq rax
    mov rax, qword ptr [rax + 2*4]
"""


def x86_64() -> Iterator[str]:
    """Each spelling, some of them twice."""
    binary = ["add", "or", "adc", "sbb", "and", "sub", "xor", "cmp", "mov", "test"]
    registers = ("rax", "eax", "ax", "al", "r12", "r12d", "r12w", "r12b", "rbp", "rsp")
    for name, (a, b) in product(binary, (("rax", "rcx"), ("r9d", "ebx"), ("si", "r10w"), ("dl", "bh"), ("rsp", "rbp"))):
        yield f"{name} {a}, {b}"
    for name, register, value in product(("add", "sub", "and", "cmp", "mov", "test"), registers, ("1", "-1", "0x7f")):
        yield f"{name} {register}, {value}"
    for name, value in product(("add", "mov", "cmp"), ("128", "-128", "0x12345", "-0x12345", "0x7fffffff")):
        yield f"{name} rax, {value}"
        yield f"{name} r9d, {value}"
    places = """
    [rax]; [rsp]; [rbp]; [rbp - 8]; [rbp-8]; [rsp + 8]; [rsp+0x80]; [rax + rcx]; [rcx + rax]; [rax + rcx*1]
    [rax + rcx*4]
    [rcx*4 + rax]; [rax + 4*rcx]; [rax + rcx*4 + 8]; [rax + rcx*8 + 4]; [8 + rcx*4 + rax]; [rcx*4]; [rcx*4 + 8]; [r13]
    [r12]; [r13 + r12*2 - 1]; [rax + 0]; [rip + 8]; [rax - 0x1234]; [0x1234]; [rax + 16 - 4]; [rax][8]; [rax*2]
    [rbp + rax]
    [rax + rbp]; [eax]; [rax + rax]
    """
    for place, size in product(lines(places), ("", "qword ptr ", "QWORD PTR ")):
        yield f"mov rdx, {size}{place}"
        yield f"mov {size}{place}, rdx"
    for place in lines(places):
        yield f"lea rdx, {place}"
        yield f"mov dword ptr {place}, -1"
        yield f"cmp byte ptr {place}, 0x80"
    for size in ("byte", "word", "dword", "qword"):
        yield f"inc {size} ptr [rax]"
        yield f"add {size} ptr [rsp + 8], 1"
        yield f"shl {size} ptr [rax], 3"
    for name in _CODES.split():
        yield f"set{name} al"
        yield f"cmov{name} rax, rcx"
    for name in ("shl", "sal", "shr", "sar", "rol", "ror"):
        yield from (f"{name} rax, 3", f"{name} eax, 1", f"{name} eax", f"{name} eax, cl")
    yield from lines(_ONE_BY_ONE_X86_64)


# Many ways to spell instructions, and the bytes that clang's assembler makes of each.


_HEADS = {
    "x86_64": ".intel_syntax noprefix\n",
    "arm64": "",
    "a32": ".syntax unified\n.arm\n.fpu neon\n",
    "thumb": ".syntax unified\n.thumb\n.fpu neon\n",
}


SPELLINGS = {
    "x86_64": x86_64,
    "arm64": arm64,
    "a32": lambda: arm32(narrow=False),
    "thumb": lambda: arm32(narrow=True),
}


def spellings(isa: str) -> list[str]:
    """Each once. Not all of them are instructions: who assembles them says which."""
    return list(dict.fromkeys(SPELLINGS[isa]()))


def assembled(isa: str, lines: Sequence[str], folder: Path) -> dict[str, bytes]:
    """What clang makes of each line that it takes. ``.Lhere`` is 8 bytes behind where the line begins."""
    lines = list(lines)
    source, made = folder / "spelled.S", folder / "spelled.o"
    while True:
        text = (
            _HEADS[isa]
            + ".text\n"
            + "".join(
                f".balign 4; .Lt{i} = .Ls{i} + 8; .Ls{i}: {line.replace('.Lhere', f'.Lt{i}')}; .Le{i}:\n"
                for i, line in enumerate(lines)
            )
        )
        sizes = ".section .sizes\n" + "".join(f".long .Ls{i} - .Ls0, .Le{i} - .Ls{i}\n" for i in range(len(lines)))
        source.write_text(text + sizes)
        command = (str(find_zig()), "clang", "-c", *CLANG[isa], "-ferror-limit=0", "-w", str(source), "-o", str(made))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.returncode:
            break
        head = _HEADS[isa].count("\n") + 1
        wrong = {int(number) - head - 1 for number in re.findall(r"spelled\.S:(\d+):\d+: error", done.stderr)}
        assert wrong, done.stderr
        lines = [line for i, line in enumerate(lines) if i not in wrong]
    from elftools.elf.elffile import ELFFile

    with made.open("rb") as file:
        elf = ELFFile(file)
        code, table = elf.get_section_by_name(".text").data(), elf.get_section_by_name(".sizes").data()
    numbers = [int.from_bytes(table[i : i + 4], "little") for i in range(0, len(table), 4)]
    return {line: code[at : at + size] for line, at, size in zip(lines, numbers[::2], numbers[1::2], strict=True)}
