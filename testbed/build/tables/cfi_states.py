"""What CFI directives say at each pc of a procedure: for formats that store rows instead of instructions.

The rules of DWARF 5, section 6.4.2, run over the directives; a state is kept wherever one changes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from testbed.arch import Arch
from testbed.build import directives as d
from testbed.build.tables.cfi_program import Procedure, initial_rules
from testbed.build.tables.escapes import CfaComputed, CfaStoredAt, Computed, NoRule, StoredAt, decode_escape

Said = d.AtCfaOffset | d.IsCfaOffset | d.InRegister | d.MakeUndefined | d.KeepSame | StoredAt | Computed


@dataclass(frozen=True, slots=True)
class CfiState:
    """What holds for ``[start, end)``: the CFA as (DWARF register, offset), and what is said of each register.

    ``cfa`` None: it is computed. ``cfa_stored``: it is the word there. ``opaque``: bytes of ``.cfi_escape`` that are
    not understood here have a part in it.
    """

    start: int
    end: int
    cfa: tuple[int, int] | None
    cfa_stored: bool = False
    rules: dict[int, Said] = field(default_factory=dict)
    signed: bool = False  # the return address carries a signature
    opaque: bool = False


def cfi_states(procedure: Procedure, arch: Arch) -> Iterator[CfiState]:
    """The states of a procedure in the order of the code, none empty.

    Raises BuildError for a ``.cfi_restore_state`` that nothing was remembered for.
    """
    initial = CfiState(procedure.start, procedure.end, None)
    if not procedure.simple:
        for rule in initial_rules(arch):
            initial = _after(initial, rule, initial)
    now, remembered = initial, list[CfiState]()
    for address, place, rule in procedure.rules:
        if address > now.start:
            yield replace(now, end=address)
            now = replace(now, start=address)
        match rule:
            case d.RememberState():
                remembered.append(now)
            case d.RestoreState():
                if not remembered:
                    raise place.error(".cfi_restore_state without .cfi_remember_state")
                now = replace(remembered.pop(), start=address)
            case _:
                now = _after(now, rule, initial)
    if now.start < procedure.end:
        yield replace(now, end=procedure.end)


def _after(now: CfiState, rule: d.CfiRule, initial: CfiState) -> CfiState:
    register, offset = now.cfa or (None, 0)
    match rule:
        case d.DefCfa(base, distance):
            return replace(now, cfa=(base, distance), cfa_stored=False)
        case d.DefCfaOffset(distance):
            return replace(now, cfa=None if register is None else (register, distance))
        case d.AdjustCfaOffset(by):
            return replace(now, cfa=None if register is None else (register, offset + by))
        case d.DefCfaRegister(base):
            return replace(now, cfa=(base, offset))
        case d.AtRegisterOffset(name, distance):
            return replace(now, rules=now.rules | {name: d.AtCfaOffset(name, distance - offset)})
        case d.RestoreInitial(name):
            rules = {key: said for key, said in now.rules.items() if key != name}
            return replace(now, rules=rules | ({name: initial.rules[name]} if name in initial.rules else {}))
        case d.NegateRaState():
            return replace(now, signed=not now.signed)
        case d.Escape(content):
            return _after_escape(now, content)
        case d.AtCfaOffset(name) | d.IsCfaOffset(name) | d.InRegister(name) | d.MakeUndefined(name) | d.KeepSame(name):
            return replace(now, rules=now.rules | {name: rule})
        case _:
            return now


def _after_escape(now: CfiState, content: bytes) -> CfiState:
    match decode_escape(content):
        case NoRule():
            return now
        case CfaStoredAt(base, offset):
            return replace(now, cfa=(base, offset), cfa_stored=True)
        case CfaComputed():
            return replace(now, cfa=None, cfa_stored=False)
        case (StoredAt(name) | Computed(name)) as rule:
            return replace(now, rules=now.rules | {name: rule})
        case None:
            return replace(now, opaque=True)
