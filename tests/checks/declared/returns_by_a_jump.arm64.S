// `br x30` is a return: where what it returns to is an argument that nobody gave, no run goes there.
//
// case: as it is
// | it: every row that was executed is right; 10 of 14 instructions were executed (71.4 %), 4 undecided, in f.
// | f: 12, 8 executed, 4 never, all came back
// | g: 2, 2 executed, all came back
// | dropped 3: a jump to where no code is

 .text
 .globl f
 .type f, %function
f:
 .cfi_startproc
 stp x29, x30, [sp, #-32]!
 .cfi_def_cfa_offset 32
 .cfi_offset x29, -32
 .cfi_offset x30, -24
 ldr x2, [sp, #40]
 str x2, [sp, #16]
 bl g
 cmp x0, #77
 b.eq 1f
 ldp x29, x30, [sp], #32
 .cfi_remember_state
 .cfi_def_cfa_offset 0
 .cfi_restore x29
 .cfi_restore x30
 ret
1: .cfi_restore_state
 ldr x30, [sp, #16]
 .cfi_restore x30
 ldr x29, [sp]
 .cfi_restore x29
 add sp, sp, #48
 .cfi_def_cfa_offset -16
 br x30
 .cfi_endproc
 .size f, . - f
 .globl g
 .type g, %function
g: .cfi_startproc
 mov x0, x1
 ret
 .cfi_endproc
 .size g, . - g
