"""Assembly sources, read into statements.

The language is what the GNU and LLVM assemblers share, as far as a program of one ``.text`` section needs it:
labels, instructions, data, symbol attributes, ``.arm``/``.thumb``, the ``.cfi_*`` and ``.fnstart`` families,
``.include`` of a fragment, ``//`` comments, one statement per line (after any labels). Everything else is a BuildError
with file, line and column: nothing unread reaches keystone, which crashes on a section directive.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from testbed.arch import Arch, Isa
from testbed.build import directives as d
from testbed.build.directives import (
    ALIGN_COUNTS_BYTES,
    MODE_DIRECTIVES,
    SPELLINGS,
    WORD_DATA,
    EhabiDirective,
    FnEnd,
    HandlerData,
)
from testbed.build.expressions import Expression, Place
from testbed.build.statements import (
    Align,
    Assembly,
    Cfi,
    Data,
    Ehabi,
    Fill,
    Label,
    MarkGlobal,
    MarkSize,
    MarkType,
    SourceInstruction,
    Statement,
)
from testbed.program.fragments import numbered_lines
from testbed.program.model import Source
from testbed.words.catalogue import nearest

# The text of a ``.cfi_*`` or ``.fnstart``-family directive, read.

_RANGE = re.compile(r"(?P<kind>[a-z]+)(?P<first>\d+)\s*-\s*(?P=kind)(?P<last>\d+)")
_NUMBER = re.compile(r"0x[0-9a-f]+|0|[1-9]\d*")
_VFP = re.compile(r"d(\d+)")


def register_number(place: Place, arch: Arch, text: str) -> int:
    """The DWARF number of a register given by name, by another of its names, or by that number."""
    name = text.strip().lstrip("%").lower()
    if _NUMBER.fullmatch(name):
        if len(name) > 9 or int(name, 0) not in arch.by_dwarf:
            raise place.error(f"{arch} has no register with the DWARF number {name}")
        return int(name, 0)
    register = arch.by_name.get(SPELLINGS[arch.name].get(name, name))
    if register is None or register.dwarf is None:
        raise place.error(f"{arch} has no register {name!r} in its tables; {nearest(name, arch.by_name)}")
    return register.dwarf


def read_cfi(place: Place, arch: Arch, name: str, operands: tuple[str, ...]) -> d.CfiDirective:
    """A ``.cfi_*`` directive. Raises BuildError for an unknown one or for operands that it does not take."""
    register: Callable[[str], int] = partial(register_number, place, arch)

    def number(text: str) -> int:
        return _of_64_bits(place, Expression(place, text).constant())

    if name not in _CFI:
        raise place.error(f"unknown directive {name}; {nearest(name, _CFI)}")
    short, takes = name.removeprefix(".cfi_"), _CFI[name]
    if takes == "bytes" and operands:
        return d.cfi(short, *_bytes(place, operands))
    if name == ".cfi_startproc" and operands == ("simple",):
        return d.cfi(short, 1)  # without the rules that the ABI says hold at a function's entry
    kinds = _KINDS.get(takes)
    if kinds is None or len(kinds) != len(operands):
        raise place.error(f"{name} takes {takes}, not {', '.join(operands) or 'nothing'}")
    values = zip(kinds, operands, strict=True)
    return d.cfi(short, *(register(text) if kind == "r" else number(text) for kind, text in values))


# What a directive takes, in words, and as registers and numbers.
_KINDS = {
    "nothing": "",
    "nothing or 'simple'": "",
    "a register": "r",
    "two registers": "rr",
    "an offset": "n",
    "a number": "n",
    "a register and an offset": "rn",
}
_CFI: Mapping[str, str] = {
    ".cfi_startproc": "nothing or 'simple'",
    ".cfi_endproc": "nothing",
    ".cfi_def_cfa": "a register and an offset",
    ".cfi_def_cfa_offset": "an offset",
    ".cfi_def_cfa_register": "a register",
    ".cfi_adjust_cfa_offset": "a number",
    ".cfi_offset": "a register and an offset",
    ".cfi_rel_offset": "a register and an offset",
    ".cfi_val_offset": "a register and an offset",
    ".cfi_register": "two registers",
    ".cfi_restore": "a register",
    ".cfi_undefined": "a register",
    ".cfi_same_value": "a register",
    ".cfi_remember_state": "nothing",
    ".cfi_restore_state": "nothing",
    ".cfi_escape": "bytes",
    ".cfi_negate_ra_state": "nothing",
    ".cfi_b_key_frame": "nothing",
    ".cfi_signal_frame": "nothing",
    ".cfi_return_column": "a register",
}


def read_ehabi(place: Place, arch: Arch, name: str, operands: tuple[str, ...]) -> d.EhabiDirective:
    """A directive of the ``.fnstart`` family. Raises BuildError for operands that it does not take."""
    register: Callable[[str], int] = partial(_core, place, arch)

    def number(text: str) -> int:
        value = Expression(place, text.strip().removeprefix("#")).constant()
        if abs(value) >= 1 << 31:
            raise place.error(f"{value:#x}: SP does not move by so much on a machine of 32 bits")
        return value

    match name, operands:
        case ".fnstart", ():
            return d.FnStart()
        case ".fnend", ():
            return d.FnEnd()
        case ".cantunwind", ():
            return d.CantUnwind()
        case ".save", (_, *_):
            return d.Save(_mask(place, operands, lambda text: _core(place, arch, text)))
        case ".vsave", (_, *_):
            return d.VSave(_mask(place, operands, lambda text: _vfp(place, text)))
        case ".setfp", (fp, base) | (fp, base, _):
            offset = number(operands[2]) if len(operands) == 3 else 0
            return d.SetFp(register(fp), register(base), offset)
        case ".pad", (size,):
            return d.Pad(number(size))
        case ".movsp", (of,) | (of, _):
            return d.MovSp(register(of), number(operands[1]) if len(operands) == 2 else 0)
        case ".personality", (symbol,):
            return d.Personality(Expression(place, symbol))
        case ".personalityindex", (index,):
            if number(index) not in (0, 1, 2):
                raise place.error(f"the compact models are 0, 1 and 2, not {index}")
            return d.PersonalityIndex(number(index))
        case ".handlerdata", ():
            return d.HandlerData(())
        case ".unwind_raw", (offset, _, *_):
            return d.UnwindRaw(number(offset), _bytes(place, operands[1:]))
    raise place.error(f"{name} takes {EHABI[name]}, not {', '.join(operands) or 'nothing'}")


EHABI: Mapping[str, str] = {
    ".fnstart": "nothing",
    ".fnend": "nothing",
    ".cantunwind": "nothing",
    ".save": "a list of core registers in braces",
    ".vsave": "a list of d registers in braces",
    ".setfp": "a register, the register it is set from, and maybe an offset",
    ".pad": "a number of bytes",
    ".movsp": "a register and maybe an offset",
    ".personality": "a function",
    ".personalityindex": "0, 1 or 2",
    ".handlerdata": "nothing",
    ".unwind_raw": "an offset and bytes",
}


def _of_64_bits(place: Place, value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise place.error(f"the offset {value:#x} has more than 64 bits with its sign")
    return value


def _bytes(place: Place, operands: tuple[str, ...]) -> bytes:
    values = [Expression(place, text).constant() for text in operands]
    for value in values:
        if not -128 <= value <= 255:
            raise place.error(f"{value:#x} is no byte")
    return bytes(value & 0xFF for value in values)


def _mask(place: Place, operands: tuple[str, ...], number: Callable[[str], int]) -> int:
    """The bits of a list such as ``{r4-r7, lr}``."""
    text = ",".join(operands).strip().lower()
    if not (text.startswith("{") and text.endswith("}")):
        raise place.error(f"a register list in braces is needed, not {text!r}")
    mask = 0
    for part in text[1:-1].split(","):
        span = _RANGE.fullmatch(part.strip())
        names = [part.strip()]
        if span:
            if int(span["first"][:9]) > int(span["last"][:9]):
                raise place.error(f"{part.strip()}: the first register of a range is the lower one")
            names = [f"{span['kind']}{i}" for i in range(int(span["first"][:9]), min(int(span["last"][:9]), 32) + 1)]
        for name in names:
            mask |= 1 << number(name)
    return mask


def _core(place: Place, arch: Arch, text: str) -> int:
    number = register_number(place, arch, text)
    if number > 15:
        raise place.error(f"{text!r} is no core register, as r4 is; .vsave takes the others")
    return number


def _vfp(place: Place, text: str) -> int:
    match = _VFP.fullmatch(text)
    if match is None or int(match[1][:9]) > 31:
        raise place.error(f"{text!r} is none of d0 to d31")
    return int(match[1])


_LABEL = re.compile(r"(?P<name>[A-Za-z_.$][\w.$]*)\s*:(?!:)\s*")
_WORD = re.compile(r"(?P<name>(?:\.\w|[A-Za-z_])[\w.]*)\s*(?P<rest>.*)$")
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
# What an operand may be made of. A second statement (;), a comment of another assembler, a string: none passes.
_OPERANDS = re.compile(r"(?:[\w\s\[\]{}(),#+\-*!^.$%]|(?<=\b[c-g]s):)*")
_PREFIXES = frozenset({"rep", "repe", "repz", "repne", "repnz", "lock"})
_DATA = {
    ".byte": 1,
    ".2byte": 2,
    ".hword": 2,
    ".short": 2,
    ".4byte": 4,
    ".long": 4,
    ".value": 2,
    ".word": 4,  # where the architecture says so
    ".8byte": 8,
    ".quad": 8,
    ".xword": 8,
}
_STRINGS = {".ascii": b"", ".asciz": b"\0", ".string": b"\0"}
_CFI_SECTIONS = (".eh_frame", ".debug_frame")
_IGNORED = frozenset({".text", ".syntax unified", ".intel_syntax noprefix", ".arch armv8.3-a"})
_LARGEST = 1 << 20  # bytes that one directive may ask for
_OTHERS = (".globl", ".global", ".type", ".size", ".thumb_func", ".arm", ".thumb", ".p2align", ".balign", ".align")
_DIRECTIVES = (*_DATA, *_STRINGS, *EHABI, *_OTHERS, ".space", ".zero", ".skip", ".text", ".bss", ".cfi_sections")


def read_assembly(source: Source, arch: Arch, isa: Isa) -> Assembly:
    """Read a source whose first statement is in ``isa``. Raises BuildError at the first thing it does not know."""
    return _SourceReader(source, arch, isa).read()


class _SourceReader:
    def __init__(self, source: Source, arch: Arch, isa: Isa) -> None:
        self.source, self.arch, self.isa = source, arch, isa
        self.statements: list[Statement] = []
        self.cfi_sections = frozenset({_CFI_SECTIONS[0]})
        self.thumb_next = False
        self.zeroed: dict[str, int] = {}
        self.zeroed_size = 0
        self.in_zeroed = False
        self.handler_data: int | None = None  # index of the .handlerdata whose words are being read

    def read(self) -> Assembly:
        for path, number, text in numbered_lines(self.source.path, self.source.text, self.source.fragments):
            code = _without_comment(text)
            at = len(code) - len(code.lstrip())
            while (match := _LABEL.match(code, at)) is not None:
                self.label(Place(path, number, at + 1), match["name"])
                at = match.end()
            if code[at:].strip():
                self.statement(Place(path, number, at + 1), code[at:].strip())
        if self.handler_data is not None:
            raise self.statements[self.handler_data].place.error(".handlerdata without .fnend")
        return Assembly(self.source, tuple(self.statements), self.cfi_sections, self.zeroed, self.zeroed_size)

    def label(self, place: Place, name: str) -> None:
        if not self.in_zeroed:
            self.statements.append(Label(place, self.isa, name, self.thumb_next))
            self.thumb_next = False
        elif name in self.zeroed or not name.startswith(".L"):
            raise place.error(
                f"{name!r}: a label of .bss is a new one that begins with .L; a word can hold its address"
            )
        else:
            self.zeroed[name] = self.zeroed_size

    def statement(self, place: Place, text: str) -> None:
        if " ".join(text.split()) in _IGNORED:
            self.in_zeroed = self.in_zeroed and text.strip() != ".text"
            return
        match = _WORD.match(text)
        if match is None:
            raise place.error(f"{text!r} is neither a label, a directive nor an instruction")
        name, rest = match["name"], match["rest"].strip()
        if name.startswith("."):
            self.directive(place, name.lower(), rest)
        else:
            self.instruction(place, name, rest)

    def instruction(self, place: Place, mnemonic: str, operands: str) -> None:
        if self.in_zeroed:
            raise place.error(f"{mnemonic}: an instruction in .bss")
        if self.handler_data is not None:
            raise place.error("an instruction between .handlerdata and .fnend")
        if mnemonic.lower() in _PREFIXES:
            word, _, operands = operands.partition(" ")
            if not word.isalnum():
                raise place.error(f"{mnemonic} is followed by an instruction, not by {word!r}")
            mnemonic = f"{mnemonic} {word}"
        if not _OPERANDS.fullmatch(operands):
            read = _OPERANDS.match(operands)
            wrong = operands[read.end() if read else 0]
            raise place.error(f"{wrong!r} in the operands {operands!r}: keystone cannot be given that")
        self.statements.append(SourceInstruction(place, self.isa, mnemonic, operands))

    def directive(self, place: Place, name: str, rest: str) -> None:
        operands = tuple(part.strip() for part in rest.split(",")) if rest else ()
        if name == ".bss" and not rest:
            self.in_zeroed = True
        elif self.in_zeroed:
            if name not in (".space", ".zero", ".skip") or len(operands) != 1:
                raise place.error(f"in .bss there are labels and .space with a size, not {name} {rest}")
            self.zeroed_size += _bounded(place, Expression(place, operands[0]).constant())
        elif name == ".cfi_sections":
            unknown = set(operands) - set(_CFI_SECTIONS)
            if unknown or not operands:
                raise place.error(f".cfi_sections takes {' or '.join(_CFI_SECTIONS)}, not {rest!r}")
            self.cfi_sections = frozenset(operands)
        elif name.startswith(".cfi_"):
            self.statements.append(Cfi(place, read_cfi(place, self.arch, name, operands)))
        elif name in EHABI:
            self.ehabi(place, read_ehabi(place, self.arch, name, operands))
        elif name in _DATA:
            self.data(place, WORD_DATA[self.arch.name] if name == ".word" else _DATA[name], name, operands)
        elif name in _STRINGS:
            self.statements.append(Fill(place, _string(place, rest) + _STRINGS[name]))
        elif name in (".space", ".zero", ".skip"):
            count, fill = _one_or_two(place, name, operands)
            size = _bounded(place, Expression(place, count).constant())
            value = Expression(place, fill or "0").constant() & 0xFF
            self.statements.append(Fill(place, bytes([value]) * size))
        elif name in (".p2align", ".balign", ".align"):
            self.align(place, name, operands)
        else:
            self.symbol(place, name, operands)

    def symbol(self, place: Place, name: str, operands: tuple[str, ...]) -> None:
        mode = next((isa for isa in self.arch.isas if MODE_DIRECTIVES[isa.name] == name), None)
        match name, operands:
            case _, () if mode is not None:
                self.isa = mode
            case ".globl" | ".global", (_, *_):
                self.statements.extend(MarkGlobal(place, _name(place, each)) for each in operands)
            case ".type", (symbol, kind):
                if kind[:1] not in ("%", "@") or kind[1:] not in ("function", "object", "notype"):
                    raise place.error(f".type: %function or %object is needed, not {kind!r}")
                self.statements.append(MarkType(place, _name(place, symbol), kind[1:] == "function"))
            case ".size", (symbol, size):
                self.statements.append(MarkSize(place, _name(place, symbol), Expression(place, size)))
            case ".thumb_func", ():
                self.thumb_next = True
            case _:
                if name in _OTHERS:
                    raise place.error(f"{name} does not take {', '.join(operands) or 'nothing'} here")
                raise place.error(f"unknown directive {name}; {nearest(name, _DIRECTIVES)}")

    def data(self, place: Place, size: int, name: str, operands: tuple[str, ...]) -> None:
        if not operands:
            raise place.error(f"{name} without a value")
        values = tuple(Expression(place, text) for text in operands)
        if self.handler_data is None:
            self.statements.append(Data(place, size, values))
            return
        if size != 4:
            raise place.error("only words may follow .handlerdata")
        before = self.statements[self.handler_data]
        assert isinstance(before, Ehabi)
        assert isinstance(before.directive, HandlerData)
        words = HandlerData((*before.directive.words, *values))
        self.statements[self.handler_data] = replace(before, directive=words)

    def ehabi(self, place: Place, directive: EhabiDirective) -> None:
        if self.handler_data is not None and not isinstance(directive, FnEnd):
            raise place.error("only words and .fnend may follow .handlerdata")
        self.handler_data = len(self.statements) if isinstance(directive, HandlerData) else None
        self.statements.append(Ehabi(place, directive))

    def align(self, place: Place, name: str, operands: tuple[str, ...]) -> None:
        if len(operands) != 1:
            raise place.error(f"{name} takes one number here")
        value = Expression(place, operands[0]).constant()
        is_power = name == ".p2align" or (name == ".align" and not ALIGN_COUNTS_BYTES[self.arch.name])
        boundary = 1 << value if is_power and 0 <= value <= 16 else -1 if is_power else value
        if boundary < 1 or boundary & (boundary - 1) or boundary > 4096:
            raise place.error(f"{name} {operands[0]}: not a power of two up to 4096 bytes")
        self.statements.append(Align(place, self.isa, boundary))


def _without_comment(text: str) -> str:
    """A line without its ``//`` comment; two slashes inside a string stay."""
    quoted = False
    for at, character in enumerate(text):
        if character == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted and text.startswith("//", at):
            return text[:at].rstrip()
    return text.rstrip()


def _string(place: Place, text: str) -> bytes:
    try:
        value = ast.literal_eval("b" + text)
    except (SyntaxError, ValueError):
        value = None
    if not isinstance(value, bytes) or not text.startswith('"'):
        raise place.error(f"a string in double quotes is needed, not {text!r}")
    return value


def _name(place: Place, text: str) -> str:
    if not _NAME.fullmatch(text):
        raise place.error(f"{text!r} is no symbol name")
    return text


def _bounded(place: Place, count: int) -> int:
    if not 0 <= count <= _LARGEST:
        raise place.error(f"{count} bytes are not between 0 and {_LARGEST}")
    return count


def _one_or_two(place: Place, name: str, operands: tuple[str, ...]) -> tuple[str, str]:
    if len(operands) not in (1, 2):
        raise place.error(f"{name} takes a count and maybe a value")
    return operands[0], operands[1] if len(operands) == 2 else ""
