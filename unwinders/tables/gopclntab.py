"""`.gopclntab`: what Go's own traceback goes by, the size of each function's frame at each pc.

Go preserves no register but SP and the frame pointer, so the others of a caller are unknown. Where the runtime follows
a goroutine from the system stack to its own stack it looks into its own data; here that is where the technique stops.
There is no other technique behind it. Source: Go, runtime/symtab.go, traceback.go, internal/abi/symtab.go.
"""

from unwinders.formats.sections import GOPCLNTAB as SECTION
from unwinders.rows.by_rows import by_table, later

GOPCLNTAB = by_table(
    later("gopclntab", "gopclntab_index"),
    f"{SECTION} does not say where the caller is at",
    SECTION,
    name="gopclntab",
    summary="Go's table of functions: the frame's size at each pc, the return address where the architecture has it",
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
"""The unwinder as the catalogue holds it."""
