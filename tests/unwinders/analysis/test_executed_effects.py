"""The decoders against a processor: random instructions are executed one by one, and no byte of memory and no register
may end otherwise than their operations say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import pytest
from unicorn import arm64_const as a64
from unicorn import unicorn_const as uc
from unicorn.unicorn import Uc, UcError

from testbed.conventions import platform
from testbed.image.disassembly import disassembler
from testbed.machine.unicorn_arches import UNICORN
from tests.unwinders.code import START, assembled, isa_named
from unwinders.analysis.function_code import DECODERS
from unwinders.analysis.operations import Combine, Forget, Instruction, Load, Set, SetBits, SetNumber, Sign, Store

# What instructions really do: each is executed in Unicorn by itself, and compared with its operations.
#
# A byte counts as written if the emulator reports a write to it, or if it changed. General registers hold distinct
# addresses in one region of memory, so that whatever an instruction takes for its base, the bytes are found.

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


def decoded(isa: str, code: bytes) -> tuple[Any, Instruction] | None:
    """The first instruction of some bytes, as capstone has it and as the analysis has it; None where it is none."""
    entry = DECODERS[isa]
    assert entry is not None
    insn = next(disassembler(isa, detail=True).disasm(code, START), None)
    if insn is None:
        return None
    arch, its = isa_named(isa)
    found = entry[0](insn, its, lambda address, size: None)
    assert (found.address, found.size) == (insn.address, insn.size)
    stores = [each for each in found.operations if isinstance(each, Store) and each.source]
    assert all(8 * store.size <= arch.by_name[store.source or ""].bits for store in stores), insn.mnemonic
    return insn, found


class Executor:
    """A processor that executes one instruction at a time, from the same state each time."""

    def __init__(self, isa: str) -> None:
        self.isa, (self.arch, self.its) = isa, isa_named(isa)
        self.settings = UNICORN[self.arch.name]
        self.before = {n: REGION + FIRST + i * DISTANCE for i, n in enumerate(REGISTERS[self.arch.name])}
        vectors = [r.name for r in self.arch.registers if r.name[0] == "d" and r.name in platform(self.arch).preserved]
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


# Top bytes of arm64's SVE, SME, system and single accesses, which are rare among random words.
_RARE = bytes.fromhex("e0e1c0c1a0808184e4e5a4a5850425656419d5f8")


def _a64(random: Random) -> bytes:
    """Loads and stores (bits 28:25 are x1x0), a few of the rest."""
    word = random.getrandbits(32)
    if random.random() < 0.2:
        return (word & 0xFF_FFFF | random.choice(_RARE) << 24).to_bytes(4, "little")
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


TRIED = 3000  # of each instruction set; some three quarters cannot be executed with these registers
LEAST_STORES, LEAST_KINDS = 100, 20

# One of each kind of store, whatever the random ones are.
FORMS = {
    "x86_64": """push rbx; push 5; push qword ptr [rdi]; pushfq; push ax; enter 32, 0; enter 16, 3; call 0x1005; mov
        byte ptr [rsp + 8], cl; mov word ptr [rsp + 8], cx; mov dword ptr [rsp + 8], ecx; mov qword ptr
        [rsp], 7; sete byte ptr [rsp]; movups xmmword ptr [rsp + 16], xmm1; movaps xmmword ptr [rsp], xmm1;
        movdqu [rsp], xmm2; movq qword ptr [rsp], xmm1; movd dword ptr [rsp], xmm1; movsd qword ptr [rsp],
        xmm1; movss [rsp], xmm1; movhps [rsp], xmm1; movlpd [rsp], xmm1; movnti dword ptr [rsp], eax;
        movntdq [rsp], xmm1; fnstcw word ptr [rsp]; fstp tbyte ptr [rsp]; fst qword ptr [rsp]; fistp dword
        ptr [rsp]; fnstenv [rsp]; fnsave [rsp]; stmxcsr [rsp]; pextrd dword ptr [rsp], xmm1, 2; pextrb byte
        ptr [rsp], xmm1, 2; extractps [rsp], xmm1, 2; xchg dword ptr [rsp], ebx; xadd word ptr [rsp], bx;
        lock cmpxchg byte ptr [rsp], bl; cmpxchg8b [rsp]; cmpxchg16b [rsp]; not qword ptr [rsp]; shld dword
        ptr [rsp], eax, 3; btr word ptr [rsp], 5; stosd; movsq; sgdt [rsp]; sldt word ptr [rsp]; add byte
        ptr [rsp], 1; inc word ptr [rsp]; pop qword ptr [rsp + 8]""",
    "arm64": """str x1, [sp, #8]; str w1, [sp]; strb w1, [sp, #3]; strh w1, [sp, #2]; stur x1, [sp, #-7]; sturb w1,
        [sp]; stp x1, x2, [sp, #-16]!; stp w1, w2, [sp], #8; stp d8, d9, [sp]; stp q0, q1, [sp]; stnp x1,
        x2, [sp]; str q0, [sp]; str d8, [sp, #8]!; str s0, [sp]; str h0, [sp]; str b0, [sp], #1; st1
        {v0.16b}, [x1]; st1 {v0.8b, v1.8b}, [x1]; st4 {v0.4s, v1.4s, v2.4s, v3.4s}, [x1], #64; st1
        {v0.h}[3], [x1]; st3 {v0.d, v1.d, v2.d}[1], [x1]; stlr x1, [x2]; stlrb w1, [x2]; stxr w3, x1, [x2];
        stlxrh w3, w1, [x2]; stxp w3, x1, x4, [x2]; sttr x1, [x2]; sttrb w1, [x2]""",
    "a32": """str r1, [sp, #4]; strb r1, [sp]; strh r1, [sp, #2]; strd r4, r5, [sp]; str lr, [sp, #-4]!; strb r1,
        [sp], #1; push {r4, r5, lr}; stmib r1, {r2, r3}; stmda r1!, {r2, r3}; stmdb r1, {r2}; vpush {d8,
        d9}; vstr d8, [sp]; vstr s16, [sp]; vstmdb r1!, {s16, s17, s18}; vst1.8 {d8}, [r1]!; vst1.32
        {d8[1]}, [r1]; vst4.16 {d0, d1, d2, d3}, [r1]; vst1.64 {d8, d9}, [r1:128], r2; strex r3, r1, [r2];
        strexb r3, r1, [r2]; strexh r3, r1, [r2]; strexd r3, r4, r5, [r2]; strt r1, [r2], #4; strbt r1,
        [r2], #-4; strht r1, [r2], #2""",
    "thumb": """push {r4, lr}; str r1, [sp, #4]; strb r1, [r2, #3]; strh r1, [r2, #2]; str r1, [sp, #-4]!; strd r4,
        r5, [sp, #-8]!; stm r1!, {r2, r3}; stmdb.w sp!, {r4, r8}; vpush {d8}; vstr d9, [sp, #8]; vst1.8
        {d8[3]}, [r1]; strex r3, r1, [r2]; strexb r3, r1, [r2]""",
}


def elsewhere(insn: Any) -> bool:
    """A store whose address or extent the instruction does not say: it may be missed, never made up."""
    indexed = any(getattr(getattr(o, "mem", None), "index", 0) for o in insn.operands)
    bit = insn.mnemonic in ("bts", "btr", "btc", "lock bts", "lock btr", "lock btc")
    return indexed or bit or insn.mnemonic.startswith(("rep", "xsave", "dc"))


UNTRIED = {
    "maskmovq": "it stores the bytes that a mask says",
    "maskmovdqu": "it stores the bytes that a mask says",
    "fxsave": "Unicorn leaves out the bytes that are reserved",
    "lahf": "Unicorn takes AH for SPL behind a REX prefix",
}


def complaints(done: Executed) -> str:
    """What an instruction did otherwise than its operations say."""
    said = done.said.stored
    if done.insn.mnemonic in UNTRIED:
        return ""
    missed = set() if elsewhere(done.insn) else done.written - said
    words = [
        f"{name}: {len(where)} bytes" for name, where in (("missed", missed), ("made up", said - done.written)) if where
    ]
    words += [f"{n}: {a} said, {b} is there" for n, (a, b) in done.misunderstood().items()]
    return f"{done}: {', '.join(words)}" if words else ""


@pytest.mark.parametrize("isa", FORMS)
def test_random_instructions_do_what_their_operations_say(isa: str) -> None:
    executor = Executor(isa)
    done = [executor.run(code) for code in islice(random_code(isa, Random(isa)), TRIED)]
    stores = [one for one in done if one is not None and one.said.stored]
    assert [words for one in done if one is not None and (words := complaints(one))] == []
    assert len(stores) >= LEAST_STORES
    assert len({one.insn.mnemonic for one in stores}) >= LEAST_KINDS


@pytest.mark.parametrize(
    ("isa", "text"), [(isa, " ".join(t.split())) for isa, texts in FORMS.items() for t in texts.split(";")]
)
def test_each_kind_of_store_has_its_size(isa: str, text: str) -> None:
    done = Executor(isa).run(assembled(isa, text))
    assert done is not None, text
    assert done.written, text
    assert complaints(done) == ""
    assert done.said.stored == done.written


LOADS = {
    "x86_64": "pop rbx; leave; xlatb; xchg rbx, r12; cmpxchg qword ptr [rsp], rbx; lodsq; insb; pop qword ptr [rsp]",
    "arm64": """ldp x29, x30, [sp], #16; ldp x1, x2, [x1]; ldr x1, [x2, #8]!; ld4 {v7.2s, v8.2s, v9.2s, v10.2s},
        [x1]; ld2r {v8.2d, v9.2d}, [x1], #16""",
    "a32": """pop {r4, lr}; ldm r1, {r1, r2}; ldrd r4, r5, [r4]; ldrbt r1, [r2], #4; ldrsht r1, [r2], #-4; vldmia
        r1!, {d8, d9}; vld1.16 {d0[]}, [r1]!; vld4.8 {d8[1], d9[1], d10[1], d11[1]}, [r1]!; vld1.8 {d8},
        [r1:64], r3; mrc p15, 0, r1, c13, c0, 3; ldrexd r4, r5, [r1]; umull r4, r5, r1, r2""",
    "thumb": "pop {r4, r5}; ldm r1, {r1, r2}; ldm r1!, {r2, r3}; ldrd r4, r5, [r4]; ldr r1, [r2], #4",
}


@pytest.mark.parametrize(
    ("isa", "text"), [(isa, " ".join(t.split())) for isa, texts in LOADS.items() for t in texts.split(";")]
)
def test_each_kind_of_load_leaves_the_registers_that_it_says(isa: str, text: str) -> None:
    done = Executor(isa).run(assembled(isa, text))
    assert done is not None, text
    assert done.before != done.after
    assert complaints(done) == ""


WIDE = """vmovups ymmword ptr [rsp], ymm1; vmovdqa ymmword ptr [rsp], ymm1; vmovdqu xmmword ptr [rsp], xmm1;
    vmovaps zmmword ptr [rsp], zmm1; vmovdqu64 zmmword ptr [rsp], zmm1; vmovntps ymmword ptr [rsp], ymm1;
    vextractf128 xmmword ptr [rsp], ymm1, 1; vextracti128 xmmword ptr [rsp], ymm1, 1; vmovq qword ptr [rsp], xmm1;
    vmovd dword ptr [rsp], xmm1; vmovsd qword ptr [rsp], xmm1; vmovss dword ptr [rsp], xmm1; vstmxcsr dword ptr [rsp];
    vpextrb byte ptr [rsp], xmm1, 1; vpextrw word ptr [rsp], xmm1, 1; vpextrq qword ptr [rsp], xmm1, 1;
    vmovhps qword ptr [rsp], xmm1; vmovlpd qword ptr [rsp], xmm1; vcvtps2ph xmmword ptr [rsp], ymm1, 0;
    vmaskmovps ymmword ptr [rsp], ymm2, ymm1; vpmaskmovq xmmword ptr [rsp], xmm2, xmm1"""
WORDS = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32, "zmmword": 64}


@pytest.mark.parametrize("text", [" ".join(text.split()) for text in WIDE.split(";")])
def test_vector_stores_that_the_emulator_lacks_have_the_size_that_the_assembler_is_told(text: str) -> None:
    found = decoded("x86_64", assembled("x86_64", text))
    (store,) = found[1].operations
    assert isinstance(store, Store)
    assert (store.at.register, store.at.offset, store.size) == ("rsp", 0, WORDS[text.split()[1]])


# Assembled by GNU as 2.40. Of a scalable vector that is what a processor with the shortest ones stores.
SCALABLE = {
    0xE58043E8: (16, "str z8, [sp]"),
    0xE58003E4: (2, "str p4, [sp]"),
    0xE5E0E3E0: (16, "st1d {z0.d}, p0, [sp]"),
    0xE460E3E0: (2, "st1b {z0.d}, p0, [sp]"),
    0xE570E3E0: (64, "st4w {z0.s-z3.s}, p0, [sp]"),
    0xE58047E8: (0, "str z8, [sp, #1, mul vl]"),  # nobody says where
    0xD9600BE0: (16, "stzg x0, [sp]"),
    0xD9E00BE0: (32, "stz2g x0, [sp]"),
    0xD9200BE0: (0, "stg x0, [sp]"),
    0xF83F93E0: (64, "st64b x0, [sp]"),
}


@pytest.mark.parametrize("word", SCALABLE, ids=[text for _, text in SCALABLE.values()])
def test_stores_of_scalable_vectors_tags_and_lines(word: int) -> None:
    found = decoded("arm64", word.to_bytes(4, "little"))
    size = SCALABLE[word][0]
    assert [(o.at.register, o.at.offset, o.size) for o in found[1].operations if isinstance(o, Store)] == (
        [("sp", 0, size)] if size else []
    )


@pytest.mark.parametrize("word", [0xE1206200, 0xE1006200, 0xD53BD0B0, 0xD51BD0BF, 0xE0000000, 0xC0080000])
def test_registers_of_other_kinds_are_read(word: int) -> None:
    """LLVM's libunwind stores ZA rows: `str za[w15, 0], [x16]`."""
    found = decoded("arm64", word.to_bytes(4, "little"))
    assert found is None or found[1].address == START


def test_a_scalable_vector_over_a_saved_register_is_seen() -> None:
    found = decoded("arm64", 0x8580_47E8.to_bytes(4, "little"))  # ldr z8, [sp, #1, mul vl]
    assert found[1].operations == (Forget("d8"),)
