"""The effect of the instruction that a step executes; each instruction is decoded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from capstone import Cs

from testbed.arch import Isa, PerIsa
from testbed.image.capstone_isas import CAPSTONE
from testbed.trace import Trace
from testbed.witness import arm32, arm64, x86_64
from testbed.witness.operands import NamedWords, Reading
from testbed.witness.passage import Passage


class _Semantics(NamedTuple):
    effect: Callable[[Reading], Passage]
    words: NamedWords


SEMANTICS = PerIsa[_Semantics](
    {
        "x86_64": _Semantics(x86_64.effect, x86_64.words),
        "arm64": _Semantics(arm64.effect, arm64.words),
        "a32": _Semantics(arm32.effect, arm32.words),
        "thumb": _Semantics(arm32.effect, arm32.words),
    }
)

_NOTHING = Passage()


class Instructions:
    """The effects of a trace's instructions, by pc and instruction set.

    Code that is written while it runs is decoded again whenever it is executed.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[int, str], Passage] = {}
        self._written = _writes_code(trace)

    def at(self, step: int, pc: int, size: int, isa: Isa) -> Passage:
        """The effect of the instruction at ``step``; of bytes that capstone does not know: none."""
        effect = self._known.get((pc, isa.name))
        if effect is None:
            code = self._trace.memory(step).read(pc, size)
            effect = effect_of(self._trace, isa, code, pc)
            if not self._written:
                self._known[pc, isa.name] = effect
        return effect


def effect_of(trace: Trace, isa: Isa, code: bytes, pc: int) -> Passage:
    """The effect of the first instruction of ``code``."""
    instruction = next(_decoder(CAPSTONE[isa.name]).disasm(code, pc, 1), None)
    if instruction is None:
        return _NOTHING
    semantics = SEMANTICS[isa.name]
    return semantics.effect(Reading(trace.arch, instruction, semantics.words))


@lru_cache(maxsize=16)
def _decoder(capstone: tuple[int, int]) -> Cs:
    decoder = Cs(*capstone)
    decoder.detail = True
    return decoder


def _writes_code(trace: Trace) -> bool:
    addresses = trace.writes.address
    for loaded in trace.images:
        for segment in loaded.image.segments:
            if segment.executable and len(addresses):
                start = segment.address + loaded.bias
                if bool(((addresses >= start) & (addresses < start + segment.size)).any()):
                    return True
    return False
