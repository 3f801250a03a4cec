// The trampoline that a signal's handler returns to. Its row finds every register in the frame that the kernel wrote.
// Its address is a return address that no call made, and unwinders look up the instruction before a return address:
// that is why the entry begins with a nop.
// Only our own writer makes this: LLVM has one CIE for all of .debug_frame, and it describes no signal frame.
    .fnstart
    .save {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, sp, lr, pc}
    .pad #0xa0
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column 0xf
    .cfi_escape 0xf, 4, 0x7d, 0xd4, 1, 6
    .cfi_escape 0x10, 0, 3, 0x7d, 0xa0, 1
    .cfi_escape 0x10, 1, 3, 0x7d, 0xa4, 1
    .cfi_escape 0x10, 2, 3, 0x7d, 0xa8, 1
    .cfi_escape 0x10, 3, 3, 0x7d, 0xac, 1
    .cfi_escape 0x10, 4, 3, 0x7d, 0xb0, 1
    .cfi_escape 0x10, 5, 3, 0x7d, 0xb4, 1
    .cfi_escape 0x10, 6, 3, 0x7d, 0xb8, 1
    .cfi_escape 0x10, 7, 3, 0x7d, 0xbc, 1
    .cfi_escape 0x10, 8, 3, 0x7d, 0xc0, 1
    .cfi_escape 0x10, 9, 3, 0x7d, 0xc4, 1
    .cfi_escape 0x10, 0xa, 3, 0x7d, 0xc8, 1
    .cfi_escape 0x10, 0xb, 3, 0x7d, 0xcc, 1
    .cfi_escape 0x10, 0xc, 3, 0x7d, 0xd0, 1
    .cfi_escape 0x10, 0xe, 3, 0x7d, 0xd8, 1
    .cfi_escape 0x10, 0xf, 3, 0x7d, 0xdc, 1
    .cfi_escape 0x10, 0x88, 2, 3, 0x7d, 0xb0, 3
    .cfi_escape 0x10, 0x89, 2, 3, 0x7d, 0xb8, 3
    .cfi_escape 0x10, 0x8a, 2, 3, 0x7d, 0xc0, 3
    .cfi_escape 0x10, 0x8b, 2, 3, 0x7d, 0xc8, 3
    .cfi_escape 0x10, 0x8c, 2, 3, 0x7d, 0xd0, 3
    .cfi_escape 0x10, 0x8d, 2, 3, 0x7d, 0xd8, 3
    .cfi_escape 0x10, 0x8e, 2, 3, 0x7d, 0xe0, 3
    .cfi_escape 0x10, 0x8f, 2, 3, 0x7d, 0xe8, 3
    nop
.type give_back, %function
.thumb_func
give_back:
    movs r7, #0xad
    svc #0
    .cfi_endproc
    .fnend
give_back_end:
.size give_back, . - give_back
