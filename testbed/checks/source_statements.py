"""Statements of an assembly source, each with its place: also those that a use of a macro stands for.

An assembler says of an instruction that a macro made at which line the use stands. Which statement of the macro it is
follows from how many instructions the use made before it. Expanded are ``.macro`` and ``#define`` of the source and of
the files that it includes by name; what is computed, as by ``.rept`` or ``.if``, is not, nor a macro that has
such a thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from testbed.checks.model import SourcePlace
from testbed.checks.own_sources import Sources

_ASSEMBLY = (".s", ".S", ".asm", ".sx")
_COMMENT = re.compile(r"/\*.*?\*/|//.*|^\s*[#@].*|\s@.*|\s#(?![-+:(\d]).*")  # `#16` is a number of Arm's
_COMPUTED = re.compile(r"\s*(?:#\s*(?:if|el|endif)|\.(?:if|else|rep|irp))")  # which statements there are
_LABEL = re.compile(r"\s*[\w.$]+\s*:")
_INCLUDE = re.compile(r'\s*(?:#\s*include|\.include)\s+"([^"]+)"')
_MACRO = re.compile(r"\s*\.macro\s+([\w.$]+)[\s,]*(.*)")
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)\(([^)]*)\)\s*(.*)")
_USE = re.compile(r"(\w+)\s*\((.*)\)$|([\w.$]+)(?:\s+(.*))?$")
_HEXADECIMAL = re.compile(r"(?<!\w\+)([-+ ]|\b)0x([0-9a-f]+)\b")
_WORD = re.compile(r"(?<![%\w])[a-z]\w*")
_NUMBER, _PERCENT = re.compile(r"\b\d"), re.compile(r"%([a-z]\w*)")
# Instructions written as data, by bytes of each number; `.word` is two on one machine and four on another.
_DATA = MappingProxyType({".byte": 1, ".short": 2, ".hword": 2, ".long": 4, ".4byte": 4, ".inst": 4, ".quad": 8})
_MOST_LINES = 400  # between two instructions
_DEEP = 8  # macros in macros, files in files


@dataclass(frozen=True, slots=True)
class SourceStatement:
    """One statement, its text with single spaces; ``is_code``: an instruction, and no directive."""

    text: str
    place: SourcePlace

    @property
    def is_code(self) -> bool:
        return not self.text.startswith(".") or bool(self.data)

    @property
    def data(self) -> int:
        """How many bytes it writes as numbers; 0 where it is something else."""
        name, _, numbers = self.text.partition(" ")
        return _DATA.get(name, 0) * (numbers.count(",") + 1)


@dataclass(frozen=True, slots=True)
class Around:
    """What stands before an instruction in its source: the instruction itself, the directives between it and the one
    before, in order, and that one. None: it is not known."""

    own: SourceStatement | None = None
    directives: tuple[SourceStatement, ...] = ()
    before: SourceStatement | None = None


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a source spells: with ``%`` before these ``registers``, with ``decimal`` numbers."""

    registers: frozenset[str] = frozenset()
    decimal: bool = False

    def of(self, text: str) -> str:
        """A text about rows, or a directive, as the source spells it."""
        if self.decimal:
            text = _HEXADECIMAL.sub(lambda match: f"{match[1]}{int(match[2], 16)}", text)
        if not self.registers:
            return text
        return _WORD.sub(lambda match: f"%{match[0]}" if match[0] in self.registers else match[0], text)


@dataclass(frozen=True, slots=True)
class _Macro:
    """A macro: its parameters, and the lines of its body with their numbers."""

    name: str
    file: str
    parameters: tuple[str, ...]
    body: tuple[tuple[int, str], ...]
    marks: str  # what stands before a parameter in the body


def statements_at(file: str, line: int, sources: Sources) -> Sequence[SourceStatement]:
    """The statements of one line; none where the source is not assembly, or lies in no folder of the sources."""
    lines = sources.lines(file) if file.endswith(_ASSEMBLY) else ()
    if not 1 <= line <= len(lines):
        return ()
    return tuple(_expanded(lines[line - 1], file, line, _macros(file, sources, _DEEP), _DEEP))


def around(file: str, line: int, number: int, sources: Sources, size: int = 0) -> Around:
    """What stands around the instruction of a line that ``number`` others of the same line precede.

    What is written as data has no line of its own: to an assembler it is of the last one that has. It counts where it
    is as long as the instruction, ``size`` bytes.
    """
    left = number
    for below in range(line, min(line + _MOST_LINES, len(sources.lines(file)) + 1)):
        own = statements_at(file, below, sources)
        for k, each in enumerate(own):
            if each.is_code and below > line and not each.data:
                return Around()
            if each.is_code and not left:
                fits = each.data == size or not each.data
                return _around(own, k, file, below, sources) if fits else Around()
            left -= each.is_code
    return Around()


def _around(own: Sequence[SourceStatement], k: int, file: str, line: int, sources: Sources) -> Around:
    """What stands around a statement of a line."""
    found: list[SourceStatement] = []
    for each in chain(reversed(own[:k]), _upward(file, line, sources)):
        if each.is_code or each.text == ".cfi_endproc":
            return Around(own[k], tuple(found[::-1]), each if each.is_code else None)
        if each.text.startswith(".cfi_"):
            found.append(each)
    return Around(own[k], tuple(found[::-1]))


