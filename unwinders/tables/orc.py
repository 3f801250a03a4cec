"""`.orc_unwind`: the Linux kernel's own unwinder for x86_64, on the table that objtool makes from the instructions.

No call frame information is involved: objtool follows the code itself. The table has the previous SP and BP and no
other register, so the callers' are unknown. There is no other technique behind it: where no entry covers the pc, it
stops. Source: Linux, Documentation/arch/x86/orc-unwinder.rst and arch/x86/kernel/unwind_orc.c.
"""

from unwinders.formats.sections import ORC_ENTRIES, ORC_PLACES
from unwinders.rows.by_rows import by_table, later

ORC = by_table(
    later("orc", "orc_index"),
    f"no entry of {ORC_ENTRIES} covers",
    ORC_ENTRIES,
    name="orc",
    summary="binary search in .orc_unwind_ip, then the entry's SP and BP rules: the Linux kernel's own unwinder",
    arches=frozenset({"x86_64"}),
    needs=frozenset({ORC_ENTRIES, ORC_PLACES}),
)
"""The unwinder as the catalogue holds it."""
