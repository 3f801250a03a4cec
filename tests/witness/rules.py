"""Small programs, one for each rule of call stacks, by instruction set. Each exits with 42."""

TAIL = {
    "x86_64": "fn main\nsub rsp, 8\ncall f\nback: mov eax, 42\nadd rsp, 8\nret\nfn f\njmp g\nfn g\nnop\nin_g: ret",
    "arm64": "fn main\nstr x30, [sp, #-16]!\nbl f\nback: mov x0, #42\nldr x30, [sp], #16\nret\nfn f\nb g\n"
    "fn g\nnop\nin_g: ret",
    "a32": "fn main\npush {r4, lr}\nbl f\nback: mov r0, #42\npop {r4, pc}\nfn f\nb g\nfn g\nnop\nin_g: bx lr",
    "thumb": "fn main\npush {r4, lr}\nbl f\nback: movs r0, #42\npop {r4, pc}\nfn f\nb.w g\nfn g\nnop\nin_g: bx lr",
}

# f comes back behind the data that follows the call.
INLINE = {
    "x86_64": "fn main\nsub rsp, 8\ncall f\n.long 42\nback: add rsp, 8\nret\n"
    "fn f\nmov rcx, [rsp]\nin_f: mov eax, [rcx]\nadd qword ptr [rsp], 4\nret",
    "arm64": "fn main\nstr x29, [sp, #-16]!\nstr x30, [sp, #8]\nbl f\n.word 42\nback: ldr x30, [sp, #8]\n"
    "ldr x29, [sp], #16\nret\nfn f\nldr w0, [x30]\nin_f: add x30, x30, #4\nret",
    "a32": "fn main\npush {r4, lr}\nbl f\n.word 42\nback: pop {r4, pc}\nfn f\nldr r0, [lr], #4\nin_f: bx lr",
    "thumb": "fn main\npush {r4, lr}\nbl f\n.short 42\nback: pop {r4, pc}\n"
    "fn f\nmov r1, lr\nldrh r0, [r1, #-1]\nin_f: adds r1, #2\nbx r1",
}

# The address to come back to is put together from its bytes; on x86 f goes along the data with a string instruction.
BYTES = {
    "x86_64": "fn main\nsub rsp, 24\nlea rdi, [rsp + 8]\ncall f\n.byte 1, 2, 0\nback: mov eax, 42\nadd rsp, 24\nret\n"
    "fn f\npop rsi\nmore: lodsb\ntest al, al\njnz more\npush rsi\nxor ecx, ecx\ncopy: mov al, [rsp + rcx]\n"
    "mov [rdi + rcx], al\ninc ecx\ncmp ecx, 8\njne copy\npop rdx\nin_f: jmp [rdi]",
    "arm64": "fn main\nstr x30, [sp, #-16]!\nbl f\nback: mov x0, #42\nldr x30, [sp], #16\nret\n"
    "fn f\nstr x30, [sp, #-32]!\nmov x1, #0\nadd x3, sp, #16\ncopy: ldrb w2, [sp, x1]\nstrb w2, [x3, x1]\n"
    "add x1, x1, #1\ncmp x1, #8\nb.ne copy\nldr x4, [sp, #16]\nadd sp, sp, #32\nin_f: br x4",
    "a32": "fn main\npush {r4, lr}\nbl f\nback: mov r0, #42\npop {r4, pc}\nfn f\npush {r4, lr}\nldrb r0, [sp, #4]\n"
    "ldrb r1, [sp, #5]\nldrb r2, [sp, #6]\nldrb r3, [sp, #7]\norr r0, r0, r1, lsl #8\norr r0, r0, r2, lsl #16\n"
    "orr r0, r0, r3, lsl #24\npop {r4, r1}\nin_f: bx r0",
}
BYTES["thumb"] = BYTES["a32"].replace("mov r0, #42", "movs r0, #42")

