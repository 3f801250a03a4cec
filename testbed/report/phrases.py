"""Small pieces of text that every report shares: shares, addresses in terms of the frame, styles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from testbed.image.demangling import brief
from testbed.naming.beside import Alignment
from testbed.verdicts.verdict import Counts
from testbed.words.outcome import Outcome

if TYPE_CHECKING:
    from testbed.runs.run import Run

STYLES = {
    Outcome.EXACT: "dim",
    Outcome.REFUSED: "yellow",
    Outcome.STOPPED: "yellow",
    Outcome.ENDED_EARLY: "bold red",
    Outcome.SKIPPED: "bold red",
    Outcome.PHANTOM: "bold red",
    Outcome.WRONG_REGISTER: "bold red",
    Outcome.WRONG: "bold red",
    Outcome.CRASHED: "bold magenta",
    Outcome.HUNG: "bold magenta",
}

FRAME_STYLES = {Alignment.TRUE: "", Alignment.MISSING: "yellow", Alignment.FALSE: "bold red"}

BESIDE: Mapping[str, str] = MappingProxyType(
    {
        "luck": "exact, although the assumption fails",
        "open": "what the trace shows does not decide the assumption, and the answer is otherwise",
        "unexplained": "not what the unwinder is held to",
        "undecided": "no effect tells whose step it is: nobody is judged",
    }
)
"""How answers stand to their assumption, in a word each: counts that are shown where there are any."""


def besides(counted: Iterable[Counts]) -> list[str]:
    """Those of `BESIDE` that occur, and are more than the lies and failures of who states no assumption."""
    some = list(counted)
    occurs = {name: name for name in BESIDE} | {"unexplained": "unforetold"}
    return [name for name, count_of in occurs.items() if any(getattr(each, count_of) for each in some)]


def share(part: int, whole: int) -> str:
    """``98.7 %``, and ``-`` where there is nothing."""
    return f"{percent(part, whole)} %" if whole else "-"


def percent(part: int, whole: int) -> str:
    """``98.7``; never rounded up to 100 nor down to 0, and ``-`` where there is nothing."""
    if not whole or part in (0, whole):
        return "-" if not whole else "100" if part else "0"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows below their head, as a table of Markdown; the last line has no end."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def count(number: int, noun: str) -> str:
    """``1 site``, ``2,048 sites``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def stack_pointer(run: Run, step: int) -> str:
    """SP at a step, relative to the CFA of the innermost activation (the outermost one: to SP at entry)."""
    return relative(run, int(run.trace.sp[step]), step)


def frame_pointer(run: Run, step: int) -> str:
    """What FP holds: an address of this frame, the value it had at entry, zero, or something else."""
    activation = run.watched.activations[int(run.watched.node[step])]
    register = run.trace.isa(step).records[0].pointer
    value = int(run.trace.column(register)[step])
    if value == 0:
        return "0"
    if value == int(run.trace.column(register)[activation.opened]):
        return "caller's"
    top = activation.entry_sp if activation.cfa is None else activation.cfa
    if int(run.trace.sp[step]) <= value <= top:
        return relative(run, value, step)
    return "other"


def relative(run: Run, address: int, step: int) -> str:
    """``cfa-0x20`` and the like."""
    activation = run.watched.activations[int(run.watched.node[step])]
    base, name = (activation.entry_sp, "top") if activation.cfa is None else (activation.cfa, "cfa")
    distance = address - base
    return name if distance == 0 else f"{name}{'-' if distance < 0 else '+'}{abs(distance):#x}"


def activation_name(run: Run, index: int) -> str:
    """The brief name of the function that an activation started in; of a signal's frame, its trampoline: what its
    handler returns to.
    """
    activation = run.watched.activations[index]
    if activation.signal:  # its handler's activation is the next one, opened with it
        trampoline = run.watched.activations[index + 1].return_address
        assert trampoline is not None
        return brief(run.function(trampoline))
    return brief(run.function(int(run.trace.pc[activation.opened])))
