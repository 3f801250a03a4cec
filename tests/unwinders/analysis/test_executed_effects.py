"""The decoders against a processor: random instructions are executed one by one, and no byte of memory and no register
may end otherwise than their operations say."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest

from tests.unwinders.analysis.executed_effects import Executed, Executor, decoded, random_code
from tests.unwinders.code import assembled
from unwinders.analysis.operations import Forget, Store

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
    assert found is not None
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
    assert found is not None
    size = SCALABLE[word][0]
    assert [(o.at.register, o.at.offset, o.size) for o in found[1].operations if isinstance(o, Store)] == (
        [("sp", 0, size)] if size else []
    )


def test_a_scalable_vector_over_a_saved_register_is_seen() -> None:
    found = decoded("arm64", 0x8580_47E8.to_bytes(4, "little"))  # ldr z8, [sp, #1, mul vl]
    assert found is not None
    assert found[1].operations == (Forget("d8"),)
