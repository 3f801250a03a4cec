"""Functions whose rows suppose another entry than a call: what is found when they are called is nobody's mistake.

What lies above the CFA is of who enters: a register of his callers is there only if he has put it there. And more may
be on the stack than a call leaves. The linkage table pushes two words and jumps to glibc's `_dl_runtime_resolve`,
whose rows count them from the first instruction on, and which takes them off before it jumps on. Called as any
function, all of its rows are wrong by these words. That tells it from a mistake: no row is right, and it never comes
back to who called it.
"""

from __future__ import annotations

from collections.abc import Callable

from testbed.checks.code_words import cfa_words, rule_words
from testbed.checks.frame_states import cfa_of
from testbed.checks.model import WrongThing
from testbed.checks.tried_function import THE_CFA, TriedFunction
from testbed.contract.rows import Offset, RegisterPlus
from testbed.image import Image
from testbed.micro.stack_moves import register_use

_OTHER_ENTRY = "and a call leaves less, and is never returned from: it supposes another entry, as by a jump"
_FIRST_ONES = 2  # instructions before it: a landing place of branches, another register
_OUTERMOST = "and it is zero, which marks the outermost frame: nobody calls this code"
_THROWN_AWAY = "and it is overwritten, saved nowhere: nobody calls this code, as where a processor begins"
_PUT_ABOVE = "and no call puts it there, above the frame: it supposes another entry, as by a jump"
_COMPUTED = "and by its CFA, which is computed, no row is right: it supposes another entry, as by a switch of stacks"


def _since(function: TriedFunction, holds: Callable[[int], bool]) -> int | None:
    """The instruction from which on something holds, to the last; one of the first, in code that never returns."""
    first = next((i for i in range(len(function)) if holds(i)), len(function))
    is_all = first < len(function) and all(map(holds, range(first, len(function))))
    returns = any(each.true.returns for each in function.tried)
    return first if is_all and first <= _FIRST_ONES and not returns else None


def marks_outermost(function: TriedFunction) -> tuple[int, str] | None:
    """Where code that nobody calls has marked the outermost frame, by a zero in a frame pointer, and in which one.

    System V ABI for x86-64, 3.4.1; AAPCS64, 6.4.6.
    """
    first = _since(function, lambda i: function.tried[i].true.outermost)
    names = () if first is None else function.arch.frame_pointers
    return next(((first, name) for name in names if first is not None and function.is_wrong(first, name, {})), None)


def thrown_away(function: TriedFunction, image: Image) -> tuple[int, str] | None:
    """The first instruction from which on no place has the return address any more, since the code itself, and no call,
    has written over it: with another value, or with one that it takes off the stack that it was called on.
    """

    def is_gone(i: int) -> bool:
        place = function.tried[i].true.places.get(function.return_address(i))
        return place is not None and not (place.in_place or place.offsets or place.registers)

    first = _since(function, is_gone)
    use = register_use(image, function.tried[first - 1].pc) if first else None
    if not first or use is None or function.arch.link not in use.writes:
        return None
    is_above = function.tried[first].true.cfa.get(function.arch.sp, 0) < 0
    return (first, function.return_address(first)) if is_above or not use.loads else None


def put_above(function: TriedFunction) -> tuple[int, str] | None:
    """The first instruction at which the rows have the return address above the true CFA, where it is not."""

    def is_above(i: int) -> bool:
        state, true = function.states[i], function.tried[i].true
        rule, cfa, name = state.get(function.return_address(i)), cfa_of(state), function.return_address(i)
        if not isinstance(rule, Offset) or not isinstance(cfa, RegisterPlus) or name not in function.wrong(i):
            return False
        return cfa.register in true.cfa and rule.offset + cfa.offset >= true.cfa[cfa.register]

    first = _since(function, is_above)
    return None if first is None else (first, function.return_address(first))


def computed(function: TriedFunction) -> tuple[int, str] | None:
    """The first instruction from which on an expression gives the CFA, and no row is right by it."""
    first = _since(
        function, lambda i: not isinstance(cfa_of(function.states[i]), RegisterPlus) and bool(function.wrong(i))
    )
    return None if first is None else (first, function.return_address(first))


def more_at_entry(function: TriedFunction, start: int) -> tuple[int, str] | None:
    """The first instruction, ``start``, if from there to the last that was tried the rows count more than a call
    leaves, in code that never returns. So do those of libgcc's `__morestack`, which leave out who calls it."""
    arch, cfa = function.arch, cfa_of(function.states[0]) if len(function) else None
    is_more = isinstance(cfa, RegisterPlus) and cfa.register == arch.sp and cfa.offset > arch.entry_cfa
    if not is_more or function.tried[0].pc != start:
        return None
    return (0, THE_CFA) if _since(function, lambda i: function.is_wrong(i, THE_CFA, function.states[i])) == 0 else None


def entered_otherwise(function: TriedFunction, start: int, image: Image) -> WrongThing | None:
    """What shows that the rows suppose another entry than a call, which was not made."""
    for found, why in (
        (more_at_entry(function, start), _OTHER_ENTRY),
        (thrown_away(function, image), _THROWN_AWAY),
        (put_above(function), _PUT_ABOVE),
        (computed(function), _COMPUTED),
        (marks_outermost(function), _OUTERMOST),
    ):
        if found:
            i, name = found
            cfa, rule = cfa_of(function.states[i]), function.rule(i, name, function.states[i])
            said = f"= {cfa_words(cfa)}" if name == THE_CFA else f"is {rule_words(rule, name)}"
            return WrongThing(name, f"{name} {said}", why)
    return None
