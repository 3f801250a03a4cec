"""Directives written into an assembly source as its author writes them: his words, numbers, registers and places.

An advice says what a table lacks. Its author says the same in his own way: the offset of the CFA, or by how much it
changes; a slot from the CFA, or from SP; one line more, or another argument in the line that is there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

from testbed.checks.model import SourceEdit, SourcePlace
from testbed.checks.own_sources import Sources, from_here
from testbed.checks.source_directives import (
    ADJUST,
    DEF_CFA,
    DEF_CFA_OFFSET,
    OF_REGISTERS,
    OF_THE_CFA,
    PARTS_OF,
    REL_OFFSET,
    REMEMBER_STATE,
    RESTORE_STATE,
    is_instead,
    parts_of_directive,
)
from testbed.checks.source_statements import (
    Around,
    SourceStatement,
    Spelling,
    left_lines,
    spelling,
    stand_ins,
    statements_at,
)

_STATEMENT = re.compile(r"(?:^|[;:])(\s*)(\.?\w+)(\s*)(\(?)([^;/#\n)]*)")
_OFFSET, _MOVES = ".cfi_offset", (".cfi_adjust_cfa_offset ", ".cfi_def_cfa_offset ")
_SUM = re.compile(r"\s*[-+]?\s*(?:0x[0-9a-fA-F]+|\d+)(?:\s*[-+]\s*(?:0x[0-9a-fA-F]+|\d+))*\s*")
_NUMBER = re.compile(r"(?<![\w%])(?:0x)?\d[0-9a-f]*\b")
_DEFINE = re.compile(r"\s*#\s*define\b")
_STARTS = (".cfi_startproc", ".fnstart")
_USUAL_INDENT = "\t"
NO_LINE = "no line of its assembly is known"


class NoPatch(Exception):
    """A change that cannot be written into the source; its words say why."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """``directives`` that belong before the instruction at ``pc``, or stand for those ``replaced`` there.

    They stand behind what stands there already, or before all of it (``first``), or before one directive. ``offsets``
    are the CFA's right before and behind them (None: not known).
    """

    pc: int
    directives: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    first: bool = False
    before: str = ""
    offsets: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Idiom:
    """How the author of a source writes directives."""

    spelling: Spelling = field(default_factory=Spelling)
    adjusts: bool = False  # says by how much the CFA's offset changes, and not what it is
    relative: bool = False  # counts slots from SP
    numbers: Mapping[str, int] = field(default_factory=dict)  # of registers, if he writes these
    letters: Mapping[str, str] = field(default_factory=dict)  # of AArch64's registers, of which he names a part
    macros: Mapping[str, str] = field(default_factory=dict)  # that he says directives with, each as it stands before (
    indent: str = _USUAL_INDENT
    gap: str = " "
    comma: str = ", "

    def like(self, standing: Sequence[str], *, in_macro: bool = False) -> Idiom:
        """How directives are written where some stand: each stays of its kind. Those of a macro count from what was
        before, unless it says otherwise: its uses stand in other frames."""
        names = {parts_of_directive(each)[0] for each in standing}
        counts = not names & {_OFFSET, DEF_CFA_OFFSET, DEF_CFA}
        return replace(
            self,
            adjusts=ADJUST in names if names & {ADJUST, DEF_CFA_OFFSET} else counts if in_macro else self.adjusts,
            relative=REL_OFFSET in names if names & {REL_OFFSET, _OFFSET} else counts if in_macro else self.relative,
        )

    def said(self, directives: Sequence[str], offsets: tuple[int | None, int | None]) -> tuple[str, ...]:
        """Directives in the author's words; those that change nothing are left out."""
        return tuple(self._written(each) for each in map(lambda one: self._meant(one, offsets), directives) if each)

    def _meant(self, directive: str, offsets: tuple[int | None, int | None]) -> str:
        name, arguments = parts_of_directive(directive)
        before, behind = offsets
        if name == DEF_CFA_OFFSET and before is not None:
            by = int(arguments[0], 0) - before
            if not by:
                return ""
            return f"{ADJUST} {by:#x}" if self.adjusts else directive
        if name == ADJUST and not int(arguments[0], 0):
            return ""
        if name == _OFFSET and self.relative and behind is not None:
            return f"{REL_OFFSET} {arguments[0]}, {int(arguments[1], 0) + behind:#x}"
        return directive

    def named(self, directive: str) -> str:
        """A directive by the macro that he says it with: `cfi_offset (x30, -8)`."""
        name, _, rest = directive.partition(" ")
        if name not in self.macros:
            return directive
        return f"{self.macros[name]}({rest.strip()})" if rest.strip() else self.macros[name].rstrip()

    def _written(self, directive: str) -> str:
        name, arguments = parts_of_directive(directive)
        if name in OF_REGISTERS:
            letter, number = arguments[0][:1], arguments[0][1:]
            part = f"{self.letters[letter]}{number}" if letter in self.letters and number.isdecimal() else arguments[0]
            arguments[0] = str(self.numbers.get(arguments[0], part))
        said = self.spelling.of(f"{name} {', '.join(arguments)}".strip())
        head, _, rest = said.partition(" ")
        return f"{head}{self.gap}{rest.replace(', ', self.comma)}" if rest else head


