"""`.debug_frame`, searched linearly: the call frame information that debuggers read from the file.

The same rows as `.eh_frame`, in the section that is not loaded with the program: CIEs are named by their offset, pcs
are plain addresses, and a CIE of version 4 says how wide they are.

LLVM's ARM back end writes call frame information in emitPrologue only (ARMFrameLowering.cpp): code behind an epilogue,
on another path through a function without a frame pointer, still has the row of the whole frame.

Source: DWARF 5, section 6.4.1; AADWARF32.
"""

from functools import partial

from unwinders.formats.cfi import cfi_index
from unwinders.rows.by_rows import by_table

SECTION = ".debug_frame"


DEBUG_FRAME = by_table(
    partial(cfi_index, name=SECTION),
    f"no row of {SECTION} covers",
    SECTION,
    name="debug_frame",
    summary="the rows of .debug_frame, found by linear search, applied frame by frame",
    needs=frozenset({SECTION}),
)
