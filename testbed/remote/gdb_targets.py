"""The registers of each architecture as gdb's remote protocol knows them.

Source: manual of gdb, appendix "Target Descriptions", section "Standard Target Features".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.arch import PerArch

Registers = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class GdbTarget:
    """An architecture's target description.

    ``architecture`` is gdb's name of it, ``triple`` LLDB's, and ``apple_triple`` LLDB's name of its Mach-O programs
    (None: there are none). ``features`` are gdb's standard ones with their registers, (name, bits), in the order of the
    ``g`` packet. Of a register with another name in `Arch.registers` ``ours`` tells that name; where ours is shorter,
    it is the low part. ``masks`` are no registers: they say which bits of a pointer are its signature.
    """

    architecture: str
    triple: str
    features: Mapping[str, Registers]
    ours: Mapping[str, str] = field(default_factory=dict)
    masks: tuple[str, ...] = ()
    apple_triple: str | None = None


def _of(names: str, bits: int) -> Registers:
    return tuple((name, bits) for name in names.split())


def _numbered(letter: str, count: int, bits: int, first: int = 0) -> Registers:
    return tuple((f"{letter}{i}", bits) for i in range(first, count))


_X86_64 = GdbTarget(
    architecture="i386:x86-64",
    triple="x86_64-unknown-linux-gnu",
    features={
        "org.gnu.gdb.i386.core": (
            *_of("rax rbx rcx rdx rsi rdi rbp rsp", 64),
            *_numbered("r", 16, 64, first=8),
            *_of("rip", 64),
            *_of("eflags cs ss ds es fs gs", 32),
            *_numbered("st", 8, 80),
            *_of("fctrl fstat ftag fiseg fioff foseg fooff fop", 32),
        ),
        "org.gnu.gdb.i386.sse": (*_numbered("xmm", 16, 128), ("mxcsr", 32)),
        "org.gnu.gdb.i386.linux": (("orig_rax", 64),),
    },
    ours={"eflags": "rflags"},
    apple_triple="x86_64-apple-macos11",
)

_ARM64 = GdbTarget(
    architecture="aarch64",
    triple="aarch64-unknown-linux-gnu",
    features={
        "org.gnu.gdb.aarch64.core": (*_numbered("x", 31, 64), ("sp", 64), ("pc", 64), ("cpsr", 32)),
        "org.gnu.gdb.aarch64.fpu": (*_numbered("v", 32, 128), ("fpsr", 32), ("fpcr", 32)),
        "org.gnu.gdb.aarch64.pauth": _of("pauth_dmask pauth_cmask", 64),
    },
    ours={"cpsr": "nzcv", **{f"v{i}": f"d{i}" for i in range(8, 16)}},
    masks=("pauth_dmask", "pauth_cmask"),
    apple_triple="arm64-apple-ios15.0",
)

_ARM32 = GdbTarget(
    architecture="arm",
    triple="armv7-unknown-linux",  # with an environment, LLDB refuses files of the other one: eabi, eabihf
    features={
        "org.gnu.gdb.arm.core": (*_numbered("r", 13, 32), *_of("sp lr pc cpsr", 32)),
        "org.gnu.gdb.arm.vfp": (*_numbered("d", 32, 64), ("fpscr", 32)),
    },
)

GDB_TARGETS = PerArch({"x86_64": _X86_64, "arm64": _ARM64, "arm32": _ARM32})
