"""What Linux fixes per architecture for its programs: registers of a system call, structures, where memory lies.

Sources: Linux 6.1, arch/*/include/uapi/asm (stat.h, hwcap.h, auxvec.h), arch/*/include/asm/elf.h and processor.h;
syscall(2) for the registers. Addresses are those of a machine without address-space randomization.
"""

from __future__ import annotations

from dataclasses import dataclass

from unicorn import arm64_const as a64
from unicorn import arm_const as arm
from unicorn import x86_const as x86

from testbed.arch import PerArch


@dataclass(frozen=True, slots=True)
class KernelAbi:
    """How a program and the kernel talk.

    ``number``, ``arguments`` and ``result`` are registers of `Arch.registers`. ``stat`` is the layout of ``struct
    stat`` (``stat64`` if long has 32 bits) in the order of ``stat_fields``; ``map_shift`` is what ``mmap``'s offset is
    shifted by; ``split``: an argument of 64 bits takes two registers, an even one first. ``thread_pointer`` is
    Unicorn's register with the address of the thread's TLS. ``fixed`` are pages that the kernel itself maps: (address,
    code).
    """

    number: str
    arguments: tuple[str, ...]
    result: str
    machine: str
    platform: str
    hwcap: int
    hwcap2: int
    stat: str
    stat_fields: tuple[str, ...]
    thread_pointer: int
    stack_top: int
    map_top: int
    load_bias: int
    end: int
    signal_stack: int  # AT_MINSIGSTKSZ
    flags: int  # `Arch.flags` at the start
    o_directory: int
    o_nofollow: int
    event_data: int = 8  # where the data of a ``struct epoll_event`` begins
    tls_first: bool = True  # clone's fourth argument is the TLS, not the address of the child's number
    map_shift: int = 0
    split: bool = False
    fixed: tuple[tuple[int, bytes], ...] = ()
    restorers: tuple[int, int] = (0, 0)  # where no restorer is given: of a handler with siginfo, of one without


_TIMES = ("atime", "atime_ns", "mtime", "mtime_ns", "ctime", "ctime_ns")


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


# arch/arm/kernel/entry-armv.S: the helpers that the kernel maps for programs, counted from the page's end.
_KUSER = bytearray(0x1000)
for _at, _code in {
    0xFA0: _words(0xF57FF05B, 0xE12FFF1E),  # memory barrier
    0xFC0: _words(  # compare and exchange
        0xF57FF05B, 0xE1923F9F, 0xE0533000, 0x01823F91, 0x03330001, 0x0AFFFFFA, 0xE2730000, 0xF57FF05B, 0xE12FFF1E
    ),
    0xFE0: _words(0xEE1D0F70, 0xE12FFF1E),  # the TLS address
    0xFFC: _words(5),  # version
}.items():
    _KUSER[_at : _at + len(_code)] = _code

# Where Linux has a vDSO, or a page of its own, with the code that signal handlers return to.
_TRAMPOLINE_64, _TRAMPOLINE_32 = 0x7FFF_F7FF_E000, 0xB6FF_E000

ABIS = PerArch(
    {
        "x86_64": KernelAbi(
            number="rax",
            arguments=("rdi", "rsi", "rdx", "r10", "r8", "r9"),
            result="rax",
            machine="x86_64",
            platform="x86_64",
            hwcap=0x178B_FBFF,
            hwcap2=0,
            stat="<QQQIII4xQqqq6q24x",
            stat_fields=("dev", "ino", "nlink", "mode", "uid", "gid", "rdev", "size", "blksize", "blocks", *_TIMES),
            thread_pointer=x86.UC_X86_REG_FS_BASE,
            stack_top=0x7FFF_FFFF_F000,
            map_top=0x7FFF_F7FF_F000,
            load_bias=0x5555_5555_4000,
            end=0x7FFF_FFFF_F000,
            signal_stack=2048,
            flags=0x202,  # interrupts are on
            o_directory=0o200000,
            o_nofollow=0o400000,
            event_data=4,
            tls_first=False,
        ),
        "arm64": KernelAbi(
            number="x8",
            arguments=("x0", "x1", "x2", "x3", "x4", "x5"),
            result="x0",
            machine="aarch64",
            platform="aarch64",
            hwcap=3,  # FP, ASIMD: the model has no more
            hwcap2=0,
            stat="<QQIIIIQ8xqi4xq6q8x",
            stat_fields=("dev", "ino", "mode", "nlink", "uid", "gid", "rdev", "size", "blksize", "blocks", *_TIMES),
            thread_pointer=a64.UC_ARM64_REG_TPIDR_EL0,
            stack_top=0x7FFF_FFFF_F000,
            map_top=_TRAMPOLINE_64,
            load_bias=0x5555_5555_0000,
            end=0x7FFF_FFFF_F000,
            signal_stack=5120,
            flags=0,
            o_directory=0o40000,
            o_nofollow=0o100000,
            fixed=((_TRAMPOLINE_64, _words(0xD503201F, 0xD2801168, 0xD4000001)),),  # nop; mov x8, #139; svc #0
            restorers=(_TRAMPOLINE_64 + 4, _TRAMPOLINE_64 + 4),
        ),
        "arm32": KernelAbi(
            number="r7",
            arguments=("r0", "r1", "r2", "r3", "r4", "r5", "r6"),
            result="r0",
            machine="armv7l",
            platform="v7l",
            hwcap=0x003F_B0D7,
            hwcap2=0x10,
            stat="<Q4xIIIIIQ4x4xqI4xQ6IQ",
            stat_fields=(
                *("dev", "ino32", "mode", "nlink", "uid", "gid", "rdev", "size", "blksize", "blocks"),
                *_TIMES,
                "ino",
            ),
            thread_pointer=arm.UC_ARM_REG_C13_C0_3,
            stack_top=0xBEFF_F000,
            map_top=_TRAMPOLINE_32,
            load_bias=0x0040_0000,
            end=0xBF00_0000,
            signal_stack=2048,
            flags=0x10,  # user mode
            o_directory=0o40000,
            o_nofollow=0o100000,
            map_shift=12,
            split=True,
            fixed=(
                (0xFFFF_0000, bytes(_KUSER)),
                (_TRAMPOLINE_32, _words(0xE3A070AD, 0xEF000000, 0xE3A07077, 0xEF000000)),  # mov r7, #173 / #119; svc 0
            ),
            restorers=(_TRAMPOLINE_32, _TRAMPOLINE_32 + 8),
        ),
    }
)
