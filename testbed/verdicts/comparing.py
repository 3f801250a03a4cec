"""A backtrace beside the true frames: the outcome, and the frame at which it goes wrong.

A verdict goes wrong at one frame: the first whose own unwinding gave something false. That is the frame itself where
its CFA is false, the one further in where a register or the pc is, the last one that is right where a backtrace ends.
A limit explains by what is true of that frame, and of no other. Where functions have called themselves return addresses
repeat; if nothing but pcs is claimed, a caller that is left out or said twice among them shows at their end only, and
any of these frames may be the one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from testbed.arch import Arch
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.truth import TrueFrame
from testbed.words.errors import ToolCrashed, ToolHung
from testbed.words.outcome import Outcome


def claimed_pcs(true: Sequence[TrueFrame], said: Sequence[Frame]) -> list[int]:
    """The pcs of a backtrace; one that is right of a frame, though it is not its return address, is taken for that."""
    changed = [frame for frame in true if frame.goes_on is not None]
    pcs = [frame.pc for frame in said]
    if changed:
        plain = {frame.pc for frame in true}
        for i, pc in enumerate(pcs[1:], 1):
            if pc not in plain:
                pcs[i] = next((frame.pc for frame in changed if frame.is_at(pc)), pc)
    return pcs


def compare(arch: Arch, true: Sequence[TrueFrame], said: Backtrace) -> tuple[Outcome, int, str, Sequence[int]]:
    """The outcome, how many frames are right, what is wrong first, and the frames at which it may go wrong."""
    claimed = said.frames
    true_pcs = [frame.pc for frame in true]
    said_pcs = claimed_pcs(true, claimed)
    agreed = 0
    while agreed < min(len(true_pcs), len(said_pcs)) and true_pcs[agreed] == said_pcs[agreed]:
        agreed += 1
    if agreed == 0:
        return Outcome.WRONG, 0, "the innermost frame is not the interrupted one", (0,)
    is_prefix = agreed == len(said_pcs)
    kind = _kind(true_pcs, said_pcs, said, is_prefix)
    for i in range(agreed):
        outcome = kind if kind.lying else Outcome.WRONG_REGISTER
        # A wrong pc, or a false root, is the graver lie and names the outcome; the register still counts.
        # What the frame further in gave comes first: the CFA may be computed from it.
        if i and (lie := _wrong_kind(true[i], claimed[i]) or _wrong_register(arch, true[i], claimed[i])):
            return outcome, i, f"frame {i}: {lie}", (i - 1,)
        if lie := _wrong_cfa(true[i], claimed[i]):
            return outcome, i, f"frame {i}: {lie}", (i,)
    frames = (0,) if kind is Outcome.EXACT else range(agreed - 1, _since(true, claimed, agreed - 1) - 1, -1)
    return kind, agreed, _difference(true, said, agreed), frames


def outermost_wrong(outcome: Outcome, root: int) -> int:
    """The outermost frame at which a lie of some kind can go wrong, of a stack whose outermost frame is ``root``.

    Negative where the stack is too short for it: no caller can be left out where there are no two, and a backtrace that
    has all of them does not end early. What has all frames and is not right has one too many, or a false register.
    """
    if outcome is Outcome.SKIPPED:
        return root - 2
    if outcome is Outcome.ENDED_EARLY:
        return root - 1
    if outcome is Outcome.WRONG:
        return max(root - 1, 0)  # the interrupted frame itself may be another one
    return root


def _kind(true: list[int], claimed: list[int], said: Backtrace, is_prefix: bool) -> Outcome:
    if is_prefix and isinstance(said.stopped, ToolCrashed | ToolHung):
        return Outcome.CRASHED if isinstance(said.stopped, ToolCrashed) else Outcome.HUNG
    if is_prefix and said.stopped is not None:
        return Outcome.REFUSED if len(claimed) == 1 and len(true) > 1 else Outcome.STOPPED
    if is_prefix:
        return Outcome.EXACT if len(claimed) == len(true) else Outcome.ENDED_EARLY
    if _is_subsequence(claimed, true):
        return Outcome.SKIPPED
    if _is_subsequence(true, claimed):
        return Outcome.PHANTOM
    return Outcome.WRONG


def _is_subsequence(inner: list[int], outer: list[int]) -> bool:
    rest = iter(outer)
    return all(pc in rest for pc in inner)


def _since(true: Sequence[TrueFrame], said: Sequence[Frame], frame: int) -> int:
    """The innermost frame from which on all return addresses up to that of ``frame`` occur more than once."""
    often = {pc for chain in (true, said) for pc, times in Counter(each.pc for each in chain[1:]).items() if times > 1}
    while frame > 0 and said[frame].pc in often and _bare(said[frame]):
        frame -= 1
    return frame


def _bare(frame: Frame) -> bool:
    """True where nothing is claimed but the pc."""
    return frame.cfa is None and len(frame.registers) == 1


def _wrong_cfa(true: TrueFrame, claimed: Frame) -> str:
    """What is wrong about the CFA that a frame claims; "" if nothing is."""
    if claimed.cfa is not None and true.cfa is not None and claimed.cfa != true.cfa:
        return f"CFA {claimed.cfa:#x}, not {true.cfa:#x}"
    return ""


def _wrong_kind(true: TrueFrame, claimed: Frame) -> str:
    """What is wrong about what a frame's pc is said to be: of a signal's trampoline either will do."""
    if true.interrupted and claimed.kind is FrameKind.CALLER:
        return "said to be behind a call, and a signal interrupted it"
    if true.calling and claimed.kind is FrameKind.INTERRUPTED:
        return "said to be interrupted, and it is behind a call"
    return ""


def _wrong_register(arch: Arch, true: TrueFrame, claimed: Frame) -> str:
    """The first register that a frame claims wrongly; "" if there is none. The interrupted frame's were given."""
    # Of a caller the truth knows what a call preserves; of a frame that a signal interrupted, every register.
    for name in true.registers:
        if name in (arch.pc, arch.flags):
            continue
        value = claimed.registers.get(name)
        if value is not None and value != true.registers[name]:
            return f"{name} {value:#x}, not {true.registers[name]:#x}"
    return ""


def _difference(true: Sequence[TrueFrame], said: Backtrace, agreed: int) -> str:
    if agreed < len(said.frames) and agreed < len(true):
        return f"frame {agreed}: {said.frames[agreed].pc:#x}, not {true[agreed].pc:#x}"
    if agreed < len(said.frames):
        return f"frame {agreed}: {said.frames[agreed].pc:#x} never was"
    if said.stopped is not None:
        return f"after frame {agreed - 1}: {said.stopped.reason}: {said.stopped}"
    return f"frame {agreed - 1} is not the root" if agreed < len(true) else ""
