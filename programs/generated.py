"""Generated programs of the corpus: call shapes, each in assembly (``gen_7``) and in C (``genc_7``).

One more is one line. A shape is a seed; a director string where a small shape shows what no seed here does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.generate.program import generated_program
from testbed.program import Program

# Which recipes build the C program of a shape, in turn: not every program by every recipe.
_ROUNDS = (
    ("clang-O0-fp", "clang-thumb-O0-fp"),
    ("clang-O2", "clang-thumb-O2"),
    ("clang-O1-fp", "clang-thumb-O1-fp"),
    ("clang-Os", "clang-thumb-Os"),
)

SEEDS = tuple(range(1, 13))


def _generated() -> Mapping[str, Program]:
    found = {}
    for number, seed in enumerate(SEEDS):
        assembly = generated_program(f"gen:{seed}", recipes=("keystone*",))
        compiled = generated_program(f"genc:{seed}", recipes=_ROUNDS[number % len(_ROUNDS)])
        found |= {assembly.name: assembly, compiled.name: compiled}
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: len(item[0]))))


GENERATED: Mapping[str, Program] = _generated()
