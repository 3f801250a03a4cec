"""What a processor does and the emulator does not, made up for a path: clocks, and instructions that it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import numpy as np
from capstone import CS_GRP_CALL, CS_GRP_INT, CS_GRP_IRET, CS_GRP_JUMP, CS_GRP_RET
from numpy.typing import NDArray
from unicorn import Uc, UcError
from unicorn import unicorn_const as const

from testbed.arch import Arch, Isa
from testbed.image.disassembly import disassembler
from testbed.machine.clock_reads import ClockRead, reads_in
from testbed.machine.hooked_run import HookedRun, recorded_parts, write_set
from testbed.machine.native.hooks import LONGEST
from testbed.machine.register_parts import WRITTEN
from testbed.machine.start import MappedPages

# A path's own clock and random numbers, which follow from its steps: the emulator's are the host's.
#
# The instruction executes; behind it, and before that is recorded, its registers get the path's values.

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


# Instructions that the emulator lacks are passed over, if all that they do is to write registers or memory and to go on
# to the next one.

_NAME, _ADDRESS = re.compile(r"\b[a-z]\w*"), re.compile(r"\[[^\]]*\](?!!|, )")
_TRAPS = ("ud0", "ud1", "ud2", "udf")  # undefined for good
_ELSEWHERE = frozenset((CS_GRP_CALL, CS_GRP_JUMP, CS_GRP_RET, CS_GRP_INT, CS_GRP_IRET))


@lru_cache(maxsize=1 << 16)
def passed_over(arch: Arch, isa: Isa, code: bytes) -> tuple[int, frozenset[str]] | None:
    """The size of an instruction that only goes on to the next, and the registers that it may change; None: unknown."""
    instruction = next(disassembler(isa.name, detail=True).disasm(code, 0, 1), None)
    written = write_set(arch, isa, code, 0)
    if instruction is None or written is None or instruction.mnemonic in _TRAPS:
        return None
    if not WRITTEN[arch.name].tells_newer:  # all that it names may be, but for an address that stays
        names = _NAME.findall(_ADDRESS.sub("", instruction.op_str))
        written |= {its for name in names for its in recorded_parts(arch, name) or ()}
    return None if _ELSEWHERE & {*instruction.groups} else (instruction.size, written - {arch.flags})


class PassingOver:
    """Passes over what the machine of a run lacks, but for what may write one of the registers ``kept``.

    What an instruction writes to other registers is the path's answer, memory stays as it is. ``lacked`` are the
    addresses of those that were passed over.
    """

    def __init__(self, run: HookedRun, ids: Mapping[str, int], kept: Iterable[str]) -> None:
        self.lacked: list[int] = []
        self._run, self._ids, self._kept = run, ids, frozenset(kept)
        self._known: dict[tuple[int, int], tuple[int, frozenset[str]] | None] = {}  # by pc and instruction set

    def behind(self, places: NDArray[np.uint8], steps: int) -> int | None:
        """Where a path goes on behind the last row's instruction, which the machine lacks; None: not known.

        Those that follow it and are known to be passed over are so here, up to ``steps`` rows and to what
        ``places`` halts at: to start the machine costs more.
        """
        run, arch, uc = self._run, self._run.machine.arch, self._run.machine.uc
        isa = arch.isa_of_flags(uc.reg_read(self._ids[arch.flags]))
        pc = run.last_pc()
        while (found := self._found(pc, isa)) is not None:
            size, written = found
            for name in written:
                uc.reg_write(self._ids[name], run.state.own_result)
            run.correct_size(size)
            self.lacked.append(pc)
            pc += size
            if self._known.get((pc, isa.address_bit)) is None or run.steps >= steps or places[pc - run.code]:
                return pc | isa.address_bit
            row = run.rows.view(run.steps)[-run.count :].copy()
            row[[arch.index[name] for name in written]] = run.state.own_result & arch.word_mask
            row[arch.index[arch.pc]] = pc
            run.add_row(row)
        return None

    def _found(self, pc: int, isa: Isa) -> tuple[int, frozenset[str]] | None:
        key = (pc, isa.address_bit)
        if key not in self._known:
            try:
                code = bytes(self._run.machine.uc.mem_read(pc, LONGEST))
            except UcError:  # at the end of its mapping
                return None
            found = passed_over(self._run.machine.arch, isa, code)
            self._known[key] = None if found is None or found[1] & self._kept else found
        return self._known[key]
