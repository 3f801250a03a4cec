"""`.save`, `.vsave`, `.pad` and `.setfp`: the directives that `.ARM.exidx` is made of, and which of them are wrong.

They describe one frame for a whole function, the one that it has where it calls, in the order in which its prologue
makes it: from the CFA down. What is advised is a frame that is true at every call that was watched.

Source: EHABI32, "Assembler directives"; the manual of GNU as, "ARM Machine Directives".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from testbed.arch import Arch
from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER, FrameState, StatePart, StateSpan, cfa_of, state_of
from testbed.checks.tried_function import THE_CFA, THE_SIGNATURE, TriedFunction, TriedPc, points_into
from testbed.contract.rows import Offset, RegisterPlus, SameValue, UnwindRow
from testbed.conventions import Convention

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0|[1-9]\d*")
_NUMBERED = re.compile(r"([rd])(\d+)$")
_USUAL = MappingProxyType({"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12", "r13": "sp", "r14": "lr", "r15": "pc"})
_WORD = re.compile(r"\b[a-z]\w*\b")
_RANGE = re.compile(r"\.v?save\s*\{[^}]*-")
_A_RANGE = 3  # registers in a row that are written as one: {r4-r6}


@dataclass(frozen=True, slots=True)
class FrameRepair:
    """The function's directives ``replaced`` by others make all its calls right: those at ``pcs`` were wrong.

    Where nothing is replaced, the new ones follow the directive ``after``.
    """

    things: tuple[str, ...]  # wrong at the first of them
    pcs: tuple[int, ...]
    directives: tuple[str, ...]
    replaced: tuple[str, ...]
    after: str


def frame_repair(function: TriedFunction) -> FrameRepair | None:
    """What makes the one row of a function right at every call; None where no directives do, or nothing is wrong.

    The function's states are those of the repaired row afterwards.
    """
    if not len(function) or len({each.span for each in function.tried}) > 1:
        return None
    old = function.states[0]
    wrong = [i for i in range(len(function)) if function.wrong(i)]
    if not wrong:
        return None
    things = frozenset[str]().union(*(function.wrong(i) for i in wrong))
    for new in _true_frames(function, old, things):
        if any(function.wrong(i, new) for i in range(len(function))):
            continue
        try:
            before, after = frame_directives(old, function.arch), frame_directives(new, function.arch)
        except ValueError:
            continue
        function.states[:] = [new] * len(function)
        first = tuple(thing for thing in function.things(wrong[0], old) if function.is_wrong(wrong[0], thing, old))
        return FrameRepair(first, tuple(function.tried[i].pc for i in wrong), *_changes(before, after))
    return None


def undescribed(convention: Convention, tried: Sequence[TriedPc]) -> FrameRepair | None:
    """What the table should say of a function of which it says nothing; None where no directives say it."""
    arch = convention.arch
    row = UnwindRow(tried[0].pc, tried[-1].pc + 1, RegisterPlus(arch.sp, arch.entry_cfa), {}, arch.return_address)
    function = TriedFunction(
        convention, tried, [StateSpan(row.start, row.end, row, state_of(row, convention), frozenset(), True)]
    )
    every = tuple(each.pc for each in tried)
    if not any(function.wrong(i) for i in range(len(function))):
        return FrameRepair((), every, (), (), "")
    found = frame_repair(function)
    return found and replace(found, pcs=every)


def frame_directives(state: FrameState, arch: Arch) -> tuple[str, ...]:
    """The directives that describe a state. Raises ValueError where none do."""
    cfa = cfa_of(state)
    if not isinstance(cfa, RegisterPlus):
        raise ValueError(f"no directive for {cfa}")
    found: list[str] = []
    group: list[str] = []
    depth = 0
    for name, offset in sorted(_slots(state, arch).items(), key=lambda slot: -slot[1]):
        gap = -depth - offset - _size(name, arch)
        if gap < 0:
            raise ValueError(f"{name} lies where another register does")
        if group and (gap or not _goes_on(group[-1], name, arch)):
            found.append(_saved(group))
            group = []
        if gap:
            found.append(f".pad #{gap}")
        group.append(name)
        depth = -offset
    if group:
        found.append(_saved(group))
    room = cfa.offset - depth
    if cfa.register == arch.sp and room < 0:
        raise ValueError("a register is saved below SP")
    if room > 0:
        found.append(f".pad #{room}")
    if cfa.register != arch.sp:
        found.append(f".setfp {cfa.register}, {arch.sp}" + (f", #{-room}" if room < 0 else ""))
    return tuple(found)


def _slots(state: FrameState, arch: Arch) -> dict[str, int]:
    found = {}
    others = (name for name, rule in state.items() if isinstance(rule, Offset))  # of vectors, that nobody preserves
    for name in dict.fromkeys((*arch.by_name, *others)):
        match state.get(name):
            case Offset(offset) if offset < 0 and name not in (arch.sp, arch.pc):
                found[name] = offset
            case None | SameValue():
                pass
            case rule:
                raise ValueError(f"no directive for {rule}")
    return found


_OTHERS = 8  # bytes of d0 to d7 and of d16 to d31


def _size(name: str, arch: Arch) -> int:
    return arch.by_name[name].bits // 8 if name in arch.by_name else _OTHERS


def _goes_on(above: str, below: str, arch: Arch) -> bool:
    """Whether one instruction pushes both: the register with the lower number lies lower."""
    if above not in arch.by_name or below not in arch.by_name:
        return _next(below) == above
    one, other = arch.by_name[above], arch.by_name[below]
    if one.bits != other.bits or one.dwarf is None or other.dwarf is None:
        return False
    return other.dwarf < one.dwarf if one.bits == 8 * arch.word else other.dwarf == one.dwarf - 1


def _saved(group: Sequence[str]) -> str:
    """``.save {r4-r7, lr}``, of registers from the highest address down."""
    runs: list[list[str]] = []
    for name in reversed(group):
        if runs and _next(runs[-1][-1]) == name:
            runs[-1].append(name)
        else:
            runs.append([name])
    said = [f"{run[0]}-{run[-1]}" if len(run) >= _A_RANGE else ", ".join(run) for run in runs]
    return f".{'v' if group[0].startswith('d') else ''}save {{{', '.join(said)}}}"


def same_frame(one: str, other: str) -> bool:
    """Do two directives say the same, however registers and numbers are written?"""
    return _meaning(one) == _meaning(other)


def spelt_as(standing: Sequence[str], lines: Sequence[str], directives: Sequence[str]) -> tuple[str, ...]:
    """Directives with lists of registers as the source has them: its names of registers, ranges if it has some."""
    theirs = {_USUAL.get(name, name): name for each in standing for name in _WORD.findall(each)}
    ranges = any(_RANGE.search(line) for line in lines)
    return tuple(_spelt(each, theirs, ranges=ranges) for each in directives)


def is_pointer(one: str, other: str) -> bool:
    """Are two directives a `.setfp` of the same registers?"""
    return one.startswith(".setfp ") and other.startswith(".setfp ") and _pointer(one)[0] == _pointer(other)[0]


def pointed(directive: str, standing: str, said: str) -> str:
    """A `.setfp` by the number that it has where one is ``standing``, which a table ``said`` by another one.

    A table does not tell whether registers were saved before or behind it, and so how far away SP was.
    """
    if not is_pointer(directive, said):
        return directive
    registers, number = _pointer(directive)
    amount = number + _pointer(standing)[1] - _pointer(said)[1]
    return f".setfp {', '.join(registers)}" + (f", #{amount}" if amount else "")


def _pointer(directive: str) -> tuple[tuple[str, ...], int]:
    """The registers of a `.setfp`, and its number; 0 for one that is computed."""
    *registers, number = (*_meaning(directive)[1], "0")[:3]
    return tuple(registers), int(number) if number.lstrip("-").isdecimal() else 0


def _spelt(directive: str, theirs: Mapping[str, str], *, ranges: bool) -> str:
    name, _, rest = directive.partition(" ")
    if rest.startswith("{") and not ranges:
        rest = f"{{{', '.join(_listed(rest))}}}"
    return f"{name} {_WORD.sub(lambda match: theirs.get(match[0], match[0]), rest)}".strip()


def _meaning(directive: str) -> tuple[str, frozenset[str] | tuple[str, ...]]:
    """The name of a directive, with the registers of its list in no order, or with its other arguments."""
    name, _, rest = directive.partition(" ")
    if rest.startswith("{"):
        return name, frozenset(_listed(rest))
    said = (_USUAL.get(each.strip(), each.strip().lstrip("#")) for each in rest.split(","))
    return name, tuple(str(int(each, 0)) if _NUMBER.fullmatch(each) else each for each in said)


def _listed(text: str) -> Iterator[str]:
    """The registers of a list, each by its usual name."""
    for each in text.strip("{} ").split(","):
        first, _, last = (_USUAL.get(name.strip(), name.strip()) for name in each.partition("-"))
        yield first
        while last and first != last and (first := _next(first)):
            yield first


def _next(name: str) -> str:
    match = _NUMBERED.match(name)
    return f"{match[1]}{int(match[2]) + 1}" if match else ""


def _true_frames(function: TriedFunction, old: FrameState, wrong: frozenset[str]) -> Iterator[FrameState]:
    """Frames that are perhaps right at every call; what is right already stays."""
    arch = function.arch
    for values in _true_cfas(function, old) if THE_CFA in wrong else ({},):
        new: dict[str, StatePart] = {**old, **values}
        for name in sorted(wrong - {THE_CFA, THE_SIGNATURE}, key=lambda name: arch.index.get(name, -1)):
            places = [each.true.places[name] for each in function.tried if name in each.true.places]
            offsets = frozenset.intersection(*(place.offsets for place in places)) if places else frozenset()
            in_place = name != arch.link and all(place.in_place for place in places)
            below = [offset for offset in offsets if offset < 0]
            is_told = isinstance(old.get(name), Offset)  # of a save that happened
            new[name] = Offset(max(below)) if below and (is_told or not in_place) else None
        yield _with_the_rest(function, new)
        yield new


def _true_cfas(function: TriedFunction, old: FrameState) -> Iterator[FrameState]:
    arch = function.arch
    bases = (old.get(CFA_REGISTER), arch.sp, *arch.frame_pointers)
    for base in dict.fromkeys(base for base in bases if isinstance(base, str)):
        offsets = {each.true.cfa.get(base) for each in function.tried}
        if len(offsets) == 1 and None not in offsets and all(points_into(e.true, base, arch) for e in function.tried):
            yield {CFA_REGISTER: base, CFA_OFFSET: offsets.pop()}


def _with_the_rest(function: TriedFunction, state: FrameState) -> FrameState:
    """With all registers that lie, at every call, one below the other from the CFA down: a push saves several."""
    arch, new = function.arch, dict(state)
    taken = {rule.offset: name for name, rule in new.items() if isinstance(rule, Offset)}
    saved = [
        name for name in (*function.convention.preserved, arch.link) if name and not isinstance(new.get(name), Offset)
    ]
    depth = 0
    while True:
        known = next((name for offset, name in taken.items() if offset + _size(name, arch) == -depth), None)
        if known is None:
            known = next((name for name in saved if _lies_at(function, name, -depth - _size(name, arch))), None)
            if known is None:
                return new
            saved.remove(known)
            new[known] = Offset(-depth - _size(known, arch))
        depth += _size(known, arch)


def _lies_at(function: TriedFunction, name: str, offset: int) -> bool:
    """Whether the caller's register is at an offset from the CFA at every call."""
    places = [each.true.places.get(name) for each in function.tried]
    return all(place is not None and offset in place.offsets for place in places)


def _changes(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """What is new, what it replaces, and the directive before both."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    end = 0
    while end < min(len(before), len(after)) - same and before[-1 - end] == after[-1 - end]:
        end += 1
    last = before[same - 1] if same else ".fnstart"
    return after[same : len(after) - end], before[same : len(before) - end], last
