"""The text of a ``.cfi_*`` or ``.fnstart``-family directive, read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from testbed.arch import Arch
from testbed.build import directives as d
from testbed.build.expressions import Expression
from testbed.build.source_place import Place
from testbed.build.spellings import SPELLINGS
from testbed.words.nearest import nearest

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
