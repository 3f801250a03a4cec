// summary: calls that are made by hand or passed on, over far stacks, and locals that look like return addresses
// exit: 20
// frames: second_body = second, _start
// frames: third = third, second, _start
// frames: pointers_body#1 = pointers, _start
// frames: deep#1 = deep, mid, main, _start
// frames: copies_body#2 = copies, under, main, _start
// frames: main_body#2 = main, _start

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
    mov r7, #0
    mov r11, r7
    mov lr, r7
    movs r0, #9
    movs r2, #0x90
    lsls r2, r2, #8
    mov r3, sp
    subs r3, r3, r2
    mov sp, r3
    bl first
    movs r2, #0x90
    lsls r2, r2, #8
    mov r3, sp
    adds r3, r3, r2
    mov sp, r3
    ldr r1, .Lpointers_pointer
    blx r1
    cmp r0, #0
    beq .Lback
    mov r1, pc
    adds r1, #9
    mov lr, r1
    b.w main
.Lback:
    nop
back:
    movs r2, #0x90
    lsls r2, r2, #8
    mov r3, sp
    subs r3, r3, r2
    mov sp, r3
    cmp r0, #0
    beq .Lback_below
    mov r1, pc
    adds r1, #9
    mov lr, r1
    b.w main
.Lback_below:
    ldr r1, .Lnever_pointer
    push {r1, r2}
    cmp r0, #0
    beq .Lback_again
    mov r1, pc
    adds r1, #9
    mov lr, r1
    b.w main
.Lback_again:
    nop
back_again:
    nop
back_below:
    movs r7, #1
    svc #0
    .p2align 2
.Lpointers_pointer:
    .word .Lpointers + 1  // the Thumb bit of a code pointer
    .cfi_endproc
    .fnend
.size _start, . - _start

// main(x) = x + 3: no call is in front of where it returns to; the second time there is nothing else for 36 KiB, the third
// time an address behind a call that was never made
.type main, %function
.thumb_func
main:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
main_body:
    bl mid
    bl roomy
    bl pointers
    bl under
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size main, . - main

// passes its call on
.type first, %function
.thumb_func
first:
    .fnstart
    .cfi_startproc
    b.w second
    .cfi_endproc
    .fnend
.size first, . - first

// the call before its return address names `first`
.type second, %function
.thumb_func
second:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
second_body:
    bl third
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size second, . - second

// third(x) = x + 1
.type third, %function
.thumb_func
third:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    adds r0, r0, #1
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size third, . - third

// mid(x) = deep(x), whose return address stays below SP
.type mid, %function
.thumb_func
mid:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    bl deep
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size mid, . - mid

// deep(x) = x + 1
.type deep, %function
.thumb_func
deep:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    adds r0, r0, #1
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size deep, . - deep

// its locals, which it never writes, are where `deep` was
.type roomy, %function
.thumb_func
roomy:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    sub sp, #0x40
    nop
    mov sp, r7
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size roomy, . - roomy

// pointers(x) = x + 1, with an address behind a call that was never made
.type pointers, %function
.thumb_func
pointers:
.Lpointers:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    sub sp, #0x40
    ldr r1, .Lnever_pointer
    str r1, [sp]
pointers_body:
    adds r0, r0, #1
    mov sp, r7
    pop {r7, pc}
    .p2align 2
.Lnever_pointer:
    .word .Lnever_back + 1  // the Thumb bit of a code pointer
    .cfi_endproc
    .fnend
.size pointers, . - pointers

// under(x) = copies(x)
.type under, %function
.thumb_func
under:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    bl copies
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size under, . - under

// copies(x) = x + 1, with a copy of its caller's return address
.type copies, %function
.thumb_func
copies:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
    sub sp, #0x40
    ldr r1, [r7]
    ldr r1, [r1, #4]
    str r1, [sp]
copies_body:
    adds r0, r0, #1
    mov sp, r7
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size copies, . - copies

// nobody calls it
.type never, %function
.thumb_func
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
