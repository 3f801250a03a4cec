"""Control flow: what is known where ways part and meet, behind calls, and where code leaves its function.

A case is the code of a function, and what the rows at some of its offsets say: the CFA and registers (None: no rule),
or why there is no row.
"""

from collections.abc import Sequence

import pytest

from testbed.contract.rows import Offset, Undefined
from tests.unwinders.code import Code, Said, Symbols, cfa, rows_say, rsp, sp

NO_FRAME, NO_WAY = "leads to the CFA", "no way from the function's entry"
POPPED_EARLY = "push {r4, lr}; cmp r0, #0; popeq {r4, lr}; "  # what is true of it depends on the flags
RETHROWN = "push rbx; mov rbx, rsi; call 0x9000; mov rax, rbx; pop rbx; jmp rax; "  # then where exceptions land

WAYS: list[tuple[str, Sequence[Code], Said]] = [
    # An early return does not reach the code behind it.
    ("x86_64", ["push rbx; test rdi, rdi; jne 0x1008; pop rbx; ret; pop rbx; ret"], {7: rsp(8), 8: rsp(16)}),
    # Where two frames meet there is no row without a frame pointer, and one with it.
    ("x86_64", ["test rdi, rdi; je 0x1006; push rax; nop; ret"], {5: rsp(8), 6: NO_FRAME}),
    (
        "x86_64",
        ["push rbp; mov rbp, rsp; test rdi, rdi; je 0x100a; push rax; nop; leave; ret"],
        {10: cfa("rbp", 16), 12: rsp(8)},
    ),
    # A register clobbered on one way is where it was saved, or lost.
    ("x86_64", ["push rbx; test rdi, rdi; je 0x1008; xor ebx, ebx; nop; pop rbx; ret"], {8: {"rbx": Offset(-16)}}),
    ("x86_64", ["test rdi, rdi; je 0x1007; xor ebx, ebx; nop; ret"], {7: {"rbx": Undefined()}}),
    # A call whose way on contradicts another way does not return: `abort`, behind which the jump's label stands.
    ("x86_64", ["test rdi, rdi; jne 0x100b; push rax; call 0x9000; ret"], {11: rsp(8), 6: rsp(16)}),
    # Nor does one behind which one way has rbx in its slot only, and the other has it unchanged and stored nothing.
    (
        "x86_64",
        [
            "sub rsp, 24; test rdi, rdi; jne 0x1015; mov [rsp + 8], rbx; xor ebx, ebx; call 0x9000; "
            "nop; add rsp, 24; ret"
        ],
        {0x15: {"rbx": None}, 0x10: {"rbx": Offset(-24)}},
    ),
    # A jump table has as many cases as its index was compared with. Behind it lies code that no case begins with: read
    # as one more case, it leads into the middle of one.
    (
        "thumb",
        [
            "push {r4, lr}; cmp r0, #1; bhi 0x100e; tbh [pc, r0, lsl #1]",
            (6).to_bytes(2, "little") * 2,  # halved distances from the table
            "pop {r4, pc}",
            (7).to_bytes(2, "little") * 3,
            "sub sp, #8; add sp, #8; pop {r4, pc}",
        ],
        {0x18: sp(16), 0x0E: sp(8)},
    ),
    # Constants between the code are no code.
    (
        "thumb",
        [
            "push {r4, lr}; ldr r0, [pc, #8]; cmp r0, r1; bne 0x1010; bx r2; nop",
            bytes.fromhex("00b5 00b5"),  # push {lr}, twice
            "movs r4, #0; pop {r4, pc}",
        ],
        {0x10: sp(8), 0x0E: "no way"},
    ),
    # Code that no way leads to changes nothing that a way leads to.
    (
        "x86_64",
        ["push rcx; test rdi, rdi; jne 0x100a; jmp rax; xor ebx, ebx; nop; pop rcx; ret"],
        {10: {"rbx": None}, 8: rsp(16)},
    ),
    # Exceptions land in the frame with all that is saved on some way.
    (
        "x86_64",
        [
            "test rdi, rdi; jne 0x1013; sub rsp, 8; call 0x9000; add rsp, 8; ret; "
            "push rbx; call 0x9000; pop rbx; ret; mov ebx, 1; ret"
        ],
        {0x20: rsp(16, rbx=Offset(-16))},
    ),
    # A tail call through a pointer is no jump table: behind it exceptions land, in the frame of the call before it.
    ("x86_64", [RETHROWN + ".byte 0xf3, 0x0f, 0x1e, 0xfa; mov rdi, rax; ret"], {0x16: rsp(16)}),  # endbr64
    ("x86_64", [RETHROWN + "mov rdi, rax; ret"], {0x12: rsp(16)}),
    # A jump through a register goes where no other way leads.
    (
        "x86_64",
        ["push rbx; jmp rax; xor ebx, ebx; pop rbx; ret"],
        {3: rsp(16), 5: {"rbx": Offset(-16)}},
    ),
    ("x86_64", ["push rbx; pop rbx; ret; mov eax, ebx; ret"], {3: NO_WAY}),
    # A table branch is read, and its table is no code.
    (
        "thumb",
        [
            "push {r4, r5, r6, r7, lr}; movs r4, #1; tbb [pc, r0]",
            bytes([2, 4, 2, 5]),  # halved distances from the table
            "movs r5, #1; nop; movs r6, #1; movs r7, #1; pop {r4, r5, r6, r7, pc}",
        ],
        {0x14: sp(20, r4=Offset(-20), r7=Offset(-8)), 8: NO_WAY},
    ),
    # Predicated returns leave the frame of those who stay.
    (
        "a32",
        ["push {r4, lr}; cmp r0, #0; addeq sp, sp, #0; popeq {r4, pc}; mov r4, #1; pop {r4, pc}"],
        {16: sp(8), 20: sp(8)},
    ),
    # Under one condition two instructions see one state, and a branch under it takes that state away.
    ("a32", [POPPED_EARLY + "bxeq lr; mov r4, #1; pop {r4, pc}"], {16: sp(8), 12: NO_FRAME}),
    (
        "a32",
        [POPPED_EARLY + "beq 0x9000; mov r4, #1; adds r4, r4, #1; pop {r4, pc}"],
        {16: sp(8), 20: sp(8), 24: sp(8), 12: NO_FRAME},
    ),
    ("a32", [POPPED_EARLY + "bne 0x9000; mov r4, #1; adds r4, r4, #1; pop {r4, pc}"], {16: sp(0)}),
    # A probing loop ends at its limit.
    (
        "x86_64",
        ["lea r11, [rsp - 0x5000]; sub rsp, 0x1000; mov qword ptr [rsp], 0; cmp rsp, r11; jne 0x1008; nop; ret"],
        {28: rsp(0x5008), 23: cfa("r11", 0x5008)},
    ),
    # Push and return is a jump.
    ("x86_64", ["lea rax, [rip + 3]; push rax; ret; int3; push rbx; ret"], {10: rsp(8)}),
    # A jump with a frame goes where no way leads sooner than one without, which may leave the function.
    (
        "x86_64",
        [
            "test rdi, rdi; jne 0x100b; push rbx; add rax, rcx; jmp rax; add rcx, rdx; jmp rcx; "
            "xor ebx, ebx; pop rbx; ret"
        ],
        {16: rsp(16), 18: {"rbx": Offset(-16)}},
    ),
    ("x86_64", ["add rax, rcx; jmp rax; push rbx; pop rbx; ret"], {5: rsp(8), 6: rsp(16), 7: rsp(8)}),
    # Who is not greater goes on, deeper than behind the call, which would be where code begins otherwise: what is
    # reached under the last of all conditions is reached.
    (
        "a32",
        [
            "push {r4, lr}; bl 0x9000; sub sp, sp, #8; cmp r0, #0; addgt sp, sp, #8; popgt {r4, pc}; "
            "mov r4, #1; add sp, sp, #8; pop {r4, pc}"
        ],
        {24: sp(16), 28: sp(16), 32: sp(8)},
    ),
    # A comparison tells where a stack is that was aligned: SP is an address of its own behind the alignment, and what
    # is stored there with it, until it equals r11.
    (
        "x86_64",
        ["lea r11, [rsp - 0x28]; and rsp, -32; push r12; xor r12d, r12d; cmp rsp, r11; jne 0x1014; nop; int3"],
        {19: rsp(0x30, r12=Offset(-0x30))},
    ),
    # A signal's trampoline is refused.
    ("x86_64", ["mov eax, 15; syscall"], {0: "signal"}),
    ("x86_64", ["mov eax, 60; syscall"], {0: rsp(8)}),
]