@lru_cache(maxsize=16)
def idiom(file: str, sources: Sources, registers: tuple[tuple[str, int | None], ...]) -> Idiom:
    """How directives are written in a source; ``registers`` are all names with DWARF's numbers."""
    spelt = spelling(file, sources, frozenset(name for name, _ in registers))
    lines, others = [line for line in left_lines(file, sources) if not _DEFINE.match(line)], stand_ins(sources)
    found = [each for line in lines for each in _STATEMENT.finditer(line)]
    said = [each for each in found if each[2].startswith(".cfi_") or each[2] in others]
    named = [others.get(match[2], match[2]) for match in said]
    names, of_registers = Counter(named), [one for one, name in zip(said, named, strict=True) if name in OF_REGISTERS]
    firsts = [match[5].split(",")[0].strip() for match in of_registers]
    numbers = [number for match in said for number in _NUMBER.findall(match[5]) if number.isdecimal() or "x" in number]
    decimal = 2 * sum(map(str.isdecimal, numbers)) > len(numbers) if numbers else spelt.decimal
    marked = not firsts or any(each.startswith("%") for each in firsts)
    spelt = replace(spelt, registers=spelt.registers if marked else frozenset(), decimal=decimal)
    by_number = sum(each.isdecimal() for each in firsts) * 2 > len(firsts)
    commas = Counter(comma[0] for match in said for comma in [re.search(r"\s*,\s*", match[5])] if comma)
    without = Counter(match[2] for match in said if not match[2].startswith("."))
    bracket = _most(Counter(match[3] for match in said if match[4]), "")
    # Where a directive's own name without the dot is a macro, the preprocessor would read it in the directive, too.
    macros = {directive: name for name, directive in others.items() if directive == f".{name}" or name in without}
    return Idiom(
        spelt,
        names[ADJUST] > names[DEF_CFA_OFFSET],
        names[REL_OFFSET] > names[_OFFSET],
        {name: number for name, number in registers if number is not None} if by_number else {},
        {PARTS_OF[each[0]]: each[0] for each in firsts if each[:1] in PARTS_OF and each[1:].isdecimal()},
        {directive: f"{name}{bracket}" for directive, name in macros.items()},
        _most(Counter(match[1] for match in said if match.start() == 0), _USUAL_INDENT),
        _most(Counter(match[3] for match in said if match[5].strip() and match[2].startswith(".")), " "),
        _most(commas, ", "),
    )


def _most(counted: Counter[str], usual: str) -> str:
    return counted.most_common(1)[0][0] if counted else usual


def source_edits(change: SourceChange, here: Around, own: Idiom, sources: Sources) -> Iterator[SourceEdit]:
    """The edits of a change before an instruction. Raises NoPatch where it cannot be written.

    Where it is a macro's, uses may agree only in what counts from what was before.
    """
    if here.own is None and here.before is None:
        raise NoPatch(NO_LINE)
    old = [_standing(each, here) for each in change.replaced]
    new = own.like([each.text for each in old]).said(change.directives, change.offsets)
    if not old and new:
        yield _added(new, change, here, own, sources)
    counted = replace(own, adjusts=True, relative=True).said(change.directives, change.offsets)
    for edit, other in zip(_instead(old, new, own, sources), _instead(old, counted, own, sources), strict=True):
        yield replace(edit, inside=other) if edit.is_macros_own and other != edit else edit


def _instead(old: Sequence[SourceStatement], new: Sequence[str], own: Idiom, sources: Sources) -> Iterator[SourceEdit]:
    """The edits that write each new directive for the one that it is of, and what is of none for the last."""
    for k, statement in enumerate(old):
        its = [each for each in new if k == len(old) - 1 or is_instead(each, statement.text)]
        new = [each for each in new if each not in its]
        # What counts slots from SP does so from what was said of the CFA before.
        yield _instead_of(statement, sorted(its, key=lambda each: not each.startswith(OF_THE_CFA)), own, sources)


def frame_edits(
    new: Sequence[str], old: Sequence[SourceStatement], after: SourceStatement, own: Idiom, sources: Sources
) -> Iterator[SourceEdit]:
    """The edits of a whole frame's directives: instead of ``old`` ones, or behind another one.

    Raises NoPatch where they cannot be written.
    """
    for k, statement in enumerate(old):
        yield _instead_of(statement, () if k else new, own, sources)
    if not old:
        yield _below(after.place, new, own, sources)


def moved(
    directives: Sequence[SourceStatement], line: int, at: SourcePlace, sources: Sources
) -> tuple[SourceEdit, ...]:
    """The edits that move the whole lines of directives before another line of their file, one beside ``at``.

    None where something else stands in one of these lines, or nothing is to be moved.
    """
    file, numbers = at.file, sorted({each.place.line for each in directives})
    text = sources.lines(file)
    if not numbers or any(each.place.file != file for each in directives) or line > len(text):
        return ()
    for number in numbers:
        whole, its = text[number - 1], statements_at(file, number, sources)
        if any(each.is_code for each in its) or ":" in whole.partition("/")[0] or whole.rstrip().endswith("\\"):
            return ()
    places = {each.place.line: each.place for each in directives}
    taken = [SourceEdit(file, each, 1, f"{text[each - 1]}\n", "", places[each]) for each in numbers]
    new = "".join(each.old for each in taken)
    return (*taken, SourceEdit(file, line, 1, "", new, at, behind=line > at.line))


def only_moves(edits: Sequence[SourceEdit]) -> bool:
    """Is what edits write what they take out, in another place?"""
    taken, written = (
        Counter(line.strip() for text in texts for line in text.splitlines())
        for texts in ([each.old for each in edits], [each.new for each in edits])
    )
    return taken == written


def _standing(text: str, here: Around) -> SourceStatement:
    for each in reversed(here.directives):
        if each.text == text:
            return each
    raise NoPatch(f"`{text}` stands in another place")


def _instead_of(statement: SourceStatement, new: Sequence[str], own: Idiom, sources: Sources) -> SourceEdit:
    """An edit of one statement; its line goes if nothing is left in it."""
    file, line, column, raw = _raw(statement, sources)
    whole = sources.lines(file)[line - 1]
    if not new:
        where, old = (1, f"{whole}\n") if whole.strip() == raw else (column, raw)
        return SourceEdit(file, line, where, old, "", statement.place)
    indent = whole[: column - 1] if not whole[: column - 1].strip() else own.indent
    between = "; " if _is_one_line(file, line, sources) else f"\n{indent}"
    text = between.join(own.named(_corrected(raw, statement, each)) for each in new)
    return SourceEdit(file, line, column, raw, text, statement.place)


def _corrected(raw: str, statement: SourceStatement, new: str) -> str:
    """A directive with the arguments that are other ones now, if it is of the same thing; all else as it is written."""
    written = _in_parameters(new, statement.place)
    (name, its), (other, arguments), (_, parameters) = map(parts_of_directive, (statement.text, new, written))
    head, end = re.match(r"[.\w]+\s*\(?\s*", raw), re.search(r"\s*\)$", raw)
    is_macros = head is not None and "(" in head[0] and end is not None
    until = end.start() if is_macros and end else len(raw)
    pieces = re.split(r"(\s*,\s*)", raw[head.end() : until]) if head else []
    same = name == other and (name in OF_REGISTERS or is_instead(new, statement.text))
    start = head[0] if head else ""
    if pieces and f".cfi_{pieces[0]}" == name:  # a macro's argument
        start, pieces = start + "".join(pieces[:2]), pieces[2:]
    if not same or not len(its) == len(arguments) == (len(pieces) + 1) // 2:
        return written
    for k, (old, wanted) in enumerate(zip(its, arguments, strict=True)):
        if not _same(old, wanted):
            are_numbers = _SUM.fullmatch(pieces[2 * k]) and _SUM.fullmatch(parameters[k])
            plain = are_numbers and "0x" not in pieces[2 * k]
            pieces[2 * k] = str(_sum(wanted)) if plain else parameters[k]
    return start + "".join(pieces) + raw[until:]


