"""OCaml's native code: no register is callee-saved, the runtime's own are fixed (asmcomp/*/proc.ml of OCaml 4.14 and
5.2).

With ``--with-frame-pointers`` rbp is a frame pointer and comes back; without, it is a register as any other, so the
convention does not promise it.

``ocaml_raise`` is that of ``caml_raise_exception``: C calls it by its own convention, and it goes on in a handler of
OCaml's, so what is fixed there is changed for good, and nobody comes back.
"""

from dataclasses import replace

from testbed.arch.arm32 import ARM32
from testbed.arch.arm64 import ARM64
from testbed.arch.x86_64 import X86_64
from testbed.conventions.aapcs32 import AAPCS32
from testbed.conventions.aapcs64 import AAPCS64
from testbed.conventions.model import Convention
from testbed.conventions.system_v import SYSTEM_V

_TITLE = "OCaml"

_CODE = (
    Convention(
        name="ocaml",
        title=_TITLE,
        arch=X86_64,
        saved=(),
        arguments=("rax", "rbx", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r12", "r13"),
        results=("rax",),
        fixed=("r14", "r15"),  # the domain's state, the minor heap's next word
        return_register=None,
        stack_alignment=16,
    ),
    Convention(
        name="ocaml",
        title=_TITLE,
        arch=ARM64,
        saved=(),
        arguments=tuple(f"x{i}" for i in range(16)),
        results=("x0",),
        fixed=("x26", "x27", "x28"),  # the innermost handler, the minor heap's next word, the domain's state
        return_register="x30",
        stack_alignment=16,
    ),
    Convention(
        name="ocaml",
        title=_TITLE,
        arch=ARM32,
        saved=(),
        arguments=tuple(f"r{i}" for i in range(8)),
        results=("r0",),
        fixed=("r8", "r10", "r11"),
        return_register="lr",
        stack_alignment=8,
    ),
)
_RAISE = tuple(
    replace(
        its,
        name="ocaml_raise",
        title="OCaml's way from C to a handler",
        saved=tuple(each for each in its.saved if each.name not in code.fixed),
        fixed=code.fixed,
        record=None,
    )
    for its, code in zip((SYSTEM_V, AAPCS64, AAPCS32), _CODE, strict=True)
)
OCAML = (*_CODE, *_RAISE)
