"""Return addresses behind no call: where a signal interrupted, and the trampoline that its handler returns to."""

from __future__ import annotations

from testbed.contract.frames import Frame
from testbed.truth import TrueFrame, Truth


def uncalled_in(truth: Truth) -> frozenset[int]:
    """Those of a run."""
    signals = {a.index for a in truth.activations if a.signal}
    returns = (a.return_address for a in truth.activations if a.index in signals or a.parent in signals)
    return frozenset(address for address in returns if address is not None)


def behind_call(frame: TrueFrame | Frame, uncalled: frozenset[int]) -> bool:
    """True where a frame's pc is a return address: a signal's trampoline is none, whoever takes it for one."""
    behind = frame.lookup_pc != frame.pc
    return behind and (isinstance(frame, TrueFrame) or frame.pc not in uncalled)