def _in_parameters(directive: str, at: SourcePlace) -> str:
    """A directive as a macro has it: with its parameters for the registers that a use gives, and for what moves SP."""
    for value, name in at.parameters:
        marked = r"%?" if value.startswith("%") else ""
        if value and not _SUM.fullmatch(value):
            said = rf"(?<=[ ,%]){marked}{re.escape(value.lstrip('%'))}\b"
            directive = re.sub(said, name.replace("\\", r"\\"), directive)
        elif value not in ("", "0") and directive.startswith(_MOVES):
            amount = re.match(r"(\S+ [-+]?)(\w+)$", directive)
            directive = f"{amount[1]}{name}" if amount and _same(amount[2], value) else directive
    return directive


def _same(one: str, other: str) -> bool:
    if _SUM.fullmatch(one) and _SUM.fullmatch(other):
        return _sum(one) == _sum(other)
    return one.lstrip("%").lower() == other.lstrip("%").lower()


def _sum(text: str) -> int:
    """The value of numbers with their signs: ``-16-0x78``."""
    return sum(int("".join(each.split()), 0) for each in re.findall(r"[-+]?\s*\w+", text))


def _raw(statement: SourceStatement, sources: Sources) -> tuple[str, int, int, str]:
    """Where a statement is written, a macro's in its body, and how."""
    at = statement.place
    directive = statement.text.split(" ")[0]
    others = (other for other, its in stand_ins(sources).items() if its == directive)
    names = "|".join(map(re.escape, (directive.removeprefix("."), *others)))
    if not at.macro:
        words = r"\s+".join(map(re.escape, at.text.split(" ")))
        match = re.compile(words).match(sources.lines(at.file)[at.line - 1], at.column - 1)
        if match is None:
            raise NoPatch(f"`{statement.text}` is not written as that")
        return at.file, at.line, at.column, match[0]
    lines = sources.lines(at.macro_file)
    if not at.macro_line <= len(lines):
        raise NoPatch(f"it belongs into the macro {at.macro} of another file, {from_here(at.macro_file)}")
    body = lines[at.macro_line - 1]
    found = list(re.finditer(rf"\.?\b(?:{names})\b[^;/\\]*(?:\\\w[^;/]*)?", body))
    if len(found) != 1:
        raise NoPatch(
            f"line {at.macro_line}, of the macro {at.macro}, has {'several' if found else 'none'} of its kind"
        )
    return at.macro_file, at.macro_line, found[0].start() + 1, found[0][0].rstrip()


def _added(new: Sequence[str], change: SourceChange, here: Around, own: Idiom, sources: Sources) -> SourceEdit:
    """An edit that writes more directives: behind what stands there, or before all or one of it."""
    if here.own is None:
        if here.before is None or here.before.place.macro:
            raise NoPatch(NO_LINE)
        return _below(here.before.place, new, own, sources)
    if new[0].startswith(_STARTS) or (
        new[0] == RESTORE_STATE and not here.directives
    ):  # behind a label, if there is one
        return _above(here.own.place, new, own, sources)
    if change.before:
        at = _standing(change.before, here).place
        return _within(at, change, here, own, sources, _above) if at.macro else _above(at, new, own, sources)
    # Of the CFA it is told first, then where registers lie; and behind what remembers the state.
    leads = all(each.startswith(OF_THE_CFA) for each in new) and not any(map(_is_of_state, here.directives))
    ahead = None if change.first or leads or not here.directives else here.directives[-1]
    ahead = ahead or here.before
    is_included = ahead is not None and ahead.place.file != here.own.place.file
    if ahead is not None and (is_included or ahead.place.line < here.own.place.line):
        lines = sources.lines(ahead.place.file)
        if not lines[ahead.place.line - 1].rstrip().endswith("\\"):
            edit = _below(ahead.place, new, own, sources)
            if ahead.place.macro and not new[0].endswith("_state"):
                with suppress(NoPatch):
                    return replace(edit, inside=_within(ahead.place, change, here, own, sources, _below))
            return edit
    if ahead is not None and ahead.place.line == here.own.place.line and here.own.place.macro:
        return _within(ahead.place, change, here, own, sources, _below)
    return _above(here.own.place, new, own, sources)


