// A handler that only who raises jumps to, as OCaml's: where SP is there nobody says but its row. A path that is sent there
// from behind a call, with SP elsewhere, proves nothing.
//
// case: as it is
// | it: every row that was executed is right; 13 of 18 instructions were executed (72.2 %), 5 undecided, in camlIt__f_1.
// | camlIt__f_1: 18, 13 executed, 5 never, all came back
// | note: 5 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | note: .eh_frame: 3 instructions count as right, though wrong on a forced path: camlIt__f_1+0x2a (control was turned at camlIt__f_1+0x20) and 2 more
// case: a wrong row further down
// -  ldr lr, [sp, #4]
// +  .cfi_adjust_cfa_offset 8
// +  ldr lr, [sp, #4]
// | it: 1 of 1 function has a wrong row; 13 of 18 instructions were executed (72.2 %), 5 undecided, in camlIt__f_1.
// | error `ldr lr, [sp, #4]`, at -1, 2: `.cfi_adjust_cfa_offset 8`; camlIt__f_1 < no code (the word at CFA+4); tried: it makes 3 instructions right and none wrong
// | camlIt__f_1+0x2a (ldr lr, [sp, #4]): the caller is lost: the row says CFA = sp+16, the true CFA is sp+8 here: take out `.cfi_adjust_cfa_offset 8` in line 32 (.eh_frame; seen when it was executed; 2 more instructions by the same cause)
// | camlIt__f_1: 18, 13 executed, 5 never, all came back
// | note: 5 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | as is advised: it: every row that was executed is right; 13 of 18 instructions were executed (72.2 %), 5 undecided, in camlIt__f_1.

 .syntax unified
 .thumb
 .text
 .globl camlIt__f_1
 .type camlIt__f_1, %function
 .thumb_func
camlIt__f_1:
 .cfi_startproc
 sub sp, #8
 .cfi_adjust_cfa_offset 8
 str lr, [sp, #4]
 .cfi_offset lr, -4
 ldr lr, .Lhandler
.Lpc:
 add lr, pc
 push {r8, lr}
 .cfi_adjust_cfa_offset 8
 mov r8, sp
 bl g
 movs r0, #3
 pop {r8, lr}
 .cfi_adjust_cfa_offset -8
 b 2f
.Lh:
 cmp r0, r4 // the handler
 bne 1f
 movs r0, #1
 b 2f
1:
 bl raises
2:
 ldr lr, [sp, #4]
 add sp, #8
 .cfi_adjust_cfa_offset -8
 bx lr
 .p2align 2
.Lhandler:
 .word .Lh - .Lpc - 4 + 1
 .cfi_endproc
 .size camlIt__f_1, . - camlIt__f_1
