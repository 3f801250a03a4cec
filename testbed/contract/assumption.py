"""Assumptions: what must hold of each frame of the true stack for a technique to be right.

An assumption is a *form* with its parameters; a form is an ordered set of clauses. Nothing here evaluates anything:
`testbed.verdicts.assumptions` does, along the true stack. Where all clauses hold at the frames 0 to k, the frames 0 to
k + 1 of an answer are right. Where one fails at frame k, the answer goes wrong there, and the clause foretells how: the
technique stops, claims the root, or says this very pc, CFA or register.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from testbed.words.table_formats import BY_SECTION


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition on a frame: ``holds`` in the field's words; ``wrong`` is what is so where it fails, ``fails`` a
    sentence about one frame.

    The names in braces in ``fails`` are filled in with evidence. ``here`` is where the frame's function is, ``true``
    where its caller goes on, ``found`` what the technique comes by instead.
    """

    name: str
    holds: str
    wrong: str
    fails: str


# Of every form: what the technique comes by is the caller.
END = Clause(
    "end", "the technique's end is the root", "it does not end at the root", "{here} is the root, and {how} {found}"
)
KIND = Clause(
    "kind",
    "nobody but a call left the caller",
    "a signal interrupted the caller, and it looks for a call",
    "a signal interrupted {true}, which is behind no call",
)
BEHIND = Clause(
    "behind",
    "a signal interrupted the caller",
    "a call left the caller, and it looks for a signal",
    "a call returns to {true}, which no signal interrupted",
)
REGISTER = Clause(
    "register",
    "each register is the caller's",
    "a register is not the caller's",
    "by {by} {register} is {found}, truly {true}",
)
CFA = Clause(
    "cfa",
    "the CFA is where SP was before the call",
    "the CFA is not where SP was before the call",
    "by {by} the CFA is {found}, truly {true}",
)
ASCENDS = Clause(
    "ascends",
    "each frame lies further out",
    "the next frame would not lie further out",
    "{register} would go from {was} to {found}",
)
MOST = Clause(
    "most",
    "the stack is not too deep",
    "the stack is too deep",
    "{here} is frame {frame}, and the technique takes {most} at most",
)
KNOWN = Clause(
    "known",
    "the technique knows the registers that it needs",
    "it needs a register that it does not know",
    "{register} is not known",
)
MAPPED = Clause(
    "mapped", "what it reads is mapped", "it reads where nothing is mapped", "{at} cannot be read, where {how}"
)

# Records and lists of records.
LEADS = Clause(
    "leads",
    "FP leads to where the caller goes on",
    "FP does not lead to where the caller goes on",
    "{how} {found}, and the caller goes on at {true}",
)
ZERO = Clause(
    "zero",
    "FP is zero at the root and nowhere else",
    "FP is zero, and this is not the root",
    "{register} is zero, and {here} is not the root",
)
NO_LIST = Clause(
    "no list",
    "there is a first record",
    "there is no first record",
    "{register} is zero: without a record there is no list",
)
NO_RETURN = Clause(
    "no return",
    "a return address of zero is the root's",
    "what is taken for the return address is zero, and this is not the root",
    "{how} zero, and {here} is not the root",
)
ENTRY = Clause(
    "entry",
    "a function begins as its call left it",
    "the function does not begin as its call left it",
    "{how} {found}, and the caller goes on at {true}",
)
LINK = Clause(
    "link",
    "the link register is the caller or not believed",
    "it believes the link register, which is not the caller",
    LEADS.fails,
)
BOUNDS = Clause(
    "bounds",
    "each record lies in the stack",
    "a record lies outside the stack",
    "{register} is {found}, outside {low} to {high}",
)
LAST = Clause(
    "last",
    "behind each record there is another",
    "there is no further record",
    "{here}'s is the last record, and is not listed",
)

# Scans and rows.
FIRST = Clause(
    "first",
    "the first word that passes is the return address",
    "another word passes before the return address",
    "{how} {found} passes first, and the caller goes on at {true}",
)
ROOM = Clause(
    "room",
    "it lies within the words that are tried",
    "the return address lies behind the words that are tried",
    "none of {words} words from {at} on passes",
)
REACHED = Clause(
    "reached",
    "the end of the stack is the root's",
    "no word passes up to the end of the stack",
    "no word from {at} to the end of the stack passes",
)
THERE = Clause("row", "the table has a row", "the table has no row", "{why}")
ROOT = Clause(
    "root",
    "the row of the root says so, and no other",
    "the row is wrong about the root",
    "the row says that {here} is the root",
)
ADDRESS = Clause(
    "address",
    "the row gives where the caller goes on",
    "the row does not give where the caller goes on",
    "{how} {found}, and the caller goes on at {true}",
)

# Rows that a function's own code implies, by what the trace shows.
NAMED = Clause(
    "named",
    "a symbol says where the function begins",
    "no symbol says where the function begins",
    "no function's symbol covers {at}",
)
OUTERMOST = Clause(
    "outermost",
    "the root is where the file begins",
    "the root is not where the file begins",
    "{here} is {not_}the root, and the file begins {where}",
)
ENTERED = Clause(
    "entered",
    "a function is entered at its symbol",
    "the function was not entered at its symbol",
    "{here} was not entered at its symbol, {at}",
)
AS_CALLED = Clause(
    "as called",
    "it is entered with the registers of the call",
    "it was not entered with the registers of the call",
    "{here} was entered with {register} = {found}, not {was}",
)
KEPT = Clause(
    "kept",
    "the return address is in the link register or the frame",
    "the return address is neither in the link register nor in the frame",
    "{true} is in no word of {here}'s frame",
)
ONE_CFA = Clause(
    "one CFA",
    "at each instruction SP or FP is at one distance from the CFA",
    "neither SP nor FP is at one distance from the CFA",
    "at {at} the CFA is at no one distance",
)

