// One entry for code that is called in two places: what is called begins as a function does.
//
// case: as it is
// | 2 of 2 agree
// case: one row for all of it
// - inside: .cfi_def_cfa_offset 8
// + inside: .cfi_def_cfa_offset 32
// | 1 of 2 agree
// | suspect: CFA: an instruction moved it, and the row is for before
// | vm+0x9 (row of vm+0x9): the row says CFA = rsp+0x20; rsp is CFA-0x8

        .globl caller
        .type caller, @function
caller: .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    inside
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size caller, .-caller
        .type vm, @function
vm:     .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
2:      addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
inside: .cfi_def_cfa_offset 8
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        jmp     2b
        .cfi_endproc
        .size vm, .-vm
