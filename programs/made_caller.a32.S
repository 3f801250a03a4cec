// summary: calls that are made by hand or passed on, over far stacks, and locals that look like return addresses
// exit: 20
// frames: second_body = second, _start
// frames: third = third, second, _start
// frames: pointers_body#1 = pointers, _start
// frames: deep#1 = deep, mid, main, _start
// frames: copies_body#2 = copies, under, main, _start
// frames: main_body#2 = main, _start

.syntax unified
.arm
.cfi_sections .debug_frame

.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    mov r0, #9
    sub sp, sp, #0x9000
    bl first
    add sp, sp, #0x9000
    ldr r1, .Lpointers_pointer
    blx r1
    cmp r0, #0
    beq .Lback
    add lr, pc, #4
    b main
.Lback:
    nop
back:
    sub sp, sp, #0x9000
    cmp r0, #0
    beq .Lback_below
    add lr, pc, #4
    b main
.Lback_below:
    ldr r1, .Lnever_pointer
    push {r1, r2}
    cmp r0, #0
    beq .Lback_again
    add lr, pc, #4
    b main
.Lback_again:
    nop
back_again:
    nop
back_below:
    mov r7, #1
    svc #0
    .p2align 2
.Lpointers_pointer:
    .word .Lpointers
    .cfi_endproc
    .fnend
.size _start, . - _start

// main(x) = x + 3: no call is in front of where it returns to; the second time there is nothing else for 36 KiB, the third
// time an address behind a call that was never made
.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
main_body:
    bl mid
    bl roomy
    bl pointers
    bl under
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// passes its call on
.type first, %function
first:
    .fnstart
    .cfi_startproc
    b second
    .cfi_endproc
    .fnend
.size first, . - first

// the call before its return address names `first`
.type second, %function
second:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
second_body:
    bl third
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size second, . - second

// third(x) = x + 1
.type third, %function
third:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    add r0, r0, #1
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size third, . - third

// mid(x) = deep(x), whose return address stays below SP
.type mid, %function
mid:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    bl deep
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size mid, . - mid

// deep(x) = x + 1
.type deep, %function
deep:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    add r0, r0, #1
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size deep, . - deep

// its locals, which it never writes, are where `deep` was
.type roomy, %function
roomy:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    sub sp, sp, #0x40
    nop
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size roomy, . - roomy

// pointers(x) = x + 1, with an address behind a call that was never made
.type pointers, %function
pointers:
.Lpointers:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    sub sp, sp, #0x40
    ldr r1, .Lnever_pointer
    str r1, [sp]
pointers_body:
    add r0, r0, #1
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .p2align 2
.Lnever_pointer:
    .word .Lnever_back
    .cfi_endproc
    .fnend
.size pointers, . - pointers

// under(x) = copies(x)
.type under, %function
under:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    bl copies
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size under, . - under

// copies(x) = x + 1, with a copy of its caller's return address
.type copies, %function
copies:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
    sub sp, sp, #0x40
    ldr r1, [r11]
    ldr r1, [r1, #4]
    str r1, [sp]
copies_body:
    add r0, r0, #1
    mov sp, r11
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size copies, . - copies

// nobody calls it
.type never, %function
never:
    .fnstart
    .cfi_startproc
    blx r1
never_back:
.Lnever_back:
    bx lr
    .cfi_endproc
    .fnend
.size never, . - never
