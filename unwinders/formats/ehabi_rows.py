"""EHABI's operations as rows: one per function, since the table says one thing about all of it.

All of its arithmetic is static, given one register: wherever vsp goes, it is ``base + offset``, and every pop is a
load from there. At the end::

    CFA            = vsp, which is the caller's sp
    register       = *(CFA + offset) if popped, else unchanged
    return address = r15 if popped, else r14
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from weakref import WeakKeyDictionary, ref

from testbed.arch import Arch
from testbed.contract.rows import (
    AtCfa,
    AtRegister,
    IsExpression,
    Operation,
    RegisterPlus,
    RowTable,
    Rule,
    Undefined,
    UnwindRow,
)
from testbed.image import Image
from testbed.words.errors import CannotUnwind, NoUnwindInfo, UnsupportedRule
from unwinders.formats.cfi_rows import register_name
from unwinders.formats.ehabi import INDEX, BrokenEntry, IndexEntry, exception_index, operation_bytes
from unwinders.formats.ehabi_operations import (
    SP,
    AuthenticateHere,
    EhabiOperation,
    MoveVsp,
    Pop,
    PopAuthenticationCode,
    PopVfp,
    SetVsp,
    decode,
)
from unwinders.formats.indexed import IndexedTable, Part

_BREG0, _DEREF, _PLUS_UCONST = 0x70, 0x06, 0x23  # DWARF 5, section 7.7.1

_INDEXES: WeakKeyDictionary[Image, IndexedTable] = WeakKeyDictionary()


def exidx_index(image: Image) -> IndexedTable:
    """The exception index of an image as a table; a function's entry is read when it is asked for.

    What its operations do that no row can express, or that they refuse to unwind, is that function's matter, like
    whatever breaks the format in its entry. Raises NoUnwindInfo and MalformedTable as ``exception_index`` does.
    """
    if image not in _INDEXES:
        entries = exception_index(image)
        # Linkers join entries: other functions that cannot be unwound may stand around the image's first one.
        cuts = _first_function(image)
        parts: list[Part] = []
        for i, entry in enumerate(entries):
            its_cuts = [cut for cut in cuts if entry.start < cut < entry.end and _cannot_unwind(entry)]
            bounds = pairwise([entry.start, *its_cuts, entry.end])
            parts += [Part(start, end, i) for start, end in bounds if start < end]
        _INDEXES[image] = IndexedTable(INDEX, tuple(parts), partial(_read, ref(image), entries))
    return _INDEXES[image]


def _read(image: ref[Image], entries: Sequence[IndexEntry | BrokenEntry], part: Part) -> Sequence[UnwindRow]:
    entry, its_image = entries[part.entry], image()
    assert its_image is not None  # who asks holds it: the table must not, which is kept as long as the image
    if isinstance(entry, BrokenEntry):
        raise entry.why.again()
    return (entry_row(its_image, replace(entry, start=part.start, end=part.end)),)


def _cannot_unwind(entry: IndexEntry | BrokenEntry) -> bool:
    return isinstance(entry, IndexEntry) and entry.cannot_unwind


def exidx_row(image: Image, pc: int) -> UnwindRow:
    """The row for a link-time pc: that of its whole function.

    Raises NoUnwindInfo where the index does not cover the pc or the table refuses to unwind, MalformedTable, and
    UnsupportedRule for operations that no row can express. Entries of other functions are not looked at.
    """
    row = exidx_index(image).at(pc)
    if row is None:
        raise NoUnwindInfo(f"no entry of {INDEX} covers {pc:#x}")
    return row


def exidx_table(image: Image) -> RowTable:
    """What the index claims at every pc; functions that it cannot or will not unwind have no row."""
    return exidx_index(image).all_rows()


def _first_function(image: Image) -> tuple[int, int]:
    """[start, end) of the function at the image's entry, as symbols say; without one, of one instruction."""
    function = image.function_at(image.entry)
    if function is None:
        return image.entry, image.entry + 2
    following = (s.address for s in image.symbols if s.is_function and s.address > function.address)
    return function.address, function.address + function.size if function.size else next(following, 1 << 32)


