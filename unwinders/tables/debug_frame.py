"""`.debug_frame`, searched linearly: the call frame information that debuggers read from the file.

The same rows as `.eh_frame`, in the section that is not loaded with the program: CIEs are named by their offset, pcs
are plain addresses, and a CIE of version 4 says how wide they are. Source: DWARF 5, section 6.4.1; AADWARF32.
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace
from testbed.contract.limits import limits_of
from testbed.contract.rows import RowTable
from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.trace import Snapshot
from unwinders.formats.cfi import cfi_table
from unwinders.rows.native.traces import over_traces
from unwinders.rows.walk import walk
from unwinders.tables.eh_frame import CFI, table_rows

SECTION = ".debug_frame"


def rows(image: Image) -> RowTable:
    """What `.debug_frame` claims at every pc of an image."""
    return cfi_table(image, SECTION)


def unwind(snapshot: Snapshot) -> Backtrace:
    """The callers that the rows of `.debug_frame` give."""
    return walk(snapshot, table_rows(SECTION))


_LLVM_ARM = "https://github.com/llvm/llvm-project/blob/main/llvm/lib/Target/ARM/ARMFrameLowering.cpp"

# The sections that compilers write for ARM32: nothing below holds for assembly sources that say it all.
BEHIND_AN_EPILOGUE = (
    "LLVM's ARM back end writes call frame information in emitPrologue only: code behind an epilogue, on another path "
    "through a function without a frame pointer, still has the row of the whole frame",
    _LLVM_ARM,
)

LIMITS = limits_of(
    """
    WRONG_TABLE                                 arm32   stopped ended_early skipped phantom wrong_register wrong
    NO_TABLE                                    arm32   refused stopped
    NO_CODE                                     arm32   refused stopped skipped
    IN_NO_FILE                                  arm32   refused
    OPEN_END                                    arm32   stopped phantom
    LOST_REGISTER                               arm32   stopped
    NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS        arm32   refused ended_early skipped wrong_register wrong
    PROLOGUE+ALLOCATED_IN_PART                  arm32   ended_early
    NO_EPILOGUE_ROWS+FRAME_ELSEWHERE+JUMPED_TO  arm32   ended_early wrong
    NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE   arm32   ended_early skipped wrong_register
    NO_EPILOGUE_ROWS+FRAME_ELSEWHERE+FRAMELESS  arm32   ended_early skipped wrong
    NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER      arm32   refused ended_early skipped wrong_register
    GIVEN_BACK_IN_PART                          arm32   refused ended_early wrong_register wrong
    EPILOGUE                                    arm32   refused
    FP_MOVED_IN_PART                            arm32   ended_early wrong_register
    NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART     arm32   ended_early skipped wrong
    """,
    {
        **CFI,
        "NO_EPILOGUE_ROWS+EPILOGUE+ROW_BEGINS": (
            "LLVM's ARM back end writes call frame information in emitPrologue only: from the first instruction of an "
            "epilogue on, the row still describes the whole frame. GCC's writes one row for a frame that two "
            "instructions give back, after the second",
            _LLVM_ARM,
        ),
        "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_IN_PART": (
            "LLVM's ARM back end writes call frame information in emitPrologue only: behind an instruction of the "
            "epilogue that moves nothing, such as the it of a conditional return, the row describes the whole frame "
            "still",
            _LLVM_ARM,
        ),
        "PROLOGUE+ALLOCATED_IN_PART": (
            "LLVM's ARM back end writes one row for a frame that takes two instructions to allocate, after the second: "
            "between them the row does not count the first",
            _LLVM_ARM,
        ),
        "NO_EPILOGUE_ROWS+FRAME_ELSEWHERE+JUMPED_TO": BEHIND_AN_EPILOGUE,
        "NO_EPILOGUE_ROWS+EPILOGUE+FRAME_ELSEWHERE": BEHIND_AN_EPILOGUE,
        "NO_EPILOGUE_ROWS+FRAME_ELSEWHERE+FRAMELESS": BEHIND_AN_EPILOGUE,
        "NO_EPILOGUE_ROWS+FRAMELESS+PASSED_OVER": BEHIND_AN_EPILOGUE,
        "EPILOGUE": (
            "GCC writes one row for a frame that several instructions give back: between them it is another's",
            _LLVM_ARM,
        ),
        "GIVEN_BACK_IN_PART": (
            "GCC writes one row for a frame that two instructions give back, after the second: between them the row "
            "does not count the first",
            "https://gcc.gnu.org/git/?p=gcc.git;a=blob;f=gcc/config/arm/arm.cc;hb=refs/heads/releases/gcc-12",
        ),
        "FP_MOVED_IN_PART": (
            "GCC writes one row for a frame pointer that two instructions move to the frame's end, after the second: "
            "between them the row does not count the first",
            _LLVM_ARM,
        ),
    },
)

DEBUG_FRAME = Unwinder(
    name="debug_frame",
    summary="the rows of .debug_frame, found by linear search, applied frame by frame",
    unwind=unwind,
    unwind_trace=over_traces(unwind, lambda arch: table_rows(SECTION)),
    rows=rows,
    needs=frozenset({SECTION}),
    limits=LIMITS,
)
