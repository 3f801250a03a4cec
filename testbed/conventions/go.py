"""Go: ABIInternal, which its compiler makes, and ABI0, which its assembly is written in.

A function gives back SP and the frame pointer. In ABIInternal the goroutine's register means the same to all code;
arguments and results of ABI0 lie on the stack, and 32-bit ARM has ABI0 only. Signal handlers run on a stack of their
own; still nothing lives below SP but, on arm64, the caller's frame pointer. Go's tables do not say where that is saved,
and Go's debuggers follow the frame record. (``src/cmd/compile/abi-internal.md``; "A Quick Guide to Go's Assembler".)
"""

from dataclasses import replace

from testbed.arch.arm32 import ARM32
from testbed.arch.arm64 import ARM64
from testbed.arch.x86_64 import X86_64
from testbed.conventions.model import Convention, saved

_X86_64 = ("rax", "rbx", "rcx", "rdi", "rsi", "r8", "r9", "r10", "r11")
_ARM64 = tuple(f"x{i}" for i in range(16))
_INTERNAL, _ZERO = "Go ABIInternal", "Go ABI0"

GO_X86_64 = Convention(
    name="go",
    title=_INTERNAL,
    arch=X86_64,
    saved=saved(X86_64, "rbp"),
    arguments=_X86_64,
    results=_X86_64,
    pointers=("rdx",),  # the closure
    fixed=("r14",),  # g
    return_register=None,
    stack_alignment=8,
    silent=True,
    record=X86_64.isas[0].records[0],
)
GO_ARM64 = Convention(
    name="go",
    title=_INTERNAL,
    arch=ARM64,
    saved=saved(ARM64, "x29"),
    arguments=_ARM64,
    results=_ARM64,
    pointers=("x26",),
    fixed=("x28", "x18"),  # g, the platform's
    return_register="x30",
    stack_alignment=16,
    red_zone=8,
    silent=True,
    record=ARM64.isas[0].records[0],
)
GO0_X86_64 = replace(GO_X86_64, name="go_abi0", title=_ZERO, arguments=(), results=(), fixed=())
GO0_ARM64 = replace(GO_ARM64, name="go_abi0", title=_ZERO, arguments=(), results=())
GO0_ARM32 = Convention(
    name="go_abi0",
    title=_ZERO,
    arch=ARM32,
    saved=(),
    arguments=(),
    results=(),
    pointers=("r7",),
    fixed=("r10",),
    return_register="lr",
    stack_alignment=4,
)
GO = (GO_X86_64, GO_ARM64, GO0_X86_64, GO0_ARM64, GO0_ARM32)
