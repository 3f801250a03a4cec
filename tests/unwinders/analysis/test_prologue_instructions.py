"""What each class of instruction does to the row behind it, on every instruction set."""

import pytest

from testbed.contract.rows import RA_SIGNED, AtRegister, Offset, RegisterPlus, Rule, Undefined, ValExpression
from testbed.words.errors import NoUnwindInfo
from tests.unwinders.code import START, assembled, image_of, row_after
from unwinders.analysis.prologue_analysis import row_at

SP8, RA8 = RegisterPlus("rsp", 8), Offset(-8)
U = Undefined()

X86 = {
    "": (SP8, {}),
    ".byte 0xf3, 0x0f, 0x1e, 0xfa": (SP8, {}),
    "push rbp": (RegisterPlus("rsp", 16), {"rbp": Offset(-16)}),
    "push rbp; mov rbp, rsp": (RegisterPlus("rsp", 16), {"rbp": Offset(-16)}),
    "push rbx; mov ebx, 5": (RegisterPlus("rsp", 16), {"rbx": Offset(-16)}),
    "push rbx; xor ebx, ebx; xor qword ptr [rsp], 0": (RegisterPlus("rsp", 16), {"rbx": Offset(-16)}),  # a probe
    "push rbx; xor ebx, ebx; or qword ptr [rsp], 0": (RegisterPlus("rsp", 16), {"rbx": Offset(-16)}),
    "push rbx; xor ebx, ebx; or qword ptr [rsp], 1": (RegisterPlus("rsp", 16), {"rbx": U}),
    "push rbx; xor ebx, ebx; pop rbx": (SP8, {}),
    "push rbx; push r12; xor ebx, ebx; xor r12d, r12d; pop rcx": (
        RegisterPlus("rsp", 16),
        {"rbx": Offset(-16), "r12": RegisterPlus("rcx", 0)},
    ),
    "push 5; push qword ptr [rdi]; pushfq": (RegisterPlus("rsp", 32), {}),
    "sub rsp, 0x18": (RegisterPlus("rsp", 32), {}),
    "sub rsp, 0x100; sub rsp, -0x80": (RegisterPlus("rsp", 0x88), {}),
    "sub rsp, 0x18; add rsp, 0x10": (RegisterPlus("rsp", 16), {}),
    "lea rsp, [rsp - 0x28]": (RegisterPlus("rsp", 48), {}),
    "mov eax, 0x5000; sub rsp, rax": (RegisterPlus("rsp", 0x5008), {}),
    "xor eax, eax; sub rsp, rax": (SP8, {}),
    "movabs rax, 0x100000000; sub rsp, rax": (RegisterPlus("rsp", 0x1_0000_0008), {}),
    "mov [rsp - 8], rbx; sub rsp, 8; inc rbx": (RegisterPlus("rsp", 16), {"rbx": Offset(-16)}),
    "sub rsp, 24; mov [rsp + 8], rbx; dec rbx; mov rbx, [rsp + 8]": (RegisterPlus("rsp", 32), {"rbx": Offset(-24)}),
    "sub rsp, 24; mov [rsp + 8], rbx; dec rbx; mov dword ptr [rsp + 12], 1": (RegisterPlus("rsp", 32), {"rbx": U}),
    "push rbp; mov rbp, rsp; sub rsp, 32; leave": (SP8, {}),
    "enter 32, 0": (RegisterPlus("rsp", 48), {"rbp": Offset(-16)}),
    "push rbp; mov rbp, rsp; and rsp, -32": (RegisterPlus("rbp", 16), {"rbp": Offset(-16)}),
    "push rbp; mov rbp, rsp; sub rsp, rdi": (RegisterPlus("rbp", 16), {"rbp": Offset(-16)}),
    "push rbp; mov rbp, rsp; and rsp, -32; lea rsp, [rbp - 8]": (RegisterPlus("rsp", 24), {"rbp": Offset(-16)}),
    "push rbp; mov rbp, rsp; and rsp, -32; push rbx; xor ebx, ebx": (
        RegisterPlus("rbp", 16),
        {"rbp": Offset(-16), "rbx": AtRegister("rsp", 0)},
    ),
    "lea r10, [rsp + 8]; and rsp, -32; push [r10 - 8]; push rbp; mov rbp, rsp; push r10; mov r10, rdi": (
        AtRegister("rsp", 0),
        {"rbp": AtRegister("rsp", 8)},
    ),
    "mul rbx; cpuid": (SP8, {"rbx": U}),
    "setne bl": (SP8, {"rbx": U}),
    "cmove rbx, rax": (SP8, {"rbx": U}),
    "mov r12, rbx; mov ebx, 5": (SP8, {"rbx": RegisterPlus("r12", 0), "r12": U}),
    "call 0x1005": (RegisterPlus("rsp", 16), {}),
    "call 0x1005; pop rbx": (SP8, {"rbx": U}),
    "pop rcx": (RegisterPlus("rsp", 0), {"rip": RegisterPlus("rcx", 0)}),
    "cmp rbx, rax; test r12, r12": (SP8, {}),
}

