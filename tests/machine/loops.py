"""Snippets in a loop, of instructions that write more than their operands say.

A disassembler easily gets their registers wrong. Each is executed often enough to be settled, with registers that
change between the turns.
"""

LOOPS = {
    "x86_64": """
fn main
    push rbp
    mov rbp, rsp
    sub rsp, 512
    and rsp, -64
    mov r15d, 9
turn:
    lea rbx, [r15 + 2*r15 + 7]
    mov eax, r15d
    cdqe
    cqo
    imul rcx, rax, 77
    mul rbx
    div rbx
    xadd rax, rbx
    xchg rcx, rdx
    xchg [rsp + 8], rcx
    lock xadd [rsp + 8], rdx
    mov rax, [rsp + 16]
    test r15d, 1
    jz 1f
    xor eax, 55
1:  cmpxchg [rsp + 16], rcx
    cmpxchg16b [rsp + 32]
    lahf
    ror ah, 1
    sahf
    pushfq
    xor dword ptr [rsp], 0x40
    popfq
    shl rcx, cl
    shld rcx, rbx, 3
    rcl rcx, 1
    bsf rdx, r15
    bt r15, 1
    setc dl
    cmovc esi, r15d
    popcnt r9d, r15d
    movq xmm0, r15
    pmovmskb r10d, xmm0
    movq r11, xmm0
    ucomisd xmm0, xmm1
    cvttsd2si r12d, xmm0
    lea rdi, [rsp + 64]
    lea rsi, [rsp + 128]
    mov ecx, r15d
    and ecx, 3
    cld
    rep movsb
    mov ecx, r15d
    repne scasb
    lodsd
    stosw
    mov rbx, rsp
    mov al, r15b
    xlatb
    mov ecx, 3
2:  inc r13
    loop 2b
    cpuid
    push r15
    enter 16, 0
    leave
    pop r14
    bswap r14
    mov ax, r15w
    mov bh, cl
    call 3f
3:  pop rdx
    dec r15d
    jnz turn
    mov eax, 42
    leave
    ret
""",
    "arm64": """
fn main
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #512
    mov x19, #9
turn:
    mov x0, sp
    str x19, [x0], #8
    str x19, [x0, #8]!
    ldr x1, [x0], #-16
    ldp x2, x3, [x0], #16
    ldpsw x4, x5, [x0]
    stp d8, d9, [x0, #16]!
    fmov d8, x19
    fmov s9, w19
    ins v10.d[1], x19
    ins v10.d[0], x19
    ld1 {v11.4s, v12.4s}, [x0], #32
    ld1r {v13.2d}, [x0]
    mov v14.16b, v8.16b
    ldr q15, [sp]
    ldr b15, [sp]
    ldp q8, q9, [sp]
    cmp x19, #5
    csel x6, x1, x2, eq
    ccmp x19, #3, #4, ne
    adcs x7, x1, x2
    fcmp d8, d9
    mrs x8, nzcv
    eor x8, x8, #0x80000000
    msr nzcv, x8
    b.mi 1f
    add x9, x9, x19
1:  mov x0, sp
    ldxr x10, [x0]
    stxr w11, x19, [x0]
    ldxp x12, x13, [x0]
    stlxp w14, x12, x13, [x0]
    umulh x15, x1, x19
    extr x16, x1, x19, #3
    bfi x17, x19, #2, #7
    movk x18, #7, lsl #16
    umov w20, v8.s[1]
    fcvtzs x21, d8
    scvtf d9, x19
    tbl v10.16b, {v8.16b}, v9.16b
    sqadd d11, d8, d9
    ands xzr, x19, #1
    adr x22, 2f
    blr x22
2:  paciasp
    autiasp
    subs x19, x19, #1
    b.ne turn
    mov w0, #42
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret
""",
    "a32": """
fn main
    push {r4-r11, lr}
    sub sp, sp, #512
    mov r4, #9
turn:
    add r0, sp, #256
    stmdb r0!, {r4, r5}
    stmia r0!, {r4, r5}
    ldmdb r0!, {r1, r2}
    str r4, [r0], #4
    str r4, [r0, #4]!
    ldr r1, [r0], -r4, lsl #2
    bic r0, r0, #7
    strd r4, r5, [r0], #8
    ldrd r2, r3, [r0, #-8]!
    ldrht r1, [r0], #2
    strbt r1, [r0], #1
    bic r0, r0, #7
    ldrexd r2, r3, [r0]
    strexd r1, r2, r3, [r0]
    vmov d8, r4, r5
    vmov s19, r4
    vpush {d8-d11}
    vldmia sp!, {d12-d15}
    vpush {s16-s18}
    vpop {s20-s22}
    vstmdb r0!, {d8}
    vldmia r0!, {d9}
    vldr d10, [r0]
    vadd.f32 q6, q4, q5
    vld1.32 {d8, d9}, [r0]
    vst1.32 {d8}, [r0]!
    vswp d8, d11
    vtrn.32 d8, d14
    vmov r6, r7, d8
    vcmp.f64 d8, d9
    vmrs apsr_nzcv, fpscr
    addvs r8, r8, #1
    subs r9, r4, #5
    addmi r9, r9, #3
    movs r10, r4, lsr #1
    rscs r10, r4, #1
    umulls r2, r3, r4, r9
    smlal r2, r3, r4, r9
    mrs r1, cpsr
    eor r1, r1, #0x80000000
    msr cpsr_f, r1
    addmi r5, r5, r4
    teq r4, #3
    ldreq r11, [r0]
    mov lr, pc
    add pc, pc, #0
    nop
    usat r1, #3, r4
    qadd r1, r4, r5
    subs r4, r4, #1
    bne turn
    mov r0, #42
    add sp, sp, #512
    pop {r4-r11, pc}
""",
    "thumb": """
fn main
    push {r4-r11, lr}
    sub sp, sp, #512
    movs r4, #9
turn:
    add r0, sp, #256
    stmdb r0!, {r4, r5}
    stmia r0!, {r4, r5}
    ldmdb r0!, {r1, r2}
    ldmia r0!, {r1, r2}
    str r4, [r0], #4
    ldr r1, [r0, #-4]!
    strd r4, r5, [r0], #8
    ldrd r2, r3, [r0, #-8]!
    vmov d8, r4, r5
    vpush {d8-d11}
    vpop {d12-d15}
    vstmdb r0!, {d8}
    vldmia r0!, {d9}
    vmov r6, r7, d8
    vcmp.f64 d8, d9
    vmrs apsr_nzcv, fpscr
    subs r1, r4, #5
    adds r1, r4
    lsls r1, r4, #3
    lsrs r1, r4
    muls r1, r4, r1
    rsbs r1, r1, #0
    mvns r2, r4
    adcs r2, r4
    tst r4, #1
    itete ne
    addne r5, r5, r4
    streq r5, [sp]
    ldrne r6, [sp]
    moveq r7, r4
    cmp r4, #4
    it lt
    strlt r4, [sp, #4]
    subs r3, r4, r5
    movw r8, #77
    movt r8, #3
    bfi r8, r4, #3, #5
    umull r9, r10, r4, r8
    and r11, r4, #1
    tbb [pc, r11]
    .byte 1, 2
    nop
    cbz r5, 1f
    add r5, r5, #1
1:  adr r1, 2f
    blx r1
    .align 2
    .arm
2:  add r2, r2, r4
    adr lr, 3f + 1
    bx lr
    .thumb
3:  subs r4, #1
    bne.w turn
    movs r0, #42
    add sp, sp, #512
    pop {r4-r11, pc}
""",
}
