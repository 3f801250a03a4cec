"""x86_64: System V Application Binary Interface, AMD64 Architecture Processor Supplement (psABI 1.0).

DWARF numbers: figure 3.36. Callee-saved registers: section 3.2.1. Initial process stack and the zeroed
frame pointer that marks the outermost frame: section 3.4.1.
"""

from __future__ import annotations

import capstone as cs
import keystone as ks

from testbed.arch.model import Arch, ExitCall, ExtendedState, FrameRecord, Gnu, Isa, MachO, Register, SignalFrame

_REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15"
_GENERAL = tuple(_REGISTERS.split())  # in DWARF order

_START = """
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call main
    mov edi, eax
    mov eax, 60
    syscall
    .cfi_endproc
    .size _start, . - _start
"""

# The same exit call as everywhere: the machine is Linux's, only the file is Apple's.
_MACH_O_START = """
    .intel_syntax noprefix
    .globl __start
    .p2align 4
__start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    call _main
    mov edi, eax
    mov eax, 60
    syscall
    .cfi_endproc
    .subsections_via_symbols
"""

# The multi-byte no-operations that processor manuals recommend, longest first.
_NOPS = tuple(
    bytes.fromhex(code)
    for code in (
        "662e0f1f840000000000",
        "660f1f840000000000",
        "0f1f840000000000",
        "0f1f8000000000",
        "660f1f440000",
        "0f1f440000",
        "0f1f4000",
        "0f1f00",
        "6690",
        "90",
    )
)

X86_64 = Arch(
    name="x86_64",
    title="x86_64",
    aliases=("amd64", "x64", "x86-64"),
    word=8,
    registers=(
        *(Register(n, i, 64) for i, n in enumerate(_GENERAL)),
        Register("rip", 16, 64),
        Register("rflags", 49, 64),
    ),
    pc="rip",
    sp="rsp",
    link=None,
    flags="rflags",
    return_address="rip",
    preserved=("rbx", "rbp", "r12", "r13", "r14", "r15"),
    entry_cfa=8,
    stack_alignment=16,
    code_mask=0xFFFF_FFFF_FFFF_FFFF,
    isas=(
        Isa(
            name="x86_64",
            capstone=(cs.CS_ARCH_X86, cs.CS_MODE_64),
            keystone=(ks.KS_ARCH_X86, ks.KS_MODE_64),
            clang=("-target", "x86_64-linux-gnu", "-masm=intel"),
            gcc=("-m64", "-fno-pie", "-fcf-protection=none"),
            gas=("-Wa,-msyntax=intel", "-Wa,-mnaked-reg"),
            records=(FrameRecord("rbp", "rbp", saved_pointer=0, return_address=8, cfa=16),),
            address_bit=0,
            assembler_mode="",
            mapping_symbol="",
            start=".intel_syntax noprefix\n" + _START,
            padding=_NOPS,
            encodings={"endbr64": bytes.fromhex("f30f1efa")},
        ),
    ),
    isa_flag=None,
    elf_machine="EM_X86_64",
    elf_machine_number=62,
    linker="elf_x86_64",
    gnu=Gnu("x86_64-linux-gnu", ""),
    link_flags=(),
    exit_call=ExitCall("rax", "rdi", frozenset({60, 231})),
    sframe_abi=3,
    orc_registers={"rdx": 2, "rdi": 3, "rbp": 4, "rsp": 5, "r10": 6, "r13": 7},
    mach_o=MachO(
        cpu=0x0100_0007,
        thread_flavor=4,
        thread_pc=16,
        clang=("-target", "x86_64-apple-macos11", "-masm=intel"),
        platform="x86_64-macos",
        start=_MACH_O_START,
    ),
    red_zone=128,
    # arch/x86/include/asm/sigframe.h, uapi/asm/sigcontext.h: return address, ucontext, siginfo; above it FXSAVE's area.
    signal_frame=SignalFrame(
        call=15,
        size=440,
        alignment=16,
        skew=8,
        red_zone=128,
        registers={
            **{f"r{8 + i}": 48 + 8 * i for i in range(8)},
            **{n: 112 + 8 * i for i, n in enumerate(("rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip"))},
            "rflags": 184,
        },
        number=312,
        context=8,
        arguments=("rdi", "rsi", "rdx"),
        constants=((192, 8, 0x002B_0000_0000_0033),),  # ss, fs, gs, cs
        extended=ExtendedState(size=512, alignment=64, pointer=232),
    ),
)
