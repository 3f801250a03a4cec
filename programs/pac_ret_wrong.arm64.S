// summary: signed return addresses, and rows that say so too late, too early,
//   and not behind an early return
// exit: 43
// cpu: signing
// trap: 11 llvm/llvm-project#137802, llvm/llvm-project#209950, ARM-software/abi-aa#327
// twin: pac_ret
// wrong: main_plain..main_end, choose_signed..choose_stored, choose_body..choose_end
// frames: work_signed = work, main, _start
// frames: work_body = work, main, _start
// frames: leaf_body = leaf, work, main, _start
// frames: choose_early = choose, main, _start
// frames: choose_body = choose, main, _start
// frames: helper = helper, choose, main, _start

.arch armv8.3-a

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
    paciasp
    .cfi_negate_ra_state
    stp x29, x30, [sp, #-0x10]!
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x0, #0x14
    adr x9, work
    blr x9
    bl choose
    bl choose
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    .cfi_negate_ra_state
main_plain:
    autiasp
main_end:
    ret
    .cfi_endproc
.size main, . - main

// Key B, and a branch target that is no signing instruction; work(n) = n + 1 + leaf's 20
.type work, %function
work:
    .cfi_startproc
    .cfi_b_key_frame
    bti c
    pacibsp
    .cfi_negate_ra_state
work_signed:
    stp x29, x30, [sp, #-0x20]!
    .cfi_def_cfa_offset 0x20
    .cfi_offset x29, -0x20
    .cfi_offset x30, -0x18
    str x19, [sp, #0x10]
    .cfi_offset x19, -0x10
    mov x29, sp
    .cfi_def_cfa_register x29
work_body:
    add x19, x0, #1
    bl leaf
    add x0, x0, x19
    .cfi_def_cfa_register sp
    ldr x19, [sp, #0x10]
    .cfi_restore x19
    ldp x29, x30, [sp], #0x20
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    retab
    .cfi_endproc
.size work, . - work

// A leaf that signs all the same (pac-ret+leaf), and authenticates as it returns
.type leaf, %function
leaf:
    .cfi_startproc
    paciasp
    .cfi_negate_ra_state
leaf_body:
    mov x0, #0x14
    retaa
    .cfi_endproc
.size leaf, . - leaf

// choose(n): n is odd the first time: n + 1 by the early return; then n + 1 by helper
.type choose, %function
choose:
    .cfi_startproc
    paciasp
choose_signed:
    stp x29, x30, [sp, #-0x10]!
    .cfi_negate_ra_state
choose_stored:
    .cfi_def_cfa_offset 0x10
    .cfi_offset x29, -0x10
    .cfi_offset x30, -8
    tbz w0, #0, choose_body
choose_early:
    add x0, x0, #1
    .cfi_remember_state
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
choose_plain:
    autiasp
    .cfi_negate_ra_state
    ret
choose_body:
    .cfi_restore_state
    .cfi_negate_ra_state
    mov x29, sp
    bl helper
    ldp x29, x30, [sp], #0x10
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    retaa
choose_end:
    .cfi_endproc
.size choose, . - choose

.type helper, %function
helper:
    .cfi_startproc
    bti c
    add x0, x0, #1
    ret
    .cfi_endproc
.size helper, . - helper
