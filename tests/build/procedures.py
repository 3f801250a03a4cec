"""Procedures written by hand: CFI rules at addresses."""

from __future__ import annotations

from pathlib import Path

from testbed.arch import ARCHES
from testbed.build import directives as d
from testbed.build.source_place import Place
from testbed.build.tables.cfi_program import Procedure

X86, ARM64, ARM32 = ARCHES["x86_64"], ARCHES["arm64"], ARCHES["arm32"]
HERE = Place(Path("a.S"), 7, 5)


def procedure(*rules: tuple[int, d.CfiDirective], start: int = 0x1000, end: int = 0x1040) -> Procedure:
    return Procedure(HERE, start, end, tuple((at, HERE, rule) for at, rule in rules))
