"""The instructions of one piece of code: which of them branch, where to, and which nothing leads to.

Only where to send a path next rests on this: it is a disassembler's text, and no truth. Data between the instructions
(literal pools, tables of branch offsets) is left out as far as instructions say where it lies; no-operations that
nothing leads to are filling, and no instructions of the function either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from capstone import Cs

from testbed.arch import PerIsa
from testbed.image import Image
from testbed.image.capstone_isas import CAPSTONE
from testbed.micro.functions import CodePiece


@dataclass(frozen=True, slots=True)
class _Shapes:
    """How an instruction set's text tells what an instruction does to control: patterns over ``mnemonic operands``."""

    conditional: re.Pattern[str]  # group 1: the target
    direct: re.Pattern[str]  # an unconditional jump; group 1: the target
    indirect: re.Pattern[str]  # a jump to where a register or memory says
    ends: re.Pattern[str]  # nothing follows
    filling: re.Pattern[str]
    literal: re.Pattern[str]  # group 1: a distance from pc to a word of data
    table: re.Pattern[str]  # group 1: "b" or "h", the size of a table's entries behind the instruction
    step: int  # bytes to pass over where nothing can be decoded


def _shapes(step: int, **patterns: str) -> _Shapes:
    def pattern(name: str) -> re.Pattern[str]:
        return re.compile(patterns.get(name, "(?!)"))

    return _Shapes(
        conditional=pattern("conditional"),
        direct=pattern("direct"),
        indirect=pattern("indirect"),
        ends=pattern("ends"),
        filling=pattern("filling"),
        literal=pattern("literal"),
        table=pattern("table"),
        step=step,
    )


_CONDITION = "(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
_ARM = {
    "conditional": rf"(?:b{_CONDITION}(?:\.[wn])?|cbn?z r\d+,|cbn?z \w+,) ?#(0x[0-9a-f]+|\d+)$",
    "direct": r"b(?:\.[wn])? #(0x[0-9a-f]+|\d+)$",
    "indirect": r"(?:tb[bh] |ldr(?:ls|\.w)? pc, (?!\[sp)|add(?:ls)? pc, |mov pc, (?!lr)|bx (?!lr))",
    "ends": r"(?:bx lr|pop(?:\.w)? .*\bpc\}|ldm\w* .*\bpc\}|mov pc, lr|udf|trap|ldr(?:\.w)? pc, \[sp)",
    "filling": r"(?:nop|mov r0, r0$|mov r8, r8$|movs r0, r0$)",
    "literal": r"v?ldr\S* \w+, \[pc(?:, #(-?(?:0x[0-9a-f]+|\d+)))?\]$",
    "table": r"tb([bh]) \[pc",
}
_SHAPES = PerIsa(
    {
        "x86_64": _shapes(
            1,
            conditional=r"(?:j(?!mp)\w+|loop\w*) (0x[0-9a-f]+)$",
            direct=r"(?:\w+ )?jmp (0x[0-9a-f]+)$",
            indirect=r"(?:\w+ )?jmp (?!0x)",
            ends=r"(?:\w+ )?(?:ret|retf|iret\w?|ud[0-2]|hlt|int3|int1)\b",
            filling=r"(?:(?:\w+ )*nop\b|xchg ax, ax$|int3|endbr64|data16|cs nop)",
        ),
        "arm64": _shapes(
            4,
            conditional=r"(?:b\.\w+|cbn?z \w+,|tbn?z \w+, #\w+,) ?#(0x[0-9a-f]+|\d+)$",
            direct=r"b #(0x[0-9a-f]+|\d+)$",
            indirect=r"br(?:aa|ab|aaz|abz)? ",
            ends=r"(?:ret\w*|brk|udf|eret|hlt)\b",
            filling=r"(?:nop|udf #0)",
        ),
        "a32": _shapes(4, **_ARM),
        "thumb": _shapes(2, **_ARM),
    }
)


@dataclass(frozen=True, eq=False)
class PieceCode:
    """The instructions of one piece, by link-time address.

    ``branches`` are the conditional ones: (target, the next instruction). ``orphans`` are instructions inside of it
    that no direct branch leads to and that do not follow another one: cases of a switch, landing pads.
    """

    sizes: Mapping[int, int] = field(repr=False)
    branches: Mapping[int, tuple[int, int]] = field(repr=False)
    indirect: frozenset[int] = field(repr=False)
    orphans: tuple[int, ...] = field(repr=False)
    cases: frozenset[int] = field(repr=False)  # of these, what a table behind its jump says

    def __len__(self) -> int:
        return len(self.sizes)


