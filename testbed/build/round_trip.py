"""Is what was assembled what was written? Each instruction is disassembled by capstone and compared with its line.

What is compared is what they mean (`testbed.build.meanings`): ``jz`` and ``je`` are the same, and so are ``sub sp, #8``
and ``sub sp, sp, #8``. Label operands must be the label's address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from capstone import Cs

from testbed.arch import Arch, Isa
from testbed.build.keystone import interworking
from testbed.build.meanings import Operand, meaning_of, same_meaning
from testbed.build.meanings.operands import value
from testbed.build.statements import SourceInstruction
from testbed.image.capstone_isas import CAPSTONE

_SUFFIX = re.compile(r"\.[wn]$")


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
    isa, written = instruction.isa, instruction.mnemonic
    target = instruction.operands.strip()
    if target in labels:
        written = interworking(instruction, labels[target][1])
    addresses = {name: label[0] for name, label in labels.items()}
    try:
        wanted = meaning_of(written, instruction.operands, arch, isa, addresses)
        got = meaning_of(mnemonic, operands, arch, isa, {})
    except ValueError:
        return False
    # "pc" as an operand; ARM counts from the word that it lies in.
    pc = address + size if isa.pc_reads_ahead is None else (address + isa.pc_reads_ahead) & ~3
    if written.lower() == "adr":
        return _same_address(wanted.operands, mnemonic, got.operands, pc, arch)
    if len(wanted.operands) == len(got.operands):
        pairs = [_to_address(w, g, pc, arch) for w, g in zip(wanted.operands, got.operands, strict=True)]
        wanted, got = (
            replace(wanted, operands=tuple(w for w, _ in pairs)),
            replace(got, operands=tuple(g for _, g in pairs)),
        )
    return same_meaning(wanted, got, isa)


def _to_address(wanted: Operand, got: Operand, pc: int, arch: Arch) -> tuple[Operand, Operand]:
    """Where a label was written and a distance from pc was decoded: both as the address that is meant."""
    if not wanted.label:
        return wanted, got
    if (distance := _distance(got, arch)) is not None:
        got = value(pc + distance)
    if (address := _distance(wanted, arch)) is not None:
        wanted = value(address)
    return replace(wanted, label=False), got


def _distance(operand: Operand, arch: Arch) -> int | None:
    """The number in ``[pc, #8]`` and ``[rip + 8]``; None where the operand is something else."""
    names = [term for part in operand.parts for term in part.terms]
    return sum(part.number or 0 for part in operand.parts) if names == [(arch.pc, 1)] else None


def _same_address(wanted: Sequence[Operand], mnemonic: str, got: Sequence[Operand], pc: int, arch: Arch) -> bool:
    """``adr r, label``: decoded as ``adr r, address``, ``adr r, distance`` or ``add r, pc, distance``."""
    if len(wanted) != 2 or not got or got[0] != wanted[0] or wanted[1].number is None or got[-1].number is None:
        return False
    address, number = wanted[1].number, got[-1].number
    name = _SUFFIX.sub("", mnemonic)
    if name == "adr":
        return len(got) == 2 and number in (address, address - pc)
    # Taking away became adding the negative.
    return (
        len(got) == 3 and got[1].name == arch.pc and name in ("add", "addw", "sub", "subw") and pc + number == address
    )
