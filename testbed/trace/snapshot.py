"""The machine at one instant: all that an unwinder is given. No history, no truth."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from testbed.arch import Arch, arch_named
from testbed.image import LoadedImage, describe, image_covering, read_image
from testbed.image.model import joined_spans
from testbed.trace.memory import Memory
from testbed.words.catalogue import nearest
from testbed.words.errors import UnknownRegister, UnreadableMemory, UnsupportedRule, UsageError

LEAST_ADDRESS_BITS = 36  # of a process, under Linux's smallest configuration


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Registers before an instruction executes, the memory at that moment, the images that are mapped.

    Of the registers only pc and SP are always there: one that is missing is unknown, and no value stands for it.
    ``step`` says where in a trace it came from, for people and for the judge; a foreign snapshot has none. ``pac_mask``
    are the bits of a code pointer that a signature lies in where return addresses are signed; None: not known. It
    depends on how wide the process's addresses are: of 48 bits it is ``0x7f << 48``, of 39 bits, as on Android,
    ``0xffff << 39`` (Linux, Documentation/arch/arm64/pointer-authentication.rst).

    A dump may have less memory than there was, so its end is not the end of the stack. ``mappings`` are all ranges
    [start, end) that were mapped, as far as that is known: empty, nothing is known of what the memory does not have.
    None: the memory is all that was mapped, as in a trace.
    """

    arch: Arch
    registers: Mapping[str, int]
    memory: Memory = field(repr=False)
    images: tuple[LoadedImage, ...]
    step: int | None = None
    pac_mask: int | None = None
    mappings: tuple[tuple[int, int], ...] | None = field(default=None, repr=False)

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

    def stack_end(self) -> tuple[int, bool]:
        """Up to where the stack above SP is here, and whether it ends there: True at the end of SP's mapping.

        Raises UnreadableMemory where SP points to nothing that is here.
        """
        end = self.memory.mapped_until(self.sp)
        if self.mappings is None:
            return end, True
        limit = next((limit for start, limit in self.mappings if start <= self.sp < limit), None)
        if limit is None:
            return end, False
        while end < limit:  # a dump may have a mapping in several pieces
            try:
                end = self.memory.mapped_until(end)
            except UnreadableMemory:
                return end, False
        return limit, True

    @property
    def is_whole(self) -> bool:
        """True where all of the stack is here, and it is known what was mapped elsewhere."""
        if not self.mappings:
            return self.mappings is None
        try:
            return self.stack_end()[1]
        except UnreadableMemory:
            return False

    def is_unmapped(self, address: int, size: int) -> bool:
        """True where it is known that some of these bytes, which cannot be read, were not mapped either."""
        if self.mappings is None:
            return True
        ends = (address, address + size - 1)
        return bool(self.mappings) and not all(self._mapped(at) for at in ends)

    def _mapped(self, address: int) -> bool:
        i = bisect_right(self._mapped_spans, (address, 1 << 65)) - 1
        return i >= 0 and address < self._mapped_spans[i][1]

    @cached_property
    def _mapped_spans(self) -> tuple[tuple[int, int], ...]:
        return joined_spans(self.mappings or ())

    def without_signature(self, value: int) -> int:
        """The address that a signed return address names: its signature taken off, unverified.

        Where the mask is not known, an address inside an image has no signature: a core that cannot sign gives none.
        Raises UnsupportedRule for any other then.
        """
        mask = self.pac_mask if self.arch.signature else 0
        if mask is None and value and image_covering(self.images, self.arch.code_address(value) - 1) is None:
            raise UnsupportedRule(
                f"{value:#x} is a signed return address, and the snapshot does not say which bits are its signature: "
                "it has no pac_mask"
            )
        return self.arch.code_address(value & ~(mask or 0))

    def __repr__(self) -> str:
        return f"<Snapshot {self}>"

    def __str__(self) -> str:
        where = "" if self.step is None else f"step {self.step}: "
        pc, name = f"{self.pc:#x}", describe(self.images, self.pc)
        return f"{where}pc {pc if name == pc else f'{pc} {name}'}, sp {self.sp:#x}"

    @classmethod
    def from_parts(
        cls,
        *,
        arch: str,
        registers: Mapping[str, int],
        memory: Iterable[tuple[int, bytes]],
        images: Iterable[tuple[Path | str, int]],
        pac_mask: int | None = None,
        mappings: Iterable[tuple[int, int]] = (),
    ) -> Snapshot:
        """A snapshot that did not come from a trace: registers, ``(address, bytes)``, ``(file, load bias)``.

        ``testbed.arch`` has the names of the registers. pc and SP must be there; any other may be missing, which means
        unknown: an unwinder that needs it stops there. The pieces of memory are disjoint. ``pac_mask``: the bits of a
        return address that its signature lies in, where addresses are signed. ``mappings``: all ranges ``(start, end)``
        that were mapped in the process. Without them the end of the memory that is given is not taken for the end of
        the stack: nothing says that the stack did not go on.

        Raises UsageError for registers and memory that break this, ImageError for a file that cannot be read.
        """
        table = arch_named(arch)
        return cls.of_loaded(
            table,
            registers,
            memory,
            tuple(LoadedImage(read_image(path, arch=table), bias) for path, bias in images),
            pac_mask,
            tuple(mappings),
        )

    @classmethod
    def of_loaded(
        cls,
        arch: Arch,
        registers: Mapping[str, int],
        memory: Iterable[tuple[int, bytes]],
        images: tuple[LoadedImage, ...],
        pac_mask: int | None = None,
        mappings: tuple[tuple[int, int], ...] = (),
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
        if wrong := [(start, end) for start, end in mappings if not 0 <= start < end <= arch.word_mask + 1]:
            raise UsageError(f"mappings: {wrong[0][0]:#x} to {wrong[0][1]:#x} is no range of addresses of {arch}")
        if pac_mask is not None:
            _check_mask(arch, pac_mask)
        try:
            mapped = Memory.of(memory)
        except ValueError as error:
            raise UsageError(f"{error}: give disjoint pieces") from error
        return cls(arch, dict(registers), mapped, images, pac_mask=pac_mask, mappings=mappings)


def _check_mask(arch: Arch, mask: int) -> None:
    """Raise UsageError for a mask of signature bits that cannot be one."""
    if mask and not arch.signature:
        raise UsageError(f"pac_mask {mask:#x}: {arch} signs no return addresses")
    if mask >> 64 or mask & (1 << LEAST_ADDRESS_BITS) - 1:
        raise UsageError(
            f"pac_mask {mask:#x} is no mask of signature bits: they lie above an address of {LEAST_ADDRESS_BITS} bits"
            " or more; above one of 48, 0x7f000000000000"
        )
