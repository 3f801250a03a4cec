    .text
    .intel_syntax noprefix

# Functions that change rbx and do not say so: one of OCaml's compiler, one of another, one that says its convention.
.macro changes_rbx name
    .type \name, @function
\name:
    .cfi_startproc
    lea rbx, [rdi + 1]
    mov rax, rbx
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

    changes_rbx of_ocaml
    changes_rbx of_another
    changes_rbx of_itself

# DWARF 4, sections 7.5.1 and 7.5.3: a unit with its producer, functions with their addresses; one with DW_CC_LLVM_PreserveNone.
    .section .debug_abbrev, "", @progbits
.Labbrevs:
    .byte 1, 0x11, 1, 0x25, 0x08, 0, 0
    .byte 2, 0x2e, 0, 0x11, 0x01, 0x12, 0x07, 0, 0
    .byte 3, 0x2e, 0, 0x11, 0x01, 0x12, 0x07, 0x36, 0x0b, 0, 0
    .byte 0

    .section .debug_info, "", @progbits
.macro unit producer
    .long 2f - 1f
1:
    .short 4
    .long .Labbrevs
    .byte 8, 1
    .asciz "\producer"
.endm
.macro function name, abbreviation=2
    .byte \abbreviation
    .quad \name, 6
.endm
    unit "ocamlopt"
    function of_ocaml
    function of_itself, 3
    .byte 0xcd, 0
2:
    unit "GNU AS 2.44"
    function of_another
    .byte 0
2:
