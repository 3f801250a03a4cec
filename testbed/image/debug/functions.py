"""Functions as debug information has them: where their code is, what was inlined into them, what they call.

Source: DWARF 5, sections 3.3 (subprograms), 3.3.8 (inlined subroutines), 3.4 (call sites).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from testbed.image.debug.call_sites import CallSite, CallTarget, call_site, completeness
from testbed.image.debug.cursor import account_of
from testbed.image.debug.dwarf_numbers import Attribute, Tag
from testbed.image.debug.entries import CompilationUnit, DebugEntry
from testbed.image.debug.lines import Line
from testbed.image.debug.ranges import Range, ranges_of
from testbed.words.errors import DebugInfoError

MAX_ORIGINS = 16  # abstract origins and specifications followed from one entry: a longer chain is a cycle


@dataclass(frozen=True, slots=True)
class Inlined:
    """One call that the compiler replaced by the callee's body: the callee, its code, and where the call stood."""

    name: str
    linkage_name: str
    ranges: tuple[Range, ...]
    called_from: Line
    inner: tuple[Inlined, ...] = field(repr=False)

    def covers(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function with code of its own. ``complete``: its call sites list every tail call that it can make.

    ``origins`` are the offsets of its entry and of the abstract entries that it is an instance of.
    """

    name: str
    linkage_name: str
    ranges: tuple[Range, ...]
    entry: int
    inlined: tuple[Inlined, ...] = field(repr=False)
    call_sites: tuple[CallSite, ...] = field(repr=False)
    complete: bool
    origins: tuple[int, ...] = ()

    def inlined_at(self, address: int) -> tuple[Inlined, ...]:
        """The inlined calls that an address lies in, innermost first."""
        out: list[Inlined] = []
        level = self.inlined
        while found := next((call for call in level if call.covers(address)), None):
            out.append(found)
            level = found.inner
        return tuple(reversed(out))


def functions_of(
    unit: CompilationUnit, entries: dict[int, DebugEntry], files: dict[int, str]
) -> Iterator[Function | DebugInfoError]:
    """The functions of a unit that have code in the image; ``entries`` are those of all units, by offset.

    A function with damaged entries gives its error instead.
    """
    for entry in unit.walk():
        if entry.tag != Tag.SUBPROGRAM:
            continue
        account_of(unit.image).spend("entries", 2, entry.offset)
        try:
            ranges = ranges_of(entry)
            if ranges:
                yield _function(entry, ranges, entries, files)
        except DebugInfoError as error:
            yield error


def _function(
    entry: DebugEntry, ranges: tuple[Range, ...], entries: dict[int, DebugEntry], files: dict[int, str]
) -> Function:
    name, linkage = names_of(entry, entries)
    low = entry.address(Attribute.LOW_PC)
    start = ranges[0][0] if low is None else entry.unit.image.arch.code_address(low)
    sites = tuple(call_site(site, lambda offset: _target(offset, entries)) for site in _sites(entry))
    return Function(
        name=name,
        linkage_name=linkage,
        ranges=ranges,
        entry=start,
        inlined=tuple(_inlined(entry, entries, files)),
        call_sites=sites,
        complete=any(completeness(e) for e in origins(entry, entries)),
        origins=tuple(e.offset for e in origins(entry, entries)),
    )


def _inlined(parent: DebugEntry, entries: dict[int, DebugEntry], files: dict[int, str]) -> Iterator[Inlined]:
    """The inlined calls directly below an entry, lexical blocks seen through."""
    for child in parent.children:
        if child.tag == Tag.INLINED_SUBROUTINE:
            name, linkage = names_of(child, entries)
            place = Line(
                files.get(child.number(Attribute.CALL_FILE) or 0, ""),
                child.number(Attribute.CALL_LINE) or 0,
                child.number(Attribute.CALL_COLUMN) or 0,
            )
            yield Inlined(name, linkage, ranges_of(child), place, tuple(_inlined(child, entries, files)))
        elif child.tag != Tag.SUBPROGRAM:
            yield from _inlined(child, entries, files)


def _sites(parent: DebugEntry) -> Iterator[DebugEntry]:
    for child in parent.children:
        if child.tag in (Tag.CALL_SITE, Tag.GNU_CALL_SITE):
            yield child
        elif child.tag != Tag.SUBPROGRAM:
            yield from _sites(child)


def origins(entry: DebugEntry, entries: dict[int, DebugEntry]) -> Iterator[DebugEntry]:
    """The entry, then what it is an instance of. Raises DebugInfoError for a cycle or a reference to nothing."""
    at: DebugEntry | None = entry
    for _ in range(MAX_ORIGINS):
        assert at is not None
        yield at
        reference = at.reference(Attribute.ABSTRACT_ORIGIN)
        if reference is None:
            reference = at.reference(Attribute.SPECIFICATION)
        if reference is None:
            return
        at = entries.get(reference)
        if at is None:
            raise _damage(entry, f"its origin {reference:#x} is no entry")
    raise _damage(entry, f"more than {MAX_ORIGINS} abstract origins: a cycle")


def names_of(entry: DebugEntry, entries: dict[int, DebugEntry]) -> tuple[str, str]:
    """(the name in the source, the linker's name), from the entry or from what it is an instance of."""
    name = linkage = None
    for at in origins(entry, entries):
        name = name or at.text(Attribute.NAME)
        linkage = linkage or at.text(Attribute.LINKAGE_NAME) or at.text(Attribute.MIPS_LINKAGE_NAME)
    return name or "", linkage or ""


def _target(offset: int, entries: dict[int, DebugEntry]) -> CallTarget | None:
    """The callee whose entry is at ``offset``; None where there is none, or it is damaged."""
    entry = entries.get(offset)
    if entry is None:
        return None
    chain = tuple(origins(entry, entries))
    name, linkage = names_of(entry, entries)
    low = next((address for e in chain if (address := e.address(Attribute.LOW_PC)) is not None), None)
    code = entry.unit.image.arch.code_address
    return CallTarget(
        linkage or name,
        None if low is None else code(low),
        tuple(e.offset for e in chain),
        entry.flag(Attribute.DECLARATION),
    )


def _damage(entry: DebugEntry, detail: str) -> DebugInfoError:
    return DebugInfoError(entry.unit.image.path.name, ".debug_info", entry.offset, detail)
