"""What a command said, and sources of small programs to try it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

HEAD = "// summary: a test\n// exit: 0\n\n"
NEVER_ENDS = (
    ".intel_syntax noprefix\n.globl _start\n.type _start, @function\n_start:\n jmp _start\n.size _start, . - _start\n"
)


class Said(NamedTuple):
    """The exit status of a command, and what it wrote to standard output and standard error."""

    status: int
    out: str
    err: str


Testbed = Callable[..., Said]