_ALL = (END, KIND, MOST)


class _ClausesOf:
    """Which of a form's clauses can fail for one technique."""

    __slots__ = ()
    of_the_form: ClassVar[tuple[Clause, ...]]

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses that can fail, with these parameters."""
        return tuple(clause for clause in self.of_the_form if self._asks(clause))

    def _asks(self, clause: Clause) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Record(_ClausesOf):
    """FP leads to this activation's record: the caller's FP, and where the caller goes on; at the root FP is zero.

    ``entry``: at a function's first instruction the return address is where the call left it. ``link``: the link
    register is the first caller where it names another function, and the chain does not begin with it.
    """

    entry: bool = False
    link: bool = False
    most_frames: int = 1024
    of_the_form = (KNOWN, ZERO, MAPPED, NO_RETURN, ASCENDS, LINK, ENTRY, LEADS, REGISTER, CFA, *_ALL)

    def _asks(self, clause: Clause) -> bool:
        return {LINK: self.link, ENTRY: self.entry}.get(clause, True)


@dataclass(frozen=True, slots=True)
class RecordList(_ClausesOf):
    """The pointer arrived with leads to where the caller goes on, and to the next record; the rest is not asked.

    One layout of records is taken for all, that of the interrupted code. ``link``: the link register is listed first,
    if it is not zero. ``bounded``: a record lies between SP and the end of the stack, and whatever is there is listed;
    else a return address of zero ends the list. ``checked``: so does a pointer of zero, and what cannot be read; else
    the program dies. ``looks_ahead``: a record is listed if the next one is there, and without a first one nothing is.
    ``stripped``: signatures are taken off.
    """

    most_frames: int
    link: bool = False
    bounded: bool = False
    checked: bool = True
    looks_ahead: bool = False
    stripped: bool = False
    of_the_form = (NO_LIST, ZERO, BOUNDS, MAPPED, NO_RETURN, LAST, LINK, LEADS, *_ALL)

    def _asks(self, clause: Clause) -> bool:
        ahead, bounded = self.looks_ahead, self.bounded
        asked = {NO_LIST: ahead, LAST: ahead, BOUNDS: bounded, NO_RETURN: not bounded, LINK: self.link}
        return (asked | {ZERO: self.checked and not bounded and not ahead}).get(clause, True)


@dataclass(frozen=True, slots=True)
class ShadowStack(_ClausesOf):
    """The words below the shadow stack's pointer are the return addresses, innermost first; zero ends them."""

    most_frames: int = 1024
    of_the_form = (MAPPED, NO_RETURN, LEADS, *_ALL)


@dataclass(frozen=True, slots=True)
class StackWords(_ClausesOf):
    """The first word of the stack that passes is the return address; the next search begins behind it.

    ``accepts`` is the test: ``"call"``, a call ends there; ``"callee"``, and it names the function of the frame below,
    or a register names it; ``"function"``, a symbol covers the byte before. ``sp``: the word behind the one that passed
    is the caller's SP.
    """

    accepts: str
    first_words: int
    words: int
    sp: bool = False
    most_frames: int = 1024
    of_the_form = (MAPPED, FIRST, ROOM, REACHED, REGISTER, *_ALL)

    def _asks(self, clause: Clause) -> bool:
        return clause is not REGISTER or self.sp


@dataclass(frozen=True, slots=True)
class TableRow(_ClausesOf):
    """The row of the table gives CFA, return address and registers, out of registers that are known by then.

    ``format`` names the table as another reader finds it.
    """

    format: str
    most_frames: int = 1024
    of_the_form = (THERE, ROOT, KNOWN, NO_RETURN, ASCENDS, ADDRESS, REGISTER, CFA, BEHIND, *_ALL)

    def _asks(self, clause: Clause) -> bool:
        return clause is not BEHIND or (self.format not in BY_SECTION or BY_SECTION[self.format].signals)


@dataclass(frozen=True, slots=True)
class CodeRow(_ClausesOf):
    """The row that a function's own instructions imply is true: it was entered at its symbol as its call left it.

    What another reader of the code would find is taken from the trace: where the return address is, and that SP or FP
    is at one distance from the CFA at all visits of an instruction. So nothing is foretold where a clause fails, and
    some answers are wrong though all hold: those are open, and counted.
    """

    of_the_form = (NAMED, OUTERMOST, KIND, ENTERED, AS_CALLED, KEPT, ONE_CFA)


Assumption = Record | RecordList | ShadowStack | StackWords | TableRow | CodeRow
_FORMS = (Record, RecordList, ShadowStack, StackWords, TableRow, CodeRow)
CLAUSES: Mapping[str, Clause] = MappingProxyType({each.name: each for form in _FORMS for each in form.of_the_form})
"""Every clause of every form, by its name."""
