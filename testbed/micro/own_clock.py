"""A path's own clock and random numbers, which follow from its steps: the emulator's are the host's.

The instruction executes; behind it, and before that is recorded, its registers get the path's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from unicorn import Uc
from unicorn import unicorn_const as const

from testbed.arch import Arch
from testbed.machine.clock_reads import ClockRead, reads_in
from testbed.machine.load import MappedPages

_TICKS = 0x9E37_79B9_7F4A_7C15  # a step's: odd, so that the low bits differ from step to step, too


class OwnClock:
    """The hooks on every instruction of some mappings that reads a clock. Put them on before a recorder's."""

    def __init__(self, arch: Arch, uc: Uc, ids: Mapping[str, int], mappings: Iterable[MappedPages]) -> None:
        self._uc, self._ids, self._mask = uc, ids, arch.word_mask
        self._read_at = 0  # the step that read last
        self._read: ClockRead | None = None  # how; None: its values were given
        self.steps: Callable[[], int] = lambda: 0
        for mapping in mappings:
            if mapping.permissions & const.UC_PROT_EXEC:
                for first, end, read in reads_in(arch.name, mapping.data):
                    self._add(mapping.address + first, mapping.address + end, read)

    def _add(self, first: int, end: int, read: ClockRead) -> None:
        def reads(uc: Uc, address: int, size: int, unused: object) -> None:
            if address + size == end:
                self._read_at, self._read = self.steps(), read

        def behind(uc: Uc, address: int, size: int, unused: object) -> None:
            if self._read is not None and self.steps() == self._read_at + 1:
                self._give(self._read)
            self._read = None

        self._uc.hook_add(const.UC_HOOK_CODE, reads, begin=first, end=first)
        self._uc.hook_add(const.UC_HOOK_CODE, behind, begin=end, end=end)

    def _give(self, read: ClockRead) -> None:
        time = (self._read_at + 1) * _TICKS & self._mask
        for k, register in enumerate(read.into):
            self._uc.reg_write(self._ids[register], time >> read.bits * k & ((1 << read.bits) - 1))
