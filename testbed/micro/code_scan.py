"""One pass over code: its instructions, where they lead, and what of it is data.

It is a disassembler's text, and no truth: which code is tried rests on it, and where functions begin that nothing
names. Data between the instructions (literal pools, tables of branch offsets) is left out as far as instructions say
where it lies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.arch import Arch, PerIsa
from testbed.image import Image
from testbed.image.disassembly import disassembler
from testbed.micro.stack_moves import may_be_sized

_NEVER = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class _Shapes:
    """How an instruction set's text tells what an instruction does to control: patterns over ``mnemonic operands``."""

    step: int  # bytes to pass over where nothing can be decoded
    trap: bytes  # what lld puts between sections (lld/ELF/Arch: trapInstr), where that would be decoded as something
    conditional: re.Pattern[str] = _NEVER  # group 1: the target
    direct: re.Pattern[str] = _NEVER  # an unconditional jump; group 1: the target
    indirect: re.Pattern[str] = _NEVER  # a jump to where a register or memory says
    ends: re.Pattern[str] = _NEVER  # nothing follows
    filling: re.Pattern[str] = _NEVER
    literal: re.Pattern[str] = _NEVER  # group 1: the register that is loaded; 2: a distance from pc to a word of data
    relative: re.Pattern[str] = _NEVER  # a register's distance from pc becomes an address; group 1: the register
    table: re.Pattern[str] = _NEVER  # group 1: "b" or "h", the size of a table's entries behind the instruction
    call: re.Pattern[str] = _NEVER  # group 1: the target, if it is a place in the same instruction set
    saves_link: re.Pattern[str] = _NEVER  # the link register is pushed
    block: re.Pattern[str] = _NEVER  # the instructions that follow are conditional, as many as group 1 has letters


def _shapes(step: int, trap: bytes = b"", **patterns: str) -> _Shapes:
    return _Shapes(step, trap, **{name: re.compile(pattern) for name, pattern in patterns.items()})


_CONDITION = "(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
_ARM = {
    "conditional": rf"(?:b{_CONDITION}(?:\.[wn])?|cbn?z r\d+,|cbn?z \w+,) ?#(0x[0-9a-f]+|\d+)$",
    "direct": r"b(?:\.[wn])? #(0x[0-9a-f]+|\d+)$",
    "indirect": r"(?:tb[bh] |ldr(?:ls|\.w)? pc, (?!\[sp)|add(?:ls)? pc, |mov pc, (?!lr)|bx (?!lr))",
    "ends": r"(?:bx lr|pop(?:\.w)? .*\bpc\}|ldm\w* .*\bpc\}|mov pc, lr|udf|trap|ldr(?:\.w)? pc, \[sp)",
    "filling": r"(?:nop|mov r0, r0$|mov r8, r8$|movs r0, r0$)",
    "relative": r"add (\w+), pc(?:, \1)?$",
    "literal": r"v?ldr\S* (\w+), \[pc(?:, #(-?(?:0x[0-9a-f]+|\d+)))?\]$",
    "table": r"tb([bh]) \[pc",
    "call": rf"(?:bl{_CONDITION}? #(0x[0-9a-f]+|\d+)$|blx )",
    "saves_link": r"(?:push(?:\.w)? |stmdb sp!, )\{.*\blr\}|str(?:\.w)? lr, \[sp, #-",
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
            call=r"(?:\w+ )?call (?:(0x[0-9a-f]+)$)?",
        ),
        "arm64": _shapes(
            4,
            conditional=r"(?:b\.\w+|cbn?z \w+,|tbn?z \w+, #\w+,) ?#(0x[0-9a-f]+|\d+)$",
            direct=r"b #(0x[0-9a-f]+|\d+)$",
            indirect=r"br(?:aa|ab|aaz|abz)? (?!x30$)",
            ends=r"(?:(?:ret\w*|brk|udf|eret|hlt)\b|br x30$)",
            filling=r"(?:nop|udf #0)",
            call=r"(?:bl #(0x[0-9a-f]+|\d+)$|blr)",
        ),
        "a32": _shapes(4, b"\xd4" * 4, **_ARM),
        "thumb": _shapes(2, b"\xd4" * 2, **_ARM, block=r"i(t[te]{0,3}) "),
    }
)


@dataclass(frozen=True, eq=False)
class CodeScan:
    """What one pass over some code says, by link-time address.

    ``branches`` are conditional jumps: (target, the next instruction). ``behind`` is what no instruction before it goes
    on to: it stands behind a jump, a return or data. ``jumps`` are the targets of direct jumps, ``calls`` those of
    calls by the place of the call (None: what a register or memory says, or in another instruction set), ``saves``
    where the link register is pushed, ``computed`` addresses that are made of a literal and pc, ``cases`` what tables
    of branches say. ``blocks`` are Thumb's IT instructions and what stands in their blocks, each with the block's end.
    """

    sizes: dict[int, int] = field(default_factory=dict, repr=False)
    branches: dict[int, tuple[int, int]] = field(default_factory=dict, repr=False)
    indirect: set[int] = field(default_factory=set, repr=False)
    behind: set[int] = field(default_factory=set, repr=False)
    jumps: set[int] = field(default_factory=set, repr=False)
    calls: dict[int, int | None] = field(default_factory=dict, repr=False)
    saves: set[int] = field(default_factory=set, repr=False)
    computed: set[int] = field(default_factory=set, repr=False)
    cases: set[int] = field(default_factory=set, repr=False)
    filling: set[int] = field(default_factory=set, repr=False)
    data: set[int] = field(default_factory=set, repr=False)
    blocks: dict[int, int] = field(default_factory=dict, repr=False)
    sized: set[int] = field(default_factory=set, repr=False)  # SP is moved by what may be no constant


