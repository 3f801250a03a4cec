// A tracer's trampoline by a link register: a call tells where to return to. Where the author looks for that is his.
//
// case: as it is
// | it: nothing was compared, so no row is known to be right; 0 of 9 instructions were executed (0 %), 9 undecided, in hook.
// | not called: hook: 9, 9 never
// | note: nobody calls hook: each run returned to what a call had answered, so no caller is known there
// | dropped 3: a jump to where no code is
// case: it returns to who called it
// -         mov     x30, x0
// +         ldr     x30, [sp, #8]
// | it: 1 of 1 function has a wrong row; all 9 instructions were executed.
// | error `bl      hook_exit`, at -2, 9: `str x30, [sp, #8]`; hook < what is in x30; tried: it makes 2 instructions right and none wrong
// | hook+0x10 (bl hook_exit): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-8: add `.cfi_offset x30, -8` behind line 8, and `.cfi_restore x30` behind line 14 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | hook: 9, 9 executed, all came back
// | as is advised: it: every row is right; all 9 instructions were executed.
// case: a context is no caller's answer
// -         bl      hook_exit
// -         mov     x30, x0
// +         bl      hook_exit
// +         ldr     x30, [x20]
// | it: 1 of 1 function has a wrong row; 6 of 9 instructions were executed (66.7 %), 3 undecided, in hook.
// | error `bl      hook_exit`, at -2, 9: `str x30, [sp, #8]`; hook < what is in x30; tried: it makes 2 instructions right and none wrong
// | hook+0x10 (bl hook_exit): the caller is lost: the row says x30 is still in x30, the caller's x30 is at CFA-8: add `.cfi_offset x30, -8` behind line 8 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | hook: 9, 6 executed, 3 never, some came back
// | as is advised: it: every row that was executed is right; 6 of 9 instructions were executed (66.7 %), 3 only read.

        .text
        .globl hook
        .type hook, %function
hook:   .cfi_startproc
        sub     sp, sp, #16
        .cfi_def_cfa_offset 16
        str     x0, [sp]
        str     x30, [sp, #8]
        mov     x0, sp
        bl      hook_exit
        mov     x30, x0
        ldr     x0, [sp]
        add     sp, sp, #16
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size hook, .-hook
