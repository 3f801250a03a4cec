"""A return address goes through registers and memory in each way that there is, and control comes back by it.

Every way is a test: a table that does not know it loses the return address, and `main` does not go on.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from programs import PROGRAMS
from testbed.campaign.cells import Unit, build_unit
from testbed.machine import record
from testbed.trace import Trace
from testbed.witness.carry import Instructions, effect_of
from testbed.witness.passage import Flow, MemoryWord, Passage, holds
from tests.corpus import UNITS
from tests.witness.witnessed import recorded, witness

X86_64 = {
    "ret": "ret",
    "pop": "pop rcx\njmp rcx",
    "jump": "mov rax, [rsp]\nadd rsp, 8\njmp rax",
    "jump_to_memory": "add rsp, 8\njmp [rsp - 8]",
    "push": "pop rcx\npush rcx\nret",
    "push_of_memory": "mov rcx, rsp\npush [rcx]\npop rdx\nadd rsp, 8\njmp rdx",
    "pop_to_memory": "pop [rsp - 32]\njmp [rsp - 40 + 8]",
    "store": "pop rcx\nmov [rsp - 64], rcx\nmov rdx, [rsp - 64]\njmp rdx",
    "exchange": "xor eax, eax\nxchg [rsp], rax\nxchg rax, rdx\nadd rsp, 8\njmp rdx",
    "compare": "pop rax\npush rax\nmov rcx, rax\nxor eax, eax\ncmpxchg [rsp], rcx\nadd rsp, 8\njmp rax",
    "compare_and_exchange": "xor eax, eax\npop rcx\npush rax\ncmpxchg [rsp], rcx\nret",
    "exchange_and_add": "xor eax, eax\nxadd [rsp], rax\nadd rsp, 8\njmp rax",
    "address": "pop rcx\nlea rdx, [rcx + 5]\nlea rdx, [rdx - 5]\njmp rdx",
    "index": "pop rcx\nxor edx, edx\nlea rdx, [rdx + rcx]\njmp rdx",
    "leave": "push rbp\nmov rbp, rsp\nsub rsp, 32\nleave\nret",
    "leave_with_it": "pop rcx\nmov rdx, rbp\npush rcx\nmov rbp, rsp\nleave\nmov rcx, rbp\nmov rbp, rdx\njmp rcx",
    "enter": "pop rcx\nmov rdx, rbp\nmov rbp, rcx\nenter 16, 0\nleave\nmov rcx, rbp\nmov rbp, rdx\njmp rcx",
    "vector": "movdqu xmm0, [rsp]\nmovdqu [rsp - 64], xmm0\nmov rcx, [rsp - 64]\nadd rsp, 8\njmp rcx",
    "unaligned_singles": "movups xmm0, [rsp]\nmovups [rsp - 64], xmm0\nmov rcx, [rsp - 64]\nadd rsp, 8\njmp rcx",
    "upper_half": "movdqu xmm1, [rsp - 8]\nmovdqa xmm0, xmm1\nmovdqu [rsp - 64], xmm0\nadd rsp, 8\njmp [rsp - 64]",
    "copy": "mov rsi, rsp\nlea rdi, [rsp - 64]\nmov ecx, 1\nrep movsq\nadd rsp, 8\njmp [rsp - 72]",
    "fill": "pop rax\nlea rdi, [rsp - 64]\nstosq\njmp [rsp - 64]",
    "selection": "pop rcx\nxor eax, eax\ncmp eax, 0\ncmove rdx, rcx\njmp rdx",
    "no_selection": "pop rcx\nmov edx, 0\ncmp edx, 0\ncmovne rcx, rdx\njmp rcx",
    "mangled": "pop rcx\nmov rdx, 0x123456789abcdef0\nxor rcx, rdx\nrol rcx, 17\nror rcx, 17\nxor rcx, rdx\njmp rcx",
    "in_place": "add qword ptr [rsp], 16\nsub qword ptr [rsp], 16\nret",
    "half_written": "mov dword ptr [rsp + 4], 0\nret",
    "unaligned": "pop rcx\nmov [rsp - 61], rcx\nmov rdx, [rsp - 61]\njmp rdx",
}
ARM64 = {
    "ret": "ret",
    "branch": "br x30",
    "register": "mov x9, x30\nmov x30, #0\nret x9",
    "pair": "stp x29, x30, [sp, #-16]!\nmov x30, #0\nldp x29, x30, [sp], #16\nret",
    "pair_first": "stp x30, x29, [sp, #-32]\nmov x30, #0\nldp x10, x9, [sp, #-32]\nbr x10",
    "store": "str x30, [sp, #-16]!\nmov x30, #0\nldr x30, [sp], #16\nret",
    "store_below": "stur x30, [sp, #-9]\nmov x30, #0\nldur x30, [sp, #-9]\nret",
    "index": "mov x9, #-4\nstr x30, [sp, x9, lsl #3]\nmov x30, #0\nldr x11, [sp, x9, lsl #3]\nbr x11",
    "extended": "mov w9, #-4\nstr x30, [sp, w9, sxtw #3]\nmov x30, #0\nldr x11, [sp, #-32]\nbr x11",
    "vector": "fmov d0, x30\nstr d0, [sp, #-16]!\nmov x30, #0\nldr x30, [sp], #16\nret",
    "wide": "stp x30, x29, [sp, #-32]!\nldr q1, [sp]\nmov v2.16b, v1.16b\nstr q2, [sp, #16]\nldr x9, [sp, #16]\n"
    "add sp, sp, #32\nbr x9",
    "wide_pair": "stp x29, x30, [sp, #-32]!\nldp q1, q2, [sp]\nstp q2, q1, [sp]\nldr x9, [sp, #24]\n"
    "add sp, sp, #32\nbr x9",
    "exclusive": "sub sp, sp, #16\nmov x10, sp\nstr xzr, [x10]\nldxr x9, [x10]\nstxr w9, x30, [x10]\nmov x30, #0\n"
    "ldar x30, [x10]\nadd sp, sp, #16\nret",
    "exclusive_pair": "sub sp, sp, #16\nmov x10, sp\nstp xzr, xzr, [x10]\nldaxp x9, x11, [x10]\n"
    "stlxp w9, x30, x29, [x10]\nmov x30, #0\nldxp x30, x12, [x10]\nadd sp, sp, #16\nret",
    "acquired": "sub sp, sp, #16\nmov x10, sp\nldaxr x9, [x10]\nstlxr w9, x30, [x10]\nmov x30, #0\nldaxr x30, [x10]\n"
    "add sp, sp, #16\nret",
    "released": "sub sp, sp, #16\nmov x10, sp\nstlr x30, [x10]\nmov x30, #0\nldxr x30, [x10]\nadd sp, sp, #16\nret",
    "not_temporal": "stnp x29, x30, [sp, #-16]\nmov x30, #0\nldnp x9, x10, [sp, #-16]\nbr x10",
    "unprivileged": "sttr x30, [sp, #-16]\nmov x30, #0\nldtr x30, [sp, #-16]\nret",
    "structure": "stp x29, x30, [sp, #-32]!\nmov x9, sp\nld1 {v0.2d}, [x9]\nadd x9, x9, #16\nst1 {v0.2d}, [x9]\n"
    "ldr x10, [sp, #24]\nadd sp, sp, #32\nbr x10",
    "selection": "cmp sp, #0\ncsel x9, x30, x29, ne\nmov x30, #0\nret x9",
    "mangled": "mov x9, #0x1234\neor x30, x30, x9\nror x30, x30, #7\nror x30, x30, #57\neor x30, x30, x9\nret",
    "arithmetic": "sub x30, x30, #64\nadd x30, x30, #64\nret",
    "part": "movk x30, #0x7fff, lsl #48\nmovk x30, #0, lsl #48\nret",
}
ARM32 = {
    "branch": "bx lr",
    "move": "mov pc, lr",
    "list": "push {r4, lr}\npop {r4, pc}",
    "one": "push {lr}\npop {pc}",
    "high_register": "mov r3, lr\nmov lr, r0\nbx r3",
    "store": "mov r3, lr\nsub sp, #8\nstr r3, [sp, #4]\nldr r2, [sp, #4]\nadd sp, #8\nbx r2",
    "multiple": "sub sp, #16\nmov r3, sp\nmov r2, lr\nstm r3!, {r1, r2}\nsub r3, #8\nldm r3!, {r0, r1}\n"
    "add sp, #16\nbx r1",
    "index": "mov r3, lr\nsub sp, #16\nmov r2, sp\nmovs r1, #8\nstr r3, [r2, r1]\nldr r0, [sp, #8]\nadd sp, #16\nbx r0",
    "down": "stmdb sp!, {r4, lr}\nldm sp!, {r4, lr}\nbx lr",
    "pair": "mov r2, lr\nsub sp, #8\nstrd r2, r3, [sp]\nmovs r2, #0\nldrd r0, r1, [sp], #8\nbx r0",
    "before": "str lr, [sp, #-8]!\nldr r3, [sp], #8\nbx r3",
    "to_pc": "str lr, [sp, #-8]!\nldr pc, [sp], #8",
    "vector": "vmov s1, lr\nvmov r3, s1\nbx r3",
    "vector_list": "mov r2, lr\nvmov s0, r2\nvpush {d0}\nvpop {d3}\nvmov r3, s6\nbx r3",
    "vector_upper": "vmov s17, lr\nsub sp, #8\nvstr d8, [sp]\nldr r3, [sp, #4]\nadd sp, #8\nbx r3",
    "mangled": "mov r3, #0x55\nmov r2, lr\neors r2, r3\nror r2, r2, #5\nror r2, r2, #27\neors r2, r3\nbx r2",
    "arithmetic": "sub lr, lr, #16\nadd lr, lr, #16\nbx lr",
}
A32 = {
    "return_if": "cmp sp, #0\nbxeq r4\nbxne lr",
    "load_if": "push {r4, lr}\ncmp sp, #0\npopeq {r4, pc}\nmoveq lr, r4\npopne {r4, pc}",
    "higher": "sub sp, #16\nmov r3, sp\nstmib r3, {r2, lr}\nldr r1, [sp, #8]\nadd sp, #16\nbx r1",
    "lower_after": "sub sp, #16\nadd r3, sp, #8\nstmda r3, {r2, lr}\nldr r1, [sp, #8]\nadd sp, #16\nbx r1",
    "load_higher": "str lr, [sp, #-16]!\nsub r3, sp, #4\nldmib r3, {r1, r2}\nadd sp, #16\nbx r1",
    "load_lower": "str lr, [sp, #-16]!\nadd r3, sp, #8\nldmdb r3, {r1, r2}\nadd sp, #16\nbx r1",
    "load_lower_after": "str lr, [sp, #-16]!\nadd r3, sp, #4\nldmda r3, {r1, r2}\nadd sp, #16\nbx r1",
    "store_lower": "mov r3, sp\nsub sp, #16\nstmdb r3, {r2, lr}\nldr r1, [sp, #12]\nadd sp, #16\nbx r1",
    "vectors_lower": "mov r2, lr\nvmov s0, r2\nmov r3, sp\nvstmdb r3!, {d0, d1}\nvldmia r3!, {d4}\nvmov r1, s8\nbx r1",
    "vectors_higher": "vmov s2, lr\nsub r3, sp, #32\nvstmia r3!, {d1}\nvldmdb r3!, {d4}\nvmov r1, s8\nbx r1",
    "subtracted": "mov r1, #4\nstr lr, [sp, -r1, lsl #1]\nldr r3, [sp, #-8]\nbx r3",
    "exchange": "str r3, [sp, #-8]!\nswp r2, lr, [sp]\nldr r1, [sp], #8\nbx r1",
    "subtract_to_pc": "subs r3, lr, #4\nadd pc, r3, #4",
}
THUMB = {
    "in_block": "cmp sp, #0\nite eq\nmoveq lr, r0\nmovne r3, lr\nbx r3",
    "return_in_block": "push {r4, lr}\ncmp r4, #0\nmov r3, #1\ncmp r3, #0\nit ne\npopne {r4, pc}\nb .",
    "branch_if": "movs r3, #0\ncmp r3, #0\nbne .\nbx lr",
    "zero": "movs r3, #1\ncbz r3, 1f\nbx lr\n1: b .",
}
FUNCTIONS = {
    "x86_64": "fn main\n  sub rsp, 8\n  call f\nback:\n  mov eax, 42\n  add rsp, 8\n  ret\nfn f\n  nop\nf_body:\n",
    "arm64": "fn main\n  stp x29, x30, [sp, #-16]!\n  bl f\nback:\n  mov x0, #42\n  ldp x29, x30, [sp], #16\n  ret\n"
    "fn f\n  nop\nf_body:\n",
    "a32": "fn main\n  push {r4, lr}\n  bl f\nback:\n  mov r0, #42\n  pop {r4, pc}\nfn f\n  nop\nf_body:\n",
    "thumb": "fn main\n  push {r4, lr}\n  bl f\nback:\n  movs r0, #42\n  pop {r4, pc}\nfn f\n  nop\nf_body:\n",
}
WAYS = [
    *(("x86_64", name, code) for name, code in X86_64.items()),
    *(("arm64", name, code) for name, code in ARM64.items()),
    *(("a32", name, code) for name, code in {**ARM32, **A32}.items()),
    *(("thumb", name, code) for name, code in {**ARM32, **THUMB}.items()),
]


@pytest.mark.parametrize(("isa", "code"), [(isa, code) for isa, _, code in WAYS], ids=[f"{i}-{n}" for i, n, _ in WAYS])
def test_a_return_address_is_followed(isa: str, code: str) -> None:
    witness(isa, f"{FUNCTIONS[isa]}{code}\n", "f_body = f, main, _start", "back = main, _start")


SIGNED = {
    "link": "paciasp\nstr x30, [sp, #-16]!\nldr x30, [sp], #16\nautiasp\nret",
    "at_once": "pacibsp\nretab",
    "any": "pacia x30, sp\nmov x9, x30\nautia x9, sp\nbr x9",
    "x17": "mov x17, x30\nmov x16, sp\npacia1716\nautia1716\nbr x17",
    "zero": "paciaz\nautiaz\nret",
    "second_key": "pacibz\nautibz\nret",
    "both_at_once": "pacibsp\nautibsp\nret",
    "second_x17": "mov x17, x30\nmov x16, sp\npacib1716\nautib1716\nbr x17",
    "branch": "pacia x30, sp\nmov x9, x30\nmov x10, sp\nbraa x9, x10",
    "branch_zero": "paciza x30\nbraaz x30",
    "taken_off_at_once": "paciasp\nxpaclri\nret",
    "taken_off": "paciasp\nxpaci x30\nret",
}


@pytest.mark.parametrize("code", SIGNED.values(), ids=SIGNED)
def test_a_signed_return_address_is_followed(code: str) -> None:
    body = FUNCTIONS["arm64"].replace("fn main", ".arch armv8.3-a\nfn main")
    witness("arm64", f"{body}{code}\n", "f_body = f, main, _start", "back = main, _start", cpu="signing")


LOST = {
    "x86_64": "lea rcx, [rip + elsewhere]\nmov [rsp], rcx\nret\nelsewhere:\nmov edi, 42\nmov eax, 60\nsyscall",
    "arm64": "adr x30, elsewhere\nret\nelsewhere:\nmov x0, #42\nmov x8, #93\nsvc #0",
    "a32": "adr lr, elsewhere\nbx lr\nelsewhere:\nmov r0, #42\nmov r7, #1\nsvc #0",
    "thumb": "push {lr}\nmov r3, pc\nadds r3, #7\nstr r3, [sp]\npop {pc}\nnop\nelsewhere:\nmovs r0, #42\nmovs r7, #1\n"
    "svc #0",
}


@pytest.mark.parametrize("isa", LOST)
def test_another_value_in_its_place_is_not_a_return_address(isa: str) -> None:
    """Nothing goes on in `main`. Where the word that was pushed is gone, so is the activation of `f`."""
    stack = "f, _start" if isa == "x86_64" else "f, main, _start"
    witness(isa, f"{FUNCTIONS[isa]}{LOST[isa]}\n", f"elsewhere = {stack}")


# What the tables say of instructions, held against what they did: in a part of the corpus, at every step.

SAMPLE = [unit for unit in UNITS if unit.program in ("cxx_cleanups", "big_frame", "overaligned", "tail_branches")][::5]


def executed(trace: Trace) -> Iterator[tuple[int, list[int], list[int], Passage]]:
    """(step, registers before, registers after, passage) of every instruction that was executed to its end."""
    instructions = Instructions(trace)
    resumed = frozenset(trace.resumed)
    rows = trace.registers.tolist()
    flags = trace.arch.index[trace.arch.flags]
    for step in range(len(trace) - 1):
        size = int(trace.sizes[step])
        if not size or step + 1 in resumed:
            continue
        passage = instructions.at(step, int(trace.pc[step]), size, trace.isa(step))
        if passage.condition is None or holds(passage.condition, rows[step][flags]):
            yield step, rows[step], rows[step + 1], passage


def unknown_writes(trace: Trace) -> Counter[str]:
    """Registers that changed though nothing says that the instruction writes them.

    What a register has to do with its own address (``[x1], #8``) leaves it what it is, so those are not told.
    """
    arch = trace.arch
    found: Counter[str] = Counter()
    untold = {arch.pc, arch.sp, arch.flags, arch.link}
    for step, before, after, passage in executed(trace):
        told = {spot for spot, _ in passage.moves if isinstance(spot, str)}
        for name, old, new in zip(arch.index, before, after, strict=True):
            if old != new and name not in untold and name not in told and not _updated(passage, arch.index[name]):
                found[f"{name} at step {step}"] += 1
    return found


def _updated(passage: Passage, column: int) -> bool:
    words = [spot for move in passage.moves for spot in (move[0], *move[1]) if isinstance(spot, MemoryWord)]
    return any(word.base == column for word in words)


def wrong_addresses(trace: Trace) -> tuple[int, list[str]]:
    """How many words were loaded or stored, and those whose address turned out to be another one."""
    arch, wrong, count = trace.arch, list[str](), 0
    for step, before, after, passage in executed(trace):
        for to, sources in passage.moves:
            if len(sources) != 1 or passage.flow is not Flow.NEXT:
                continue
            source = sources[0]
            if isinstance(to, str) and isinstance(source, MemoryWord) and _whole(arch.index, to, after, trace):
                held = trace.memory(step).unsigned(source.address(before) & arch.word_mask, arch.word)
                value = after[arch.index[to]]
            elif isinstance(to, MemoryWord) and isinstance(source, str) and _whole(arch.index, source, before, trace):
                held = trace.memory(step + 1).unsigned(to.address(before) & arch.word_mask, arch.word)
                value = before[arch.index[source]]
            else:
                continue
            count += 1
            if value and held & 0xFF != value & 0xFF:
                wrong.append(f"step {step}: {to} {sources}")
    return count, wrong


def _whole(index: dict[str, int], name: str, row: Sequence[int], trace: Trace) -> bool:
    """A register of one word, and nothing that is computed from a part of it."""
    return name in index and trace.arch.by_name[name].bits == 8 * trace.arch.word and bool(row)


@pytest.mark.parametrize("unit", SAMPLE, ids=str)
def test_the_tables_know_what_is_written_and_where_memory_is(unit: Unit) -> None:
    trace = record(build_unit(unit, PROGRAMS).image)
    assert not unknown_writes(trace)
    count, wrong = wrong_addresses(trace)
    assert count and not wrong


def test_what_is_no_operand_is_known_to_be_written() -> None:
    code = (
        "mov eax, 7\npush rax\nmov ecx, 3\nmul rcx\ncmpxchg [rsp], rcx\nmov rbx, rsp\nxlatb\npcmpistrm xmm0, xmm0, 1\n"
    )
    assert not unknown_writes(recorded("x86_64", f"{FUNCTIONS['x86_64']}{code}cpuid\npop rax\ncqo\nret\n"))


RETURNS_42 = {
    "x86_64": "mov eax, 42\nret",
    "arm64": "mov x0, #42\nret",
    "a32": "mov r0, #42\nbx lr",
    "thumb": "movs r0, #42\nbx lr",
}


@pytest.mark.parametrize(
    ("isa", "code", "written"),
    [
        ("x86_64", "0f05", {"rax", "rcx", "r11"}),
        ("arm64", "010000d4", {"x0"}),
        ("a32", "000000ef", {"r0"}),
        ("thumb", "00df", {"r0"}),
    ],
)
def test_a_system_call_writes_its_result_and_keeps_the_link_register(isa: str, code: str, written: set[str]) -> None:
    trace = recorded(isa, f"fn main\n{RETURNS_42[isa]}\n")
    passage = effect_of(trace, trace.isa(0), bytes.fromhex(code), 0)
    assert passage.flow is Flow.NEXT
    assert {name: sources for name, sources in passage.moves} == dict.fromkeys(written, ())
