"""Is what was assembled what was written? Thousands of spellings, with clang's bytes as the judge."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import unicorn
from capstone import Cs

from testbed.arch import ARCHES, Arch, Isa
from testbed.build.link import assemble_program
from testbed.build.meanings import InstructionMeaning, meaning_of, same_meaning
from testbed.build.round_trip import verify
from testbed.build.source_place import Place
from testbed.build.statements import SourceInstruction
from testbed.image.capstone_isas import CAPSTONE
from testbed.machine.unicorn_arches import UNICORN
from testbed.program.model import program_from_text
from testbed.words.errors import BuildError
from tests.build.spelled import assembled, spellings

ALL_ISAS = [(arch, isa) for arch in ARCHES.values() for isa in arch.isas]
AT = 0x41_0000
by_isa = pytest.mark.parametrize(("arch", "isa"), ALL_ISAS, ids=lambda value: value.name)


@cache
def clangs(isa: Isa) -> dict[str, bytes]:
    """What clang makes of the spellings that it takes."""
    with TemporaryDirectory(prefix="testbed-") as folder:
        return assembled(isa.name, spellings(isa.name), Path(folder))


def instruction(line: str, isa: Isa) -> SourceInstruction:
    words = re.match(r"((?:(?:rep\w*|lock)\s+)?\S+)\s*(.*)", line)
    assert words is not None
    return SourceInstruction(Place(Path("t"), 1, 1), isa, words[1], words[2])


def decoded(code: bytes, arch: Arch, isa: Isa) -> InstructionMeaning:
    _, size, mnemonic, operands = next(Cs(*CAPSTONE[isa.name]).disasm_lite(code, AT))
    assert size == len(code)
    return meaning_of(mnemonic, operands, arch, isa, {})


@by_isa
def test_what_clang_makes_of_a_spelling_is_what_it_says(arch: Arch, isa: Isa) -> None:
    """Nothing that is right is refused: ``ret x30``, ``ldr pc, [sp], #4``, ``[4*rcx + rax]``."""
    labels = {".Lhere": (AT + 8, isa)}
    refused = []
    for line, code in clangs(isa).items():
        try:
            verify([(instruction(line, isa), AT, len(code))], {AT: code}, arch, labels)
        except BuildError as error:
            refused.append(str(error))
    assert not refused
    assert len(clangs(isa)) > 600


@by_isa
def test_what_clang_makes_of_another_spelling_is_not_what_it_says(arch: Arch, isa: Isa) -> None:
    """Nothing that is wrong passes: of two instructions that mean something else none is taken for the other."""
    meanings = {line: decoded(code, arch, isa) for line, code in clangs(isa).items() if ".Lhere" not in line}
    written = {line: meaning_of(*_text(line, isa), arch, isa, {}) for line in meanings}
    alike = defaultdict(list)
    for line, meaning in meanings.items():
        alike[meaning.mnemonic].append((line, meaning))
    wrong = [
        (line, other)
        for line, wanted in written.items()
        for other, got in alike[wanted.mnemonic]
        if same_meaning(wanted, got, isa) and not same_meaning(meanings[line], got, isa)
    ]
    assert not wrong


def _text(line: str, isa: Isa) -> tuple[str, str]:
    found = instruction(line, isa)
    return found.mnemonic, found.operands


@by_isa
def test_other_bytes_with_the_same_meaning_do_the_same(arch: Arch, isa: Isa) -> None:
    """Encodings that are taken for each other are executed, from the same states, and leave the same ones."""
    encodings = defaultdict(set)
    for line, code in clangs(isa).items():
        if ".Lhere" not in line:
            encodings[decoded(code, arch, isa)].add(code)
    compared = 0
    for meaning, codes in encodings.items():
        for seed in range(3) if len(codes) > 1 else ():
            first, *others = (effect(code, arch, isa, seed) for code in sorted(codes))
            assert all(other == first for other in others), (meaning, [code.hex() for code in codes])
            compared += 1
    assert compared or isa.name == "arm64"  # whose encodings are one each


