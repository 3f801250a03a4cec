"""Is what was assembled what was written? Each instruction is disassembled by capstone and compared with its line.

Mnemonic, registers and numbers must be the same, label operands must be the label's address. What two assemblers
spell differently (``jz`` and ``je``, ``sub sp, #8`` and ``sub sp, sp, #8``) counts as the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capstone import Cs

from testbed.arch import Arch, Isa
from testbed.build.keystone import interworking, number
from testbed.build.spellings import SPELLINGS
from testbed.build.statements import SourceInstruction
from testbed.image.capstone_isas import CAPSTONE

# Spellings of one instruction, a line each.
_SAME = """
je jz
jne jnz
jb jc jnae
jae jnc jnb
ja jnbe
jbe jna
jg jnle
jge jnl
jl jnge
jle jng
jp jpe
jnp jpo
sete setz
setne setnz
cmove cmovz
cmovne cmovnz
shl sal
mov movabs movz
ret retq
call callq
rep repe repz
repne repnz
push stmdb stmfd
pop ldm ldmia ldmfd
stm stmia stmea
svc swi
bhs bcs
blo bcc
b.hs b.cs
b.lo b.cc
"""
_SAME_MNEMONIC = {word: line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()}
_SIZES = frozenset({"ptr", "byte", "word", "dword", "qword", "xmmword"})
_SUFFIX = re.compile(r"\.[wn]$")
_RANGE = re.compile(r"([a-z]+)(\d+)\s*-\s*\1(\d+)")
_TOKEN = re.compile(r"(?P<minus>-)?\s*#?\s*(?:(?P<number>(?<![\w.$])\d\w*)|(?P<name>[A-Za-z_.$][\w.$]*))")


@dataclass(frozen=True, slots=True)
class _Operand:
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    writes_back: bool
    label: bool = False


def verify(
    instructions: Sequence[tuple[SourceInstruction, int, int]],
    read: Mapping[int, bytes],
    arch: Arch,
    labels: Mapping[str, tuple[int, Isa]],
) -> None:
    """Compare instructions, each with its address and size, with what ``read`` holds at their addresses.

    ``read`` maps the start of each stretch of code (no data inside) to its bytes. Raises BuildError
    ("keystone assembled X as Y") with the place of the first that differs.
    """
    decoded = _decode(instructions, read)
    for instruction, address, size in instructions:
        found = decoded.get(address)
        if found is None or found[0] != size:
            shown = f"{found[1]} {found[2]}".strip() if found else "no instruction"
            raise instruction.place.error(f"keystone assembled {_text(instruction)!r} as {shown!r}")
        _, mnemonic, operands = found
        if not _same(instruction, mnemonic, operands, address, size, arch, labels):
            raise instruction.place.error(f"keystone assembled {_text(instruction)!r} as {f'{mnemonic} {operands}'!r}")


def _text(instruction: SourceInstruction) -> str:
    return f"{instruction.mnemonic} {instruction.operands}".rstrip()


def _decode(
    instructions: Sequence[tuple[SourceInstruction, int, int]], read: Mapping[int, bytes]
) -> dict[int, tuple[int, str, str]]:
    """By address: size, mnemonic and operands. A stretch is decoded in one go: Thumb's ``it`` reaches on."""
    isa_at = {address: instruction.isa for instruction, address, _ in instructions}
    decoded = {}
    for start, content in read.items():
        for address, size, mnemonic, operands in Cs(*CAPSTONE[isa_at[start].name]).disasm_lite(content, start):
            decoded[address] = (size, mnemonic, operands)
    return decoded


def _same(
    instruction: SourceInstruction,
    mnemonic: str,
    operands: str,
    address: int,
    size: int,
    arch: Arch,
    labels: Mapping[str, tuple[int, Isa]],
) -> bool:
    written = instruction.mnemonic
    target = instruction.operands.strip()
    if target in labels:
        written = interworking(instruction, labels[target][1])
    wanted = [_operand(part, arch, labels, instruction) for part in _split(instruction.operands)]
    got = [_operand(part, arch, {}, instruction) for part in _split(operands)]
    ahead = instruction.isa.pc_reads_ahead
    # "pc" as an operand; ARM counts from the word that it lies in.
    pc = address + size if ahead is None else (address + ahead) & ~3
    if written.lower() == "adr":
        return _same_address(wanted, mnemonic, got, pc, arch)
    if written.lower() == "add" and len(wanted) == 3 and wanted[2].numbers == (0,) and _canonical(mnemonic) == "mov":
        written, wanted = "mov", wanted[:2]  # arm64's "mov x29, sp" is "add x29, sp, #0"
    if _canonical(written) in ("push", "pop"):
        mnemonic, got = _list_of_one(mnemonic, got, arch)
    if _canonical(written) != _canonical(mnemonic):
        return False
    if not wanted:  # string instructions have operands that nobody writes
        return not any(operand.numbers for operand in got)
    got = [_absolute(operand, pc, arch) if want.label else operand for operand, want in _paired(got, wanted)]
    return any(_equal(form, got, arch) for form in _forms(_canonical(written), wanted, arch))


