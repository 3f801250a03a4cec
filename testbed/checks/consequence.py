"""What a wrong row does to the stack that a reader shows: it is unwound from, to two callers that are made for it.

Each caller has saved every callee-saved register and its return address right below its own CFA. One counts its CFA
from SP, the other from the frame pointer (where an architecture has several, there is one more). Places on the stack
are distances from the true CFA::

    below 0        the function's frame: a caller's register in each slot where it was seen
    0 ... FRAME    the caller's frame: what its own caller, main, has in its registers, and the way back to main

A value is a place, code, or what else it is in words. What a row says rightly is taken as true, so that each wrong
thing is told by what it does alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from testbed.arch import Arch
from testbed.checks.frame_states import FrameState, StateSpan, cfa_of, state_of
from testbed.checks.model import Consequence, Severity
from testbed.checks.tried_function import THE_CFA, THE_SIGNATURE, TriedFunction, TriedPc
from testbed.checks.true_rows import ObservedRow, TruePlace
from testbed.contract.rows import AtRegister, Offset, RegisterPlus, Rule, SameValue, Undefined, UnwindRow
from testbed.conventions import Convention, platform


@dataclass(frozen=True, slots=True)
class _ReturnInto:
    """A return address into a function; of what the last call left in the link register, nothing is known."""

    name: str


_Content = int | str | _ReturnInto | None  # None: the row says that there is none
_CALLER, _MAIN = _ReturnInto("caller"), _ReturnInto("main")
_LOCALS = 0x58  # bytes of the caller's frame below what it has saved: no usual distance from anything
_FAR = 1 << 20  # bytes: a register that is no nearer holds something else than a place on the stack
_COMPUTED = "what an expression computes"


@dataclass(frozen=True, slots=True)
class _MadeCaller:
    """A caller that counts its CFA ``distance`` from what it has in ``base``: its registers, and its frame."""

    base: str
    distance: int
    registers: Mapping[str, _Content]
    memory: Mapping[int, _Content]


@dataclass(frozen=True, slots=True)
class _Unwound:
    """What a row finds: where its caller goes on, and that one's registers, SP among them; and the stack."""

    goes_on: _Content
    registers: Mapping[str, _Content]
    memory: Mapping[int, _Content]


def consequence_at(
    function: TriedFunction, i: int, state: FrameState, wrong: Collection[str], where: str
) -> Consequence:
    """What comes of a state at an instruction, ``function+0x4``, that says the ``wrong`` things wrongly."""
    true, own, arch = function.tried[i].true, function.return_address(i), function.arch
    name = _function(where)
    if not true.called:
        found = _unwound(function, i, state, {*wrong, own}, _caller(arch, arch.sp))
        return Consequence(Severity.ERROR, "a caller is invented", f"{name} < {_words(found.goes_on)}", name, where)
    callers = (_caller(arch, base) for base in (arch.sp, *arch.frame_pointers))
    told = (_told(_unwound(function, i, state, wrong, each), each, arch, name) for each in callers)
    return replace(worst(told), where=where)


def worst(consequences: Iterable[Consequence]) -> Consequence:
    """The first of the heaviest."""
    return min(consequences, key=lambda each: list(Severity).index(each.severity))


def no_row(where: str) -> Consequence:
    """What comes of code that is called and has no row, at ``function+0x4``."""
    name = _function(where)
    return Consequence(Severity.ERROR, "the caller is lost", f"{name} < nothing more", _true_chain(name), where)


def _function(where: str) -> str:
    return where.partition("+")[0]


def between_rows(row: UnwindRow, true: UnwindRow, wrong: Collection[str], its: Convention, where: str) -> Consequence:
    """What comes of a row that says some things otherwise than another one, which is taken as true."""
    places = {each: TruePlace(in_place=True) for each in (*its.preserved, true.return_address)}
    places |= {each: TruePlace(False, frozenset({rule.offset})) for each, rule in _slots(true)}
    cfa = {true.cfa.register: true.cfa.offset} if isinstance(true.cfa, RegisterPlus) else {}
    tried = TriedPc(row.start, row.end - row.start, 0, 0, ObservedRow(row.start, 1, 1, cfa, places))
    span = StateSpan(row.start, row.end, row, state_of(row, its), frozenset(), begins=True)
    return consequence_at(TriedFunction(its, [tried], [span]), 0, span.state, wrong, where)


def _slots(row: UnwindRow) -> Iterator[tuple[str, Offset]]:
    return ((name, rule) for name, rule in row.registers.items() if isinstance(rule, Offset))


def _caller(arch: Arch, base: str) -> _MadeCaller:
    """A caller that counts from ``base``."""
    memory: dict[int, _Content] = {}
    at = _LOCALS
    for name in _saved(arch):
        memory[at] = "a word of the caller's frame"
        at += arch.by_name[name].bits // 8
    at += -at % arch.word
    memory[at] = _MAIN
    frame = at + arch.word
    registers: dict[str, _Content] = {name: f"the caller's {name}" for name in _saved(arch)}
    place = 0 if base == arch.sp else frame - 2 * arch.word
    return _MadeCaller(base, frame - place, {**registers, base: place}, memory)


