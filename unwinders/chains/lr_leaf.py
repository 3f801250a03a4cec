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
from testbed.contract.unwinder import Limit, Unwinder
from testbed.image import Symbol, image_covering
from testbed.trace import Snapshot
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait
from unwinders.chains.fp_chain import FP_CHAIN
from unwinders.chains.frame_records import KERNEL_ARM64 as PERF
from unwinders.chains.frame_records import not_a_pointer
from unwinders.shared_limits import RECORDS, shared_limits


def unwind(snapshot: Snapshot) -> Backtrace:
    arch, chain = snapshot.arch, FP_CHAIN.unwind(snapshot)
    assert arch.link is not None
    caller = arch.code_address(snapshot.registers[arch.link])
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


LIMITS = (
    Limit(
        Trait.LINK_STALE,
        frozenset({Outcome.PHANTOM, Outcome.WRONG}),
        "the stale link register points into another function: a callee returned by popping pc, without reloading it",
        PERF,
    ),
    Limit(
        Trait.LINK_LIVE,
        frozenset({Outcome.SKIPPED, Outcome.WRONG_REGISTER}),
        "the function was called by itself, so its live link register looks like a stale one",
        PERF,
    ),
    Limit(
        Trait.FRAMELESS,
        frozenset({Outcome.SKIPPED}),
        "the function keeps its return address, but not in a frame record: neither the chain nor the register has it",
        PERF,
    ),
    Limit(
        Trait.EPILOGUE,
        frozenset({Outcome.SKIPPED}),
        "the frame pointer is the caller's again, and the link register is not loaded yet: it still points into the "
        "function itself, so it is not taken for a caller",
        PERF,
    ),
    not_a_pointer(Trait.FRAMELESS_CALLER, Outcome.ENDED_EARLY, Outcome.WRONG, Outcome.SKIPPED),
    not_a_pointer(Trait.FP_OMITTED, Outcome.ENDED_EARLY, Outcome.REFUSED, Outcome.STOPPED),
    not_a_pointer(Trait.LEAF_RECORD, Outcome.WRONG, Outcome.STOPPED),
    not_a_pointer(
        Trait.NO_RECORD, Outcome.PHANTOM, Outcome.WRONG, Outcome.ENDED_EARLY, Outcome.STOPPED, Outcome.REFUSED
    ),
    not_a_pointer(Trait.FP_REUSED, Outcome.REFUSED, Outcome.STOPPED),
    not_a_pointer(Trait.MIXED_ISA, Outcome.STOPPED, Outcome.ENDED_EARLY),
    *shared_limits(
        RECORDS,
        {
            Trait.SIGNED: (
                Outcome.WRONG,
                Outcome.ENDED_EARLY,
            ),
            Trait.SIGNAL: (
                Outcome.SKIPPED,
                Outcome.WRONG,
            ),
            Trait.NO_CODE: (Outcome.ENDED_EARLY,),
            Trait.OTHER_STACK: (Outcome.ENDED_EARLY,),
            Trait.SPLIT_FUNCTION: (Outcome.SKIPPED,),
            Trait.OPEN_END: (
                Outcome.STOPPED,
                Outcome.PHANTOM,
            ),
        },
    ),
    Limit(
        Trait.PROLOGUE,
        frozenset({Outcome.SKIPPED}),
        "GCC schedules the body into the prologue: lr is saved and a scratch register already, no record is linked yet",
        "https://gcc.gnu.org/onlinedocs/gcc/ARM-Options.html#index-mno-sched-prolog",
    ),
)

LR_LEAF = Unwinder(
    name="lr_leaf",
    summary="fp_chain, with the link register as the top frame's caller where it names another function",
    unwind=unwind,
    arches=frozenset({"arm64", "arm32"}),
    limits=LIMITS,
)
