// What no run reaches is read by the function's own convention: OCaml's keeps no register, and the CFA is wrong at a
// call of the collector, as in functions with a trap frame.
// ! {"runs": 1, "steps": 2}
//
// case: as it is
// | it: 1 of 1 function has a wrong row; 1 of 11 instructions were executed (9.1 %), 10 only read.
// | error `call caml_call_gc@PLT`, at -1, 9: `pushq %r14`; camlT__f_1 < no code (the word at CFA-16); tried: it makes 2 instructions right and none wrong
// | camlT__f_1+0x16 (call caml_call_gc@PLT): the caller is lost: the row says CFA = %rsp+16, the true CFA is %rsp+24 here: add `.cfi_adjust_cfa_offset 8` behind line 15, and `.cfi_adjust_cfa_offset -8` behind line 17 (.eh_frame; only read: it follows from the instructions before it; 1 more instruction by the same cause)
// | camlT__f_1: 11, 1 executed, 10 static, some came back
// | as is advised: it: every row that was executed is right; 1 of 11 instructions were executed (9.1 %), 10 undecided, in camlT__f_1.
// case: the trap frame is told
// - 1:      pushq %r14
// -         call caml_call_gc@PLT
// -         popq %r14
// + 1:      pushq %r14
// +         .cfi_adjust_cfa_offset 8
// +         call caml_call_gc@PLT
// +         popq %r14
// +         .cfi_adjust_cfa_offset -8
// | it: every row that was executed is right; 1 of 11 instructions were executed (9.1 %), 10 undecided, in camlT__f_1.
// | camlT__f_1: 11, 1 executed, 10 never, some came back

        .text
        .globl camlT__f_1
        .type camlT__f_1, @function
camlT__f_1: .cfi_startproc
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq %rax, %rbx
        movq %rbx, %rdi
        cmpq (%r14), %r15
        jb 1f
2:      addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_adjust_cfa_offset 8
1:      pushq %r14
        call caml_call_gc@PLT
        popq %r14
        jmp 2b
        .cfi_endproc
        .size camlT__f_1, .-camlT__f_1
