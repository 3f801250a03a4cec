"""What instructions really do: each is executed in Unicorn by itself, and compared with its operations.

A byte counts as written if the emulator reports a write to it, or if it changed. General registers hold distinct
addresses in one region of memory, so that whatever an instruction takes for its base, the bytes are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from capstone import Cs
from unicorn import arm64_const as a64
from unicorn import unicorn_const as uc
from unicorn.unicorn import Uc, UcError

from testbed.image.capstone_isas import CAPSTONE
from testbed.machine.unicorn_arches import UNICORN
from tests.unwinders.code import START, isa_named
from unwinders.analysis.function_code import DECODERS
from unwinders.analysis.operations import Combine, Forget, Instruction, Load, Set, SetBits, SetNumber, Sign, Store

REGION, SIZE = 0x40_0000, 0x10_0000
FIRST, DISTANCE = 0x8_0000, 0x4000  # the first register's address in the region, and between two registers
MODELS = {"arm64": a64.UC_CPU_ARM64_MAX}
FILL = Random("memory").randbytes(SIZE)
REGISTERS = {"x86_64": [f"r{n}" for n in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", *range(8, 16))]}
REGISTERS |= {"arm64": [f"x{n}" for n in range(31)] + ["sp"], "arm32": [f"r{n}" for n in range(13)] + ["sp", "lr"]}


@dataclass(frozen=True)
class Applied:
    """What operations make of registers and memory: the bytes stored to, registers after, bytes that they know."""

    stored: frozenset[int]
    registers: Mapping[str, int | None]  # None: any value
    memory: Mapping[int, int]


@dataclass(frozen=True)
class Executed:
    """One executed instruction: capstone's, ours, the registers before and after, the bytes that it wrote."""

    insn: Any
    decoded: Instruction
    before: Mapping[str, int]
    after: Mapping[str, int]
    written: frozenset[int]
    memory: bytes  # of the region, after

    def __str__(self) -> str:
        return f"{self.insn.bytes.hex()} {self.insn.mnemonic} {self.insn.op_str}"

    @property
    def said(self) -> Applied:
        return applied(self.decoded, self.before)

    def misunderstood(self) -> dict[str, tuple[int | None, int]]:
        """Registers and bytes that it left with another value than its operations say: what they say, what is there."""
        said = self.said
        wrong = {n: (said.registers[n], v) for n, v in self.after.items() if said.registers[n] not in (None, v)}
        wrong |= {
            f"*{at:#x}": (byte, self.memory[at - REGION])
            for at, byte in said.memory.items()
            if 0 <= at - REGION < SIZE and self.memory[at - REGION] != byte
        }
        return wrong


def applied(decoded: Instruction, before: Mapping[str, int]) -> Applied:
    """Carry out the operations of an instruction, with the memory of the region as it is before."""
    held: dict[str, int | None] = dict(before)
    mask = (1 << 64) - 1 if "rsp" in before or "x0" in before else (1 << 32) - 1
    stored: set[int] = set()
    memory: dict[int, int] = {}
    for operation in decoded.operations:
        match operation:
            case Set(to, source, offset):
                base = held.get(source)
                held[to] = None if base is None else base + offset & mask
            case Combine(to, left, right, sign):
                one, other = held.get(left), held.get(right)
                held[to] = None if one is None or other is None else one + sign * other & mask
            case SetNumber(to, value):
                held[to] = value & mask
            case SetBits(to, value, shift, bits):
                old, part = held.get(to), ((1 << bits) - 1) << shift
                held[to] = None if old is None else old & ~part | value << shift & part
            case Store(source, at, size):
                base, kept = held.get(at.register), held.get(source) if source else None
                if base is not None:
                    where = range(base + at.offset, base + at.offset + size)
                    stored |= set(where)
                    if kept is not None:
                        memory |= dict(zip(where, kept.to_bytes(size, "little"), strict=True))
            case Load(to, at, size):
                base = held.get(at.register)
                low = base + at.offset - REGION if base is not None else -1
                known = 0 <= low <= SIZE - size and base is not None and not stored & set(range(base, base + size))
                held[to] = int.from_bytes(FILL[low : low + size], "little") if known else None
            case Forget(to) | Sign(to):
                held[to] = None
    return Applied(frozenset(stored), held, memory)


