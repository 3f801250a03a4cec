// summary: a sign state that changes before the instruction that signs: no harm to who only takes signatures off
// exit: 41
// cpu: signing
// trap: 11 llvm/llvm-project#137802, llvm/llvm-project#137795
// wrong: work..work_signed
// frames: work = work, main, _start
// frames: work_signed = work, main, _start
// frames: work_body = work, main, _start
// frames: helper = helper, work, main, _start

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

.type main, %function
main:
    .cfi_startproc
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    mov x0, #0x28
    bl work
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size main, . - main

// LLVM 20 wrote the directive in front of the instruction: an interrupt here authenticates what nobody signed
.type work, %function
work:
    .cfi_startproc
    .cfi_negate_ra_state
    paciasp
work_signed:
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
work_body:
    bl helper
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    autiasp
    .cfi_negate_ra_state
    ret
    .cfi_endproc
.size work, . - work

.type helper, %function
helper:
    .cfi_startproc
    add x0, x0, #1
    ret
    .cfi_endproc
.size helper, . - helper
