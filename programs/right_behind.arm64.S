// summary: jumps to the function that stands right behind a call which never returns
// exit: 42
// frames: leaf = leaf, work, main, _start
// frames: behind = behind, work, main, _start
// frames: behind_body = behind, work, main, _start
// frames: helper#1 = helper, work, main, _start
// frames: helper#2 = helper, behind, work, main, _start
// frames: last_leaf = last_leaf, behind, work, main, _start
// frames: finish = finish, behind, work, main, _start

.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start

// main: work(5), which never returns, and an instruction behind it
.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x0, #5
    bl work
    ret
    .cfi_endproc
.size main, . - main

// helper(x) = x + 0xa
.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #0xa
    ret
    .cfi_endproc
.size helper, . - helper

// leaf(x): behind(x + 7)
.type leaf, %function
leaf:
    .cfi_startproc
    add x0, x0, #7
    b behind
    .cfi_endproc
.size leaf, . - leaf

// last_leaf(x): finish(x + 0xa)
.type last_leaf, %function
last_leaf:
    .cfi_startproc
    add x0, x0, #0xa
    b finish
    .cfi_endproc
.size last_leaf, . - last_leaf

// work(x): leaf(helper(x)). The next function begins at the return address of its last call
.type work, %function
work:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    bl helper
    bl leaf
    .cfi_endproc
.size work, . - work

// behind(x): last_leaf(helper(x)), in the same way
.type behind, %function
behind:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
behind_body:
    bl helper
    bl last_leaf
    .cfi_endproc
.size behind, . - behind

// finish(x) exits with x, and keeps no return address
.type finish, %function
finish:
    .cfi_startproc
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size finish, . - finish