@cache
def _disassembler(isa: str) -> Cs:
    found = Cs(*CAPSTONE[isa])
    found.detail = True
    return found


def decoded(isa: str, code: bytes) -> tuple[Any, Instruction] | None:
    """The first instruction of some bytes, as capstone has it and as the analysis has it; None where it is none."""
    entry = DECODERS[isa]
    assert entry is not None
    insn = next(_disassembler(isa).disasm(code, START), None)
    return (insn, entry[0](insn, isa_named(isa)[1], lambda address, size: None)) if insn is not None else None


class Executor:
    """A processor that executes one instruction at a time, from the same state each time."""

    def __init__(self, isa: str) -> None:
        self.isa, (self.arch, self.its) = isa, isa_named(isa)
        self.settings = UNICORN[self.arch.name]
        self.before = {n: REGION + FIRST + i * DISTANCE for i, n in enumerate(REGISTERS[self.arch.name])}
        vectors = [r.name for r in self.arch.registers if r.name[0] == "d" and r.name in self.arch.preserved]
        self.before |= {name: Random(name).getrandbits(64) for name in vectors}
        self.open()

    def open(self) -> None:
        """A processor as after reset: an instruction may have changed what is no register of ours."""
        arch, mode = self.settings.opened
        model = MODELS.get(self.isa)
        self.uc = Uc(arch, mode) if model is None else Uc(arch, mode, model)
        for register, keep, bits in self.settings.setup:
            self.uc.reg_write(register, self.uc.reg_read(register) & keep | bits)
        self.uc.mem_map(START & ~0xFFF, 0x1000, uc.UC_PROT_READ | uc.UC_PROT_EXEC)
        self.uc.mem_map(REGION, SIZE, uc.UC_PROT_READ | uc.UC_PROT_WRITE)
        self.uc.mem_write(REGION, FILL)
        self.written: set[int] = set()
        self.uc.hook_add(uc.UC_HOOK_MEM_WRITE, self.on_write)
        self.fresh = self.uc.context_save()

    def on_write(self, _: Any, access: int, address: int, size: int, value: int, data: Any) -> None:
        self.written |= set(range(address, address + size))

    def run(self, code: bytes) -> Executed | None:
        """One instruction; None where it is none, or cannot be executed with these registers."""
        found = decoded(self.isa, code)
        if found is None:
            return None
        insn, instruction = found
        code = code[: insn.size]
        self.uc.context_restore(self.fresh)
        try:
            if (first := exclusive_load(self.isa, code)) is not None:
                self.execute(first)
            self.written = set()
            self.execute(code)
        except UcError:
            self.open()
            return None
        after = {name: self.uc.reg_read(self.settings.registers[name]) for name in self.before}
        memory = bytes(self.uc.mem_read(REGION, SIZE))
        if memory != FILL:
            changed = int.from_bytes(memory, "little") ^ int.from_bytes(FILL, "little")
            lowest, highest = ((changed & -changed).bit_length() - 1) // 8, (changed.bit_length() - 1) // 8
            self.written |= {REGION + at for at in range(lowest, highest + 1) if memory[at] != FILL[at]}
            self.uc.mem_write(REGION, FILL)
        return Executed(insn, instruction, self.before, after, frozenset(self.written), memory)

    def execute(self, code: bytes) -> None:
        self.uc.mem_write(START, code.ljust(32, b"\0"))
        self.uc.ctl_remove_cache(START, START + 32)
        for name, value in self.before.items():
            self.uc.reg_write(self.settings.registers[name], value)
        self.uc.emu_start(START | self.its.address_bit, START + len(code), count=1)


def exclusive_load(isa: str, code: bytes) -> bytes | None:
    """The load without which an exclusive store stores nothing, into registers that are not its base."""
    if isa == "arm64":
        word = int.from_bytes(code, "little")
        # size 001000 o2=0 L=0 o1 Rs o0 Rt2 Rn Rt
        return (word | 1 << 22 | 0x1F_7C1F).to_bytes(4, "little") if word >> 22 & 0xFF == 0x20 else None
    if isa == "a32":
        word = int.from_bytes(code, "little")
        if word & 0x0F90_00F0 != 0x0180_0090:
            return None
        free = 10 if word >> 16 & 15 in (8, 9) else 8
        return (word & ~0xF00F | 1 << 20 | free << 12 | 0xF).to_bytes(4, "little")
    if isa == "thumb" and len(code) == 4:
        first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
        free = 10 if first & 15 in (8, 9) else 8
        if first & 0xFFF0 == 0xE840:
            return (first | 0x10).to_bytes(2, "little") + (free << 12 | 0xF00 | second & 0xFF).to_bytes(2, "little")
        if first & 0xFFF0 == 0xE8C0 and second & 0x40:
            other = free + 1 if second >> 4 & 3 == 3 else 0xF
            return (first | 0x10).to_bytes(2, "little") + (free << 12 | other << 8 | second & 0xF0 | 0xF).to_bytes(
                2, "little"
            )
    return None