@dataclass(frozen=True, slots=True)
class _Code:
    """The bytes of some code at ``start``, and what its instruction set says of them."""

    start: int
    content: bytes
    shapes: _Shapes
    ahead: int
    mask: int

    @property
    def end(self) -> int:
        return self.start + len(self.content)

    def word(self, place: int) -> int:
        at = place - self.start
        return int.from_bytes(self.content[at : at + 4], "little") if at >= 0 else 0


def has_blocks(arch: Arch) -> bool:
    """Whether some instruction set of an architecture has instructions that make the next ones conditional."""
    return any(_SHAPES[isa.name].block is not _NEVER for isa in arch.isas)


def scan(image: Image, start: int, end: int, *, is_behind: bool = False) -> CodeScan:
    """Decode the code ``[start, end)`` of a file; ``is_behind``: it lies behind the end of a function."""
    isa = image.isa_at(start)
    shapes = _SHAPES[isa.name]
    code = _Code(start, image.bytes_at(start, end - start), shapes, isa.pc_reads_ahead or 0, image.arch.word_mask)
    found, literals, its = CodeScan(), dict[str, int](), dict[int, int]()
    at, ended = start, is_behind
    while at < end:
        begun = at
        for address, size, mnemonic, operands in disassembler(isa.name).disasm_lite(code.content[at - start :], at):
            if address in found.data:
                break
            at = address + size
            found.sizes[address] = size
            if ended:
                found.behind.add(address)
            text = f"{mnemonic} {operands}"
            if (ended and code.content[address - start : at - start] == shapes.trap) or shapes.filling.match(text):
                found.filling.add(address)
                ended = ended or shapes.ends.match(text) is not None
                continue
            ended = _leads(found, code, address, at, text)
            if ended and (match := shapes.table.match(text)):
                at = _table(found.cases, code, at, 1 if match[1] == "b" else 2)
                break
            if not ended:
                _notes(found, code, address, text, literals)
                if may_be_sized(isa.name, text):
                    found.sized.add(address)
                if match := shapes.block.match(text):
                    its[address] = len(match[1])
        if at in found.data:
            ended = True
            while at in found.data:
                at += 1
        elif at == begun:  # nothing that can be decoded
            at += shapes.step
            ended = True
    _note_blocks(found, its)
    return found


def _note_blocks(found: CodeScan, its: Mapping[int, int]) -> None:
    """Note the blocks of ``its``: how many instructions each of these makes conditional."""
    for address, count in its.items():
        block, end = [address], address + found.sizes[address]
        while len(block) <= count and end in found.sizes:
            block.append(end)
            end += found.sizes[end]
        found.blocks.update(dict.fromkeys(block, end))


def _leads(found: CodeScan, code: _Code, address: int, after: int, text: str) -> bool:
    """Note where an instruction jumps to; whether nothing follows it."""
    shapes = code.shapes
    if match := shapes.conditional.match(text):
        target = int(match[1], 0)
        found.jumps.add(target)
        found.branches[address] = (target, after)
        return False
    if match := shapes.direct.match(text):
        found.jumps.add(int(match[1], 0))
        return True
    if shapes.indirect.match(text):
        found.indirect.add(address)
        return True
    return shapes.ends.match(text) is not None


def _notes(found: CodeScan, code: _Code, address: int, text: str, literals: dict[str, int]) -> None:
    """Note what an instruction that another one follows says of other places; ``literals`` are words in registers."""
    shapes = code.shapes
    if match := shapes.literal.match(text):
        place = (address + code.ahead & ~3) + int(match[2] or "0", 0)
        found.data.update(range(place, place + (8 if "vldr" in text or "ldrd" in text else 4)))
        literals[match[1]] = code.word(place)
    elif match := shapes.relative.match(text):
        found.computed.add(literals.pop(match[1], 0) + address + code.ahead & code.mask)
    elif match := shapes.call.match(text):
        found.calls[address] = int(match[1], 0) if match[1] else None
    elif shapes.saves_link.match(text):
        found.saves.add(address)


def _table(found: set[int], code: _Code, at: int, size: int) -> int:
    """The cases of Thumb's ``tbb``/``tbh``, halfwords from its own place, until the first case; the table's end."""
    place, end = at, code.end
    while place + size <= end:
        target = at + 2 * int.from_bytes(code.content[place - code.start :][:size], "little")
        if not at < target < code.end:
            break
        found.add(target)
        end = min(end, target)
        place += size
    return place + (place & 1)


def size_of_filling(image: Image, address: int) -> int:
    """The size of the no-operation at an address; 0 where another instruction stands there."""
    isa = image.isa_at(address)
    shapes = _SHAPES[isa.name]
    for _, size, mnemonic, operands in disassembler(isa.name).disasm_lite(image.bytes_at(address, 16), address, 1):
        return size if shapes.filling.match(f"{mnemonic} {operands}") else 0
    return 0