LR = "x30"
A64 = {
    "": (RegisterPlus("sp", 0), {}),
    "stp x29, x30, [sp, #-16]!": (RegisterPlus("sp", 16), {LR: Offset(-8), "x29": Offset(-16)}),
    "stp x29, x30, [sp, #-16]!; mov x29, sp": (RegisterPlus("sp", 16), {LR: Offset(-8), "x29": Offset(-16)}),
    "stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16": (RegisterPlus("sp", 0), {}),
    "sub sp, sp, #32; str x30, [sp, #16]; mov x30, #1": (RegisterPlus("sp", 32), {LR: Offset(-16)}),
    "str x30, [sp, #-16]!; ldr x30, [sp], #16": (RegisterPlus("sp", 0), {}),
    "stur x30, [sp, #-8]; sub sp, sp, #8; mov x30, #0": (RegisterPlus("sp", 8), {LR: Offset(-8)}),
    "sub sp, sp, #1, lsl #12; sub sp, sp, #16": (RegisterPlus("sp", 4112), {}),
    "movz x9, #1, lsl #16; movk x9, #8; sub sp, sp, x9": (RegisterPlus("sp", 0x10008), {}),
    "mov w9, #4096; sub sp, sp, x9": (RegisterPlus("sp", 4096), {}),
    "stp x29, x30, [sp, #-32]!; add x29, sp, #16; mov x9, x1; sub sp, sp, x9": (
        RegisterPlus("x29", 16),
        {LR: Offset(-24), "x29": Offset(-32)},
    ),
    "stp x29, x30, [sp, #-32]!; mov x29, sp; sub x9, sp, #64; and sp, x9, #-32; mov sp, x29": (
        RegisterPlus("sp", 32),
        {LR: Offset(-24), "x29": Offset(-32)},
    ),
    "stp d8, d9, [sp, #-16]!; fmov d8, x1; mov v9.16b, v0.16b": (
        RegisterPlus("sp", 16),
        {"d8": Offset(-16), "d9": Offset(-8)},
    ),
    "stp x19, x20, [sp, #-16]!; mov w19, w1; ldr w20, [x1]": (
        RegisterPlus("sp", 16),
        {"x19": Offset(-16), "x20": Offset(-8)},
    ),
    "hint #25; stp x29, x30, [sp, #-16]!": (
        RegisterPlus("sp", 16),
        {LR: Offset(-8), "x29": Offset(-16), RA_SIGNED: 1},
    ),
    "hint #25; hint #29": (RegisterPlus("sp", 0), {}),
    # With the second key: pacibsp and autibsp, and with zero for SP: paciaz and autiaz, pacibz and autibz.
    "hint #27": (RegisterPlus("sp", 0), {RA_SIGNED: 1}),
    "hint #27; hint #31": (RegisterPlus("sp", 0), {}),
    "hint #24": (RegisterPlus("sp", 0), {RA_SIGNED: 1}),
    "hint #24; hint #28": (RegisterPlus("sp", 0), {}),
    "hint #26": (RegisterPlus("sp", 0), {RA_SIGNED: 1}),
    "hint #26; hint #30": (RegisterPlus("sp", 0), {}),
    # Its signature taken off for a profiler: a call that follows overwrites that one, and not the slot.
    "hint #25; stp x29, x30, [sp, #-16]!; hint #7; mov x0, x30": (
        RegisterPlus("sp", 16),
        {LR: Offset(-8), "x29": Offset(-16), RA_SIGNED: 1},
    ),
    "hint #25; mov x19, x30; hint #7": (
        RegisterPlus("sp", 0),
        {LR: RegisterPlus("x19", 0), "x19": U, RA_SIGNED: 1},
    ),
    "mov x9, x30; mov x30, #0": (RegisterPlus("sp", 0), {LR: RegisterPlus("x9", 0)}),
    "csel x19, x1, x2, eq": (RegisterPlus("sp", 0), {"x19": U}),
    "cmp sp, x9; tst x19, x20": (RegisterPlus("sp", 0), {}),
    "stp x19, x20, [sp, #-16]!; mov x19, #0; str w1, [sp, #4]": (
        RegisterPlus("sp", 16),
        {"x19": U, "x20": Offset(-8)},
    ),
}

