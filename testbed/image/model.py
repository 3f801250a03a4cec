"""What a program file says, as data: segments, sections, symbols; and where a loaded copy of it lies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from testbed.arch import Arch, FrameRecord, Isa
from testbed.words.budget import Account
from testbed.words.printable import printable


class _HoldsBytes:
    """What holds bytes of a file: a view of them takes no memory until somebody asks for the ``data``, a copy."""

    held: bytes | memoryview

    @cached_property
    def data(self) -> bytes:
        return bytes(self.held)

    @property
    def filled(self) -> int:
        """How many bytes the data has."""
        return len(self.held)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "held": self.data}


@dataclass(frozen=True)
class Segment(_HoldsBytes):
    """What the loader maps: ``data`` at the link-time ``address``, zero-filled up to ``size`` bytes.

    ``offset`` is where the data lies in the file.
    """

    address: int
    held: bytes | memoryview = field(repr=False)
    size: int
    readable: bool
    writable: bool
    executable: bool
    offset: int = 0


@dataclass(frozen=True)
class Section(_HoldsBytes):
    """A named part of the file, at its link-time ``address`` (0: not loaded) and file ``offset``."""

    name: str
    address: int
    offset: int
    held: bytes | memoryview = field(repr=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for ``[address, address + size)``; the Thumb bit is already removed from ``address``."""

    name: str
    address: int
    size: int
    is_function: bool
    local: bool = False
    weak: bool = False
    is_data: bool = False
    variant: bool = False  # its calls follow a convention of their own: STO_AARCH64_VARIANT_PCS


@dataclass(frozen=True, eq=False)
class Image:
    """A program file, read: everything in link-time addresses. Equal only to itself, so it can key caches.

    ``frame_records`` is what the builder says of its code: the frame-record layout by instruction set's name.
    It is a convention that no file states, and every frame-pointer walker must be told. ``conventions`` is what its
    owner says of functions' calling conventions: patterns of names, and names of conventions. ``content`` is the whole
    file, so that a trace can carry it; empty for an image that did not come from one. Whoever reads on in it draws on
    its ``account``.
    """

    path: Path
    arch: Arch
    entry: int
    segments: tuple[Segment, ...]
    sections: Mapping[str, Section]
    symbols: tuple[Symbol, ...]  # sorted by address
    isa_marks: tuple[tuple[int, Isa], ...] = ()  # from this address on, this instruction set
    frame_records: Mapping[str, FrameRecord] = field(default_factory=dict)
    conventions: tuple[tuple[str, str], ...] = ()
    base: int = 0  # where the file's own header lies; Mach-O tables count from here
    position_independent: bool = False  # may be loaded with any bias
    rebases: tuple[int, ...] = ()  # words that hold a link-time address: a loader adds the bias to them
    imports: tuple[str, ...] = ()  # names that other files must define before it can run
    content: bytes = field(default=b"", repr=False)
    relocatable: bool = False  # an object file: its sections have no addresses yet, and words in them are not filled in
    debug_file: Path | None = None  # the separate file that its debug information came from
    notes: tuple[str, ...] = ()  # what belongs to it and was not read, and why: names may be missing
    data_marks: frozenset[int] = frozenset()  # from these addresses on, data that lies among code
    executable_stack: bool = False  # it asks for a stack that code may lie on: GCC's nested functions do
    account: Account = field(default_factory=lambda: Account("an image", 1 << 20), repr=False)  # what reading it cost

    def __repr__(self) -> str:
        return f"<Image {self}>"

    def __str__(self) -> str:
        return printable(self.path.name)

    def function_at(self, address: int) -> Symbol | None:
        """The function symbol that covers a link-time address, or None."""
        i = bisect_right(self._function_addresses, address) - 1
        if i < 0:
            return None
        function = self._functions[i]
        return function if address < function.address + max(function.size, 1) else None

    def symbol_named(self, name: str) -> Symbol | None:
        return self._by_name.get(name)

    def isa_at(self, address: int) -> Isa:
        """The instruction set of the code at a link-time address."""
        i = bisect_right(self._mark_addresses, address) - 1
        return self.isa_marks[i][1] if i >= 0 else self.arch.isas[0]

    def frame_record_at(self, address: int) -> FrameRecord:
        """The frame-record layout that the code at a link-time address was built with."""
        return self.frame_record_of(self.isa_at(address))

    def frame_record_of(self, isa: Isa) -> FrameRecord:
        """The frame-record layout of an instruction set in this file."""
        return self.frame_records.get(isa.name, isa.records[0])

    def covers(self, address: int) -> bool:
        """True where a segment maps this link-time address."""
        i = bisect_right(self._mapped, (address, 1 << 65)) - 1
        return i >= 0 and address < self._mapped[i][1]

    def bytes_at(self, address: int, size: int) -> bytes:
        """What the file has at a link-time address: fewer bytes where the segment's own end before, none outside."""
        for segment in self.segments:
            if segment.address <= address < segment.address + segment.filled:
                return bytes(segment.held[address - segment.address :][:size])
        return b""

    @cached_property
    def _mapped(self) -> tuple[tuple[int, int], ...]:
        """The addresses of all segments, sorted, those that touch each other made one."""
        return joined_spans((s.address, s.address + s.size) for s in self.segments)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "read_of_it"}

    @cached_property
    def read_of_it(self) -> dict[object, Any]:
        """What functions ``once_per_image`` have read of it, for as long as it is there."""
        return {}

    @cached_property
    def _functions(self) -> tuple[Symbol, ...]:
        return tuple(symbol for symbol in self.symbols if symbol.is_function)

    @cached_property
    def _function_addresses(self) -> tuple[int, ...]:
        return tuple(symbol.address for symbol in self._functions)

    @cached_property
    def _by_name(self) -> Mapping[str, Symbol]:
        return {symbol.name: symbol for symbol in reversed(self.symbols)}

    @cached_property
    def _mark_addresses(self) -> tuple[int, ...]:
        return tuple(address for address, _ in self.isa_marks)


