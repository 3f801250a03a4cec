"""`.eh_frame_hdr`, searched by halves, then one FDE of `.eh_frame`: what a C++ runtime does for every throw.

Unlike the linear search of `.eh_frame` it looks at one FDE only, so it believes the index: an FDE that the index does
not name does not exist for it, and a wrong index is a stop, not a reason to search linearly after all. Source: LSB
5.0 core, section 10.6.2.
"""

from unwinders.formats.eh_frame_hdr import FRAME, SECTION, search_table
from unwinders.rows.by_rows import by_table

EH_FRAME_HDR = by_table(
    search_table,
    f"the FDE that {SECTION} names does not cover",
    SECTION,
    name="eh_frame_hdr",
    summary="binary search in the sorted table of .eh_frame_hdr, then the rows of the one FDE that it names",
    # C compilers give ARM32 programs .ARM.exidx and .debug_frame instead.
    arches=frozenset({"x86_64", "arm64"}),
    needs=frozenset({SECTION, FRAME}),
)
