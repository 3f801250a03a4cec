"""Small C programs, written to a file."""

from __future__ import annotations

from pathlib import Path

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
