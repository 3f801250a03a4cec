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

from testbed.contract.assumption import Record
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder
from testbed.image import function_covering
from testbed.trace import Snapshot
from testbed.words.errors import UnknownRegister
from unwinders.chains.fp_chain import FP_CHAIN


def unwind(snapshot: Snapshot) -> Backtrace:
    """The chain of frame records, with LR's function put in where the chain lacks it."""
    arch, chain = snapshot.arch, FP_CHAIN.unwind(snapshot)
    assert arch.link is not None
    try:
        caller = arch.code_address(snapshot.register(arch.link))
    except UnknownRegister as stop:  # whether the chain's first frame is the caller is not known then
        stop.pc = snapshot.pc
        return Backtrace(chain.frames[:1], stop, chain.images)
    function = function_covering(snapshot.images, caller - 1)
    if function is None or function == function_covering(snapshot.images, snapshot.pc):
        return chain
    if len(chain.frames) > 1 and chain.frames[1].pc == caller:
        return chain
    added = Frame(FrameKind.CALLER, caller, {arch.pc: caller}, found_by="link register")
    return Backtrace((chain.frames[0], added, *chain.frames[1:]), chain.stopped, chain.images)


LR_LEAF = Unwinder(
    name="lr_leaf",
    summary="fp_chain, with the link register as the top frame's caller where it names another function",
    unwind=unwind,
    assumption=Record(link=True),
    arches=frozenset({"arm64", "arm32"}),
)
