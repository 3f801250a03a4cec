"""arm64: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64, 2024Q3) and its DWARF supplement.

Frame records: AAPCS64 section 6.4.6 (the record's place in the frame is *not* specified, so the distance from
x29 to the CFA is not fixed). DWARF numbers: AADWARF64 section 4.1 (d8-d15 are 72-79).
"""

from __future__ import annotations

import capstone as cs
import keystone as ks

from testbed.arch.model import Arch, ExitCall, FrameRecord, Gnu, Isa, MachO, Register, SignalFrame

_START = """
    .globl _start
    .type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl main
    mov x8, #93
    svc #0
    .cfi_endproc
    .size _start, . - _start
"""

# The same exit call as everywhere: the machine is Linux's, only the file is Apple's.
_MACH_O_START = """
    .globl __start
    .p2align 2
__start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
    mov x30, #0
    bl _main
    mov x8, #93
    svc #0
    .cfi_endproc
    .subsections_via_symbols
"""

# Clang's -fsanitize=shadow-call-stack: every function that stores its return address pushes it here first. The
# section's name tells that x18 is that pointer; the word below the first entry is zero.
_SHADOW = """
    .section .shadow_call_stack, "aw", %progbits
    .p2align 4
shadow_call_stack:
    .zero 0x800
    .text
"""

_POINT_TO_SHADOW = """\
    adrp x18, shadow_call_stack
    add x18, x18, :lo12:shadow_call_stack
    add x18, x18, #8
"""

# Pointer authentication and branch targets, as hints that older cores pass over; then the returns that no hint is.
_HINTS = """
xpaclri 7, paciaz 24, paciasp 25, pacibz 26, pacibsp 27, autiaz 28, autiasp 29, autibz 30, autibsp 31,
bti 32, bti c 34, bti j 36, bti jc 38
"""
_ENCODINGS = {
    name: (0xD503_201F | int(number) << 5).to_bytes(4, "little")
    for name, number in (hint.strip().rsplit(" ", 1) for hint in _HINTS.split(","))
} | {"retaa": bytes.fromhex("ff0b5fd6"), "retab": bytes.fromhex("ff0f5fd6")}

# Return addresses get signatures as under Linux with 48-bit addresses: T0SZ = 16, and the top byte is ignored (TBI0),
# so a signature has the bits 54 to 48 (arch/arm64/include/asm/pointer_auth.h, ptrauth_user_pac_mask; a debugger is
# told by NT_ARM_PAC_MASK).
_SIGNATURE = 0x7F << 48

ARM64 = Arch(
    name="arm64",
    title="arm64",
    aliases=("aarch64", "armv8"),
    word=8,
    registers=(
        *(Register(f"x{i}", i, 64) for i in range(31)),
        Register("sp", 31, 64),
        Register("pc", 32, 64),
        *(Register(f"d{i}", 64 + i, 64) for i in range(8, 16)),
        Register("nzcv", None, 32),
    ),
    pc="pc",
    sp="sp",
    link="x30",
    flags="nzcv",
    return_address="x30",
    preserved=(*(f"x{i}" for i in range(19, 30)), *(f"d{i}" for i in range(8, 16))),
    entry_cfa=0,
    stack_alignment=16,
    code_mask=0xFFFF_FFFF_FFFF_FFFF,
    isas=(
        Isa(
            name="arm64",
            capstone=(cs.CS_ARCH_ARM64, cs.CS_MODE_ARM),
            keystone=(ks.KS_ARCH_ARM64, ks.KS_MODE_LITTLE_ENDIAN),
            clang=("-target", "aarch64-linux-gnu"),
            gcc=("-fno-pie", "-mbranch-protection=none"),
            records=(FrameRecord("x29", "x29", saved_pointer=0, return_address=8),),
            address_bit=0,
            assembler_mode="",
            mapping_symbol="$x",
            start=_START,
            shadow_start=_SHADOW + _START.replace("    bl main\n", _POINT_TO_SHADOW + "    bl main\n"),
            call_size=4,
            encodings=_ENCODINGS,
            pc_reads_ahead=0,
        ),
    ),
    isa_flag=None,
    elf_machine="EM_AARCH64",
    elf_machine_number=183,
    linker="aarch64linux",
    gnu=Gnu("aarch64-linux-gnu", "-aarch64-linux-gnu"),
    link_flags=(),
    exit_call=ExitCall("x8", "x0", frozenset({93, 94})),
    # arch/arm64/kernel/signal.c, uapi/asm/sigcontext.h: siginfo, ucontext with fpsimd_context, frame record.
    signal_frame=SignalFrame(
        call=139,
        size=4704,
        alignment=16,
        skew=0,
        red_zone=0,
        registers={
            **{f"x{i}": 312 + 8 * i for i in range(31)},
            "sp": 560,
            "pc": 568,
            "nzcv": 576,
            **{f"d{i}": 608 + 16 * i for i in range(8, 16)},
        },
        number=0,
        context=128,
        arguments=("x0", "x1", "x2"),
        constants=((592, 4, 0x4650_8001), (596, 4, 528)),  # FPSIMD_MAGIC, its size
        record=4688,
    ),
    spellings={"fp": "x29", "lr": "x30"},
    cfi_unit=4,
    sframe_abi=2,
    mach_o=MachO(
        cpu=0x0100_000C,
        thread_flavor=6,
        thread_pc=32,
        clang=("-target", "arm64-apple-ios15.0"),
        platform="aarch64-ios",
        start=_MACH_O_START,
    ),
    shadow_pointer="x18",
    ra_sign_state=34,
    signature=_SIGNATURE,
    cpus=("signing",),
)
