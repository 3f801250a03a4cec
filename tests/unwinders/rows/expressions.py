"""DWARF expressions as tests write them: their bytes, and the value that these have on a small memory."""

from __future__ import annotations

from testbed.arch import Arch
from testbed.contract.rows import Operation
from testbed.trace import Memory
from tests.unwinders.frames import X86_64
from unwinders.formats.dwarf_expr import parse_expression
from unwinders.formats.reader import Reader
from unwinders.rows.expression import evaluate

MEMORY = [(0x8000, bytes(range(1, 17)))]


def parse(code: bytes, word: int = 8) -> tuple[Operation, ...]:
    """The operations that these bytes are."""
    return parse_expression(Reader(".eh_frame", 0, code), word)


def value(
    code: bytes, *initial: int, arch: Arch = X86_64, registers: dict[str, int] | None = None, bias: int = 0
) -> int:
    """What the operations leave on top, where the stack begins with ``initial``."""
    return evaluate(parse(code, arch.word), arch, registers or {}, Memory.of(MEMORY), initial, bias=bias)
