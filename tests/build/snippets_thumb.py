"""Small sources for both assemblers with Thumb code in them: alone, and called from A32."""

from __future__ import annotations

THUMB = """
.syntax unified
.thumb
.cfi_sections .debug_frame
.globl _start
.type _start, %function
.thumb_func
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    movs r0, #10
    bl f
    movs r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type f, %function
f:
    .fnstart
    .cfi_startproc
    push {r4, r7, lr}
    .save {r4, r7, lr}
    .cfi_def_cfa_offset 12
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    .cfi_offset r4, -12
    add r7, sp, #4
    .setfp r7, sp, #4
    .cfi_def_cfa r7, 8
    sub sp, #12
    .pad #12
    adds r0, r0, #1
    add.w r0, r0, r0, lsl #1
    movw r1, #1000
    ldr r2, word
    ldr r3, [sp, #4]
    cmp r0, #100
    it ne
    addne r0, #1
    itte eq
    moveq r0, #2
    moveq r1, #30
    movne r2, #40
    cbz r0, f_end
    bne f
    b.w f_end
    b f_end
f_end:
    add sp, #12
    pop {r4, r7, pc}
    .cfi_endproc
    .fnend
.size f, . - f
    .p2align 2
word:
    .word f, 1000
"""

INTERWORKING = """
.syntax unified
.cfi_sections .debug_frame
.globl _start
.arm
.type _start, %function
_start:
    .cfi_startproc
    bl thumb
    blx thumb
    bl far
    ldr r3, pointer
    blx r3
    mov r7, #1
    svc #0
    .cfi_endproc
.size _start, . - _start
pointer:
    .word thumb
.thumb
.type thumb, %function
.thumb_func
thumb:
    .cfi_startproc
    push {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    bl far
    blx far
    bl near
    cbz r0, near_end
    b near_end
    nop
near_end:
    pop {r7, pc}
    .cfi_endproc
.size thumb, . - thumb
.p2align 2
.type near, %function
.thumb_func
near:
    bx lr
.size near, . - near
    .p2align 2
.arm
.type far, %function
far:
    .cfi_startproc
    push {r11, lr}
    .cfi_def_cfa_offset 8
    bl near
    pop {r11, lr}
    .cfi_def_cfa_offset 0
    bx lr
    .cfi_endproc
.size far, . - far
"""
