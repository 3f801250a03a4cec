// Too long a length writes over what the function saved, and over its return address. What is called then never
// ends: a path counts until then.
// ! {"runs": 60, "steps": 200}
//
// case: as it is
// | it: every row that was executed is right; 7 of 13 instructions were executed (53.8 %), 6 only read.
// | f: 13, 7 executed, 6 static, some came back
// | dropped 3: a jump to where no code is
// case: a wrong slot
// -         .cfi_offset %rbx, -16
// +         .cfi_offset %rbx, -24
// | it: 1 of 1 function has a wrong row; 7 of 13 instructions were executed (53.8 %), 6 undecided, in f.
// | warning `subq $16, %rsp`, at -1, 9: `.cfi_offset %rbx, -24`; f < caller (%rbx wrong) < main; tried: it makes 2 instructions right and none wrong
// | f+0x1 (subq $16, %rsp): %rbx is shown wrong in the caller: the row says %rbx is at CFA-24, %rbx still has the caller's value: write `.cfi_offset %rbx, -16` for `.cfi_offset %rbx, -24` in line 7 (.eh_frame; seen when it was executed; 1 more instruction by the same cause)
// | warning `1:      movq %rdi, (%rsp,%rbx,8)`, at -1, 9: `xorl %ebx, %ebx`; f < caller (%rbx wrong) < main
// | f+0x7 (movq %rdi, (%rsp,%rbx,8)): %rbx is shown wrong in the caller: the row says %rbx is at CFA-24, the caller's %rbx is in no one place at all 24 visits; no correction is given: no directive was found that makes its rows right (.eh_frame; seen when it was executed; 3 more instructions by the same cause)
// | f: 13, 7 executed, 6 never, some came back
// | note: 3 instructions are undecided, though executed: what was seen there proves no row right or wrong
// | dropped 3: a jump to where no code is
// | as is advised: it: every row that was executed is right; 7 of 13 instructions were executed (53.8 %), 6 only read.

        .text
        .globl f
        .type f, @function
f:      .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        subq $16, %rsp
        .cfi_def_cfa_offset 32
        xorl %ebx, %ebx
1:      movq %rdi, (%rsp,%rbx,8)
        incq %rbx
        cmpq $4, %rbx
        jb 1b
2:      addq $1, (%rsp)
        cmpq $0x7fffffff, (%rsp)
        jne 2b
        addq $16, %rsp
        .cfi_def_cfa_offset 16
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size f, .-f
