"""The `.cfi_` directives that stand in an assembly source before an instruction, and which of them an advice changes.

Advice comes from a table, which has what directives add up to. Where a directive that says a wrong thing stands right
there in the source, it is to be written anew; another one behind it would do, and nobody would write that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from testbed.checks.frame_states import CFA_PARTS
from testbed.checks.source_statements import Around

DEF_CFA_OFFSET, ADJUST = ".cfi_def_cfa_offset", ".cfi_adjust_cfa_offset"
DEF_CFA_REGISTER, DEF_CFA = ".cfi_def_cfa_register", ".cfi_def_cfa"
RESTORE, SAME = ".cfi_restore", ".cfi_same_value"
REMEMBER_STATE, RESTORE_STATE = ".cfi_remember_state", ".cfi_restore_state"
OF_THE_CFA = (DEF_CFA_OFFSET, ADJUST, DEF_CFA, DEF_CFA_REGISTER)
CFA_REGISTERS = (f"{DEF_CFA} ", f"{DEF_CFA_REGISTER} ")  # how directives begin that name it
_GIVES_BACK = (RESTORE, SAME)
REL_OFFSET = ".cfi_rel_offset"
_OFFSET = ".cfi_offset"
OF_REGISTERS = (_OFFSET, REL_OFFSET, RESTORE, SAME, ".cfi_undefined", ".cfi_register")


def standing_before(here: Around, names: Mapping[int, str]) -> dict[str, str]:
    """What stands between an instruction and the one before it: directives by themselves with names.

    ``names`` are those of DWARF's numbers of registers.
    """
    return {_named(each.text, names): each.text for each in here.directives}


def said_before(here: Around, names: Mapping[int, str]) -> list[str]:
    """The directives between an instruction and the one before it, with registers' names."""
    return [_named(each.text, names) for each in here.directives]


def _named(directive: str, names: Mapping[int, str]) -> str:
    """A directive with the names of registers for their DWARF numbers: `.cfi_offset 29, -16`, as GCC writes."""
    name, arguments = parts_of_directive(directive)
    if name in (*OF_REGISTERS, DEF_CFA_REGISTER, DEF_CFA) and arguments[0].isdecimal():
        arguments[0] = names.get(int(arguments[0]), arguments[0])
    return f"{name} {', '.join(arguments)}" if arguments != [""] else name


