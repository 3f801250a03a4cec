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

Said = d.CfiDirective | StoredAt | Computed


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
            case d.CfiDirective("remember_state"):
                remembered.append(now)
            case d.CfiDirective("restore_state"):
                if not remembered:
                    raise place.error(".cfi_restore_state without .cfi_remember_state")
                now = replace(remembered.pop(), start=address)
            case _:
                now = _after(now, rule, initial)
    if now.start < procedure.end:
        yield replace(now, end=procedure.end)


def _after(now: CfiState, rule: d.CfiDirective, initial: CfiState) -> CfiState:
    register, offset = now.cfa or (None, 0)
    match rule:
        case d.CfiDirective("def_cfa", (base, distance)):
            return replace(now, cfa=(base, distance), cfa_stored=False)
        case d.CfiDirective("def_cfa_offset", (distance,)):
            return replace(now, cfa=None if register is None else (register, distance))
        case d.CfiDirective("adjust_cfa_offset", (by,)):
            return replace(now, cfa=None if register is None else (register, offset + by))
        case d.CfiDirective("def_cfa_register", (base,)):
            return replace(now, cfa=(base, offset))
        case d.CfiDirective("rel_offset", (name, distance)):
            return replace(now, rules=now.rules | {name: d.cfi("offset", name, distance - offset)})
        case d.CfiDirective("restore", (name,)):
            rules = {key: said for key, said in now.rules.items() if key != name}
            return replace(now, rules=rules | ({name: initial.rules[name]} if name in initial.rules else {}))
        case d.CfiDirective("negate_ra_state"):
            return replace(now, signed=not now.signed)
        case d.CfiDirective("escape", content):
            return _after_escape(now, bytes(content))
        case d.CfiDirective("offset" | "val_offset" | "register" | "undefined" | "same_value", (name, *_)):
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
