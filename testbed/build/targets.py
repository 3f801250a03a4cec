"""What the compilers, assemblers and linkers are told to build for an architecture or an instruction set."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.arch import PerArch, PerIsa

# Clang, for C and for assembly.
CLANG = PerIsa(
    {
        "x86_64": ("-target", "x86_64-linux-gnu", "-masm=intel"),
        "arm64": ("-target", "aarch64-linux-gnu"),
        "a32": ("-target", "armv7-linux-gnueabihf"),
        "thumb": ("-target", "armv7-linux-gnueabihf", "-mthumb"),
    }
)

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
        "x86_64": ("-Wa,-msyntax=intel", "-Wa,-mnaked-reg"),
        "arm64": (),
        "a32": ("-march=armv7-a+fp", "-marm"),
        "thumb": ("-march=armv7-a+fp", "-mthumb"),
    }
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