R4: dict[str, Rule | int] = {"r4": Offset(-12)}
A32 = {
    "": (RegisterPlus("sp", 0), {}),
    "push {r4, r11, lr}": (RegisterPlus("sp", 12), {"r4": Offset(-12), "r11": Offset(-8), "lr": Offset(-4)}),
    "push {r4, lr}; mov r4, #0; pop {r4, lr}": (RegisterPlus("sp", 0), {}),
    "str lr, [sp, #-4]!; mov lr, #0": (RegisterPlus("sp", 4), {"lr": Offset(-4)}),
    "str lr, [sp, #-8]!; sub sp, sp, #0x400; add sp, sp, #0x400; ldr lr, [sp], #8": (RegisterPlus("sp", 0), {}),
    "stmdb sp!, {r4, r5, lr}; mov r5, #1": (RegisterPlus("sp", 12), R4 | {"lr": Offset(-4), "r5": Offset(-8)}),
    "sub sp, sp, #16; stmib sp, {r4, lr}; mov r4, #1; mov lr, #1": (
        RegisterPlus("sp", 16),
        {"r4": Offset(-12), "lr": Offset(-8)},
    ),
    "push {r11, lr}; add r11, sp, #4; sub sp, sp, r0": (RegisterPlus("r11", 4), {"r11": Offset(-8), "lr": Offset(-4)}),
    "movw r12, #0x5000; movt r12, #1; sub sp, sp, r12": (RegisterPlus("sp", 0x15000), {}),
    "mvn r12, #0xff; add sp, sp, r12": (RegisterPlus("sp", 0x100), {}),
    "mov r12, sp; push {r11, r12, lr, pc}; sub r11, r12, #4": (
        RegisterPlus("sp", 16),
        {"r11": Offset(-16), "lr": Offset(-8)},
    ),
    "mov r12, sp; push {r11, r12, lr, pc}; sub r11, r12, #4; sub sp, sp, r0; ldmdb r11, {r11, sp, lr}": (
        RegisterPlus("sp", 0),
        {},
    ),
    "vpush {d8, d9}; vmov d8, r0, r1; vmov s18, r0": (RegisterPlus("sp", 16), {"d8": Offset(-16), "d9": Offset(-8)}),
    "vpush {d8, d9}; vmov d8, r0, r1; vpop {d8, d9}": (RegisterPlus("sp", 0), {}),
    "sub sp, sp, #8; vstr d8, [sp]; vadd.i32 q4, q0, q1": (RegisterPlus("sp", 8), {"d8": Offset(-8), "d9": U}),
    "sub sp, sp, #8; strd r4, r5, [sp]; smull r4, r5, r0, r1": (
        RegisterPlus("sp", 8),
        {"r4": Offset(-8), "r5": Offset(-4)},
    ),
    "push {r7, lr}; mov r7, sp; bic sp, sp, #15": (RegisterPlus("r7", 8), {"r7": Offset(-8), "lr": Offset(-4)}),
    "moveq r4, #1": (RegisterPlus("sp", 0), {"r4": U}),
    "svc #0": (RegisterPlus("sp", 0), {}),
}