@lru_cache(maxsize=8)
def _decoder(capstone: tuple[int, int]) -> Cs:
    return Cs(*capstone)


def piece_code(image: Image, piece: CodePiece) -> PieceCode:
    """Decode one piece of a file's code."""
    content = image.bytes_at(piece.start, piece.end - piece.start)
    isa = image.isa_at(piece.start)
    decoder, shapes = _decoder(CAPSTONE[isa.name]), _SHAPES[isa.name]
    sizes: dict[int, int] = {}
    branches: dict[int, tuple[int, int]] = {}
    indirect, targets, filling, after_end = set[int](), set[int](), set[int](), set[int]()
    data, cases = set[int](), set[int]()
    at, ended = piece.start, False
    while at < piece.end:
        begun = at
        for address, size, mnemonic, operands in decoder.disasm_lite(content[at - piece.start :], at):
            if address in data:
                break
            at = address + size
            text = f"{mnemonic} {operands}"
            if ended:
                after_end.add(address)
            ended = False
            sizes[address] = size
            if shapes.filling.match(text):
                filling.add(address)
                ended = address in after_end
            elif match := shapes.conditional.match(text):
                target = int(match[1], 0)
                targets.add(target)
                branches[address] = (target, at)
            elif match := shapes.direct.match(text):
                targets.add(int(match[1], 0))
                ended = True
            elif shapes.indirect.match(text):
                indirect.add(address)
                ended = True
                if match := shapes.table.match(text):
                    found, at = _table(content, piece, at, 1 if match[1] == "b" else 2)
                    cases |= found
                    break
            elif shapes.ends.match(text):
                ended = True
            elif match := shapes.literal.match(text):
                base = (address + (isa.pc_reads_ahead or 0)) & ~3
                place = base + int(match[1] or "0", 0)
                data.update(range(place, place + (8 if "vldr" in text or "ldrd" in text else 4)))
        if at in data:
            ended = True
            while at in data:
                at += 1
        elif at == begun:  # nothing that can be decoded
            at += shapes.step
            ended = True
    unused = {a for a in after_end & filling if a not in targets and a not in cases}
    unused |= _last_filling(piece, sizes, filling, data, targets | cases)
    instructions = {a: n for a, n in sizes.items() if a not in unused and a not in data}
    orphans = tuple(sorted(a for a in (after_end | cases) & instructions.keys() if a not in targets))
    return PieceCode(instructions, branches, frozenset(indirect), orphans, frozenset(cases))


def leading_filling(image: Image, address: int) -> int:
    """The size of the no-operation at an address; 0 where another instruction stands there."""
    isa = image.isa_at(address)
    decoder, shapes = _decoder(CAPSTONE[isa.name]), _SHAPES[isa.name]
    for _, size, mnemonic, operands in decoder.disasm_lite(image.bytes_at(address, 16), address, 1):
        return size if shapes.filling.match(f"{mnemonic} {operands}") else 0
    return 0


def _last_filling(
    piece: CodePiece, sizes: Mapping[int, int], filling: set[int], data: set[int], targets: set[int]
) -> set[int]:
    """No-operations up to the end of the piece, or up to data: behind a call that never returns."""
    found = set[int]()
    ends = True
    for address in sorted(sizes, reverse=True):
        after = address + sizes[address]
        ends = address != piece.start and address in filling and (after >= piece.end or after in data or ends)
        if ends:
            found.add(address)
            ends = address not in targets
    return found - targets


def _table(content: bytes, piece: CodePiece, at: int, size: int) -> tuple[set[int], int]:
    """The cases of Thumb's ``tbb``/``tbh``: halfwords from the table's own place; it ends where the first begins."""
    found, place, end = set[int](), at, piece.end
    while place + size <= end:
        entry = int.from_bytes(content[place - piece.start :][:size], "little")
        target = at + 2 * entry
        if not at < target < piece.end:
            break
        found.add(target)
        end = min(end, target)
        place += size
    return found, place + (place & 1)