# The address to come back to is put where a return address belongs, and f is jumped to.
BY_HAND = {
    "x86_64": "fn main\nlea rax, [rip + back]\npush rax\njmp f\nnop\nback: mov eax, 42\nret\nfn f\nnop\nin_f: ret",
    "arm64": "fn main\nstr x30, [sp, #-16]!\nadr x30, back\nb f\nnop\nback: mov x0, #42\nldr x30, [sp], #16\nret\n"
    "fn f\nnop\nin_f: ret",
    "a32": "fn main\npush {r4, lr}\nadr r3, f\nmov lr, pc\nbx r3\nback: mov r0, #42\npop {r4, pc}\n"
    "fn f\nnop\nin_f: bx lr",
    "thumb": "fn main\npush {r4, lr}\nmov r3, pc\nadds r3, #7\nmov lr, r3\nb.w f\nback: movs r0, #42\npop {r4, pc}\n"
    "fn f\nnop\nin_f: bx lr",
}

NO_CALL = {
    "x86_64": "fn main\nlea rax, [rip + there]\npush rax\nret\nnop\nthere: mov eax, 42\nret",
    "arm64": "fn main\nmov x9, x30\nadr x30, there\nret\nnop\nthere: mov x0, #42\nret x9",
    "a32": "fn main\npush {r4, lr}\nadr lr, there\nbx lr\nnop\nthere: mov r0, #42\npop {r4, pc}",
    "thumb": "fn main\npush {r4, lr}\nmov r3, pc\nadds r3, #5\nbx r3\nnop\nthere: movs r0, #42\npop {r4, pc}",
}

# A call to learn where the code lies: the return address is data.
PC = {
    "x86_64": "fn main\ncall next\nnext: pop rcx\nafter: mov eax, 42\nret",
    "arm64": "fn main\nmov x9, x30\nbl next\nnext: mov x1, x30\nafter: mov x0, #42\nret x9",
    "a32": "fn main\npush {r4, lr}\nbl next\nnext: mov r1, lr\nafter: mov r0, #42\npop {r4, pc}",
    "thumb": "fn main\npush {r4, lr}\nbl next\nnext: mov r1, lr\nafter: movs r0, #42\npop {r4, pc}",
}

# A long branch written with the instruction for calls: the link register is never read.
LINKED = {
    "arm64": "fn main\nstr x30, [sp, #-16]!\nbl f\nback: mov x0, #42\nldr x30, [sp], #16\nret\n"
    "fn f\nstr x30, [sp, #-16]!\nbl far\nfn far\nnop\nin_far: ldr x30, [sp], #16\nret",
    "a32": "fn main\npush {r4, lr}\nbl f\nback: mov r0, #42\npop {r4, pc}\nfn f\npush {r4, lr}\nbl far\n"
    "fn far\nnop\nin_far: pop {r4, pc}",
    "thumb": "fn main\npush {r4, lr}\nbl f\nback: movs r0, #42\npop {r4, pc}\nfn f\npush {r4, lr}\nbl far\n"
    "fn far\nnop\nin_far: pop {r4, pc}",
}

# f takes its return address to the end of the caller's frame, and goes on there with SP.
MOVED = {
    "x86_64": "fn main\nsub rsp, 32\nlea rdi, [rsp + 24]\ncall f\nback: mov eax, 42\nadd rsp, 0\nret\n"
    "fn f\nmov rax, [rsp]\nmov [rdi], rax\nmov rsp, rdi\njmp landed\nnop\nlanded: nop\nret",
    "a32": "fn main\npush {r4, lr}\nsub sp, #16\nbl f\nback: mov r0, #42\npop {r4, pc}\n"
    "fn f\nadd sp, sp, #16\nb landed\nnop\nlanded: nop\nbx lr",
}

