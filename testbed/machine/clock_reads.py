"""Instructions whose result is another one in every run: they read a clock, or draw a random number.

Intel SDM 2B, RDTSC, RDTSCP, RDRAND, RDSEED; Arm ARM, CNTVCT_EL0, CNTVCTSS_EL0, CNTPCT_EL0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from testbed.arch import PerArch


@dataclass(frozen=True, slots=True)
class ClockRead:
    """Such an instruction: the registers that get its value, in pieces of ``bits``, the lowest first."""

    into: tuple[str, ...]
    bits: int
    zeroed: tuple[str, ...] = ()


def _of_x86(code: bytes) -> ClockRead | None:
    if code == b"\x0f\x31":
        return ClockRead(("rax", "rdx"), 32)
    return ClockRead(("rax", "rdx"), 32, ("rcx",)) if code == b"\x0f\x01\xf9" else None


def _of_arm64(code: bytes) -> ClockRead | None:
    """``mrs xN, cntvct_el0``, and the one that orders itself, or the physical counter."""
    word = int.from_bytes(code, "little")
    if len(code) != 4 or word & ~0x1F not in (0xD53B_E040, 0xD53B_E0C0, 0xD53B_E020):
        return None
    return ClockRead((f"x{word & 31}",) if word & 31 != 31 else (), 64)


CLOCK_READS: PerArch[Callable[[bytes], ClockRead | None]] = PerArch(
    {"x86_64": _of_x86, "arm64": _of_arm64, "arm32": lambda code: None}
)

_X86_REGISTERS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)))


def _random(code: bytes) -> ClockRead | None:
    """``rdrand`` and ``rdseed``: 0F C7 /6 and /7 with a register."""
    rex = code[-4] if len(code) > 3 and 0x40 <= code[-4] <= 0x4F else 0
    if code[-3:-1] != b"\x0f\xc7" or code[-1] < 0xF0 or len(code) > 3 + (rex != 0) + (code[0] == 0x66):
        return None
    return ClockRead((_X86_REGISTERS[code[-1] & 7 | (rex & 1) << 3],), 16 if code[0] == 0x66 else 64 if rex & 8 else 32)


_READS: PerArch[tuple[re.Pattern[bytes], Callable[[bytes], ClockRead | None]]] = PerArch(
    {
        "x86_64": (
            re.compile(rb"\x0f\x31|\x0f\x01\xf9|\x66?[\x40-\x4f]?\x0f\xc7[\xf0-\xff]", re.DOTALL),
            lambda code: _of_x86(code) or _random(code),
        ),
        "arm64": (re.compile(rb"[\x20-\x5f\xc0-\xdf]\xe0\x3b\xd5", re.DOTALL), _of_arm64),
        "arm32": (re.compile(rb"(?!)"), lambda code: None),
    }
)


def reads_in(arch: str, code: bytes) -> Iterator[tuple[int, int, ClockRead]]:
    """(first offset, offset behind it, what it does) of all that can be such an instruction in some code.

    What stands there may be the end of another instruction, or data: who executes it knows where it began.
    """
    pattern, known = _READS[arch]
    for match in pattern.finditer(code):
        for first in range(match.start(), match.end()):
            if (read := known(code[first : match.end()])) is not None:
                yield first, match.end(), read
