"""What the compilers, assemblers and linkers are told to build for an architecture or an instruction set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.arch import PerArch, PerIsa
from testbed.program.header import Header

# Where assembly programs lie in memory, whoever assembles them: equal code then means equal bytes.

PAGE = 0x1000
IMAGE_BASE = 0x40_0000  # the file header
TEXT_BASE = 0x41_0000  # the first instruction
ZEROED_BASE = 0x48_0000  # .bss: near enough for any branch, far enough for any program


# Clang, for C and for assembly.
CLANG = PerIsa(
    {
        "x86_64": ("-target", "x86_64-linux-gnu", "-masm=intel"),
        "arm64": ("-target", "aarch64-linux-gnu"),
        "a32": ("-target", "armv7-linux-gnueabihf"),
        "thumb": ("-target", "armv7-linux-gnueabihf", "-mthumb"),
    }
)

_INTEL = "-masm=intel"


def clang_flags(isa: str, header: Header, flags: Sequence[str] = ()) -> tuple[str, ...]:
    """What clang is told for an instruction set, with a recipe's flags, and those of a source's header last."""
    target = tuple(flag for flag in CLANG[isa] if flag != _INTEL or not header.syntax)
    return (*target, *flags, *(f"-I{folder}" for folder in header.include), *header.flags)


def gcc_flags(isa: str, header: Header, flags: Sequence[str] = ()) -> tuple[str, ...]:
    """What GCC is told for C."""
    return (*GCC[isa], *flags, *(f"-I{folder}" for folder in header.include), *header.flags)


def gas_flags(isa: str, header: Header, flags: Sequence[str] = ()) -> tuple[str, ...]:
    """What GCC is told for assembly."""
    syntax = () if header.syntax else GAS_SYNTAX[isa]
    return (*GAS[isa], *syntax, *flags, *(f"-I{folder}" for folder in header.include), *header.flags)


# The name of the emulation that lld takes with -m.
LLD = PerArch({"x86_64": "elf_x86_64", "arm64": "aarch64linux", "arm32": "armelf_linux_eabi"})


@dataclass(frozen=True, slots=True)
class GnuTarget:
    """An architecture in the GNU toolchain: ``TRIPLE-gcc-12``, ``TRIPLE-as``, ``TRIPLE-ld``.

    ``package`` is what follows ``gcc-12`` in the name of Debian's package. ld gets ``link_flags`` always, and
    ``as_written`` for assembly programs, whose tables are to be as the source says.
    """

    triple: str
    package: str
    link_flags: tuple[str, ...] = ()
    as_written: tuple[str, ...] = ()


GNU = PerArch(
    {
        "x86_64": GnuTarget("x86_64-linux-gnu", ""),
        "arm64": GnuTarget("aarch64-linux-gnu", "-aarch64-linux-gnu"),
        "arm32": GnuTarget(
            "arm-linux-gnueabihf",
            "-arm-linux-gnueabihf",
            # What ARM tables name as personality routines: nothing here calls them.
            link_flags=("--defsym=__aeabi_unwind_cpp_pr0=0", "--defsym=__aeabi_unwind_cpp_pr1=0"),
            as_written=("--no-merge-exidx-entries",),  # one entry per function
        ),
    }
)

# GCC for C: what selects the instruction set, and code like what `CLANG` asks for.
GCC = PerIsa(
    {
        "x86_64": ("-m64", "-fno-pie", "-fcf-protection=none"),
        "arm64": ("-fno-pie", "-mbranch-protection=none"),
        "a32": ("-fno-pie", "-march=armv7-a+fp", "-mfloat-abi=hard", "-marm"),
        "thumb": ("-fno-pie", "-march=armv7-a+fp", "-mfloat-abi=hard", "-mthumb"),
    }
)

# GCC for assembly: what GNU as is told.
GAS = PerIsa[tuple[str, ...]](
    {
        "x86_64": (),
        "arm64": (),
        "a32": ("-march=armv7-a+fp", "-marm"),
        "thumb": ("-march=armv7-a+fp", "-mthumb"),
    }
)

# What it is told where a source does not say that it is in AT&T syntax.
GAS_SYNTAX = PerIsa[tuple[str, ...]](
    {"x86_64": ("-Wa,-msyntax=intel", "-Wa,-mnaked-reg"), "arm64": (), "a32": (), "thumb": ()}
)


@dataclass(frozen=True, slots=True)
class MachOTarget:
    """How Mach-O programs are built: what clang is told, and the name of the target to Zig's linker."""

    clang: tuple[str, ...]
    linker: str


MACH_O = PerArch[MachOTarget | None](
    {
        "x86_64": MachOTarget(("-target", "x86_64-apple-macos11", "-masm=intel"), "x86_64-macos"),
        "arm64": MachOTarget(("-target", "arm64-apple-ios15.0"), "aarch64-ios"),
        "arm32": None,
    },
    because={"arm32": "there are no 64-bit Mach-O files of it"},
)
