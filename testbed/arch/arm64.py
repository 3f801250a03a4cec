"""arm64: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64, 2024Q3) and its DWARF supplement.

Frame records: AAPCS64 section 6.4.6 (the record's place in the frame is *not* specified, so the distance from
x29 to the CFA is not fixed). DWARF numbers: AADWARF64 section 4.1 (d8-d15 are 72-79).
"""

from __future__ import annotations

import capstone as cs
import keystone as ks
from unicorn import arm64_const as a64
from unicorn import unicorn_const as uc

from testbed.arch.model import Arch, ExitCall, FrameRecord, Isa, MachO, Register, SignalFrame

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

# Atomic instructions, system registers, and what pointer authentication does to the link register.
_DISTRUSTED = """
cas swp ldadd ldclr ldeor ldset ldsmax ldsmin ldumax ldumin msr sys pac aut xpac blra bra reta svc
"""

ARM64 = Arch(
    name="arm64",
    title="arm64",
    aliases=("aarch64", "armv8"),
    word=8,
    registers=(
        *(Register(f"x{i}", i, getattr(a64, f"UC_ARM64_REG_X{i}"), 64) for i in range(31)),
        Register("sp", 31, a64.UC_ARM64_REG_SP, 64),
        Register("pc", 32, a64.UC_ARM64_REG_PC, 64),
        *(Register(f"d{i}", 64 + i, getattr(a64, f"UC_ARM64_REG_D{i}"), 64) for i in range(8, 16)),
        Register("nzcv", None, a64.UC_ARM64_REG_NZCV, 32),
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
            records=(FrameRecord("x29", "x29", saved_pointer=0, return_address=8),),
            address_bit=0,
            assembler_mode="",
            mapping_symbol="$x",
            start=_START,
            shadow_start=_SHADOW + _START.replace("    bl main\n", _POINT_TO_SHADOW + "    bl main\n"),
            call_size=4,
            pc_reads_ahead=0,
        ),
    ),
    isa_flag=None,
    unicorn=(uc.UC_ARCH_ARM64, uc.UC_MODE_ARM),
    cpu_setup=((a64.UC_ARM64_REG_CPACR_EL1, ~0, 3 << 20),),  # FPEN: floating point without a trap
    parts={
        **{f"w{i}": (f"x{i}",) for i in range(31)},
        **{f"{kind}{i}": (f"d{i}",) if 8 <= i < 16 else () for kind in "bhsdqvz" for i in range(32)},
        **{name: () for name in ("wzr", "xzr", "ffr")},
        "wsp": ("sp",),
        "fp": ("x29",),
        "lr": ("x30",),
    },
    distrusted=tuple(_DISTRUSTED.split()),
    elf_machine="EM_AARCH64",
    elf_machine_number=183,
    linker="aarch64linux",
    link_flags=(),
    exit_call=ExitCall("x8", "x0", frozenset({93, 94}), interrupt=2),
    stack_top=0x7FFF_FFFF_0000,
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
    exceptions={1: "undefined instruction", 3: "prefetch abort", 4: "data abort", 7: "breakpoint"},
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
)
