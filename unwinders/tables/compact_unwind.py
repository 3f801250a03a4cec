"""`__unwind_info`, Apple's compact unwind table: what exceptions, crash reporters and samplers on its platforms use.

Two binary searches find the function's 32-bit encoding; it says one thing for the whole function, and that is true
where it calls another: an exception cannot be thrown from anywhere else. An encoding that defers to an FDE of
`__eh_frame` is part of the format: then that FDE's row is applied, found by its offset and not by a search. Source:
LLVM, ``include/mach-o/compact_unwind_encoding.h``.
"""

from unwinders.formats.sections import UNWIND_INFO as SECTION
from unwinders.rows.by_rows import by_table, later

COMPACT_UNWIND = by_table(
    later("compact_unwind", "compact_table"),
    f"{SECTION} says nothing about",
    "__compact_unwind",
    name="compact_unwind",
    summary="two-level search in Mach-O's __unwind_info, then one row per function, or the FDE that it defers to",
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
