// Code that nobody calls is not called, and start files are noted.
// ! {"runs": 100, "steps": 500}
//
// case: as it is
// | it: every row that was executed is right; 2 of 6 instructions were executed (33.3 %), 4 undecided, in _start; 1 has no row.
// | note `_init:  ret`, at +0, 9: `ret`
// | _init (ret): no row covers this instruction, and nobody calls this code (.eh_frame; seen when it was executed)
// | _init: 1, 1 executed, 1 without row, all came back
// | f: 1, 1 executed, all came back
// | not called: _start: 4, 4 never
// | note: not called, 1 place of code (_start): what stands there is no function that someone calls

        .text
        .globl _start, _init, f
        .type _start, @function
_start: .cfi_startproc
        .cfi_undefined rip
        xor %ebp, %ebp
        and $-16, %rsp
        call f
        hlt
        .cfi_endproc
        .size _start, .-_start
        .type _init, @function
_init:  ret
        .size _init, .-_init
        .type f, @function
f:      .cfi_startproc
        ret
        .cfi_endproc
        .size f, .-f