# setjmp keeps its return address mangled; longjmp goes on there from two calls further in.
LONGJMP = {
    "x86_64": "fn main\nsub rsp, 40\ncall set\nback: test eax, eax\njne out\ncall f\n"
    "out: mov eax, 42\nadd rsp, 40\nret\n"
    "fn set\nmov rax, [rsp]\nxor rax, 0x5555\nlea rcx, [rsp + 8]\nmov [rsp + 8], rax\nmov [rsp + 16], rcx\n"
    "mov rbx, rcx\nxor eax, eax\nret\nfn f\nsub rsp, 8\ncall jump\nnop\n"
    "fn jump\nmov rdx, [rbx]\nmov rsp, [rbx + 8]\nxor rdx, 0x5555\nmov eax, 1\njumping: jmp rdx",
    "arm64": "fn main\nsub sp, sp, #32\nstr x30, [sp, #24]\nmov x19, sp\nbl set\nback: cbnz x0, out\nbl f\n"
    "out: mov x0, #42\nldr x30, [sp, #24]\nadd sp, sp, #32\nret\n"
    "fn set\nmov x9, sp\nmvn x10, x30\nstp x9, x10, [x19]\nmov x0, #0\nret\n"
    "fn f\nstr x30, [sp, #-16]!\nbl jump\nnop\n"
    "fn jump\nldp x9, x30, [x19]\nmvn x30, x30\nmov sp, x9\nmov x0, #1\njumping: ret",
    "a32": "fn main\npush {r4, r5, r6, lr}\nmov r4, sp\nbl set\nback: cmp r0, #0\nbne out\nbl f\nout: mov r0, #42\n"
    "pop {r4, r5, r6, pc}\nfn set\nstm r4, {sp, lr}\nmov r0, #0\nbx lr\nfn f\npush {r7, lr}\nbl jump\nnop\n"
    "fn jump\nldr sp, [r4]\nldr r3, [r4, #4]\nmov r0, #1\njumping: bx r3",
    "thumb": "fn main\npush {r4, r5, r6, lr}\nmov r4, sp\nbl set\nback: cmp r0, #0\nbne out\nbl f\nout: movs r0, #42\n"
    "pop {r4, r5, r6, pc}\nfn set\nmov r2, sp\nmov r3, lr\nstm r4!, {r2, r3}\nsubs r4, #8\nmovs r0, #0\nbx lr\n"
    "fn f\npush {r7, lr}\nbl jump\nnop\nfn jump\nldr r2, [r4]\nmov sp, r2\nldr r3, [r4, #4]\nmovs r0, #1\n"
    "jumping: bx r3",
}

# An unwinder cuts two frames off and enters the middle of main, with SP exactly as it was at main's call.
LANDING = {
    "x86_64": "fn main\npush rbp\nmov rbp, rsp\ncall f\nnop\npad: mov eax, 42\npop rbp\nret\n"
    "fn f\nsub rsp, 8\ncall throw\nnop\nfn throw\nmov rsp, rbp\nthrowing: jmp pad",
    "arm64": "fn main\nstp x29, x30, [sp, #-16]!\nmov x29, sp\nbl f\nnop\npad: mov x0, #42\n"
    "ldp x29, x30, [sp], #16\nret\nfn f\nstr x30, [sp, #-16]!\nbl throw\nnop\nfn throw\nmov sp, x29\nthrowing: b pad",
    "a32": "fn main\npush {r11, lr}\nmov r11, sp\nbl f\nnop\npad: mov r0, #42\npop {r11, pc}\n"
    "fn f\npush {r4, lr}\nbl throw\nnop\nfn throw\nmov sp, r11\nthrowing: b pad",
    "thumb": "fn main\npush {r7, lr}\nmov r7, sp\nbl f\nnop\npad: movs r0, #42\npop {r7, pc}\n"
    "fn f\npush {r4, lr}\nbl throw\nnop\nfn throw\nmov sp, r7\nthrowing: b.w pad",
}

# The same, with the pad right behind main's call: f never returns, and nobody jumped there by f's return address.
# Where calls link, throw has kept its own return address, as unwinders do; who has not (LEAVING) is told by value only.
LEAVING = {isa: body.replace(" f\nnop\npad", " f\npad") for isa, body in LANDING.items()}
KEEPS = {"x86_64": "", "arm64": "str x30, [sp, #-16]!\n", "a32": "push {r4, lr}\n", "thumb": "push {r4, lr}\n"}
BEHIND = {isa: body.replace("fn throw\n", f"fn throw\n{KEEPS[isa]}") for isa, body in LEAVING.items()}