def random_code(isa: str, random: Random) -> Iterator[bytes]:
    """Encodings of instructions that access memory, and of others, without end."""
    make = {"x86_64": _x86, "arm64": _a64, "a32": _a32, "thumb": _thumb}[isa]
    while True:
        yield make(random)


def _x86(random: Random) -> bytes:
    """Prefixes, an opcode of one of the maps, a memory operand of a base and a displacement, immediate bytes."""
    prefix = random.choice([b"", b"", b"", b"\x66", b"\xf2", b"\xf3", b"\xf0"])
    rex = random.choice([b"", bytes([random.randrange(0x40, 0x48 if prefix == b"\x66" else 0x50)])])
    opcode = random.choice([b"", b"\x0f", b"\x0f", b"\x0f\x38", b"\x0f\x3a"]) + random.randbytes(1)
    mod, rm = random.choice([(1, random.choice([0, 1, 2, 3, 5, 6, 7])), (1, 4), (2, 4), (0, 4), (3, 0)])
    modrm = bytes([mod << 6 | random.randrange(8) << 3 | rm])
    sib = bytes([random.choice([0x24, 0x24, random.randrange(256)])]) if rm == 4 and mod != 3 else b""
    disp = {0: b"", 1: random.randbytes(1), 2: random.randbytes(2) + b"\0\0", 3: b""}[mod]
    return prefix + rex + opcode + modrm + sib + disp + random.randbytes(8)


def _a64(random: Random) -> bytes:
    """Loads and stores (bits 28:25 are x1x0), a few of the rest."""
    word = random.getrandbits(32)
    if random.random() < 0.75:
        word = word & ~(1 << 25) | 1 << 27
        if random.random() < 0.5:
            word &= ~(1 << 29)  # exclusive, ordered, compare and swap, vectors
    return word.to_bytes(4, "little")


def _a32(random: Random) -> bytes:
    word = random.getrandbits(28)
    kind = random.choice(["word", "extra", "many", "vfp", "neon", "sync", "any"])
    if kind == "neon":
        return (0xF400_0000 | word & 0x00BF_FFFF).to_bytes(4, "little")
    sets = {
        "word": (0x0C00_0000, 0x0400_0000),
        "extra": (0x0E00_0090, 0x0000_0090),
        "many": (0x0E00_0000, 0x0800_0000),
        "vfp": (0x0E00_0E00, 0x0C00_0A00),
        "sync": (0x0F00_00F0, 0x0100_0090),
        "any": (0, 0),
    }
    mask, bits = sets[kind]
    word = word & ~mask | bits
    if kind == "sync":
        word |= 0x0080_0F00 if random.random() < 0.7 else 0
    if kind in ("many", "vfp") and random.random() < 0.5:
        word &= ~0xF_0000 | 0xD_0000
    if word & 0x0E40_0000 == 0x0840_0000:
        word ^= 0x0040_0000  # ldm and stm of the user's registers are the kernel's
    return (0xE000_0000 | word).to_bytes(4, "little")


def _thumb(random: Random) -> bytes:
    if random.random() < 0.25:
        half = random.choice([0x5000, 0x6000, 0x7000, 0x8000, 0x9000, 0xB400, 0xC000]) | random.getrandbits(12)
        return half.to_bytes(2, "little") + b"\0\xbf\0\xbf"
    first = random.choice([0xE800, 0xE800, 0xF800, 0xF800, 0xF900, 0xEC00, 0xED00]) | random.getrandbits(9)
    second = random.getrandbits(16)
    if first >> 8 in (0xEC, 0xED):
        second = second & ~0x0E00 | 0x0A00
    return first.to_bytes(2, "little") + second.to_bytes(2, "little")
