"""`.ARM.exidx` and `.ARM.extab`: what C++ exceptions on 32-bit Arm unwind by, present in every program.

A binary search in the index finds the function, its entry says how to undo its prologue. It says one thing for the
whole function, and that is true at its call sites: an exception cannot be thrown from anywhere else (section 3:
prologues and epilogues are exception-free).

A function marked EXIDX_CANTUNWIND "cannot be unwound": unwinding fails there, it does not end (EHABI32, section 6,
index table entries). Linkers mark so whatever has no table, compilers what throws nothing. GNU libunwind and LLVM's
end the stack there, which hides all callers. Here it is a stop. Only the function that the image begins with has no
caller: the file's header says so, and start code carries the mark so that unwinding goes no further.

Source: Exception Handling ABI for the Arm Architecture (EHABI32).
"""

from unwinders.formats.sections import EXIDX
from unwinders.rows.by_rows import by_table, later

EHABI = by_table(
    later("ehabi_rows", "exidx_index"),
    f"no entry of {EXIDX} covers",
    EXIDX,
    name="ehabi",
    done_by="exceptions on 32-bit Arm",
    summary="binary search in .ARM.exidx, then one row per function from its unwinding instructions",
    arches=frozenset({"arm32"}),
    needs=frozenset({EXIDX}),
)