def entry_row(image: Image, entry: IndexEntry) -> UnwindRow:
    """The row of one index entry.

    Raises CannotUnwind for a function that cannot be unwound (EXIDX_CANTUNWIND), but for the one that the image begins
    with: nobody called that.
    """
    arch, found_by = image.arch, f"{INDEX}+{entry.offset:#x}"
    if entry.cannot_unwind:
        start, end = _first_function(image)
        if not entry.start <= start < entry.end:
            raise CannotUnwind(f"{found_by}: the function at {entry.start:#x} cannot be unwound (EXIDX_CANTUNWIND)")
        rules: dict[str, Rule] = {arch.return_address: Undefined()}
        return UnwindRow(start, min(end, entry.end), None, rules, arch.return_address, found_by=found_by)
    undone = _Undone(arch)
    undone.execute(decode(operation_bytes(image, entry)))
    cfa, rules = undone.rules()
    return_address = arch.pc if arch.pc in rules else arch.return_address
    return UnwindRow(entry.start, entry.end, cfa, rules, return_address, found_by=found_by)


@dataclass(frozen=True, slots=True)
class _Base:
    """What vsp counts from: a register of this frame, or the word that is stored at ``register + loaded_from``."""

    register: str
    loaded_from: int | None = None


@dataclass(slots=True)
class _Undone:
    """The operations executed so far: where vsp is, and where each popped register was."""

    arch: Arch
    base: _Base = field(init=False)
    offset: int = 0
    popped: dict[str, tuple[_Base, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = _Base(self.arch.sp)

    def execute(self, operations: Iterable[EhabiOperation]) -> None:
        for operation in operations:
            match operation:
                case MoveVsp(distance):
                    self.offset += distance
                case SetVsp(register):
                    self.set(register_name(self.arch, register))
                case Pop(registers):
                    for register in registers:
                        self.pop(register_name(self.arch, register), 4)
                    if SP in registers:  # the popped value replaces vsp: nothing is added to it
                        self.set(self.arch.sp)
                case PopVfp(first, count, fstmfdx):
                    for number in range(first, first + count):
                        self.pop(f"d{number}", 8)
                    self.offset += 4 if fstmfdx else 0
                case PopAuthenticationCode():
                    self.offset += 4
                case AuthenticateHere():
                    pass

    def pop(self, register: str, size: int) -> None:
        self.popped[register] = (self.base, self.offset)
        self.offset += size

    def set(self, register: str) -> None:
        """vsp is what a register holds now: this frame's value, or what was popped into it."""
        if register not in self.popped:
            self.base, self.offset = _Base(register), 0
            return
        base, offset = self.popped[register]
        if base.loaded_from is not None:
            raise UnsupportedRule(f"{INDEX}: vsp is taken from {register}, which a loaded vsp was needed to find")
        self.base, self.offset = _Base(base.register, offset), 0

    def rules(self) -> tuple[Rule, dict[str, Rule]]:
        """The CFA and the registers of the caller."""
        rules = {name: self.slot(name) for name in self.popped if name != self.arch.sp}
        if self.base.loaded_from is None:
            return RegisterPlus(self.base.register, self.offset), rules
        if self.offset == 0:
            return AtRegister(self.base.register, self.base.loaded_from), rules
        number = self.arch.by_name[self.base.register].dwarf
        assert number is not None  # operations name core registers only
        load = Operation(_BREG0 + number, (self.base.loaded_from,), 0)
        plus = Operation(_PLUS_UCONST, (self.offset & self.arch.word_mask,), 2)
        return IsExpression((load, Operation(_DEREF, (), 1), plus)), rules

    def slot(self, name: str) -> Rule:
        base, offset = self.popped[name]
        if base == self.base:
            return AtCfa(offset - self.offset)
        if base.loaded_from is None:
            return AtRegister(base.register, offset)
        raise UnsupportedRule(f"{INDEX}: {name} was popped from a stack that vsp has left again")