# main leaves its stack by a jump, without a continuation; who runs on the other one jumps back.
LEFT = {
    "x86_64": "fn main\npush rbx\nmov rbx, rsp\nlea rcx, [rip + stack]\nmov rsp, rcx\njmp other\nnop\n"
    "back: mov eax, 42\npop rbx\nret\nfn other\ncall f\nnop\nfn f\nnop\nin_f: mov rsp, rbx\njmp back\n"
    ".bss\n.space 64\nstack: .space 8",
    "arm64": "fn main\nstr x30, [sp, #-16]!\nmov x19, sp\nadrp x9, stack\nadd x9, x9, :lo12:stack\nmov sp, x9\n"
    "b other\nnop\nback: mov x0, #42\nldr x30, [sp], #16\nret\nfn other\nbl f\nnop\n"
    "fn f\nnop\nin_f: mov sp, x19\nb back\n.bss\n.p2align 4\n.space 64\nstack: .space 8",
}

# Two stacks begin in work, with one address to come back to. Who is on the first one returns there, the other never.
MAKER = {
    "x86_64": "fn main\npush rbx\nmov rbx, rsp\nlea rcx, [rip + one]\nxor edx, edx\nstart: mov rsp, rcx\n"
    "lea rax, [rip + going]\npush rax\njmp work\nnop\nback: mov eax, 42\npop rbx\nret\n"
    "fn work\ntest edx, edx\nin_work: jne away\nret\naway: mov rsp, rbx\njmp back\n"
    "fn gone\nnop\ngoing: mov rsp, rbx\nlea rcx, [rip + two]\nmov edx, 1\njmp start\n"
    ".bss\n.space 64\none: .space 64\ntwo: .space 8",
    "arm64": "fn main\nstr x30, [sp, #-16]!\nmov x19, sp\nadrp x9, one\nadd x9, x9, :lo12:one\nmov x2, #0\n"
    "start: mov sp, x9\nadr x30, going\nb work\nnop\nback: mov x0, #42\nldr x30, [sp], #16\nret\n"
    "fn work\nnop\nin_work: cbnz x2, away\nret\naway: mov sp, x19\nb back\n"
    "fn gone\nnop\ngoing: mov sp, x19\nadrp x9, two\nadd x9, x9, :lo12:two\nmov x2, #1\nb start\n"
    ".bss\n.p2align 4\n.space 64\none: .space 64\ntwo: .space 16",
}

# grow copies all of the stack to another place, as Go's morestack does, and goes on there: on arm64 from a third stack.
COPIED = {
    "x86_64": "fn main\npush rbx\nlea rbx, [rsp + 16]\ncall f\nback: mov eax, 42\npop rbx\nret\n"
    "fn f\nsub rsp, 24\ncall g\nin_f: add rsp, 24\nret\nfn g\ncall grow\nin_g: ret\n"
    "fn grow\npop rdx\nmov rsi, rsp\nmov rcx, rbx\nsub rcx, rsp\nlea rdi, [rip + top]\nsub rdi, rcx\nshr rcx, 3\n"
    "mov rsp, rdi\nrep movsq\njmp rdx\n.bss\n.p2align 4\n.space 256\ntop: .space 16",
    "arm64": "fn main\nstp x19, x30, [sp, #-16]!\nadd x19, sp, #16\nbl f\nback: mov x0, #42\n"
    "ldp x19, x30, [sp], #16\nret\n"
    "fn f\nmov x9, #0\ncmp sp, x9\nstr x30, [sp, #-32]!\nbl g\nin_f: ldr x30, [sp], #32\nret\n"
    "fn g\nmov x3, x30\nbl grow\nin_g: ret\nfn grow\nmov x11, sp\nadrp x9, system\nadd x9, x9, :lo12:system\n"
    "mov sp, x9\nmov x10, x30\nbl copy\nnop\n"
    "fn copy\nstr x30, [sp, #-16]!\nadrp x12, top\nadd x12, x12, :lo12:top\nsub x13, x19, x11\n"
    "sub x12, x12, x13\nmov x14, x12\nmore: ldr x15, [x11], #8\nstr x15, [x14], #8\ncmp x11, x19\nb.ne more\n"
    "mov x30, x3\nmov sp, x12\nbr x10\n.bss\n.p2align 4\n.space 256\ntop: .space 8192\nsystem: .space 16",
}

