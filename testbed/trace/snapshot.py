"""The machine at one instant: all that a strategy is given. No history, no truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.arch import Arch, arch_named
from testbed.image import LoadedImage, describe, read_image
from testbed.trace.memory import Memory


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Registers before an instruction executes, the memory at that moment, the images that are mapped.

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
        """A snapshot that did not come from a trace: registers, ``(address, bytes)``, ``(file, load bias)``."""
        table = arch_named(arch)
        return cls(
            table,
            dict(registers),
            Memory.of(memory),
            tuple(LoadedImage(read_image(path, arch=table), bias) for path, bias in images),
        )
