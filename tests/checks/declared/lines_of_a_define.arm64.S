// A statement of a `#define` goes on over its lines until a semicolon, and `##` makes one word of two.
//
// case: a slot by an expression that counts from SP, which moves
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | warning `WORK(1, x21)`, at -1, 2: `SLOT(22, 8)` in SLOT, -23; f < caller (x19 and x20 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x8 (mov x21, x0): x19 and x20 are shown wrong in the caller: the row says x19 is what an expression computes, x19 still has the caller's value; the row says x20 is what an expression computes, x20 still has the caller's value: add `.cfi_offset x19, -16` and `.cfi_offset x20, -8` behind line 25 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.
// case: a save is not told in a macro of several lines
// -  SLOT(21, 0)
// -  SLOT(22, 8)
// | it: 1 of 1 function has a wrong row; all 7 instructions were executed.
// | warning `WORK(1, x21)`, at -1, 2: `.cfi_def_cfa_offset 32`; f < caller (x19 and x20 wrong) < main; tried: it makes 3 instructions right and none wrong
// | f+0x8 (mov x21, x0): x19 and x20 are shown wrong in the caller: the row says x19 is what an expression computes, x19 still has the caller's value; the row says x20 is what an expression computes, x20 still has the caller's value: add `.cfi_offset x19, -16` and `.cfi_offset x20, -8` behind line 23 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | warning `WORK(1, x21)`, at -1, 2: `.cfi_def_cfa_offset 32`; f < caller (x21 and x22 wrong) < main; tried: it makes 2 instructions right and none wrong
// | f+0xc (mov x22, x0): x21 and x22 are shown wrong in the caller: the row says x21 is still in x21, the caller's x21 is at CFA-32: add `.cfi_offset x21, -32` and `.cfi_offset x22, -24` behind line 23 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | f: 7, 7 executed, all came back
// | as is advised: it: every row is right; all 7 instructions were executed.

#define SLOT(regno, offset) \
 .cfi_escape \
   0x10, /* DW_CFA_expression */ \
     regno, \
     2, /* length */ \
   0x8f, /* DW_OP_breg31 */ \
     offset
#define WORK_1(reg) \
 mov reg, x0; \
 mov x22, \
   x0
#define WORK(k, reg) WORK_##k(reg)
 .text
 .globl f
 .type f, %function
f:
 .cfi_startproc
 stp x19, x20, [sp, #-16]!
 .cfi_def_cfa_offset 16
 SLOT(19, 0)
 SLOT(20, 8)
 stp x21, x22, [sp, #-16]!
 .cfi_def_cfa_offset 32
 SLOT(21, 0)
 SLOT(22, 8)
 WORK(1, x21)
 ldp x21, x22, [sp], #16
 .cfi_def_cfa_offset 16
 .cfi_restore x21
 .cfi_restore x22
 ldp x19, x20, [sp], #16
 .cfi_def_cfa_offset 0
 .cfi_restore x19
 .cfi_restore x20
 ret
 .cfi_endproc
 .size f, . - f