# Who is called comes back behind a call of an own, a second time with the return address that it had put away (musl).
TWICE = {
    "x86_64": "fn main\nsub rsp, 136\nmov rdi, rsp\ncall keep\nback: test eax, eax\njne out\ncall f\nnop\n"
    "out: mov eax, 42\nadd rsp, 136\nret\nfn keep\npop [rdi + 64]\nmov rbx, rdi\ncall set\nkept: push [rbx + 64]\n"
    "jmp tail\nnop\nfn tail\nnop\nin_tail: ret\nfn set\nmov rdx, [rsp]\nmov [rdi], rdx\nlea rdx, [rsp + 8]\n"
    "mov [rdi + 8], rdx\nxor eax, eax\nret\n"
    "fn f\nsub rsp, 8\nmov rdx, [rbx]\nmov rsp, [rbx + 8]\nmov eax, 1\njmp rdx",
}

# An exception leaves f for a pad in main, at an address computed from f's own; throw never read its link register.
UNREAD = {
    "arm64": "fn main\nstr x30, [sp, #-16]!\nbl f\nnop\npad: mov x0, #42\nldr x30, [sp], #16\nret\n"
    "fn f\nstr x30, [sp, #-16]!\nbl throw\nnop\nfn throw\nldr x9, [sp], #16\nadd x9, x9, #4\nthrowing: br x9",
    "a32": "fn main\npush {r4, lr}\nbl f\nnop\npad: mov r0, #42\npop {r4, pc}\nfn f\npush {r4, lr}\nbl throw\nnop\n"
    "fn throw\nldr r3, [sp, #4]\nadd r3, r3, #4\nadd sp, sp, #8\nthrowing: bx r3",
    "thumb": "fn main\npush {r4, lr}\nbl f\nnop\npad: movs r0, #42\npop {r4, pc}\nfn f\npush {r4, lr}\nbl throw\n"
    "nop\nfn throw\nldr r3, [sp, #4]\nadds r3, #2\nadd sp, #8\nthrowing: bx r3",
}

# The pad stands right behind f's call of g, and throw leaves h and g for it; throw never read its link register.
PASSED_OVER = {
    "arm64": "fn main\nstr x30, [sp, #-16]!\nbl f\nldr x30, [sp], #16\nret\nfn f\nstr x30, [sp, #-16]!\nbl g\n"
    "pad: mov x0, #42\nldr x30, [sp], #16\nret\nfn g\nstr x30, [sp, #-16]!\nbl h\nnop\nfn h\nstr x30, [sp, #-16]!\n"
    "bl throw\nnop\nfn throw\nldr x9, [sp, #16]\nadd sp, sp, #32\nthrowing: br x9",
    "a32": "fn main\npush {r4, lr}\nbl f\npop {r4, pc}\nfn f\npush {r4, lr}\nbl g\npad: mov r0, #42\npop {r4, pc}\n"
    "fn g\npush {r4, lr}\nbl h\nnop\nfn h\npush {r4, lr}\nbl throw\nnop\n"
    "fn throw\nldr r3, [sp, #12]\nadd sp, sp, #16\nthrowing: bx r3",
    "thumb": "fn main\npush {r4, lr}\nbl f\npop {r4, pc}\nfn f\npush {r4, lr}\nbl g\npad: movs r0, #42\npop {r4, pc}\n"
    "fn g\npush {r4, lr}\nbl h\nnop\nfn h\npush {r4, lr}\nbl throw\nnop\n"
    "fn throw\nldr r3, [sp, #12]\nadd sp, #16\nthrowing: bx r3",
}

RULES = {
    "tail": TAIL,
    "inline": INLINE,
    "bytes": BYTES,
    "by_hand": BY_HAND,
    "no_call": NO_CALL,
    "pc": PC,
    "linked": LINKED,
    "moved": MOVED,
    "longjmp": LONGJMP,
    "landing": LANDING,
    "behind": BEHIND,
    "unread": UNREAD,
    "passed_over": PASSED_OVER,
    "left": LEFT,
    "maker": MAKER,
    "copied": COPIED,
    "twice": TWICE,
}
