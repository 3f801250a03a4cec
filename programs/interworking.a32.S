// summary: A32 calls Thumb calls A32 calls Thumb: two frame-pointer registers chain through one stack
// exit: 33
// trap: 13 python/cpython#149362, mstange/framehop#43, ARM-software/abi-aa#24, llvm/llvm-project#108019
// frames: main_body = main, _start
// frames: thumb_middle_body = thumb_middle, main, _start
// frames: arm_middle_body = arm_middle, thumb_middle, main, _start
// frames: thumb_leaf#1 = thumb_leaf, arm_middle, thumb_middle, main, _start
// frames: thumb_leaf_body#1 = thumb_leaf, arm_middle, thumb_middle, main, _start
// frames: main_between = main, _start
// frames: thumb_leaf#2 = thumb_leaf, main, _start
// frames: thumb_bare#1 = thumb_bare, arm_numbers, main, _start
// frames: thumb_bare#2 = thumb_bare, arm_numbers, main, _start

.syntax unified
.arm
.cfi_sections .debug_frame

.globl _start
.type _start, %function
_start:
    .fnstart
    .cantunwind
    .cfi_startproc
    .cfi_undefined lr
    mov r7, #0
    mov r11, #0
    mov lr, #0
    bl main
    mov r7, #1
    svc #0
    .cfi_endproc
    .fnend
.size _start, . - _start

.type main, %function
main:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
main_body:
    mov r0, #5
    bl arm_numbers
    blx thumb_middle
main_between:
    ldr r3, .Lthumb_leaf_pointer
    blx r3
    pop {r11, pc}
    .cfi_endproc
    .fnend
.size main, . - main
.Lthumb_leaf_pointer:
    .word .Lthumb_leaf + 1  // the Thumb bit of a code pointer

// arm_middle(x) = 2 * thumb_leaf(x)
.type arm_middle, %function
arm_middle:
    .fnstart
    .cfi_startproc
    push {r11, lr}
    .save {r11, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    mov r11, sp
    .setfp r11, sp
    .cfi_def_cfa_register r11
arm_middle_body:
    blx thumb_leaf
    add r0, r0, r0
    pop {r11, lr}
    .cfi_def_cfa sp, 0
    .cfi_restore r11
    .cfi_restore lr
    bx lr
    .cfi_endproc
    .fnend
.size arm_middle, . - arm_middle

// arm_numbers(x) = thumb_bare(thumb_bare(x)); r7 is an ordinary register here, and leads to numbers
.type arm_numbers, %function
arm_numbers:
    .fnstart
    .cfi_startproc
    push {r7, r11, lr}
    .save {r7, r11, lr}
    .cfi_def_cfa_offset 0xc
    .cfi_offset lr, -4
    .cfi_offset r11, -8
    .cfi_offset r7, -0xc
    add r11, sp, #4
    .setfp r11, sp, #4
    .cfi_def_cfa r11, 8
    ldr r7, .Lnumbers_pointer
    blx thumb_bare
    blx thumb_bare
    pop {r7, r11, pc}
    .cfi_endproc
    .fnend
.size arm_numbers, . - arm_numbers
.Lnumbers_pointer:
    .word .Lnumbers
.Lnumbers:
    .word 0
    .word 2

.thumb

// thumb_bare(x) = x + 1
.type thumb_bare, %function
.thumb_func
thumb_bare:
    .fnstart
    .cfi_startproc
    adds r0, r0, #1
    bx lr
    .cfi_endproc
    .fnend
.size thumb_bare, . - thumb_bare

// thumb_middle(x) = 2 * arm_middle(x)
.type thumb_middle, %function
.thumb_func
thumb_middle:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
thumb_middle_body:
    blx arm_middle
    adds r0, r0, r0
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size thumb_middle, . - thumb_middle

// thumb_leaf(x) = x + 1
.type thumb_leaf, %function
.thumb_func
thumb_leaf:
.Lthumb_leaf:
    .fnstart
    .cfi_startproc
    push {r7, lr}
    .save {r7, lr}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r7, -8
    mov r7, sp
    .setfp r7, sp
    .cfi_def_cfa_register r7
thumb_leaf_body:
    adds r0, r0, #1
    pop {r7, pc}
    .cfi_endproc
    .fnend
.size thumb_leaf, . - thumb_leaf
