"""What gdb cannot know where its analysers of prologues come in: beside EHABI tables only, or without any table.

Source: gdb 13, ``gdb/arm-tdep.c``, ``gdb/aarch64-tdep.c``, ``gdb/amd64-tdep.c``. All three read a function's
instructions from its symbol on. That of amd64 knows one prologue, ``push rbp; mov rbp, rsp``, and takes SP for
unchanged since the entry where there is another. Those of ARM's architectures go straight on up to pc, or the first
branch or call: what SP or FP is moved by behind that, they do not see, nor what is saved there. That of A32 knows a
register that is saved by a push, and not one that is stored into room made before.
"""

from __future__ import annotations

from testbed.contract.limits import limits_of
from testbed.referee.gdb.reasons_of_limits import HOLDING, HOLDING_ON_X86, REASONS

WITH_EHABI = limits_of(
    """
    SIGNAL                                    arm32   skipped wrong
    INTERRUPTED                               arm32   skipped wrong
    SPLIT_FUNCTION                            arm32   stopped skipped phantom wrong
    OTHER_STACK                               arm32   stopped ended_early phantom wrong_register
    MOVED_UP                                  arm32   stopped phantom wrong
    BEHIND_START                              arm32   ended_early skipped wrong_register wrong
    EPILOGUE                                  arm32   refused stopped ended_early skipped wrong_register wrong
    EPILOGUE+LINKED+ROW_BEGINS                arm32   phantom
    FP_REUSED                                 arm32   stopped skipped wrong_register wrong
    LINKED+FP_SET_LATE                        arm32   refused ended_early phantom wrong_register wrong
    HOLDING+PROLOGUE+SETS_FP_LATE             arm32   wrong_register wrong
    FP_FOR_LOCALS+WITHOUT_EFFECT              arm32   wrong_register
    FAR+FP_FOR_LOCALS                         arm32   ended_early
    FAR+LINKED+REALIGNED                      arm32   ended_early
    FAR+LINKED+LINK_LIVE                      arm32   ended_early wrong_register
    FRAMELESS+FRAME_ELSEWHERE                 arm32   ended_early
    FP_OMITTED+HOLDING+UNKEPT                 arm32   ended_early wrong_register wrong
    FRAMELESS+PASSED_OVER                     arm32   wrong
    FRAMELESS+HOLDING+PARTLY_RUN+SECOND_ISA   arm32   phantom
    LINKED+CHANGED+SECOND_ISA                 arm32   wrong_register
    FRAMELESS+CHANGED                         arm32   ended_early wrong_register wrong
    DISTANT+HOLDING                           arm32   ended_early
    LOST_REGISTER+FP_REUSED                   arm32   skipped
    BARE+PROLOGUE+RETURN_UNSAVED              arm32   skipped wrong_register wrong
    FRAMELESS_CALLER+INEXPRESSIBLE            arm32   wrong_register
    LINKED+BEHIND_LABEL+LINK_STALE            arm32   ended_early
    CHANGED+HOLDING+UNKEPT                    arm32   ended_early wrong
    ROOT                                      arm32   stopped
    FP_REUSED+FRAME_IN_PART                   arm32   ended_early
    FRAMELESS+FRAME_IN_PART                   arm32   ended_early
    WRONG_TABLE                               arm32   wrong
    EPILOGUE+FP_REUSED+CFA_MOVED              arm32   phantom
    BARE+CHANGED+UNLINKED                     arm32   wrong_register
    LINKED+FRAME_IN_PART+PASSED_OVER          arm32   skipped
    HOLDING+PROLOGUE+SETS_FP_LATE+LINKED_FURTHER arm32   skipped
    FRAMELESS+HOLDING+PARTLY_RUN+LINKED_FURTHER arm32   phantom wrong_register
    """,
    REASONS,
)
_AMD64_LIMITS = limits_of(
    """
    NO_CODE                                   x86_64  ended_early
    LOST_REGISTER+FP_REUSED                   x86_64  skipped
    SIGNAL                                    x86_64  ended_early skipped
    RECORD_REPLACED                           x86_64  skipped wrong
    SPLIT_FUNCTION                            x86_64  ended_early phantom wrong
    OTHER_STACK+CHANGED_INSIDE                x86_64  phantom wrong_register
    FP_OMITTED+HOLDING                        x86_64  ended_early skipped phantom wrong_register wrong
    FRAMELESS+HOLDING                         x86_64  ended_early phantom wrong
    FRAMELESS_CALLER+HOLDING                  x86_64  ended_early phantom wrong
    HOLDING+SETS_FP_LATE                      x86_64  ended_early phantom wrong_register wrong
    FP_REUSED                                 x86_64  ended_early wrong_register
    CHANGED                                   x86_64  wrong_register wrong
    EPILOGUE                                  x86_64  ended_early skipped wrong
    OTHER_STACK+CODE_POINTER                  x86_64  phantom
    LINKED_FURTHER+HOLDING+OTHER_IN_FRONT     x86_64  skipped
    """,
    {**REASONS, **HOLDING_ON_X86},
)
_AARCH64_LIMITS = limits_of(
    """
    NO_CODE+SIGNAL                            arm64   skipped
    SPLIT_FUNCTION                            arm64   stopped phantom wrong_register
    OTHER_STACK                               arm64   stopped ended_early skipped
    LOST_REGISTER+FP_REUSED                   arm64   skipped
    SHADOW_STACK                              arm64   wrong_register
    EPILOGUE                                  arm64   refused ended_early skipped phantom wrong_register wrong
    FP_REUSED                                 arm64   stopped phantom wrong_register
    LINKED+FP_SET_LATE                        arm64   ended_early phantom wrong_register wrong
    FRAMELESS+HOLDING                         arm64   ended_early skipped wrong_register wrong
    FRAMELESS_CALLER+HOLDING                  arm64   ended_early wrong_register wrong
    HOLDING+PROLOGUE+SETS_FP_LATE             arm64   wrong_register
    LEAF_RECORD+LINKED                        arm64   wrong_register
    ROOT                                      arm64   stopped
    OTHER_STACK+LINK_OUTSIDE                  arm64   phantom
    FRAMELESS+FRAME_ELSEWHERE                 arm64   ended_early
    BARE+CHANGED+UNLINKED                     arm64   wrong_register
    NO_TABLE+BEHIND_LABEL                     arm64   skipped
    HOLDING+PROLOGUE+SETS_FP_LATE+LINKED_FURTHER arm64   skipped
    """,
    {**REASONS, **HOLDING},
)
_ARM_LIMITS = limits_of(
    """
    NO_CODE+SIGNAL                            arm32   skipped
    SIGNAL                                    arm32   skipped wrong_register wrong
    INTERRUPTED                               arm32   wrong
    SPLIT_FUNCTION                            arm32   stopped skipped phantom wrong_register wrong
    OTHER_STACK                               arm32   stopped ended_early phantom wrong_register
    MOVED_UP                                  arm32   ended_early phantom wrong_register
    EPILOGUE                                  arm32   refused stopped ended_early skipped wrong_register wrong
    EPILOGUE+LINKED+ROW_BEGINS                arm32   phantom
    FP_REUSED                                 arm32   stopped skipped wrong_register wrong
    LINKED+FP_SET_LATE                        arm32   refused stopped ended_early phantom wrong_register wrong
    HOLDING+PROLOGUE+SETS_FP_LATE             arm32   ended_early wrong_register wrong
    FP_FOR_LOCALS+WITHOUT_EFFECT              arm32   wrong_register
    FAR+FP_FOR_LOCALS                         arm32   ended_early
    FAR+LINKED+REALIGNED                      arm32   ended_early
    FAR+LINKED+LINK_LIVE                      arm32   ended_early wrong_register
    FRAMELESS+FRAME_ELSEWHERE                 arm32   ended_early
    FP_OMITTED+HOLDING+UNKEPT                 arm32   ended_early wrong_register wrong
    FRAMELESS+PASSED_OVER                     arm32   wrong
    FRAMELESS+HOLDING+PARTLY_RUN+SECOND_ISA   arm32   phantom wrong_register
    LINKED+CHANGED+SECOND_ISA                 arm32   wrong_register
    FRAMELESS+CHANGED                         arm32   ended_early wrong_register wrong
    DISTANT+HOLDING                           arm32   ended_early
    LOST_REGISTER+FP_REUSED                   arm32   skipped
    CHANGED+HOLDING+UNKEPT                    arm32   ended_early
    FRAMELESS_CALLER+CHANGED+HOLDING          arm32   ended_early wrong_register wrong
    LINKED+BEHIND_LABEL                       arm32   ended_early
    NO_TABLE+BEHIND_LABEL                     arm32   skipped
    ROOT                                      arm32   stopped
    FP_REUSED+FRAME_IN_PART                   arm32   ended_early
    FRAMELESS+FRAME_IN_PART                   arm32   ended_early
    EPILOGUE+FP_REUSED+CFA_MOVED              arm32   phantom
    BARE+CHANGED+UNLINKED                     arm32   wrong_register
    LINKED+FRAME_IN_PART+PASSED_OVER          arm32   skipped
    LOST_REGISTER+LINKED+BEHIND_LABEL         arm32   skipped
    HOLDING+PROLOGUE+SETS_FP_LATE+LINKED_FURTHER arm32   skipped
    FRAMELESS+HOLDING+PARTLY_RUN+LINKED_FURTHER arm32   wrong_register wrong
    LOST_REGISTER+FRAMELESS_CALLER+LINKED_FURTHER_ON arm32   wrong_register
    """,
    REASONS,
)
_REMEMBERED = limits_of(
    "LINKED+BEHIND_LABEL arm32 wrong_register",
    {
        "LINKED+BEHIND_LABEL": (
            "gdb remembers where the function begins and ends that it looked up last: at an instruction behind a label "
            "in it another frame is found than by a gdb that was asked about nothing before",
            "https://sourceware.org/git/?p=binutils-gdb.git;a=blob;f=gdb/blockframe.c;hb=refs/heads/gdb-13-branch",
        )
    },
)
WITHOUT_TABLES = (*_AMD64_LIMITS, *_AARCH64_LIMITS, *_ARM_LIMITS, *_REMEMBERED)
