"""Each architecture in Unicorn: its numbers there, how it is set up, and what its exceptions mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from unicorn import arm64_const as a64
from unicorn import arm_const as arm
from unicorn import unicorn_const as uc
from unicorn import x86_const as x86

from testbed.arch import ARCHES, PerArch


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU model that is not Unicorn's usual one, as a program asks for it by name (`Arch.cpus`).

    ``model`` is Unicorn's number. ``system`` are (address of a system register, bits to keep, bits to set), written
    through the register ``port`` before the program starts; an address is in Unicorn's order of its fields.
    """

    model: int
    port: int = 0
    system: tuple[tuple[tuple[int, ...], int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class UnicornArch:
    """An architecture as Unicorn has it.

    ``opened`` are UC_ARCH_* and UC_MODE_*, ``registers`` the ids of `Arch.registers` by name. ``setup`` is written
    before a program starts: (register id, bits to keep, bits to set). A system call is reported either as the
    ``call_instruction`` (UC_X86_INS_*) or as the exception ``call_exception``; the other one is None. ``exceptions``
    says what the other exception numbers mean. ``stack_top`` is SP at the entry, near the end of what Linux gives a
    program. ``block_state`` are bits of the flags with the state of a Thumb IT block: stale after a hooked store.
    ``call_leaves`` are the registers that a system call itself overwrites, each with the one whose value it gets.
    ``process_cpu`` is the model of a Linux process; None: the usual one. ``mistaken`` are instructions that it would
    execute as others.
    """

    opened: tuple[int, int]
    registers: Mapping[str, int]
    setup: tuple[tuple[int, int, int], ...]
    exceptions: Mapping[int, str]
    stack_top: int
    call_instruction: int | None = None
    call_exception: int | None = None
    call_leaves: tuple[tuple[str, str], ...] = ()
    block_state: int = 0
    cpus: Mapping[str, Cpu] = field(default_factory=dict)
    process_cpu: Cpu | None = None
    mistaken: re.Pattern[bytes] = re.compile(rb"(?!)")


def mistaken_in(settings: UnicornArch, code: bytes) -> Iterator[int]:
    """The offsets in some code at which an instruction that is mistaken may begin."""
    at = 0
    while match := settings.mistaken.search(code, at):
        yield match.start()
        at = match.start() + 1


def _ids(module: object, prefix: str, names: Iterable[str]) -> Mapping[str, int]:
    return {name: getattr(module, f"{prefix}_{name.upper()}") for name in names}


_ARM_EXCEPTIONS = {1: "undefined instruction", 3: "prefetch abort", 4: "data abort", 7: "breakpoint"}

# System registers of arm64, as Unicorn wants them: (CRn, CRm, op0, op1, op2).
_SCTLR_EL1, _TCR_EL1 = (1, 0, 3, 0, 0), (2, 0, 3, 0, 2)
_HCR_EL2, _SCR_EL3 = (1, 1, 3, 4, 0), (1, 1, 3, 6, 0)
_KEYS = tuple((2, crm, 3, 0, op2) for crm in (1, 2) for op2 in range(4))  # APIA, APIB, APDA, APDB: low and high half

# EL3 and EL2 must let EL1 use keys and instructions (APK, API), else both trap (Arm ARM, section D8.10). T0SZ and TBI0
# decide which bits a signature has: `Arch.signature`. The keys could be any; they are always the same, and so are
# signatures.
_SIGNING = Cpu(
    model=a64.UC_CPU_ARM64_MAX,
    port=a64.UC_ARM64_REG_CP_REG,
    system=(
        (_SCR_EL3, ~0, 1 << 17 | 1 << 16 | 1 << 10 | 1),  # API, APK, RW, NS
        (_HCR_EL2, ~0, 1 << 41 | 1 << 40 | 1 << 31),  # API, APK, RW
        (_TCR_EL1, 0, 1 << 37 | 16),  # TBI0, T0SZ
        (_SCTLR_EL1, ~0, 1 << 31 | 1 << 30),  # EnIA, EnIB
        *((key, 0, 0x9E37_79B9_7F4A_7C15 * i % (1 << 64)) for i, key in enumerate(_KEYS, 1)),
    ),
)


def _bytes(holds: Callable[[int], bool]) -> bytes:
    """The set of bytes of which something holds, in a pattern."""
    return b"[" + b"".join(re.escape(bytes([each])) for each in range(256) if holds(each)) + b"]"


# Unicorn reads a VEX prefix and then the opcode by the legacy map. That is wrong of what has another meaning there:
# AVX-512's operations on masks (0F 41 to 4B, 90 to 93, 98, 99), which it executes as `cmovcc` and `setcc` of general
# registers, SP among them. XOP's prefix it takes for `pop` (Intel SDM 2D, opcode map; AMD APM 6, XOP).
_THREE_MASKS = (_bytes(lambda b: b & 0x44 == 0x44), rb"[\x41\x42\x44-\x47\x4a\x4b][\xc0-\xff]")
_TWO_MASKS = (_bytes(lambda b: b & 0x7C == 0x78), rb"[\x44\x90-\x93\x98\x99]")
_MASKS = b"|".join(map(b"".join, (_THREE_MASKS, _TWO_MASKS)))
_VEX_PREFIX = rb"(?:\xc5|\xc4" + _bytes(lambda b: b & 0x1F == 1) + rb")"
_XOP = rb"\x8f" + _bytes(lambda b: b & 0x1F in (8, 9, 10)) + _bytes(lambda b: b & 3 == 0)

UNICORN = PerArch(
    {
        "x86_64": UnicornArch(
            opened=(uc.UC_ARCH_X86, uc.UC_MODE_64),
            registers=_ids(x86, "UC_X86_REG", ARCHES["x86_64"].index),
            # Reset leaves the x87 control word at single precision and MXCSR unmasked; some models lack OSFXSR.
            setup=(
                (x86.UC_X86_REG_FPCW, 0, 0x37F),
                (x86.UC_X86_REG_MXCSR, 0, 0x1F80),
                (x86.UC_X86_REG_CR4, ~0, 0x600),
            ),
            exceptions={
                0: "divide error",
                1: "debug trap",
                3: "breakpoint",
                6: "undefined instruction",
                13: "protection fault",
            },
            stack_top=0x7FFF_FFFF_0000,
            call_instruction=x86.UC_X86_INS_SYSCALL,
            call_leaves=(("rcx", "rip"), ("r11", "rflags")),
            # Its features are announced as they are: no ERMS, by which C libraries would clear memory with `rep stosb`,
            # a step per byte; and no AVX.
            process_cpu=Cpu(x86.UC_CPU_X86_NEHALEM),
            mistaken=re.compile(_VEX_PREFIX + rb"(?:" + _MASKS + rb")|" + _XOP, re.DOTALL),
        ),
        "arm64": UnicornArch(
            opened=(uc.UC_ARCH_ARM64, uc.UC_MODE_ARM),
            registers=_ids(a64, "UC_ARM64_REG", ARCHES["arm64"].index),
            setup=((a64.UC_ARM64_REG_CPACR_EL1, ~0, 3 << 20),),  # FPEN: floating point without a trap
            exceptions=_ARM_EXCEPTIONS,
            stack_top=0x7FFF_FFFF_0000,
            call_exception=2,
            cpus={"signing": _SIGNING},
        ),
        "arm32": UnicornArch(
            opened=(uc.UC_ARCH_ARM, uc.UC_MODE_ARM),
            registers=_ids(arm, "UC_ARM_REG", ARCHES["arm32"].index),
            # CPACR: full access to the coprocessors 10 and 11; FPEXC.EN: the floating-point unit is on.
            setup=((arm.UC_ARM_REG_C1_C0_2, ~0, 0xF << 20), (arm.UC_ARM_REG_FPEXC, ~0, 1 << 30)),
            exceptions=_ARM_EXCEPTIONS,
            stack_top=0xBEFF_0000,
            call_exception=2,
            block_state=0x0600_FC00,  # CPSR.IT
        ),
    }
)