def written_anew(
    advised: Sequence[str], standing: Sequence[str], before: Mapping[str, int | str | None] = MappingProxyType({})
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The advice with what stands there taken into account, and the standing directives that it replaces.

    Of several that say the same thing the last one counts, and is replaced.
    ``before`` are the slots of registers before what stands there, None of those that are the caller's, and, by its
    directive, the register of the CFA: to say that again, a directive that says something else of them is taken out,
    and nothing is written for it.
    """
    if any(each.endswith("_state") for each in advised):
        return tuple(advised), ()
    new, replaced = list(advised), list[str]()
    for place, directive in enumerate(advised):
        for old in reversed(standing):
            said = _instead(*parts_of_directive(directive), *parts_of_directive(old))
            if said is not None and old not in replaced:
                name, arguments = parts_of_directive(said)
                is_nothing = name == ADJUST and not int(arguments[0], 0)
                new[place] = "" if is_nothing or _is_so(name, arguments, before) else said
                replaced.append(old)
                break
    return tuple(filter(None, new)), tuple(replaced)


def _is_so(name: str, arguments: Sequence[str], before: Mapping[str, int | str | None]) -> bool:
    """Whether a directive says of a register what holds before it."""
    register = _register(arguments[0])
    if name == DEF_CFA_REGISTER:
        return before.get(name) == register
    if register not in before:
        return False
    slot = before[register]
    return name in _GIVES_BACK if slot is None else name == _OFFSET and value_of(arguments[1]) == slot


def is_said(directive: str, standing: Sequence[str]) -> bool:
    """Does the source already contain this directive? The last one there about the same thing decides."""
    name, arguments = parts_of_directive(directive)
    wanted = [value_of(each) for each in arguments]
    for old, its in map(parts_of_directive, reversed(standing)):
        given = [value_of(each) for each in its]
        if (old, given) == (name, wanted):
            return True
        if old == DEF_CFA and len(given) == 2 and name in (DEF_CFA_REGISTER, DEF_CFA_OFFSET):
            return given[name == DEF_CFA_OFFSET] == wanted[0]
        if _instead(name, arguments, old, its) is not None:
            return False
    return False


def value_of(argument: str) -> str | int:
    """The number that an argument is; of a name of one, the name."""
    try:
        return int(argument, 0)
    except ValueError:
        return _register(argument)


def parts_of_directive(directive: str) -> tuple[str, list[str]]:
    """The name of a directive, and its arguments."""
    name, _, rest = directive.partition(" ")
    return name, [each.strip() for each in rest.split(",")]


def _instead(name: str, arguments: list[str], old: str, its: list[str]) -> str | None:
    """What to write for an old directive, to say what a new one behind it would; None: it is of another thing."""
    said = f"{name} {', '.join(arguments)}"
    if name in OF_REGISTERS and old in OF_REGISTERS:
        same = _register(arguments[0]) == _register(its[0])
        return f"{name} {', '.join((its[0], *arguments[1:]))}" if same else None
    if name == DEF_CFA and old in (DEF_CFA, DEF_CFA_OFFSET, DEF_CFA_REGISTER, ADJUST):
        return said
    if name == DEF_CFA_OFFSET and old in (DEF_CFA_OFFSET, ADJUST):
        return said
    if name == DEF_CFA_REGISTER and old == DEF_CFA_REGISTER:
        return said
    if old == DEF_CFA and len(its) == 2 and name in (DEF_CFA_OFFSET, DEF_CFA_REGISTER):
        return f"{old} {its[0]}, {arguments[0]}" if name == DEF_CFA_OFFSET else f"{old} {arguments[0]}, {its[1]}"
    if name == ADJUST and old in (ADJUST, DEF_CFA_OFFSET, DEF_CFA):
        try:
            return f"{old} {', '.join((*its[:-1], f'{int(arguments[0], 0) + int(its[-1], 0):#x}'))}"
        except ValueError:
            return None
    return None


def is_instead(directive: str, standing: str) -> bool:
    """Whether a directive is of the same thing as one that stands in a source: a register, or the CFA."""
    name, old = parts_of_directive(directive)[0], parts_of_directive(standing)[0]
    if name in OF_REGISTERS and old in OF_REGISTERS:
        return register_of(directive) == register_of(standing)
    return name in OF_THE_CFA and old in OF_THE_CFA


_SAYS = MappingProxyType({DEF_CFA: (0, 1), DEF_CFA_REGISTER: (0,), DEF_CFA_OFFSET: (1,), ADJUST: (1,)})


def is_unsaid(directive: str, behind: Sequence[str]) -> bool:
    """Whether some of what a directive says of the CFA is said anew right behind it."""
    own = _SAYS.get(parts_of_directive(directive)[0], ())
    others = (name for name, _ in map(parts_of_directive, behind) if name != ADJUST)
    return any({*own} & {*_SAYS.get(name, ())} for name in others)


def parts_named(directives: Sequence[str]) -> frozenset[str] | None:
    """The parts of a state of which directives say something; None where that is not known."""
    names = {parts_of_directive(each)[0] for each in directives}
    if not names or names - {*OF_REGISTERS, *OF_THE_CFA, REMEMBER_STATE}:
        return None
    own = {register_of(each) for each in directives if each.startswith(OF_REGISTERS)}
    return frozenset({*own, *CFA_PARTS} if names & {*OF_THE_CFA} else own)


def register_of(directive: str) -> str:
    """The register that a directive is of, its first argument."""
    return _register(parts_of_directive(directive)[1][0])


def _register(name: str) -> str:
    """A register by its usual name: compilers say ``w19`` and ``b8`` where DWARF's number is that of x19 and d8."""
    plain = name.lstrip("%").lower()
    return f"{PARTS_OF[plain[0]]}{plain[1:]}" if plain[:1] in PARTS_OF and plain[1:].isdecimal() else plain


# AArch64's names for a part of a register, or for more than callees preserve of it, by their letter.
PARTS_OF: Mapping[str, str] = MappingProxyType({"w": "x", "b": "d", "h": "d", "q": "d", "v": "d"})