Other = ParamSpec("Other")
Kept = TypeVar("Kept")


def once_per_image(
    read: Callable[Concatenate[Image, Other], Kept],
) -> Callable[Concatenate[Image, Other], Kept]:
    """A function that reads something of an image once, for its other arguments. What it raises is raised each time."""

    @wraps(read)
    def kept(image: Image, /, *other: Other.args, **named: Other.kwargs) -> Kept:
        found, key = image.read_of_it, (read, *other, *named.items())
        if key not in found:
            found[key] = read(image, *other, **named)
        result: Kept = found[key]
        return result

    return kept


def joined_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges ``[start, end)``, sorted; those that overlap or touch are one."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((start, end))
    return tuple(out)


@dataclass(frozen=True, eq=False)
class LoadedImage:
    """An image in memory: run-time address = link-time address + ``bias``.

    Addresses wrap at the architecture's word, so many biases mean the same place. Kept is the one, below zero or not,
    by which the lowest segment comes to lie in the address space: ``address - bias`` then needs no mask.
    """

    image: Image
    bias: int = 0

    def __post_init__(self) -> None:
        lowest = min((segment.address for segment in self.image.segments), default=0)
        object.__setattr__(self, "bias", (lowest + self.bias & self.image.arch.word_mask) - lowest)

    def __repr__(self) -> str:
        return f"<LoadedImage {self}>"

    def __str__(self) -> str:
        return f"{self.image}@{self.bias:#x}" if self.bias else str(self.image)

    @property
    def entry(self) -> int:
        return self.image.entry + self.bias

    def covers(self, address: int) -> bool:
        return self.image.covers(address - self.bias)


def image_covering(images: tuple[LoadedImage, ...], address: int) -> LoadedImage | None:
    """The loaded image that maps a run-time address, or None."""
    return next((loaded for loaded in images if loaded.covers(address)), None)


def function_covering(images: tuple[LoadedImage, ...], address: int) -> tuple[LoadedImage, Symbol] | None:
    """The function that covers a run-time address, and its image."""
    loaded = image_covering(images, address)
    function = loaded.image.function_at(address - loaded.bias) if loaded else None
    return (loaded, function) if loaded and function else None


def frame_record_at(images: tuple[LoadedImage, ...], arch: Arch, pc: int) -> FrameRecord:
    """The layout of frame records of the code at a pc; outside all images the architecture's first."""
    loaded = image_covering(images, pc)
    return loaded.image.frame_record_at(pc - loaded.bias) if loaded else arch.isas[0].records[0]
