"""arm32: Procedure Call Standard for the Arm Architecture (AAPCS32, 2024Q3), instruction sets A32 and Thumb.

DWARF numbers: AADWARF32 section 4.1 (d0-d31 are 256-287). There is no uniform frame record:

* GCC, A32: r11 points at the saved *lr*, the saved r11 lies below it;
* Clang, A32: r11 points at the saved *r11*, lr lies above it;
* both, Thumb: r7 points at the saved r7, lr lies above it.

(https://github.com/ARM-software/abi-aa/issues/24; https://github.com/python/cpython/issues/149362.)
"""

from __future__ import annotations

import capstone as cs
import keystone as ks
from unicorn import arm_const as arm
from unicorn import unicorn_const as uc

from testbed.arch.model import Arch, ExitCall, FrameRecord, Isa, Register, SignalFrame

CLANG_A32 = FrameRecord("r11-clang", "r11", saved_pointer=0, return_address=4)
GCC_A32 = FrameRecord("r11-gcc", "r11", saved_pointer=-4, return_address=0)
THUMB_R7 = FrameRecord("r7", "r7", saved_pointer=0, return_address=4)

_START = """
    .syntax unified
    {mode}
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
"""

# No base register after a list (`stmdb r0!` in Thumb, `vpush`), no list after a base register (`vldmia r0!`), ...
_DISTRUSTED = """
stm vldm vstm vpush vpop fldm fstm ldrex ldaex ldrt ldrbt ldrht ldrsbt ldrsht strt strbt strht swp msr mrc
mrrc vmrs vmsr cps setend rfe srs svc
"""

ARM32 = Arch(
    name="arm32",
    title="arm32 (A32, Thumb)",
    aliases=("arm", "armv7", "armhf", "aarch32"),
    word=4,
    registers=(
        *(Register(f"r{i}", i, getattr(arm, f"UC_ARM_REG_R{i}"), 32) for i in range(13)),
        Register("sp", 13, arm.UC_ARM_REG_SP, 32),
        Register("lr", 14, arm.UC_ARM_REG_LR, 32),
        Register("pc", 15, arm.UC_ARM_REG_PC, 32),
        *(Register(f"d{i}", 256 + i, getattr(arm, f"UC_ARM_REG_D{i}"), 64) for i in range(8, 16)),
        Register("cpsr", None, arm.UC_ARM_REG_CPSR, 32),
    ),
    pc="pc",
    sp="sp",
    link="lr",
    flags="cpsr",
    return_address="lr",
    preserved=(*(f"r{i}" for i in range(4, 12)), *(f"d{i}" for i in range(8, 16))),
    entry_cfa=0,
    stack_alignment=8,
    code_mask=0xFFFF_FFFE,
    isas=(
        Isa(
            name="a32",
            capstone=(cs.CS_ARCH_ARM, cs.CS_MODE_ARM),
            keystone=(ks.KS_ARCH_ARM, ks.KS_MODE_ARM),
            clang=("-target", "armv7-linux-gnueabihf"),
            records=(CLANG_A32, GCC_A32),
            address_bit=0,
            assembler_mode=".arm",
            mapping_symbol="$a",
            start=_START.format(mode=".arm"),
            call_size=4,
            pc_reads_ahead=8,
        ),
        Isa(
            name="thumb",
            capstone=(cs.CS_ARCH_ARM, cs.CS_MODE_THUMB),
            keystone=(ks.KS_ARCH_ARM, ks.KS_MODE_THUMB),
            clang=("-target", "armv7-linux-gnueabihf", "-mthumb"),
            records=(THUMB_R7,),
            address_bit=1,
            assembler_mode=".thumb",
            mapping_symbol="$t",
            start=_START.format(mode=".thumb\n    .thumb_func"),
            call_size=2,
            wide_call=0xE000_F000,
            pc_reads_ahead=4,
        ),
    ),
    isa_flag=5,  # CPSR.T
    block_state=0x0600_FC00,  # CPSR.IT
    unicorn=(uc.UC_ARCH_ARM, uc.UC_MODE_ARM),
    # CPACR: full access to the coprocessors 10 and 11; FPEXC.EN: the floating-point unit is on.
    cpu_setup=((arm.UC_ARM_REG_C1_C0_2, ~0, 0xF << 20), (arm.UC_ARM_REG_FPEXC, ~0, 1 << 30)),
    elf_machine="EM_ARM",
    elf_machine_number=40,
    linker="armelf_linux_eabi",
    # What ARM tables name as personality routines: nothing here calls them.
    link_flags=("--defsym=__aeabi_unwind_cpp_pr0=0", "--defsym=__aeabi_unwind_cpp_pr1=0"),
    exit_call=ExitCall("r7", "r0", frozenset({1, 248}), interrupt=2),
    stack_top=0xBEFF_0000,
    # arch/arm/kernel/signal.c, asm/ucontext.h: siginfo, ucontext with vfp_sigframe, retcode.
    signal_frame=SignalFrame(
        call=173,
        size=888,
        alignment=8,
        skew=0,
        red_zone=0,
        registers={
            **{f"r{i}": 160 + 4 * i for i in range(13)},
            "sp": 212,
            "lr": 216,
            "pc": 220,
            "cpsr": 224,
            **{f"d{i}": 368 + 8 * i for i in range(8, 16)},
        },
        number=0,
        context=128,
        arguments=("r0", "r1", "r2"),
        constants=((360, 4, 0x5646_5001), (364, 4, 288)),  # VFP_MAGIC, its size
    ),
    spellings={"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12", "r13": "sp", "r14": "lr", "r15": "pc"},
    parts={
        **{f"s{i}": (f"d{i // 2}",) if i >= 16 else () for i in range(32)},
        **{f"q{i}": (f"d{2 * i}", f"d{2 * i + 1}") if 4 <= i < 8 else () for i in range(16)},
        **{f"d{i}": () for i in (*range(8), *range(16, 32))},
        **{name: ("cpsr",) for name in ("apsr", "apsr_nzcv", "itstate")},
        **{name: () for name in ("fpscr", "fpscr_nzcv", "fpexc", "fpsid", "fpinst", "fpinst2", "spsr")},
    },
    distrusted=tuple(_DISTRUSTED.split()),
    elf_flags=0x0500_0200,  # EABI version 5, as lld writes it for code without a floating-point interface
    exceptions={1: "undefined instruction", 3: "prefetch abort", 4: "data abort", 7: "breakpoint"},
)