def label_of(name: str, file: str, sources: Sources) -> SourceStatement | None:
    """The label of a function: what stands before its first instruction, also where that is written as data."""
    said = re.compile(rf"(?:^|\(|\s){re.escape(name)}\)?\s*:")
    for number, line in enumerate(sources.lines(file) if file.endswith(_ASSEMBLY) else (), 1):
        if said.search(line):
            return SourceStatement(
                f"{name}:", SourcePlace(file, number, len(line) - len(line.lstrip()) + 1, line.strip())
            )
    return None


def said_above(file: str, line: int, is_wanted: Callable[[str], bool], sources: Sources) -> SourceStatement | None:
    """The last statement above a line, in its function's entry of the exception index, of which a text is wanted."""
    for each in _upward(file, line, sources):
        if is_wanted(each.text):
            return each
        if each.text == ".fnstart":
            break
    return None


def _upward(file: str, line: int, sources: Sources) -> Iterator[SourceStatement]:
    for above in range(line - 1, max(line - _MOST_LINES, 0), -1):
        yield from reversed(statements_at(file, above, sources))


@lru_cache(maxsize=16)
def spelling(file: str, sources: Sources, registers: frozenset[str]) -> Spelling:
    """How a source spells; of what is no assembly, as these words do."""
    lines = sources.lines(file) if file.endswith(_ASSEMBLY) else ()
    said = [line for line in lines if ".cfi_" in line]
    numbers = said if any(map(_NUMBER.search, said)) else lines
    decimal = any(map(_NUMBER.search, numbers)) and not any("0x" in line for line in numbers)
    is_named = any(name in registers for line in lines for name in _PERCENT.findall(line))
    return Spelling(registers if is_named else frozenset(), decimal)


def _expanded(text: str, file: str, line: int, macros: Mapping[str, _Macro], deep: int) -> Iterator[SourceStatement]:
    """The statements of a line, with those of the macros that it uses in place of their uses."""
    for column, said in _split(text):
        place = SourcePlace(file, line, column, said)
        use = _USE.match(said)
        macro = macros.get((use[1] or use[3] or "") if use else "")
        if use is None or macro is None or not deep or any(_COMPUTED.match(own) for _, own in macro.body):
            yield SourceStatement(said, place)
            continue
        given = _given(use[2] if use[1] else use[4] or "", macro.parameters)
        for number, own in macro.body:
            for each in _expanded(_filled(own, given, macro.marks), macro.file, number, macros, deep - 1):
                inner = each.place
                if not inner.macro:
                    own_text, mark = " ".join(own.split()), "\\" * (macro.marks == r"\\")
                    inner = replace(
                        inner,
                        macro=macro.name,
                        macro_file=macro.file,
                        macro_line=number,
                        macro_text=own_text,
                        parameters=tuple((value, f"{mark}{name}") for name, value in given.items()),
                    )
                yield replace(each, place=replace(inner, file=file, line=line, column=column, text=said))


def _split(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a line, each with its column, without labels and comments."""
    at = 0
    for part in _COMMENT.sub(lambda match: " " * len(match[0]), text).split(";"):
        rest = part
        while match := _LABEL.match(rest):
            rest = rest[match.end() :]
        if said := " ".join(rest.split()):
            yield at + len(part) - len(rest.lstrip()) + 1, said
        at += len(part) + 1


def _given(arguments: str, parameters: Sequence[str]) -> Mapping[str, str]:
    """The arguments of a use, by the names of the parameters."""
    found = {name: default for name, _, default in (each.partition("=") for each in parameters)}
    values = [each.strip() for each in re.split(r",(?![^({\[]*[)}\]])", arguments)] if arguments else []
    for name, value in zip(found, values, strict=False):
        found[name] = value
    return found


def _filled(text: str, given: Mapping[str, str], marks: str) -> str:
    names = "|".join(map(re.escape, given))
    return re.sub(rf"{marks}({names})\b(?:\\\(\))?", lambda match: given[match[1]], text) if given else text


@lru_cache(maxsize=16)
def _macros(file: str, sources: Sources, deep: int) -> Mapping[str, _Macro]:
    """The macros of a source, and of what it includes from beside it."""
    found: dict[str, _Macro] = {}
    lines = list(enumerate(sources.lines(file), 1))
    at = 0
    while at < len(lines):
        number, text = lines[at]
        at += 1
        if match := _INCLUDE.match(text):
            if deep:
                found |= _macros(str(Path(file).parent / match[1]), sources, deep - 1)
        elif match := _MACRO.match(text):
            first = at
            while at < len(lines) and ".endm" not in lines[at][1]:
                at += 1
            parameters = tuple(name.partition(":")[0] for name in re.split(r"[\s,]+", match[2].strip()) if name)
            found[match[1]] = _Macro(match[1], file, parameters, tuple(lines[first:at]), r"\\")
        elif match := _DEFINE.match(text):
            body = [(number, match[3])]
            while body[-1][1].rstrip().endswith("\\") and at < len(lines):
                body[-1] = (body[-1][0], body[-1][1].rstrip()[:-1])
                body.append(lines[at])
                at += 1
            names = tuple(name.strip() for name in match[2].split(","))
            found[match[1]] = _Macro(match[1], file, names, tuple(body), r"\b")
    return found
