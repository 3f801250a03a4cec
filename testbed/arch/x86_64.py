"""x86_64: System V Application Binary Interface, AMD64 Architecture Processor Supplement (psABI 1.0).

DWARF numbers: figure 3.36. Callee-saved registers: section 3.2.1. Initial process stack and the zeroed
frame pointer that marks the outermost frame: section 3.4.1.
"""

from testbed.arch.model import Arch, ExitCall, ExtendedState, FrameRecord, Isa, Register, SignalFrame

_REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15"
_GENERAL = tuple(_REGISTERS.split())  # in DWARF order

# The same exit call as everywhere: the machine is Linux's, only the file is Apple's.
# The multi-byte no-operations that processor manuals recommend, longest first.
X86_64 = Arch(
    name="x86_64",
    title="x86_64",
    aliases=("amd64", "x64", "x86-64"),
    word=8,
    registers=(
        *(Register(n, i, 64) for i, n in enumerate(_GENERAL)),
        Register("rip", 16, 64),
        Register("rflags", 49, 64),
    ),
    pc="rip",
    sp="rsp",
    link=None,
    flags="rflags",
    return_address="rip",
    entry_cfa=8,
    code_mask=0xFFFF_FFFF_FFFF_FFFF,
    isas=(
        Isa(
            name="x86_64",
            records=(FrameRecord("rbp", "rbp", saved_pointer=0, return_address=8, cfa=16),),
            address_bit=0,
            mapping_symbol="",
        ),
    ),
    isa_flag=None,
    exit_call=ExitCall("rax", "rdi", frozenset({60, 231})),
    # arch/x86/include/asm/sigframe.h, uapi/asm/sigcontext.h: return address, ucontext, siginfo; above it FXSAVE's area.
    signal_frame=SignalFrame(
        call=15,
        size=440,
        alignment=16,
        skew=8,
        red_zone=128,
        registers={
            **{f"r{8 + i}": 48 + 8 * i for i in range(8)},
            **{n: 112 + 8 * i for i, n in enumerate(("rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip"))},
            "rflags": 184,
        },
        number=312,
        context=8,
        arguments=("rdi", "rsi", "rdx"),
        constants=((192, 8, 0x002B_0000_0000_0033),),  # ss, fs, gs, cs
        extended=ExtendedState(size=512, alignment=64, pointer=232),
    ),
)