def effect(code: bytes, arch: Arch, isa: Isa, seed: int) -> object:
    """Registers and writes after one instruction, executed with registers that all point to memory."""
    known, chance = UNICORN[arch.name], random.Random(seed)
    machine = unicorn.Uc(*known.opened)
    machine.mem_map(0, 1 << 28)
    machine.mem_write(AT, code)
    machine.mem_write(0x10_0000, chance.randbytes(0x10_0000))
    for register, keep, set_ in known.setup:
        machine.reg_write(register, machine.reg_read(register) & keep | set_)
    general = [
        known.registers[r.name] for r in arch.registers if r.name not in (arch.pc, arch.flags) and r.name[0] != "d"
    ]
    for register in general:
        machine.reg_write(register, chance.randrange(0x10_0000, 0x20_0000, 16))
    writes: list[tuple[int, int, int]] = []
    machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, lambda _, __, at, size, value, ___: writes.append((at, size, value)))
    failed = 0
    try:
        machine.emu_start(AT | isa.address_bit, 0, count=1)
    except unicorn.UcError as error:
        failed = error.errno
    pc = machine.reg_read(known.registers[arch.pc])
    return failed, pc if pc != AT + len(code) else 0, [machine.reg_read(register) for register in general], writes


@pytest.mark.parametrize(
    ("isa", "text", "shown"),
    [
        ("x86_64", "mov rdx, [0x1234]", "mov rdx, qword ptr [rip + 0x1234]"),  # keystone's own doing
        ("x86_64", "lea rdx, [0x1234]", "lea rdx, [rip"),
    ],
)
def test_an_absolute_place_is_no_place_near_the_instruction(isa: str, text: str, shown: str) -> None:
    arch = ARCHES["x86_64"]
    source = program_from_text("t", arch, f"_start:\n {text}\n", isa=isa).sources[isa]
    with pytest.raises(BuildError, match=rf"keystone assembled '{re.escape(text)}' as '{re.escape(shown)}"):
        assemble_program(source, arch, arch.isas[0])


@pytest.mark.parametrize("text", ["mov [rax], 1", "add [rsp + 8], 0x10", "cmp [rax], 0"])
def test_a_place_of_no_said_size_is_refused(text: str) -> None:
    """keystone takes one of its own choice; clang asks."""
    arch = ARCHES["x86_64"]
    source = program_from_text("t", arch, f"_start:\n {text}\n").sources["x86_64"]
    with pytest.raises(BuildError, match="keystone"):
        assemble_program(source, arch, arch.isas[0])


@pytest.mark.parametrize(
    ("isa", "written", "made"),
    [
        ("x86_64", "mov rax, [rbx + rcx*4 + 8]", "488b44cb04"),  # [rbx + rcx*8 + 4]: the same numbers
        ("x86_64", "mov rax, [rbx + rcx*4]", "488b0499"),  # [rcx + rbx*4]
        ("x86_64", "mov rax, -1", "48b8ffffffff00000000"),
        ("arm64", "csel x0, x1, x2, lo", "2020829a"),  # hs
        ("arm64", "sub x0, x1, #1", "20040091"),  # add
        ("a32", "ldr pc, [sp], #4", "04f01de5"),  # [sp, #-4]
        ("a32", "ldmfdeq sp!, {r4, pc}", "1080bd18"),  # ne
        ("thumb", "push {r4, lr}", "30b5"),  # {r4, r5, lr}
    ],
)
def test_nearly_the_same_is_something_else(isa: str, written: str, made: str) -> None:
    arch, chosen = next((arch, each) for arch, each in ALL_ISAS if each.name == isa)
    code = bytes.fromhex(made)
    with pytest.raises(BuildError, match="keystone assembled"):
        verify([(instruction(written, chosen), AT, len(code))], {AT: code}, arch, {})
