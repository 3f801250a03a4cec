"""DWARF expressions as tests write them: their bytes, and the value that these have on a small memory."""

from collections.abc import Mapping

from testbed.arch import Arch
from testbed.contract.rows import Operation
from testbed.rereading import NoRow, reread
from testbed.trace import Memory
from testbed.words.errors import UnwindError
from tests.unwinders.frames import START, X86_64, block, cie, evaluated, fde, image, u
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
    """What the operations leave on top, where the stack begins with ``initial``; the second reader finds the same."""
    again = None if bias else _again(code, initial, arch, registers or {})
    try:
        found = evaluate(parse(code, arch.word), arch, registers or {}, Memory.of(MEMORY), initial, bias=bias)
    except UnwindError:
        assert again is None
        raise
    assert bias or again == found
    return found


def _again(code: bytes, initial: tuple[int, ...], arch: Arch, registers: Mapping[str, int]) -> int | None:
    """What the second reader finds for a register whose value the operations are; None where it is not known."""
    pushed = b"".join(b"\x0e" + u(8, each) for each in initial)
    returns = arch.by_name[arch.return_address].dwarf or 0
    section = cie(b"\x0c\x07\x08" + bytes([0x80 | returns, 1]), word=arch.word, ra=returns)
    section += fde(b"\x16\x03" + block(pushed + code), word=arch.word)
    row = reread(image(arch, _debug_frame=(0, section)), ".debug_frame", START)
    if isinstance(row, NoRow):
        return None
    content, at = MEMORY[0][1], MEMORY[0][0]

    def read(address: int, size: int) -> int | None:
        inside = at <= address and address + size <= at + len(content)
        return int.from_bytes(content[address - at :][:size], "little") if inside else None

    return evaluated(row, registers, read).registers[arch.by_dwarf[3]]