THUMB = {
    "push {r4, r7, lr}": (RegisterPlus("sp", 12), {"r4": Offset(-12), "r7": Offset(-8), "lr": Offset(-4)}),
    "push {r7, lr}; add r7, sp, #0; sub sp, #8": (RegisterPlus("sp", 16), {"r7": Offset(-8), "lr": Offset(-4)}),
    "push {r7, lr}; sub sp, #8; add sp, #8; pop {r7}": (RegisterPlus("sp", 4), {"lr": Offset(-4)}),
    "push.w {r4, r8, lr}; mov.w r8, #1": (RegisterPlus("sp", 12), R4 | {"r8": Offset(-8), "lr": Offset(-4)}),
    "push {r4, r5, r6, r7, lr}; add r7, sp, #12; str r11, [sp, #-4]!": (
        RegisterPlus("sp", 24),
        {
            "r4": Offset(-20),
            "r5": Offset(-16),
            "r6": Offset(-12),
            "r7": Offset(-8),
            "r11": Offset(-24),
            "lr": Offset(-4),
        },
    ),
    "sub.w sp, sp, #0x1000; subw sp, sp, #5": (RegisterPlus("sp", 0x1005), {}),
    "push {r7, lr}; mov r7, sp; mov r4, sp; mov sp, r0": (
        RegisterPlus("r7", 8),
        {"r4": U, "r7": Offset(-8), "lr": Offset(-4)},
    ),
    "push {r7, lr}; mov r7, sp; mov sp, r0; mov sp, r7; pop {r7}": (RegisterPlus("sp", 4), {"lr": Offset(-4)}),
    "vpush {d8}; vpop {d8}": (RegisterPlus("sp", 0), {}),
    "movs r4, #1; adds r5, #1": (RegisterPlus("sp", 0), {"r4": U, "r5": U}),
}

CASES = [
    pytest.param(isa, text, cfa, rules, id=f"{isa}-{text or 'entry'}")
    for isa, cases in {"x86_64": X86, "arm64": A64, "a32": A32, "thumb": THUMB}.items()
    for text, (cfa, rules) in cases.items()
]


@pytest.mark.parametrize(("isa", "text", "cfa", "rules"), CASES)
def test_the_row_behind(isa: str, text: str, cfa: Rule, rules: dict[str, Rule | int]) -> None:
    row = row_after(isa, text) if text else row_at(image_of(isa, assembled(isa, "nop")), START)
    said = {name: getattr(rule, "value", rule) for name, rule in row.registers.items()}
    if isa == "x86_64" and "rip" not in rules and not isinstance(cfa, AtRegister) and said.get("rip") == RA8:
        del said["rip"]
    if isinstance(cfa, AtRegister):
        assert said.pop("rip") == RA8
    assert (row.cfa, said) == (cfa, rules)


