"""Small assembly programs for the tests of the machine and of the truth.

A snippet is a body of functions that starts each one with a line ``fn NAME``; the ``_start`` of the instruction
set comes before it, calls ``main`` and exits with main's result.
"""

from __future__ import annotations

import re
from functools import cache

from testbed.arch import ARCHES, Arch, Isa
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.build.spellings import MODE_DIRECTIVES
from testbed.image import Image
from testbed.program.model import program_from_text
from testbed.program.start import START


def arch_of(isa: str) -> tuple[Arch, Isa]:
    """The architecture that has this instruction set."""
    return next((arch, found) for arch in ARCHES.values() if (found := arch.isa_named(isa)))


def expanded(isa: str, body: str) -> str:
    """``fn NAME`` as the directives of a function that ends where the next one begins."""
    kind = "@function" if isa == "x86_64" else "%function"
    out, last = [], None
    for line in [*body.splitlines(), "fn"]:
        if match := re.match(r"\s*fn\b\s*(\S*)$", "fn" if line == ".bss" else line):
            if last:
                out.append(f".size {last}, . - {last}")
            last = match[1]
            if last:
                thumb = ".thumb_func\n" if isa == "thumb" else ""
                out.append(f".globl {last}\n.type {last}, {kind}\n{thumb}{last}:")
        if not match or line == ".bss":
            out.append(line)
    return "\n".join(out) + "\n"


@cache
def image_of(isa: str, body: str, *, start: bool = True) -> Image:
    """The snippet as a program file; without ``start`` the body has a ``fn _start`` of its own."""
    arch, chosen = arch_of(isa)
    mode = MODE_DIRECTIVES[chosen.name]
    own = f".syntax unified\n{mode}\n" if mode else ""
    own = ".intel_syntax noprefix\n" if isa == "x86_64" else own
    text = (START[chosen.name] if start else own) + expanded(isa, body)
    suffix = "" if chosen is arch.isas[0] else f"-{isa}"
    return build(program_from_text("snippet", arch, text, isa=isa), arch, RECIPES[f"clang-asm{suffix}"]).image