def _is_of_state(statement: SourceStatement) -> bool:
    return statement.text.startswith((*OF_THE_CFA, REMEMBER_STATE, RESTORE_STATE))


def _below(at: SourcePlace, new: Sequence[str], own: Idiom, sources: Sources) -> SourceEdit:
    """Lines behind the one of a statement; in its line where that goes on."""
    whole, new = sources.lines(at.file)[at.line - 1], [own.named(each) for each in new]
    if at.macro and _is_one_line(at.file, at.line, sources):
        end = len(whole.rstrip("\\; \t"))
        return SourceEdit(at.file, at.line, end + 1, "", "".join(f"; {each}" for each in new), at)
    indent = _indent(whole, at.column, own)
    return SourceEdit(at.file, at.line + 1, 1, "", "".join(f"{indent}{each}\n" for each in new), at, behind=True)


def _is_one_line(file: str, line: int, sources: Sources) -> bool:
    """Is a line a part of a longer one, or a macro of the preprocessor's?"""
    before, whole = ["", *sources.lines(file)][line - 1 : line + 1]
    return bool(before.endswith("\\") or whole.endswith("\\") or _DEFINE.match(whole))


def _within(
    at: SourcePlace,
    change: SourceChange,
    here: Around,
    own: Idiom,
    sources: Sources,
    put: Callable[[SourcePlace, Sequence[str], Idiom, Sources], SourceEdit],
) -> SourceEdit:
    """Lines beside the one of a macro that a statement comes from, as the macro is written: all its uses get them."""
    its = [each.text for each in here.directives if each.place.macro == at.macro]
    said = own.like(its, in_macro=True).said(change.directives, change.offsets)
    return replace(put(_in_macro(at, sources), [_in_parameters(each, at) for each in said], own, sources), at=at)


def _in_macro(at: SourcePlace, sources: Sources) -> SourcePlace:
    """The line of a macro that a statement comes from. Raises NoPatch where it is not a line of its own."""
    lines = sources.lines(at.macro_file) if at.macro else ()
    whole = lines[at.macro_line - 1] if at.macro_line <= len(lines) else ""
    if not whole.strip() or _DEFINE.match(whole):
        raise NoPatch(f"it belongs into the macro {at.macro or at.text}")
    first = len(whole) - len(whole.lstrip()) + 1
    return replace(at, file=at.macro_file, line=at.macro_line, column=first)


def _above(at: SourcePlace, new: Sequence[str], own: Idiom, sources: Sources) -> SourceEdit:
    """Lines before the one of a statement; in its line where others stand before it, or it is a part of one."""
    whole, new = sources.lines(at.file)[at.line - 1], [own.named(each) for each in new]
    if ";" in whole[: at.column - 1] or (at.macro and _is_one_line(at.file, at.line, sources)):
        return SourceEdit(at.file, at.line, at.column, "", "".join(f"{each}; " for each in new), at)
    indent = _indent(whole, at.column, own)
    return SourceEdit(at.file, at.line, 1, "", "".join(f"{indent}{each}\n" for each in new), at)


def _indent(whole: str, column: int, own: Idiom) -> str:
    is_directive = whole[column - 1 :].startswith(".")
    return whole[: column - 1] if is_directive and not whole[: column - 1].strip() else own.indent


# Edits of one source, applied together.


def patched(text: str, edits: Sequence[SourceEdit]) -> str:
    """A text with some edits of it. Raises NoPatch where two are of one place, and where other text stands there."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    chosen = sorted(dict.fromkeys(edits), key=lambda each: (each.line, each.column, bool(each.old)))
    out, at = list[str](), 0
    for each in chosen:
        start = min(starts[each.line - 1], len(text)) + each.column - 1
        if start < at:
            raise NoPatch("two corrections are of the same place")
        if text[start : start + len(each.old)] != each.old:
            raise NoPatch(f"line {each.line} is not as it was")
        out += [text[at:start], each.new]
        at = start + len(each.old)
    return "".join((*out, text[at:]))
