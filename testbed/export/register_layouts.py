"""Where the registers lie in files that hold a stopped thread: ELF cores, Mach-O cores, minidumps.

One `DumpLayouts` per architecture. Sources: Linux, ``struct elf_prstatus`` (linux/elfcore.h) around each
architecture's ``elf_gregset_t`` (x86: asm/user_64.h; arm64: uapi/asm/ptrace.h; arm: uapi/asm/ptrace.h) and the note
types of uapi/linux/elf.h; Breakpad, minidump_cpu_amd64.h, minidump_cpu_arm64.h, minidump_cpu_arm.h; Mach-O,
mach/i386/_structs.h and mach/arm/_structs.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.arch import PerArch

# Which bits of a pointer are its signature: two words of 64 bits, the mask of data pointers and that of code pointers.
CORE_PAC_MASK = 0x406  # NT_ARM_PAC_MASK
MINIDUMP_PAC_MASK = 0x5442_0406  # a stream of ours, beyond those that are reserved: nobody else has defined one
# LLDB's note in Mach-O cores says it as the number of bits that are the address.
MACHO_ADDRESS_BITS = b"addrable bits"
MACHO_IMAGES = b"all image infos"  # LLDB's note of the program files: their names, UUIDs and addresses

# Of a core one takes its segments for all that was mapped. A note of ours says that there was more.
PARTIAL_OWNER, PARTIAL = "TESTBED", 1
MINIDUMP_MAPPINGS = 16  # MemoryInfoList: what was mapped, whether the dump has it or not


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """``size`` bytes with registers at ``offsets``, each little-endian and as wide as the register is.

    ``constants`` are (offset, size, value): what a writer puts beside them. In a minidump the 32 bits at ``flags`` say
    which registers are there: each bit of ``groups`` speaks for its registers. Elsewhere all are, or the whole block
    is missing.
    """

    size: int
    offsets: Mapping[str, int]
    constants: tuple[tuple[int, int, int], ...] = ()
    flags: int | None = None
    groups: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of an ELF core: its owner, its type, and the registers in its descriptor."""

    owner: str
    type: int
    block: RegisterBlock


@dataclass(frozen=True, slots=True)
class DumpLayouts:
    """One architecture's registers in each kind of file, and what else says there which architecture it is.

    ``elf_machine`` and ``elf_flags`` stand in the header of an ELF core. ``core`` are its notes, NT_PRSTATUS first;
    ``process_info`` is the size of NT_PRPSINFO and
    ``hwcap`` what AT_HWCAP says that the processor has: gdb looks there before it shows floating-point registers.
    ``minidump_processor`` is PROCESSOR_ARCHITECTURE_*, ``minidump`` the CPU context, ``minidump_old`` one that some
    writers still use, known by a bit of its flags. ``mach_o`` are thread states by flavor; none where there is no such
    file.
    """

    elf_machine: int
    core: tuple[Note, ...]
    process_info: int
    hwcap: int
    minidump_processor: int
    minidump: RegisterBlock
    minidump_old: tuple[int, RegisterBlock] | None = None
    elf_flags: int = 0
    mach_o: Mapping[int, RegisterBlock] = field(default_factory=dict)


def _in_order(names: str, start: int, size: int) -> dict[str, int]:
    """Offsets of registers that follow each other; ``-`` stands for a place that is left out."""
    return {name: start + i * size for i, name in enumerate(names.split()) if name != "-"}


def _named(names: str, *, but: str = "") -> tuple[str, ...]:
    return tuple(name for name in names.split() if name != "-" and name not in but.split())


_X86_CORE = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi - rip - rflags rsp"
_X86_MINIDUMP = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 rip"
_X86_MACH_O = "rax rbx rcx rdx rdi rsi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip rflags"
_ARM64 = " ".join([*(f"x{i}" for i in range(31)), "sp", "pc"])
_ARM32 = " ".join([*(f"r{i}" for i in range(13)), "sp", "lr", "pc"])
_D8_TO_D15 = " ".join(f"d{i}" for i in range(8, 16))
_CONTROL_64 = ("x29", "x30", "sp", "pc")

