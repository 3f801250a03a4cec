"""The functions that an assembly source describes to unwinders: what stands between a directive and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from testbed.build import directives as d
from testbed.build.expressions import Expression
from testbed.build.keystone import AssembledCode
from testbed.build.source_place import Place
from testbed.build.statements import Assembly, Cfi, Ehabi
from testbed.build.tables.cfi_program import Procedure
from testbed.build.tables.ehabi import HandledFunction


def procedures_of(assembly: Assembly, code: AssembledCode) -> Iterator[Procedure]:
    """What stands between each ``.cfi_startproc`` and its ``.cfi_endproc``."""
    now: Procedure | None = None
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if not isinstance(statement, Cfi):
            continue
        place, directive = statement.place, statement.directive
        if isinstance(directive, d.StartProc):
            if now is not None:
                raise place.error(f".cfi_startproc inside the one of line {now.place.line}")
            now = Procedure(place, at, at, (), simple=directive.simple)
            continue
        if now is None:
            raise place.error("a .cfi directive outside .cfi_startproc and .cfi_endproc")
        match directive:
            case d.EndProc():
                yield replace(now, end=at)
                now = None
            case d.MarkSignalFrame():
                now = replace(now, signal_frame=True)
            case d.BKeyFrame():
                now = replace(now, b_key=True)
            case d.ReturnColumn(register):
                now = replace(now, return_column=register)
            case _:
                now = replace(now, rules=(*now.rules, (at, place, directive)))
    if now is not None:
        raise now.place.error(".cfi_startproc without .cfi_endproc")


def handled_of(assembly: Assembly, code: AssembledCode) -> Iterator[HandledFunction]:
    """What stands between each ``.fnstart`` and its ``.fnend``."""
    now: HandledFunction | None = None
    for statement, at in zip(assembly.statements, code.addresses, strict=True):
        if not isinstance(statement, Ehabi):
            continue
        place, directive = statement.place, statement.directive
        if isinstance(directive, d.FnStart):
            if now is not None:
                raise place.error(f".fnstart inside the one of line {now.place.line}")
            now = HandledFunction(place, at)
            continue
        if now is None:
            raise place.error("an unwinding directive outside .fnstart and .fnend")
        if isinstance(directive, d.FnEnd):
            _check_handled(now)
            yield now
            now = None
        else:
            now = _extended(now, place, directive, code.resolver(at))
    if now is not None:
        raise now.place.error(".fnstart without .fnend")


def _extended(
    function: HandledFunction, place: Place, directive: d.EhabiDirective, resolve: Callable[[str], int | None]
) -> HandledFunction:
    match directive:
        case d.CantUnwind():
            return replace(function, cant_unwind=True)
        case d.Personality(symbol):
            return replace(function, personality=_word(symbol, resolve))
        case d.PersonalityIndex(index):
            return replace(function, model=index)
        case d.HandlerData(words):
            return replace(function, handler_data=tuple(_word(word, resolve) for word in words))
        case d.Save() | d.VSave() | d.SetFp() | d.Pad() | d.MovSp() | d.UnwindRaw():
            return replace(function, rules=(*function.rules, (place, directive)))
        case _:
            raise place.error("this directive cannot stand here")


def _word(expression: Expression, resolve: Callable[[str], int | None]) -> int:
    value = expression.value(resolve)
    if not -(1 << 31) <= value < 1 << 32:
        raise expression.place.error(f"{expression.text!r} is {value:#x}: that does not fit a word of 4 bytes")
    return value & 0xFFFF_FFFF


def _check_handled(function: HandledFunction) -> None:
    if function.personality is not None and function.model is not None:
        raise function.place.error("both .personality and .personalityindex")
    if function.cant_unwind and (function.personality is not None or function.handler_data is not None):
        raise function.place.error(".cantunwind with a personality or handler data")