FUNCTION: Symbols = (("f", 0, 0x10),)
TWO_FUNCTIONS: Symbols = (*FUNCTION, ("g", 0x10, 0))
MOVED = "stp x29, x30, [sp, #-32]!; b 0x1010; ldp x29, x30, [sp], #32; ret; "
THUNK_END = "e807000000 f390 0faee8 ebf9 488d642408 c3"  # call 1f; 2: pause; lfence; jmp 2b; 1: lea rsp, [rsp + 8]; ret
PROFILED = "push {lr}; bl 0x1010; add r0, r0, #4; bx lr; "
PROFILERS = (  # GCC's -pg: push {lr}; bl __gnu_mcount_nc. The GNU C library's calls on, and ends in bx ip.
    "push {lr}; ldr lr, [sp, #4]; ldr pc, [sp], #8",
    "push {r0, r1, r2, r3, lr}; bic r1, lr, #1; ldr r0, [sp, #20]; bl 0x9000; pop {r0, r1, r2, r3, r12, lr}; bx r12",
)
BEFORE_CONSTANT: Code = "push {r4, lr}; ldr r3, [pc, #12]; cbz r3, 0x100c; pop {r4, pc}; nop; nop; bl 0x9000"

CALLS: list[tuple[str, Sequence[Code], Symbols, Said]] = [
    # A return thunk's call of its own end is none, nor is a retpoline's: it returns to where rax says.
    ("x86_64", [bytes.fromhex(THUNK_END)], (), {0: rsp(8), 0xC: rsp(16), 0x11: rsp(8)}),
    (
        "x86_64",
        [bytes.fromhex("e807000000 f390 0faee8 ebf9 48890424 c3")],
        (),
        {0: rsp(8), 0xC: rsp(16), 0x10: rsp(16)},
    ),
    # A subroutine that returns has a caller: push rbx; call 1f; pop rbx; ret; 1: push rcx; pop rcx; ret.
    (
        "x86_64",
        [bytes.fromhex("53 e802000000 5b c3 51 59 c3")],
        (),
        {1: rsp(16), 6: rsp(16), 8: rsp(8), 9: rsp(16)},
    ),
    # An address that is called for and taken is pushed, as position-independent code of old does:
    # push rbx; call 1f; 1: pop rbx; xor ebx, ebx; pop rbx; ret.
    (
        "x86_64",
        [bytes.fromhex("53 e800000000 5b 31db 5b c3")],
        (),
        {6: rsp(24), 7: rsp(16), 9: rsp(16, rbx=Offset(-16)), 10: rsp(8)},
    ),
    # A call that is none is where its state goes, whatever was called before:
    # push rbx; call far; call 1f; 1: pop rbx; xor ebx, ebx; pop rbx; ret. Behind the first call another state holds.
    (
        "x86_64",
        [bytes.fromhex("53 e8fa7f0000 e800000000 5b 31db 5b c3")],
        (),
        {11: rsp(24), 12: rsp(16), 14: rsp(16)},
    ),
    (
        "x86_64",
        [bytes.fromhex("5050 e8f97f0000 5858" + THUNK_END)],
        (),
        {9: rsp(8), 21: rsp(16), 26: rsp(8)},
    ),
    # A profiler takes the return address that is pushed for it: it is in lr again.
    *(
        (
            "a32",
            [PROFILED + profiler],
            (*FUNCTION, ("profiler", 0x10, 0)),
            {0: sp(0), 4: sp(4), 8: sp(0, lr=None), 12: sp(0)},
        )
        for profiler in PROFILERS
    ),
    # One that goes on for more than 64 instructions is followed no further: a callee like others.
    *(
        (
            "a32",
            ["push {lr}; bl 0x100c; nop; " + "nop; " * (length - 3) + PROFILERS[0]],
            (("f", 0, 0xC), ("profiler", 0xC, 0)),
            {8: sp(depth)},
        )
        for length, depth in ((40, 0), (70, 4))
    ),
    # Another callee leaves the word on top where it is.
    (
        "a32",
        ["push {lr}; bl 0x1010; nop; pop {pc}; push {r4, lr}; pop {r4, pc}"],
        TWO_FUNCTIONS,
        {0: sp(0), 4: sp(4), 8: sp(4, lr=Offset(-4)), 12: sp(4)},
    ),
    # A callee that pops its arguments is looked at.
    (
        "x86_64",
        ["push 1; push 2; call 0x100b; nop; ret", "mov rax, [rsp + 8]; ret 16"],
        (("f", 0, 11), ("g", 11, 8)),
        {10: rsp(8)},
    ),
    # A call in front of a constant does not return: read as instructions, the constant overwrites r6, and goes on into
    # the function (nop; mov r6, r1) or back (mov r6, r1; b back).
    *(
        ("thumb", (BEFORE_CONSTANT, constant), (), {at: sp(8, r6=None) for at in (2, 4, 6, 0xC)})
        for constant in (bytes.fromhex("00bf 0e46"), bytes.fromhex("0e46 f6e7"))
    ),
    # A call in two instructions comes back with the frame that it left.
    ("x86_64", ["sub rsp, 8; lea rax, [rip + 6]; push rax; jmp 0x9000; nop; add rsp, 8; ret"], (), {17: rsp(16)}),
    (
        "arm64",
        ["str x30, [sp, #-16]!; .byte 0x5e, 0, 0, 0x10; b 0x9000; nop; ldr x30, [sp], #16; ret"],
        (),
        {12: sp(16)},
    ),
    ("a32", ["push {r4, lr}; mov lr, pc; b 0x9000; nop; pop {r4, pc}"], (), {12: sp(8)}),
    # A subroutine that goes on where the function does is one though it never comes back: both ways lead to where the
    # stack is left for another, and that the return address is lost there says nothing.
    (
        "x86_64",
        ["test rdi, rdi; jne 0x100c; call 0x100b; ret; nop; mov rsp, [rdi]; jmp qword ptr [rdi + 8]"],
        (),
        {0xA: rsp(8), 0xB: rsp(8), 0xC: rsp(8)},
    ),
    # Behind an instruction that a linker has moved out of the function, for a processor's erratum, it goes on.
    ("arm64", [MOVED + "ldr x0, [x0, #8]; b 0x1008"], FUNCTION, {8: sp(32), 12: sp(0)}),
    ("arm64", [MOVED + "str x19, [sp, #16]; b 0x1008"], FUNCTION, {8: {"x19": Offset(-16)}}),
    # Other code without a symbol is left by a tail call.
    ("arm64", [MOVED + "ldr x0, [x0, #8]; b 0x100c"], FUNCTION, {8: NO_WAY}),  # it goes on somewhere else
    ("arm64", [MOVED + "ldr x0, [x0, #8]; cbz x0, 0x1008; ret"], FUNCTION, {8: NO_WAY}),
    ("arm64", [MOVED + "nop; nop; nop; b 0x1008"], FUNCTION, {8: NO_WAY}),  # too long for one
    ("arm64", [MOVED + "b 0x1008"], FUNCTION, {8: NO_WAY}),
    ("arm64", [MOVED + "ldr x0, [x0, #8]; ret"], FUNCTION, {8: NO_WAY}),
    # A function that does one thing is no moved instruction.
    ("arm64", [MOVED + "ldr x0, [x0, #8]; b 0x1008"], (*FUNCTION, ("g", 0x10, 8)), {8: NO_WAY}),
]


@pytest.mark.parametrize(("isa", "parts", "said"), WAYS)
def test_where_ways_part_and_meet(isa: str, parts: Sequence[Code], said: Said) -> None:
    rows_say(isa, parts, (), said)


@pytest.mark.parametrize(("isa", "parts", "symbols", "said"), CALLS)
def test_calls_and_what_comes_back(isa: str, parts: Sequence[Code], symbols: Symbols, said: Said) -> None:
    rows_say(isa, parts, symbols, said)