_X86_64 = DumpLayouts(
    elf_machine=62,
    core=(
        Note(
            "CORE",
            1,
            RegisterBlock(
                336,
                _in_order(_X86_CORE, 112, 8),
                # orig_rax, cs, ss
                ((112 + 15 * 8, 8, (1 << 64) - 1), (112 + 17 * 8, 8, 0x33), (112 + 20 * 8, 8, 0x2B), (12, 2, 5)),
            ),
        ),
    ),
    process_info=136,
    hwcap=0,
    minidump_processor=9,
    minidump=RegisterBlock(
        1232,
        {**_in_order(_X86_MINIDUMP, 120, 8), "rflags": 68},
        # CONTEXT_AMD64 with control, integer and segments; MXCSR; cs, ds, es, fs, gs, ss
        (
            (48, 4, 0x0010_0007),
            (52, 4, 0x1F80),
            *((56 + 2 * i, 2, selector) for i, selector in enumerate((0x33, 0x2B, 0x2B, 0, 0, 0x2B))),
        ),
        flags=48,
        groups={1: ("rip", "rsp", "rflags"), 2: _named(_X86_MINIDUMP, but="rip rsp")},
    ),
    mach_o={4: RegisterBlock(168, _in_order(_X86_MACH_O, 0, 8), ((144, 8, 0x2B),))},  # x86_THREAD_STATE64
)

_ARM_64 = DumpLayouts(
    elf_machine=183,
    core=(
        Note("CORE", 1, RegisterBlock(392, {**_in_order(_ARM64, 112, 8), "nzcv": 112 + 33 * 8}, ((12, 2, 5),))),
        # NT_PRFPREG: struct user_fpsimd_state, 32 registers of 16 bytes
        Note("CORE", 2, RegisterBlock(528, _in_order(_D8_TO_D15, 8 * 16, 16))),
    ),
    process_info=136,
    hwcap=3,  # FP, ASIMD
    minidump_processor=12,
    minidump=RegisterBlock(
        912,
        {**_in_order(_ARM64, 8, 8), "nzcv": 4, **_in_order(_D8_TO_D15, 272 + 8 * 16, 16)},
        ((0, 4, 0x0040_0007),),  # CONTEXT_ARM64 with control, integer, floating point
        flags=0,
        groups={1: (*_CONTROL_64, "nzcv"), 2: _named(_ARM64, but=" ".join(_CONTROL_64)), 4: _named(_D8_TO_D15)},
    ),
    # MDRawContextARM64_Old: what Breakpad and minidump-writer write on Linux and Android. Flags of 64 bits, packed.
    minidump_old=(
        0x8000_0000,
        RegisterBlock(
            796,
            {**_in_order(_ARM64, 8, 8), "nzcv": 272, **_in_order(_D8_TO_D15, 284 + 8 * 16, 16)},
            flags=0,
            groups={2: (*_named(_ARM64), "nzcv"), 4: _named(_D8_TO_D15)},
        ),
    ),
    mach_o={
        6: RegisterBlock(272, {**_in_order(_ARM64, 0, 8), "nzcv": 264}),  # ARM_THREAD_STATE64
        17: RegisterBlock(528, _in_order(_D8_TO_D15, 8 * 16, 16)),  # ARM_NEON_STATE64
    },
)

_ARM_32 = DumpLayouts(
    elf_machine=40,
    elf_flags=0x0500_0200,  # EABI version 5
    core=(
        Note("CORE", 1, RegisterBlock(148, {**_in_order(_ARM32, 72, 4), "cpsr": 72 + 16 * 4}, ((12, 2, 5),))),
        # NT_ARM_VFP: d0 to d31, FPSCR
        Note("LINUX", 0x400, RegisterBlock(260, _in_order(_D8_TO_D15, 8 * 8, 8))),
    ),
    process_info=124,
    hwcap=0x2040,  # VFP, VFPv3
    minidump_processor=5,
    minidump=RegisterBlock(
        368,
        {**_in_order(_ARM32, 4, 4), "cpsr": 68, **_in_order(_D8_TO_D15, 80 + 8 * 8, 8)},
        ((0, 4, 0x4000_0006),),  # CONTEXT_ARM with integer, floating point
        flags=0,
        groups={2: (*_named(_ARM32), "cpsr"), 4: _named(_D8_TO_D15)},
    ),
)

LAYOUTS = PerArch({"x86_64": _X86_64, "arm64": _ARM_64, "arm32": _ARM_32})
