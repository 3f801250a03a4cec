"""Snippets that end in a fault, with what is said of it."""

from __future__ import annotations

NOP = {
    "x86_64": "nop\n mov ebx, 0x10\n",
    "arm64": "nop\n mov x19, #0x10\n",
    "a32": "nop\n mov r4, #0x10\n",
    "thumb": "nop\n movs r4, #0x10\n",
}
FAULTS = {
    "x86_64": {
        "wild jump: 0x1230000 is not mapped": "mov eax, 0x1230000\nlast: jmp rax",
        "wild jump: 0x0 is not mapped": "xor eax, eax\nlast: call rax",
        "wild jump: 0x7f[0-9a-f]+ is not executable": "last: jmp rsp",
        "reads 8 bytes at 0x10, which is not mapped": "last: mov rax, [rbx]",
        "writes 8 bytes at 0x18, which is not mapped": "last: mov [rbx + 8], rax",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "lea rax, [rip + last]\nlast: mov [rax], ecx",
        "undefined instruction": "last: ud2",
        "breakpoint": "last: int3",
        "divide error": "xor ecx, ecx\nlast: div ecx",
        "system call 39 is not emulated": "mov eax, 39\nlast: syscall",
    },
    "arm64": {
        "wild jump: 0x1230000 is not mapped": "mov x0, #0x1230000\nlast: br x0",
        "wild jump: 0x0 is not mapped": "mov x0, #0\nlast: blr x0",
        "wild jump: 0x7f[0-9a-f]+ is not executable": "mov x0, sp\nlast: br x0",
        "reads 8 bytes at 0x10, which is not mapped": "last: ldr x0, [x19]",
        "writes 8 bytes at 0x18, which is not mapped": "last: str x0, [x19, #8]",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "adr x0, last\nlast: str w1, [x0]",
        "undefined instruction": "last: udf #0",
        "breakpoint": "last: brk #1",
        "system call 172 is not emulated": "mov x8, #172\nlast: svc #0",
    },
    "a32": {
        "wild jump: 0x1200000 is not mapped": "mov r0, #0x1200000\nlast: bx r0",
        "wild jump: 0x0 is not mapped": "mov r0, #0\nlast: blx r0",
        "wild jump: 0xbe[0-9a-f]+ is not executable": "mov r0, sp\nlast: bx r0",
        "reads 4 bytes at 0x10, which is not mapped": "last: ldr r0, [r4]",
        "writes 4 bytes at 0x18, which is not mapped": "last: str r0, [r4, #8]",
        "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "sub r0, pc, #16\nlast: str r1, [r0]",
        "undefined instruction": "last: udf #0",
        "breakpoint": "last: bkpt #1",
        "system call 20 is not emulated": "mov r7, #20\nlast: svc #0",
    },
}


FAULTS["thumb"] = FAULTS["a32"] | {
    "writes 4 bytes at 0x[0-9a-f]+, which is not writable": "mov r0, pc\nlast: str r1, [r0]"
}
CASES = [(isa, detail, code) for isa, faults in FAULTS.items() for detail, code in faults.items()]
