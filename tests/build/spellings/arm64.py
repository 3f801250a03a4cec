"""Ways to spell instructions of AArch64."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.build.spellings.words import CONDITIONS, lines

_ONE_BY_ONE = """
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
    yield from _arithmetic()
    yield from _accesses()
    yield from _conditional()
    for name in ("lsl", "lsr", "asr", "ror"):
        yield from (f"{name} x0, x1, #3", f"{name} x0, x1, 3", f"{name} x0, x1, x2", f"{name} w0, w0, #1")
    yield from lines(_ONE_BY_ONE)


def _arithmetic() -> Iterator[str]:
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


def _accesses() -> Iterator[str]:
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
