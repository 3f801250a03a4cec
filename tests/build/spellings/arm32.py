"""Ways to spell instructions of A32 and Thumb."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.build.spellings.words import CONDITIONS, lines

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
