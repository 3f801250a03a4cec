"""The machine at one instant: all that a strategy is given. No history, no truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.arch import Arch, arch_named
from testbed.image import LoadedImage, describe, read_image
from testbed.trace.memory import Memory
from testbed.words.errors import UnknownRegister, UsageError
from testbed.words.nearest import nearest


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Registers before an instruction executes, the memory at that moment, the images that are mapped.

    Of the registers only pc and SP are always there: one that is missing is unknown, and no value stands for it.
    ``step`` says where in a trace it came from, for people and for the judge; a foreign snapshot has none.
    """

    arch: Arch
    registers: Mapping[str, int]
    memory: Memory = field(repr=False)
    images: tuple[LoadedImage, ...]
    step: int | None = None

    @property
    def pc(self) -> int:
        return self.registers[self.arch.pc]

    @property
    def sp(self) -> int:
        return self.registers[self.arch.sp]

    def register(self, name: str) -> int:
        """A register's value. Raises UnknownRegister where the snapshot does not have it."""
        if name not in self.registers:
            raise UnknownRegister(name)
        return self.registers[name]

    def __str__(self) -> str:
        where = "" if self.step is None else f"step {self.step}: "
        return f"{where}pc {self.pc:#x} {describe(self.images, self.pc)}, sp {self.sp:#x}"

    @classmethod
    def from_parts(
        cls,
        *,
        arch: str,
        registers: Mapping[str, int],
        memory: Iterable[tuple[int, bytes]],
        images: Iterable[tuple[Path | str, int]],
    ) -> Snapshot:
        """A snapshot that did not come from a trace: registers, ``(address, bytes)``, ``(file, load bias)``.

        ``testbed.arch`` has the names of the registers. pc and SP must be there; any other may be missing, which means
        unknown: a strategy that needs it stops there. The pieces of memory are disjoint.

        Raises UsageError for registers and memory that break this, ImageError for a file that cannot be read.
        """
        table = arch_named(arch)
        return cls.of_loaded(
            table,
            registers,
            memory,
            tuple(LoadedImage(read_image(path, arch=table), bias) for path, bias in images),
        )

    @classmethod
    def of_loaded(
        cls,
        arch: Arch,
        registers: Mapping[str, int],
        memory: Iterable[tuple[int, bytes]],
        images: tuple[LoadedImage, ...],
    ) -> Snapshot:
        """As `from_parts`, of files that are read already."""
        if unknown := [name for name in registers if name not in arch.by_name]:
            raise UsageError(f"{arch} has no register {unknown[0]!r}; {nearest(unknown[0], arch.by_name)}")
        needed = (arch.pc, arch.sp)
        if missing := [name for name in needed if name not in registers]:
            raise UsageError(f"no value for {', '.join(missing)}; a snapshot of {arch} needs {' and '.join(needed)}")
        for name, value in registers.items():
            if not 0 <= value < 1 << arch.by_name[name].bits:
                raise UsageError(f"{value:#x} is no value of {name}, which has {arch.by_name[name].bits} bits")
        for image in images:
            if image.image.arch is not arch:
                raise UsageError(f"{image} is for {image.image.arch}, the registers are those of {arch}")
        try:
            mapped = Memory.of(memory)
        except ValueError as error:
            raise UsageError(f"{error}: give disjoint pieces") from error
        return cls(arch, dict(registers), mapped, images)
