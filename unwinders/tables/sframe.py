"""`.sframe`: for every pc the distances from SP or FP to the CFA, the return address and the saved FP. No more.

The format exists so that a profiler, or a kernel, can walk a stack without interpreting DWARF. It knows nothing about
other registers, so the callers' are unknown, and where a CFA needs one of them it has no row. There is no other
technique behind it: where no row covers the pc, it stops. Source: The SFrame Format, versions 1 to 3.
"""

from unwinders.formats.sections import SFRAME as SECTION
from unwinders.rows.by_rows import by_table, later

SFRAME = by_table(
    later("sframe", "sframe_index"),
    f"no row of {SECTION} covers",
    SECTION,
    name="sframe",
    summary="the rows of .sframe: CFA, return address and frame pointer, found by pc, applied frame by frame",
    # The ABIs that the format has a number for.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION}),
)
"""The unwinder as the catalogue holds it."""