@pytest.mark.parametrize(
    ("isa", "text"),
    [
        ("x86_64", "and rsp, -32"),
        ("x86_64", "sub rsp, rdi"),
        ("x86_64", "xchg rsp, rax"),
        ("x86_64", "mov rsp, [rdi]"),
        ("x86_64", "mov [rsp], rdi"),
        ("arm64", "sub x9, sp, #64; and sp, x9, #-32; mov x9, #0"),
        ("arm64", "mov x30, #0"),
        ("arm64", "ldr w9, 0x1000; sub sp, sp, x9"),  # not the eight bytes of `ldr x9`
        ("a32", "bic sp, sp, #15"),
        ("a32", "ldr lr, [r0]"),
        ("thumb", "mov sp, r0"),
    ],
)
def test_it_says_nothing_where_the_frame_or_the_way_back_is_lost(isa: str, text: str) -> None:
    with pytest.raises(NoUnwindInfo, match=r"leads to the CFA|the return address is in no"):
        row_after(isa, text)


def test_a_cfa_stored_at_a_distance_is_an_expression() -> None:
    row = row_after("x86_64", "lea r10, [rsp + 16]; and rsp, -32; push [r10 - 16]; push r10; xor r10d, r10d")
    assert isinstance(row.cfa, ValExpression)
    assert [operation.opcode for operation in row.cfa.operations] == [0x77, 0x06, 0x23]
    assert row.cfa.operations[2].operands == ((1 << 64) - 8,)


@pytest.mark.parametrize(
    ("isa", "text", "lost"),
    [
        ("x86_64", "mov r10, rbx; call 0x9000", "r10"),
        ("arm64", "str x30, [sp, #-16]!; bl 0x9000", "x9"),
        ("a32", "push {r4, lr}; bl 0x9000", "r12"),
        ("thumb", "push {r4, lr}; bl 0x9000", "r3"),
    ],
)
def test_a_call_keeps_sp_and_the_callee_saved_registers(isa: str, text: str, lost: str) -> None:
    before, after = row_after(isa, text.rpartition(";")[0]), row_after(isa, text)
    assert (before.cfa, before.registers) == (after.cfa, after.registers)
    assert all(getattr(rule, "register", None) != lost for rule in after.registers.values())


def test_after_a_call_the_link_register_leads_nowhere() -> None:
    with pytest.raises(NoUnwindInfo, match="the return address is in no"):
        row_after("arm64", "bl 0x9000")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("mov [rsp - 24], rbx; sub rsp, 40; call 0x9000; xor ebx, ebx", Offset(-32)),
        ("mov [rsp - 24], rbx; call 0x9000; sub rsp, 40; xor ebx, ebx", U),
        ("push rbx; pop rcx; call 0x9000; sub rsp, 40; xor ebx, ebx", U),
        ("push rbx; pop rcx; sub rsp, 40; xor ebx, ebx", Offset(-16)),
    ],
)
def test_a_call_uses_the_stack_below_sp_as_it_likes(text: str, rule: Rule) -> None:
    assert row_after("x86_64", text).registers["rbx"] == rule


SETJMP = {
    "a32": "push {r4, r5, r11, lr}; add r11, sp, #12; stmib r3, {r2, sp}; bl 0x9000; bl 0xa000",
    "thumb": "push {r4, r5, r7, lr}; add r7, sp, #0; bl 0x1900; bl 0x1a00",
    "arm64": "stp x29, x30, [sp, #-32]!; mov x29, sp; stp x19, x20, [sp, #16]; bl 0x9000; bl 0xa000",
    "x86_64": "push rbp; mov rbp, rsp; push r12; push rbx; call 0x9000; call 0xa000",
}


@pytest.mark.parametrize("isa", SETJMP)
def test_a_register_that_was_seen_saved_is_taken_from_there(isa: str) -> None:
    """Behind the call that throws with __builtin_longjmp control comes back with other registers than before it."""
    row = row_after(isa, SETJMP[isa])
    saved = {"a32": "r4 r5 r11", "thumb": "r4 r5 r7", "arm64": "x19 x20 x29", "x86_64": "rbx r12 rbp"}[isa].split()
    assert all(isinstance(row.registers.get(name), Offset) for name in saved), row.registers
