"""The formats of unwind tables, each registered once: what every room knows of one, it asks here.

A reader is named as text, ``module:NAME``, and loaded when the table is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Promise(Enum):
    """Where the rows of a format hold."""

    EVERYWHERE = "at every instruction"
    OUTSIDE_PROLOGUES = "outside prologues and epilogues"
    AT_CALLS = "where a function calls"


class Directives(Enum):
    """What a table is made of in assembly."""

    CFI = ".cfi_*"
    SAVES = ".save and its kin, one frame for all calls of a function"
    NONE = "nothing that is written there"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A format of unwind tables. ``name`` is also that of the unwinder that reads this table only.

    ``section`` is where it lies, as reports name it, ``beside`` are other sections of it, ``pointer`` is the type
    of the program header that leads to it (0: none does); ``second`` opens it for the reader that rows are held
    against. ``finds_rows_of`` is the section whose rows it only finds. ``leaves_out``: writers leave out functions of
    which it cannot say all. ``signals``: it can say that a signal interrupted a frame. ``of_compilers``: compilers
    write its rows themselves. ``usual``: a platform's own unwinder goes by it, so that its files have it without a
    wish. ``in_objects``: an object file that has it has code. ``checked``: `testbed check` holds it against what code
    does.
    """

    name: str
    section: str
    promise: Promise
    second: str
    beside: tuple[str, ...] = ()
    pointer: int = 0
    directives: Directives = Directives.CFI
    finds_rows_of: str = ""
    leaves_out: bool = False
    signals: bool = True
    of_compilers: bool = False
    usual: bool = False
    in_objects: bool = True
    checked: bool = True

    @property
    def at_calls(self) -> bool:
        """True where it promises nothing of single instructions: it is compared at calls."""
        return self.promise is not Promise.EVERYWHERE

    @property
    def sections(self) -> frozenset[str]:
        """All sections that it lies in, of some of which a file has others."""
        return frozenset((self.section, *self.beside))


# Those first that promise a row for every instruction.
_ALL = (
    TableFormat(
        name="eh_frame",
        section=".eh_frame",
        promise=Promise.EVERYWHERE,
        second="testbed.rereading.dwarf:eh_frame",
        of_compilers=True,
        usual=True,
    ),
    TableFormat(
        name="debug_frame",
        section=".debug_frame",
        promise=Promise.EVERYWHERE,
        second="testbed.rereading.dwarf:debug_frame",
        beside=(".zdebug_frame",),
        of_compilers=True,
        usual=True,
    ),
    TableFormat(
        name="sframe",
        section=".sframe",
        promise=Promise.EVERYWHERE,
        second="testbed.rereading.sframe:sframe",
        pointer=0x6474_E554,
        leaves_out=True,
        signals=False,
    ),
    TableFormat(
        name="orc",
        section=".orc_unwind",
        promise=Promise.EVERYWHERE,
        second="testbed.rereading.orc:orc",
        beside=(".orc_unwind_ip", ".orc_header"),
        in_objects=False,
    ),
    # EHABI32, section 3.
    TableFormat(
        name="ehabi",
        section=".ARM.exidx",
        promise=Promise.AT_CALLS,
        second="testbed.rereading.ehabi:exidx",
        beside=(".ARM.extab",),
        pointer=0x7000_0001,
        directives=Directives.SAVES,
        signals=False,
        usual=True,
    ),
    # Apple's encodings describe a frame between its prologue and its epilogue.
    TableFormat(
        name="compact_unwind",
        section="__compact_unwind",
        promise=Promise.OUTSIDE_PROLOGUES,
        second="testbed.rereading.compact_unwind:compact_unwind",
        directives=Directives.NONE,
        usual=True,
        in_objects=False,
    ),
    TableFormat(
        name="eh_frame_hdr",
        section=".eh_frame_hdr",
        promise=Promise.EVERYWHERE,
        second="testbed.rereading.eh_frame_hdr:eh_frame_hdr",
        pointer=0x6474_E550,
        finds_rows_of=".eh_frame",
        in_objects=False,
    ),
    TableFormat(
        name="gopclntab",
        section=".gopclntab",
        promise=Promise.EVERYWHERE,
        second="testbed.rereading.gopclntab:gopclntab",
        beside=(".data.rel.ro.gopclntab",),
        directives=Directives.NONE,
        in_objects=False,
        checked=False,
    ),
)
TABLE_FORMATS = {each.name: each for each in _ALL}
BY_SECTION = {each.section: each for each in _ALL}
# What is checked, by the unwinders that read it; not those that only find the rows of another one.
CHECKED = tuple(each.name for each in _ALL if each.checked and not each.finds_rows_of)
AT_CALLS = frozenset(each.name for each in _ALL if each.at_calls)
OF_DIRECTIVES = frozenset(each.name for each in _ALL if each.directives is Directives.CFI)