def _saved(arch: Arch) -> Sequence[str]:
    return [name for name in platform(arch).preserved if name not in (arch.sp, arch.link, arch.pc)]


def _unwound(
    function: TriedFunction, i: int, state: FrameState, wrong: Collection[str], caller: _MadeCaller
) -> _Unwound:
    """What a state finds at an instruction, called by some caller."""
    true, own, arch = function.tried[i].true, function.return_address(i), function.arch
    truth: dict[str, _Content] = {**caller.registers, own: _CALLER}
    here = _registers_here(true, truth, arch)
    memory = {**caller.memory, **_frame(true, truth)}
    cfa: _Content = 0
    if THE_CFA in wrong:
        cfa = _computed(cfa_of(state), here, memory, 0)
        cfa = cfa if cfa != 0 else "another place at other visits"

    def found(name: str) -> _Content:
        rule = function.rule(i, name, state)
        if name not in wrong and (not isinstance(rule, Offset) or cfa == 0):
            return truth.get(name, f"the caller's {name}")
        value = here.get(name) if isinstance(rule, SameValue) else _computed(rule, here, memory, cfa)
        return value if name not in wrong or value != truth.get(name) else f"another {name} at other visits"

    said = [name for name in wrong if name in arch.by_name and name != own]
    registers = {name: found(name) for name in (*_saved(arch), *said)}
    goes_on = "a return address with a signature" if THE_SIGNATURE in wrong else found(own)
    return _Unwound(goes_on, {arch.sp: cfa, **registers}, memory)


def _registers_here(true: ObservedRow, truth: Mapping[str, _Content], arch: Arch) -> dict[str, _Content]:
    """What is in each register at an instruction."""
    here: dict[str, _Content] = {name: f"what is in {name}" for name in arch.index}
    if arch.link:
        here[arch.link] = _ReturnInto(f"what is in {arch.link}")
    here |= {name: -distance for name, distance in true.cfa.items() if abs(distance) < _FAR}
    here[arch.sp] = -true.cfa.get(arch.sp, true.stack or 0)
    kept = {name: truth[name] for name, place in true.places.items() if place.in_place and name in truth}
    return {**here, **kept}


def _frame(true: ObservedRow, truth: Mapping[str, _Content]) -> dict[int, _Content]:
    """The slots of the function's frame that hold something of its caller's."""
    return {
        offset: truth[name]
        for name, place in true.places.items()
        if name in truth
        for offset in place.offsets
        if offset < 0
    }


def _computed(
    rule: Rule | None, here: Mapping[str, _Content], memory: Mapping[int, _Content], cfa: _Content
) -> _Content:
    """What a rule finds. A word of which nothing is known is told by its place."""
    match rule:
        case Undefined() | None:
            return None
        case Offset(offset):
            return _loaded(cfa, offset, memory)
        case RegisterPlus(register, offset):
            base = here.get(register)
            return base + offset if isinstance(base, int) else base if not offset else f"{register}{offset:+#x}"
        case AtRegister(register, offset):
            return _loaded(here.get(register), offset, memory)
        case _:
            return _COMPUTED


def _loaded(base: _Content, offset: int, memory: Mapping[int, _Content]) -> _Content:
    if not isinstance(base, int):
        return "a word that lies elsewhere"
    at = base + offset
    return memory.get(at, f"the word at CFA{at:+#x}")


def _told(found: _Unwound, caller: _MadeCaller, arch: Arch, name: str) -> Consequence:
    """What is shown of a stack with a caller, and in which way that is not the true one."""
    true = _true_chain(name)
    if found.goes_on != _CALLER:
        what = "the caller is skipped" if found.goes_on == _MAIN else "the caller is lost"
        return Consequence(Severity.ERROR, what, f"{name} < {_words(found.goes_on)}", true)
    base = found.registers[caller.base]
    behind = _loaded(base, caller.distance - arch.word, found.memory)
    if behind != _MAIN:
        repeated = behind == _CALLER
        what = "is repeated" if repeated else "is found, and who called it is lost"
        by = "" if caller.base == arch.sp else f", which counts from {caller.base}"
        return Consequence(
            Severity.ERROR,
            f"the caller{by}{',' * bool(by)} {what}",
            f"{name} < caller{' < caller' * repeated} < {'...' if repeated else _words(behind)}",
            true,
        )
    right = {arch.sp: 0, **caller.registers}
    return _registers_wrong(
        [each for each, value in found.registers.items() if value not in (right.get(each), None)], name
    )


def _registers_wrong(names: Collection[str], name: str) -> Consequence:
    first, last = ", ".join([*names][:-1]), [*names][-1] if names else "nothing"
    listed = f"{first} and {last}" if first else last
    what = f"{listed} {'are' if first else 'is'} shown wrong in the caller"
    return Consequence(Severity.WARNING, what, f"{name} < caller ({listed} wrong) < main", _true_chain(name))


def _true_chain(name: str) -> str:
    return f"{name} < caller < main"


def _words(value: _Content) -> str:
    match value:
        case _ReturnInto(name):
            return name
        case None:
            return "nobody"
        case int():
            return f"no code (a place on the stack, CFA{value:+#x})"
        case _:
            return f"no code ({value})"
