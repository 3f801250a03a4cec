"""Generated programs of the corpus: call shapes, in assembly (``gen_7``) and in C (``genc_7``). One more is one line.

A shape is a seed, or a director string where a small shape shows what no seed here does. Each C program is built by
two recipes only: ``testbed fuzz`` is for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.generate.program import generated_program
from testbed.program.model import Program

_ASSEMBLY = (
    *("3", "5", "7", "9", "14", "15", "17", "20", "24", "61", "134", "169"),
    "fr6c1+fps2",  # the frame pointer is another function's register, below it a recursion
    "fi1+fs1t2+f",  # a recursion that leaves by a tail call: only the outer call names the function
)
_C = (
    *(("3", "O2"), ("5", "Os"), ("7", "O0-fp"), ("9", "O1-fp"), ("14", "O2"), ("15", "Os"), ("17", "O1-fp")),
    *(("20", "O2"), ("24", "Os"), ("61", "O0-fp"), ("134", "O1-fp"), ("169", "O0-fp")),
    ("f8emt1+f", "O2"),  # Thumb: the tail call stands behind an epilogue
    ("f8c2c1+f8r2emt2+f8", "O2"),  # the same, one frame further in
    ("f40o128t1+f", "O2"),  # A32: a realigned frame that stores the frame pointer and not lr
)


def _generated() -> Mapping[str, Program]:
    programs = [generated_program(f"gen:{shape}", recipes=("keystone*",)) for shape in _ASSEMBLY]
    programs += [generated_program(f"genc:{s}", recipes=(f"clang-{how}", f"clang-thumb-{how}")) for s, how in _C]
    return MappingProxyType({program.name: program for program in programs})


GENERATED: Mapping[str, Program] = _generated()
