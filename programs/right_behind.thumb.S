// summary: jumps to the function that stands right behind a call which never returns
// exit: 42
// frames: leaf = leaf, work, main, _start
// frames: behind = behind, work, main, _start
// frames: behind_body = behind, work, main, _start
// frames: helper#1 = helper, work, main, _start
// frames: helper#2 = helper, behind, work, main, _start
// frames: last_leaf = last_leaf, behind, work, main, _start
// frames: finish = finish, behind, work, main, _start

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
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

// main: work(5), which never returns, and an instruction behind it
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
    movs r0, #5
    bl work
    bx lr
    .cfi_endproc
    .fnend
.size main, . - main

// helper(x) = x + 0xa
.type helper, %function
.thumb_func
helper:
    .fnstart
    .cfi_startproc
    adds r0, r0, #0xa
    bx lr
    .cfi_endproc
    .fnend
.size helper, . - helper

// leaf(x): behind(x + 7)
.type leaf, %function
.thumb_func
leaf:
    .fnstart
    .cfi_startproc
    adds r0, r0, #7
    b behind
    .cfi_endproc
    .fnend
.size leaf, . - leaf

// last_leaf(x): finish(x + 0xa)
.type last_leaf, %function
.thumb_func
last_leaf:
    .fnstart
    .cfi_startproc
    adds r0, r0, #0xa
    b finish
    .cfi_endproc
    .fnend
.size last_leaf, . - last_leaf

// work(x): leaf(helper(x)). The next function begins at the return address of its last call
.type work, %function
.thumb_func
work:
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
    bl helper
    bl leaf
    .cfi_endproc
    .fnend
.size work, . - work

// behind(x): last_leaf(helper(x)), in the same way
.type behind, %function
.thumb_func
behind:
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
behind_body:
    bl helper
    bl last_leaf
    .cfi_endproc
    .fnend
.size behind, . - behind

// finish(x) exits with x, and keeps no return address
.type finish, %function
.thumb_func
finish:
    .fnstart
    .cfi_startproc
    push {r7}
    .save {r7}
    .cfi_def_cfa_offset 4
    .cfi_offset r7, -4
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size finish, . - finish