def _list_of_one(mnemonic: str, got: list[_Operand], arch: Arch) -> tuple[str, list[_Operand]]:
    """A push or pop of one register is decoded as the store or load that it is: ``str lr, [sp, #-4]!``."""
    down = len(got) == 2 and got[1] == _Operand((arch.sp,), (-arch.word,), True)
    up = len(got) == 3 and got[1] == _Operand((arch.sp,), (), False) and got[2] == _Operand((), (arch.word,), False)
    if (down and mnemonic == "str") or (up and mnemonic == "ldr"):
        return ("push" if down else "pop"), got[:1]
    return mnemonic, got


def _paired(got: list[_Operand], wanted: list[_Operand]) -> list[tuple[_Operand, _Operand]]:
    padding = [_Operand((), (), False)] * max(0, len(got) - len(wanted))
    return list(zip(got, [*wanted, *padding], strict=False))


def _same_address(wanted: list[_Operand], mnemonic: str, got: list[_Operand], pc: int, arch: Arch) -> bool:
    """``adr r, label``: decoded as ``adr r, address``, ``adr r, distance`` or ``add r, pc, distance``."""
    if len(wanted) != 2 or not got or got[0] != wanted[0] or len(wanted[1].numbers) != 1 or not got[-1].numbers:
        return False
    address, number_given = wanted[1].numbers[0], got[-1].numbers[0]
    name = _SUFFIX.sub("", mnemonic)
    if name == "adr":
        return len(got) == 2 and number_given in (address, address - pc)
    through_pc = len(got) == 3 and got[1].names == (arch.pc,)
    sign = {"add": 1, "addw": 1, "sub": -1, "subw": -1}.get(name, 0)
    return through_pc and sign != 0 and pc + sign * number_given == address


def _canonical(mnemonic: str) -> str:
    words = [_SUFFIX.sub("", word) for word in mnemonic.lower().split()]
    return " ".join(_SAME_MNEMONIC.get(word, word) for word in words)


def _split(text: str) -> list[str]:
    """The operands: cut at the commas that are outside brackets and braces."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "[{(") - (character in "]})")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if text.strip() else []


def _operand(text: str, arch: Arch, labels: Mapping[str, tuple[int, Isa]], at: SourceInstruction) -> _Operand:
    names: list[str] = []
    numbers: list[int] = []
    label = False
    for match in _TOKEN.finditer(_RANGE.sub(_spelled_out, text)):
        sign = -1 if match["minus"] else 1
        if match["number"]:
            numbers.append(sign * number(at.place, match["number"]))
        elif match["name"] in labels and match["name"].lower() not in arch.by_name:
            numbers.append(labels[match["name"]][0])
            label = True
        else:
            name = match["name"].lower()
            names.append(("-" if sign < 0 else "") + SPELLINGS[arch.name].get(name, name))
    if label:  # label + 4
        numbers = [sum(numbers)]
    elif "[" in text:
        numbers = [n for n in numbers if n]
    return _Operand(tuple(sorted(names)), tuple(sorted(numbers)), "!" in text, label)


def _spelled_out(match: re.Match[str]) -> str:
    return ", ".join(f"{match[1]}{i}" for i in range(int(match[2]), min(int(match[3]), 99) + 1))


def _absolute(operand: _Operand, pc: int, arch: Arch) -> _Operand:
    """A pc-relative operand with the address it means instead of the distance."""
    if arch.pc not in operand.names:
        return operand
    return _Operand(operand.names, (pc + sum(operand.numbers),), operand.writes_back, True)


def _forms(mnemonic: str, wanted: list[_Operand], arch: Arch) -> list[list[_Operand]]:
    """The ways in which a disassembler may write the same instruction."""
    forms = [wanted, [wanted[0], *wanted]]
    if len(wanted) > 2 and wanted[0] == wanted[1]:
        forms.append(wanted[1:])
    if mnemonic in ("push", "pop") and wanted[0].names == (arch.sp,) and wanted[0].writes_back:
        forms.append(wanted[1:])  # stmdb sp!, {...}
    return forms


def _equal(wanted: list[_Operand], got: list[_Operand], arch: Arch) -> bool:
    return len(wanted) == len(got) and all(_equal_operand(w, g, arch) for w, g in zip(wanted, got, strict=True))


def _equal_operand(wanted: _Operand, got: _Operand, arch: Arch) -> bool:
    stated = [name for name in got.names if name in wanted.names or name not in _SIZES]
    if wanted.label and arch.pc in stated and arch.pc not in wanted.names:
        stated.remove(arch.pc)  # "ldr r0, label" is "ldr r0, [pc, #8]"
    return (
        tuple(stated) == wanted.names
        and wanted.writes_back == got.writes_back
        and len(wanted.numbers) == len(got.numbers)
        and all(_equal_number(w, g) for w, g in zip(wanted.numbers, got.numbers, strict=True))
    )


def _equal_number(wanted: int, got: int) -> bool:
    """Equal, or the same bits: a disassembler writes -1 as 0xff, 0xffff, ... where the operand is that wide."""
    if wanted == got:
        return True
    if (wanted < 0) == (got < 0):
        return False
    return any(wanted % (1 << bits) == got % (1 << bits) and abs(wanted - got) == 1 << bits for bits in (8, 16, 32, 64))
