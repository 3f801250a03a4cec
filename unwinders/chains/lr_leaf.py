"""The frame-pointer chain, and the link register as the caller of the top frame where it can only be that.

A leaf never stores its return address, and an entered function has not yet. Walkers that sample link-register
machines therefore look at the register for the top frame, and need a rule that tells a live value from the stale
one that a returned call left behind. Without tables the rule is about names: a stale value points behind a call *in
the interrupted function itself*, a live one into another function::

    use the link register  if  function(LR - 1) != function(pc)  and it is not the chain's first return address

A function that calls itself is the case that this rule gets wrong. Linux's perf decides the same question with
DWARF tables (https://lists.infradead.org/pipermail/linux-arm-kernel/2021-December/705353.html).
"""

from __future__ import annotations

from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.contract.limits import limits_of
from testbed.contract.unwinder import Unwinder
from testbed.image import Symbol, image_covering
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister
from unwinders.chains.fp_chain import FP_CHAIN
from unwinders.chains.frame_records import KERNEL_ARM64 as PERF
from unwinders.chains.frame_records import listed
from unwinders.shared_limits import RECORDS, STALE


def unwind(snapshot: Snapshot) -> Backtrace:
    arch, chain = snapshot.arch, FP_CHAIN.unwind(snapshot)
    assert arch.link is not None
    try:
        caller = arch.code_address(snapshot.register(arch.link))
    except UnknownRegister as stop:  # whether the chain's first frame is the caller is not known then
        return listed(snapshot, (), stop)
    function = _function(snapshot, caller - 1)
    if function is None or function is _function(snapshot, snapshot.pc):
        return chain
    if len(chain.frames) > 1 and chain.frames[1].pc == caller:
        return chain
    added = Frame(FrameKind.CALLER, caller, {arch.pc: caller}, found_by="link register")
    return Backtrace((chain.frames[0], added, *chain.frames[1:]), chain.stopped, chain.images)


def _function(snapshot: Snapshot, address: int) -> Symbol | None:
    loaded = image_covering(snapshot.images, address)
    return loaded.image.function_at(address - loaded.bias) if loaded else None


LIMITS = limits_of(
    """
    SIGNAL+MIXED_ISA                 arm32   stopped ended_early
    SIGNAL                           arm64   skipped wrong_register wrong
    SIGNAL                           arm32   refused skipped
    RECORD_REPLACED                  arm64   skipped wrong
    NO_CODE<1                        arm32   ended_early
    LINK_STALE+LINK_OUTSIDE          arm64   phantom wrong
    LINK_STALE+LINK_OUTSIDE          arm32   skipped phantom wrong
    SIGNAL                           arm32   wrong
    LINK_LIVE+LINK_INSIDE+UNLINKED   arm64   refused ended_early skipped wrong_register wrong
    LINK_LIVE+LINK_INSIDE+UNLINKED   arm32   refused ended_early skipped wrong_register wrong
    LINK_STALE+LINK_INSIDE+UNLINKED  arm64   refused ended_early skipped
    LINK_STALE+LINK_INSIDE+UNLINKED  arm32   refused ended_early skipped wrong
    LEAF_RECORD+UNLINKED<1           arm32   stopped wrong
    NO_RECORD+UNLINKED<1             arm32   stopped ended_early phantom wrong
    FP_REUSED<1                      arm64   stopped ended_early skipped
    FP_REUSED<1                      arm32   stopped ended_early skipped wrong
    SIGNED+LINKED                    arm64   wrong
    NO_RECORD+UNLINKED               arm32   stopped ended_early wrong
    MIXED_ISA+UNLINKED               arm32   ended_early
    MIXED_ISA                        arm32   stopped ended_early skipped wrong
    FP_REUSED                        arm64   refused stopped ended_early
    FP_REUSED                        arm32   stopped ended_early wrong
    FRAMELESS+LINK_STALE+UNLINKED    arm64   ended_early wrong
    FRAMELESS+LINK_STALE+UNLINKED    arm32   ended_early skipped
    PROLOGUE+LINK_STALE+UNLINKED     arm32   ended_early skipped
    FRAMELESS_CALLER+UNLINKED        arm64   stopped ended_early skipped wrong
    FRAMELESS_CALLER+UNLINKED        arm32   stopped ended_early skipped wrong
    UNLINKED+LINK_STALE              arm32   refused ended_early wrong
    SIGNED+UNLINKED                  arm64   ended_early skipped wrong
    SAME_RETURN+LINK_LIVE+UNLINKED   arm64   skipped
    HANDLER                          arm64   skipped wrong
    NAMELESS+UNLINKED                arm64   refused ended_early skipped
    HANDLER                          arm32   skipped wrong
    NAMELESS+UNLINKED                arm32   refused ended_early skipped
    SAME_RETURN+LINK_LIVE+UNLINKED   arm32   skipped wrong_register
    FP_FOR_LOCALS                    arm32   stopped ended_early skipped wrong
    OPEN_END                         arm64   refused stopped phantom
    OPEN_END                         arm32   refused stopped phantom
    LAST_RECORD                      arm64   refused stopped
    LAST_RECORD                      arm32   refused stopped
    FP_FOR_LOCALS<1                  arm64   stopped ended_early
    FP_FOR_LOCALS<1                  arm32   stopped ended_early wrong
    FP_REUSED                        arm64   wrong
    NAMELESS+UNLINKED                arm64   wrong
    NAMELESS+UNLINKED                arm32   wrong
    FRAMELESS+LINK_STALE+UNLINKED    arm64   skipped
    EPILOGUE+LINK_STALE+UNLINKED     arm32   skipped
    """,
    {
        "SIGNAL": RECORDS["SIGNAL"],
        "NO_CODE<1": RECORDS["NO_CODE"],
        "LINK_STALE+LINK_OUTSIDE": (
            "the stale link register points into another function: a callee returned by popping pc, without reloading "
            "it",
            PERF,
        ),
        "LINK_LIVE+LINK_INSIDE+UNLINKED": (
            "the function was called by itself, so its live link register looks like a stale one; no record is linked",
            PERF,
        ),
        "LINK_STALE+LINK_INSIDE+UNLINKED": (
            "the function keeps its return address, but not in a frame record that is linked: neither the chain nor "
            "the link register, which points into the function itself, has it",
            PERF,
        ),
        "LEAF_RECORD+UNLINKED<1": RECORDS["LEAF_RECORD+UNLINKED"],
        "NO_RECORD+UNLINKED<1": RECORDS["NO_RECORD+UNLINKED"],
        "FP_REUSED<1": RECORDS["FP_REUSED"],
        **RECORDS,
        **STALE,
    },
)

LR_LEAF = Unwinder(
    name="lr_leaf",
    summary="fp_chain, with the link register as the top frame's caller where it names another function",
    unwind=unwind,
    arches=frozenset({"arm64", "arm32"}),
    limits=LIMITS,
)
