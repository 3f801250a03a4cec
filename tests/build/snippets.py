"""Instructions of every set, that two assemblers have to make the same bytes of."""

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


# Small sources that together use every directive and most kinds of operand; name -> (architecture, ISA, text).


X86 = """
.intel_syntax noprefix
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call f
    mov rdi, rax
    mov eax, 60
    syscall
    .cfi_endproc
.size _start, . - _start

.p2align 4
.type f, @function
f:
    .cfi_startproc
    push rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    and rsp, -16
    sub rsp, 1000
    mov qword ptr [rbp - 8], 100
    mov dword ptr [rsp + 8], -1
    lea rax, [rdi + rdi*2 + 10]
    lea rcx, [rip + table]
    mov rdx, qword ptr [rip + table + 8]
    movabs r8, 0x1122334455667788
    add al, -1
    cmp rax, 10
    .cfi_remember_state
    jne f_other
    mov rsp, rbp
    pop rbp
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
f_other:
    .cfi_restore_state
    test eax, eax
    jz f_end
    .cfi_escape 0x2e, 0x10
    .cfi_escape 0x0f, 0x03, 0x77, 8, 6
f_end:
    imul eax, edi, 300
    shl eax, 3
    movzx ecx, byte ptr [rbp - 1]
    sete cl
    cmovne rax, rcx
    leave
    .cfi_def_cfa rsp, 8
    .cfi_same_value rbp
    ret 16
    .cfi_endproc
.size f, . - f

.type signal, @function
signal:
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_return_column 16
    .cfi_def_cfa rsp, 0x20
    .cfi_offset rip, -0x20
    .cfi_register rbx, r12
    .cfi_val_offset rsp, 0
    .cfi_val_offset r13, 8
    nop
    .cfi_def_cfa_offset 100*8
    .space 70, 0x90
    .cfi_undefined r14
    .space 300, 0x90
    .cfi_offset 3, -24
    jmp f
    .cfi_endproc
.size signal, . - signal

.p2align 3
table:
    .quad f, f + 1, table - f
    .long 1, -1
    .short 0x1234
    .byte 1, 2, ~0 & 0xff
    .asciz "a // b"
"""

ARM64 = """
.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    bl f
    mov x8, #93
    svc #0
    .cfi_endproc
.size _start, . - _start

.type f, %function
f:
    .cfi_startproc
    stp x29, x30, [sp, #-96]!
    .cfi_def_cfa_offset 96
    .cfi_offset x29, -96
    .cfi_offset lr, -88
    stp d8, d9, [sp, #16]
    .cfi_rel_offset d8, 16
    .cfi_rel_offset d9, 24
    str x19, [sp, #32]
    .cfi_offset 19, -64
    add x29, sp, #0
    .cfi_def_cfa x29, 96
    sub sp, sp, #1, lsl #12
    movz x0, #1000
    movk x0, #10, lsl #16
    mov x1, #-1
    add x0, x0, x1, lsl #3
    cmp x0, #100
    .cfi_remember_state
    b.hs f_out
    tbz x0, #33, f_out
    cbnz w0, f_out
    adr x2, table
    ldr x3, table
    ldr x4, [x2, #8]
    ldrb w5, [x2], #1
    mov sp, x29
    .cfi_negate_ra_state
    ldr x19, [sp, #32]
    ldp d8, d9, [sp, #16]
    ldp x29, x30, [sp], #96
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore d8
    .cfi_restore d9
    ret
f_out:
    .cfi_restore_state
    csel x0, x1, x2, eq
    cset w0, ne
    lsl x0, x0, #4
    b f
    .cfi_endproc
.size f, . - f

.p2align 4
table:
    .xword f, 10
    .word table - f
    .hword 7
    .2byte 8
"""

A32 = """
.syntax unified
.arm
.cfi_sections .debug_frame, .eh_frame
.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r11, #0
    bl f
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type f, %function
f:
    .fnstart
    .cfi_startproc
    push {r4-r8, r11, lr}
    .save {r4-r8, r11, lr}
    .cfi_def_cfa_offset 28
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    vpush {d8-d10}
    .vsave {d8-d10}
    .cfi_adjust_cfa_offset 24
    .cfi_offset d8, -56
    sub sp, sp, #100
    .pad #100
    add r11, sp, #8
    .setfp r11, sp, #8
    .cfi_def_cfa r11, 144
    ldr r0, word
    adr r1, word
    movw r2, #1000
    add r0, r0, r2, lsl #2
    rsb r0, r0, #10
    cmp r0, #200
    ldrne r0, [r1, #4]!
    str r0, [sp], #-4
    push {r0}
    pop {r0}
    stmdb r1!, {r2, r3}
    bhs f_end
    mvn r0, #0
f_end:
    sub sp, r11, #8
    add sp, sp, #100
    vpop {d8-d10}
    pop {r4-r8, r11, pc}
    .cfi_endproc
    .fnend
.size f, . - f

word:
    .word 1000, f, word - f

.type raw, %function
raw:
    .fnstart
    .personality f
    .save {r4, lr}
    .unwind_raw 4, 0xb1, 0x08
    .pad #4
    bx lr
    .handlerdata
    .word 1, 2
    .fnend

.type three, %function
three:
    .fnstart
    .pad #0x204
    .save {r0-r3}
    .save {r5, r7}
    .pad #0x1fc
    .pad #0x408
    bx lr
    .fnend

.type one, %function
one:
    .fnstart
    .personalityindex 1
    .save {r4-r11, lr}
    bx lr
    .fnend

.type moved, %function
moved:
    .fnstart
    .pad #16
    .movsp r7
    .vsave {d16-d18}
    .vsave {d0-d1}
    .pad #0x180
    bx lr
    .handlerdata
    .word moved
    .fnend

.type lifted, %function
lifted:
    .fnstart
    .save {r7, lr}
    .setfp r7, sp, #0x204
    .setfp r7, r7, #4
    bx lr
    .fnend

.type inline_data, %function
inline_data:
    .fnstart
    .save {r4-r6, r10, lr}
    bx lr
    .personalityindex 0
    .handlerdata
    .word 7
    .fnend
"""

SNIPPETS = {
    "x86_64": ("x86_64", "x86_64", X86),
    "arm64": ("arm64", "arm64", ARM64),
    "a32": ("arm32", "a32", A32),
    "thumb": ("arm32", "thumb", THUMB),
    "interworking": ("arm32", "a32", INTERWORKING),
}
