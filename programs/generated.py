"""Generated programs of the corpus: call shapes, in assembly (``gen_7``) and in C (``genc_7``). One more is one line.

A shape is a seed, or a director string where a small shape shows what no seed here does. Each C program is built by
two recipes only: ``testbed fuzz`` is for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from testbed.generate.seeds import called
from testbed.program.model import Program
from testbed.words.catalogue import Catalogue

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

# The smallest shapes of what seeds with random flags showed (`testbed fuzz --flags random`).
_FLAGGED = {
    "f288c1+fa1": ("clang-O0-fp",),  # arm64: a caller's frame is larger than a scan looks through
    "ft1+fs2c2+f8s1": ("gcc-O2",),  # a recursion behind a tail call: the scan finds an outer call's address first
    "f8s1c1+ft2+f8r2s1": ("clang-O1",),  # the same on x86_64
    "1105": ("clang-O1",),  # the same, where any function's address will do
    "fa1c1+f8e": ("clang-Os",),  # A32: a way out before the frame that the table describes, never left otherwise
    "fa1o32": ("gcc-O2",),  # x86_64: a realigned frame whose copied record is the last one
    "f312c1+ft2+fa1o32": ("gcc-O2",),  # the copied return address, and behind it not SP
    "f136s1": ("apcs-O0",),  # A32: behind the return address lies the pc
    "f288c2c1+ft2+fa1": ("gcc-O0-fp",),  # arm64: from behind the return address on, the scan finds a caller once more
    "f224a1o32s2": ("gcc-O2",),  # x86_64: the copied return address, and too far behind it the next one
    "fv1o128c1+fc2+fc3t3+f8a1": ("clang-Os",),  # arm64: the address of a call that is over comes first
    "f3976s2c1+fc2+f4000v1": ("gcc-O2-fp",),  # arm64: from behind the return address on, the scan misses a caller
    "fs1c1+fs2,-finstrument-functions": ("clang-Os",),  # arm64: a copied return address is that of an outer lap
    "fc2c1+f24c2+fc3+f,-finstrument-functions": ("gcc-O2",),  # arm64: behind a caller known by lr, an old return
    "fv1": ("gcc-thumb-O2",),  # the frame pointer is moved on to where the epilogue wants it, long before that
    "fv1c1+f8r3a1n": ("clang-thumb-O2",),  # Thumb: the frame pointer is there for the locals of a leaf
    "fs1c1+fa1s2": ("clang-Os",),  # arm64: at a function's entry, the scan finds the caller's caller, and it again
    "f152i1+fc2+f": ("gcc-thumb-Os",),  # Thumb: a pointer to a function comes before the return address
    "f4104": (
        "gcc-thumb-O2-fp",
        "gcc-O3",
    ),  # a leaf's frame pointer is moved to the end of a large frame by two instructions
    "fa1c1+f4104": ("gcc-thumb-O2",),  # Thumb: a large frame is given back by two instructions, and has one row for it
    "f4096r1c1+f": ("gcc-thumb-O2-fp",),  # the same of a function that calls, and other instructions between the two
    "fc2c1+fc2+f24s2": ("gcc-O2-fp",),  # A32: at a function's entry, the scan finds the outer lap's caller too
    "f8m": ("gcc-thumb-O2-fp",),  # a leaf's frame pointer is moved on, long before the epilogue
    "ft1+fs2,-finstrument-functions": ("clang-Oz",),  # x86_64: a tail call's return address is another call's
    "fr1c1c1+fv1c2+fv1": ("clang-thumb-O2",),  # Thumb: below a frame pointer for locals one that is a number
    "fr6c1c1+f,-finstrument-functions": ("clang-O3",),  # arm64: below a caller without a record x29 is a number
    "f8c1+fec2+f": ("clang-Oz",),  # A32: the table's frame, never taken, would return to a local of the caller
    "f8v5o64i1+f8c2c2+f": ("clang-Os",),  # x86_64: an address of code on the stack, and behind it the caller twice
    "f96o64c1+fc2+fa1o64": ("gcc-O2",),  # x86_64: between two realigned frames one without a record
    "fc2c1+f8c2+fi3+f64s1t4+fa1": ("gcc-O3",),  # arm64: a recursion's entry, and four callers that were there before
    "fc2c1+f32s1t2+fa1": ("gcc-O3",),  # arm64: an outer lap that tail-called: another call's address names it
    "ft1+fc3c2+fv1t3+f40s1": ("gcc-thumb-O2",),  # Thumb: behind a recursion's return address lies an equal one
    "fc1+f8e,-mrestrict-it": ("clang-thumb-O2-fp",),  # Thumb: the table's frame, never taken, would be the caller's
    "f8o32s1,-finstrument-functions": ("clang-thumb-O2",),  # a frame pointer for locals, and behind it an equal one
    "fc2i1+f24c2+fc3+fs1": ("gcc-O0-fp",),  # A32: behind a caller known by lr, the scan misses the next one
    "fr2s1,-finstrument-functions": ("gcc-thumb-O2",),  # Thumb: FP is a number in the caller of a leaf
    "fs1c1+fo32c2t2+f,-fstack-protector-all,-mstack-protector-guard=global,-finstrument-functions": (
        "clang-O2",
    ),  # A32: a copy, then none
    "f8c3c3+f+f+fr3ms3t4+f112r5a1v14": ("gcc-Os",),  # A32: a copy of the caller's caller's return address comes first
    "fs1,-mrestrict-it": (
        "clang-thumb-O2",
    ),  # a recursion's last lap takes no frame: the table's would be an outer lap's
    "fo32s1c1t1+f48s2": (
        "gcc-O2-fp",
    ),  # A32: behind a caller known by lr, the scan finds callers that were there before
    "f8r3a1v1c1+f8": ("gcc-Os",),  # A32: lr is an ordinary register, and the frame pointer leads to no record
    "f8r2i1+fv1,-finstrument-functions": ("clang-thumb-O2",),  # a frame pointer for locals; what lies there is r8, and
    # that has the caller's own return address
    "f8r1o32s3,-finstrument-functions": ("clang-Os",),  # A32: at a recursion's entry the scan finds all callers, and
    # copies of their return addresses between them
    "fc3c1+fc2+f8r2c3+f32c4+fa1": ("gcc-O0-fp",),  # arm64: behind a caller known by lr, an equal address that is left
    "fv1s1,-mno-omit-leaf-frame-pointer,-finstrument-functions": ("clang-O2-fp",),  # arm64: the same, a caller skipped
    "f272s2c1+fs1": ("clang-O0-fp",),  # arm64: a copy of the caller's caller's return address, in room for locals
    "fs2,-finstrument-functions": ("gcc-thumb-O2-fp",),  # Thumb: a frame pointer for locals that leads to a number
    "fa1s2c1+f,-finstrument-functions": (
        "gcc-thumb-Os",
    ),  # the same where r7 is moved on, to where the caller's record is
    "fc1+f8v1c2+f8emt3+f": ("clang-Oz",),  # A32: behind a condition that fails, in an epilogue without rows
    "f296,-finstrument-functions,-mno-omit-leaf-frame-pointer": ("clang-O0-fp",),  # arm64: an address of a call that is
    # over, then a caller, and again
    "f8c1c1+f8r3s1c2+f232i3+fs2": (
        "clang-O0-fp",
    ),  # arm64: at an entry, an equal address that is left comes in between
    "fc2c1+f16c2+fc3+f": ("clang-O0-fp",),  # A32: behind a caller known by lr, an equal address further out, then none
    "fc2c1+f320c2+fc3+fc4+fa1": ("gcc-O0-fp", "gcc-O2-fp"),  # arm64: the same, of an earlier call with two more frames
    "fr5i1c1+fa1s2t2+f": ("clang-Os",),  # A32: a chain skips a caller that was called from where the next one was
    "f8r1,-fstack-protector-all,-mstack-protector-guard=global": ("clang-thumb-O2",),  # an it in front of the last pop
    "fc1+fv1e,-mrestrict-it": ("clang-thumb-O2",),  # Thumb: the frame that was never taken would be a number's
    "fc1t1+ft2+f4104s1": ("gcc-thumb-Os",),  # Thumb: a large frame is given back in two, below a recursion
}


_ASSEMBLED = {f"gen:{shape}": ("keystone*",) for shape in _ASSEMBLY}
_COMPILED = {f"genc:{shape}": (f"clang-{how}", f"clang-thumb-{how}") for shape, how in _C} | {
    f"genc:{shape}": recipes for shape, recipes in _FLAGGED.items()
}


def _generated(name: str, recipes: tuple[str, ...]) -> Program:
    from testbed.generate.program import generated_program  # names need no generator

    return generated_program(name, recipes=recipes)


GENERATED: Mapping[str, Program] = Catalogue(
    {called(name): partial(_generated, name, recipes) for name, recipes in (_ASSEMBLED | _COMPILED).items()}
)
