"""Which function an address is in: by the symbols, and where there are none by what was called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from testbed.image import LoadedImage, image_covering
from testbed.image.symbols import symbol_for


class Extents:
    """The functions of a run. One without a symbol reaches from an address that was called to the next such."""

    def __init__(self, images: tuple[LoadedImage, ...], called: Iterable[int]) -> None:
        self._images = images
        self._known: dict[int, int | None] = {}
        self._called = sorted(address for address in set(called) if self._named(address) is None)

    def start(self, address: int) -> int | None:
        """Where the function that covers an address begins; None where no code is."""
        if address not in self._known:
            self._known[address] = self._find(address)
        return self._known[address]

    def same(self, one: int, other: int) -> bool:
        """Both addresses are in one function."""
        start = self.start(one)
        return start is not None and start == self.start(other)

    def is_named(self, address: int) -> bool:
        """A symbol covers it. Where none does, nobody can say where one function ends and another begins."""
        return self._named(address) is not None

    def _find(self, address: int) -> int | None:
        loaded = image_covering(self._images, address)
        if loaded is None or not any(
            segment.executable and segment.address <= address - loaded.bias < segment.address + segment.size
            for segment in loaded.image.segments
        ):
            return None  # data of an image: a pointer to it is no return address
        named = self._named(address)
        if named is not None:
            return named
        i = bisect_right(self._called, address) - 1
        return self._called[i] if i >= 0 else 0

    def _named(self, address: int) -> int | None:
        loaded = image_covering(self._images, address)
        symbol = symbol_for(loaded.image, address - loaded.bias) if loaded else None
        return symbol.address + loaded.bias if symbol and loaded else None
