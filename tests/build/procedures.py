"""Procedures written by hand: CFI rules at addresses."""

from pathlib import Path

from testbed.arch import ARCHES
from testbed.build import directives as d
from testbed.build.expressions import Place
from testbed.build.tables.cfi_program import Procedure

X86, ARM64, ARM32 = ARCHES["x86_64"], ARCHES["arm64"], ARCHES["arm32"]
HERE = Place(Path("a.S"), 7, 5)


def procedure(*rules: tuple[int, d.CfiDirective], start: int = 0x1000, end: int = 0x1040) -> Procedure:
    return Procedure(HERE, start, end, tuple((at, HERE, rule) for at, rule in rules))


# Small C programs, written to a file.


SOURCE = """// summary: two functions
// exit: 8
#include <stddef.h>
#include <stdint.h>
static volatile size_t seed = 6;
__attribute__((noinline)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib((int)seed); }
"""


def written(tmp_path: Path, text: str = SOURCE, name: str = "prog.c") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path
