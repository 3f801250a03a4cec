"""Statements of an assembly source, each with its place: also those that a use of a macro stands for.

An assembler says of an instruction that a macro made at which line the use stands. Which statement of the macro it is
follows from how many instructions the use made before it. Which lines count, and what is a macro of the preprocessor's,
says that itself; expanded besides are the assembler's own, ``.macro``, with what they choose and repeat by a use's
arguments: ``.if``, ``.ifb``, ``.ifnb``, ``.ifc``, ``.ifnc``, ``.rept``, ``.irp``. What the assembler computes otherwise
is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from testbed.build.expressions import Expression, Place
from testbed.checks.model import SourcePlace
from testbed.checks.own_sources import Sources
from testbed.checks.preprocessed import LeftLine, Preprocessed, preprocessed, real_path
from testbed.words.errors import BuildError

_ASSEMBLY = (".s", ".S", ".asm", ".sx")
_COMMENT = re.compile(r"/\*.*?\*/|//.*|^\s*[#@].*|\s@.*|\s#(?![-+:(\d]).*")  # `#16` is a number of Arm's
_COMPUTED = re.compile(r"\s*(?:#\s*(?:if|el|endif)|\.(?:if|else|rep|irp))")  # which statements there are
_OPENS, _CLOSES = re.compile(r"\s*\.(?:if|rept|irp)"), re.compile(r"\s*\.end(?:if|r)\b")
_ELSE = re.compile(r"\s*\.else\b")
_LABEL = re.compile(r"\s*[\w.$]+\s*:")
_INCLUDE = re.compile(r'\s*\.include\s+"([^"]+)"')
_MACRO = re.compile(r"\s*\.macro\s+([\w.$]+)[\s,]*(.*)")
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(\([^)]*\))?\s*(.*)")
_GIVES_A_NAME = re.compile(r"[\w.$]+\s*(?:=|\.(?:req|dn|qn)\b)", re.IGNORECASE)  # to a number, to a register
_USE = re.compile(r"(\w+)\s*\((.*)\)$|([\w.$]+)(?:\s+(.*))?$")
_HEXADECIMAL = re.compile(r"(?<!\w\+)([-+ ]|\b)0x([0-9a-f]+)\b")
_WORD = re.compile(r"(?<![%\w])[a-z]\w*")
_NUMBER, _PERCENT = re.compile(r"\b\d"), re.compile(r"%([a-z]\w*)")
# Instructions written as data, by bytes of each number; `.word` is two on one machine and four on another.
_DATA = MappingProxyType({".byte": 1, ".short": 2, ".hword": 2, ".long": 4, ".4byte": 4, ".inst": 4, ".quad": 8})
# What parts two arguments, outside of brackets.
_COMMA = r"\s*,\s*(?![^({\[]*[)}\]])"
_BLANKS = r"""(?<=[\w.$)}\]"'])\s+(?=[\w.$%\\#"'])(?![^({\[]*[)}\]])"""
_OF_CPP, _OF_AS = r"\b", r"\\"  # what stands before a parameter in a macro's body
_SIGN, _NOWHERE = re.compile(r"[*/+()]|\d\s*-"), Place(Path(), 0, 0)
_NUMBERS, _NAME = re.compile(r"[-+*/()\s\dxXa-fA-F]*\d[-+*/()\s\dxXa-fA-F]*"), re.compile(r"(?<![\w.%])[A-Za-z_]\w*")
_PASTED = re.compile(r"\s*##\s*")  # two words that the preprocessor makes one of
_MOST_LINES = 400  # between two instructions
_MOST_TIMES = 64  # that a block is repeated
_DEEP = 8  # macros in macros, files in files


@dataclass(frozen=True, slots=True)
class SourceStatement:
    """One statement, its text with single spaces; ``is_code``: an instruction, and no directive or name."""

    text: str
    place: SourcePlace

    @property
    def is_code(self) -> bool:
        return bool(self.data) or not (self.text.startswith(".") or _GIVES_A_NAME.match(self.text))

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
    marks: str  # _OF_CPP or _OF_AS


def assembly_lines(file: str, sources: Sources) -> Sequence[str]:
    """The lines of an assembly source, or of what one includes, whatever its suffix; none of another file."""
    unit = None if file.endswith(_ASSEMBLY) else preprocessed(sources)
    is_included = unit is not None and any(each == real_path(file) for each, _ in unit.places)
    return sources.lines(file) if is_included or file.endswith(_ASSEMBLY) else ()


def left_lines(file: str, sources: Sources) -> Sequence[str]:
    """Those of these lines that the preprocessor leaves, and of macros: others are for another machine."""
    lines, unit, own = assembly_lines(file, sources), preprocessed(sources), real_path(file)
    behind = enumerate(zip(("", *lines), lines, strict=False), 1)
    return [line for n, (last, line) in behind if unit is None or last.endswith("\\") or (own, n) in unit.places]


@lru_cache(maxsize=1 << 12)
def statements_at(file: str, line: int, sources: Sources) -> Sequence[SourceStatement]:
    """The statements of one line; none where the preprocessor leaves it out, the source is not assembly, or lies in no
    folder of the sources."""
    lines = assembly_lines(file, sources)
    if not 1 <= line <= len(lines):
        return ()
    unit, written = preprocessed(sources), list(_split(lines[line - 1]))
    text, macros = lines[line - 1], _Macros(sources, unit, _assemblers(file, sources))
    if unit is not None and (place := unit.places.get((real_path(file), line))) is not None:
        text, macros = unit.lines[place].text, replace(macros, place=place)
    elif unit is not None and not (line > 1 and lines[line - 2].endswith("\\")):
        return ()
    said = list(_split(text))
    if len(said) == len(written) and all(map(_is_named_as, written, said)):
        pairs = [(column, own, _computed(its)) for (column, own), (_, its) in zip(written, said, strict=True)]
    else:
        pairs = [(column, own, own) for column, own in written]
    return tuple(_expanded(pairs, SourcePlace(file, line, 0, ""), macros, _DEEP))


def _is_named_as(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Are two statements of one name? A macro that only leaves out the dot of a directive has the directive's."""
    name, its = (re.match(r"[.\w$]*", each[1]) for each in (one, other))
    return bool(name and its and name[0].removeprefix(".") == its[0].removeprefix("."))


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


def from_another_file(here: Around, before: SourceStatement | None, sources: Sources) -> Around:
    """What stands around the first instruction of a file that another one includes, behind its last one, ``before``."""
    if here.own is None or before is None or before.place.file == here.own.place.file:
        return here
    file, line, said = before.place.file, before.place.line, list[SourceStatement]()
    for below in range(line + 1, min(line + _MOST_LINES, len(sources.lines(file)) + 1)):
        own = statements_at(file, below, sources)
        if any(each.is_code for each in own):
            break
        said += (each for each in own if each.text.startswith(".cfi_"))
    return Around(here.own, (*said, *here.directives), before)


def label_of(name: str, file: str, sources: Sources) -> SourceStatement | None:
    """The label of a function: what stands before its first instruction, also where that is written as data."""
    said = re.compile(rf"(?:^|[(;\s]){re.escape(name)}\)?\s*:")
    lines, unit = assembly_lines(file, sources), preprocessed(sources)
    left = enumerate(lines, 1) if unit is None else ((n, text) for its, n, text in unit.lines if its == real_path(file))
    for number, text in left:
        if said.search(text) and number <= len(lines):
            line = lines[number - 1]
            place = SourcePlace(file, number, len(line) - len(line.lstrip()) + 1, line.strip())
            return SourceStatement(f"{name}:", place)
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
    lines = left_lines(file, sources)
    said = [line for line in lines if "cfi_" in line]
    numbers = said if any(map(_NUMBER.search, said)) else lines
    decimal = any(map(_NUMBER.search, numbers)) and not any("0x" in line for line in numbers)
    is_named = any(name in registers for line in lines for name in _PERCENT.findall(line))
    return Spelling(registers if is_named else frozenset(), decimal)


def _expanded(
    pairs: Sequence[tuple[int, str, str]], use: SourcePlace, macros: _Macros, deep: int
) -> Iterator[SourceStatement]:
    """The statements of a line, with those of the macros that it uses in place of their uses.

    ``pairs``: the column of each, how it is written, and what it says; ``use`` is the line's place.
    """
    for column, written, said in pairs:
        place = replace(use, column=column, text=written)
        found = _USE.match(said)
        macro = macros.named(found[1] or found[3] or "", takes=bool(found[1])) if found else None
        if found is None or macro is None or not deep:
            yield SourceStatement(said, place)
            continue
        if found[4] and macro.marks == _OF_CPP:  # a name for the first word of a statement
            yield SourceStatement(f"{macro.body[0][1].strip()} {found[4]}", place)
            continue
        given = _given((found[2] if found[1] else found[4] or "").strip(), macro)
        lines = list(_repeated(macro.body, given, macro.marks, macros))
        filled = [(line, list(_split(line.filled))) for line in lines if line is not None]
        statements = [each for _, its in filled for each in its]
        is_one = macro.marks == _OF_CPP and len(statements) == 1
        if is_one and (macro.name in stand_ins(macros.sources) or _is_named_by(statements[0][1], given)):
            yield SourceStatement(_computed(statements[0][1]), place)
            continue
        for line, its in filled:
            here = SourcePlace(macro.file, line.number, 0, "")
            for each in _expanded([(at, text, _computed(text)) for at, text in its], here, macros, deep - 1):
                inner = each.place
                if not inner.macro:
                    own_text, mark = " ".join(line.own.split()), "\\" * (macro.marks != _OF_CPP)
                    inner = replace(
                        inner,
                        macro=macro.name,
                        macro_file=macro.file,
                        macro_line=line.number,
                        macro_text=own_text,
                        parameters=tuple((value, f"{mark}{name}") for name, value in line.given.items()),
                    )
                yield replace(each, place=replace(inner, file=use.file, line=use.line, column=column, text=written))
        if None in lines:  # what is left of it
            yield SourceStatement(said, place)


def _is_named_by(said: str, given: Mapping[str, str]) -> bool:
    """Is a statement a directive about rows whose name is an argument of a use: `CFI(adjust_cfa_offset, 8)`?"""
    return said.partition(" ")[0] in {f".cfi_{value}" for value in given.values()}


class _BodyLine(NamedTuple):
    """A line of a macro's body at one use: its number, its own text, and that with the names that are ``given``."""

    number: int
    own: str
    filled: str
    given: Mapping[str, str]


def _repeated(
    body: Sequence[tuple[int, str]], given: Mapping[str, str], marks: str, macros: _Macros
) -> Iterator[_BodyLine | None]:
    """The lines of a macro's body as the assembler chooses and repeats them; None where that cannot be told.

    Told are `.if` of a number, `.ifb`, `.ifnb`, `.ifc`, `.ifnc`, and `.rept`, `.irp` of what the use gives.
    """
    at = 0
    while at < len(body):
        number, own = body[at]
        filled = macros.valued(_filled(own, given, marks))
        at += 1
        if not _COMPUTED.match(own):
            yield _BodyLine(number, own, filled, given)
            continue
        end = _end_of_block(body, at)
        times = _times(filled, given) if end is not None else None
        if times is None or end is None:
            yield None
            return
        elses = (k for k in range(at, end) if _ELSE.match(body[k][1]) and _end_of_block(body[k:end], 1) is None)
        other = next(elses, end)
        inner = body[at:other] if times else body[other + 1 : end]
        for its in times or ({},):
            for line in _repeated(inner, {**given, **its}, marks, macros):
                yield line
                if line is None:
                    return
        at = end + 1


def _end_of_block(body: Sequence[tuple[int, str]], at: int) -> int | None:
    """The line that ends the block of the assembler's in which a line stands."""
    deep = 1
    for k in range(at, len(body)):
        deep += bool(_OPENS.match(body[k][1])) - bool(_CLOSES.match(body[k][1]))
        if not deep:
            return k
    return None


def _times(filled: str, given: Mapping[str, str]) -> Sequence[Mapping[str, str]] | None:
    """What is given each time that a block is used, if that can be told."""
    name, _, rest = " ".join(_COMMENT.sub("", filled).split()).partition(" ")
    if name in (".ifb", ".ifnb", ".ifc", ".ifnc"):
        one, other = (each.strip(" '") for each in rest.partition("," if name.endswith("c") else "\n")[::2])
        return ({},) * (name.startswith(".ifn") is not (one == other))
    if name == ".irp":
        own, *values = (each for each in re.split(r"[\s,]+", rest) if each)
        return [{own: each} for each in values][:_MOST_TIMES]
    if name not in (".if", ".rept"):
        return None
    try:
        value = Expression(_NOWHERE, rest).constant()
    except BuildError:
        return None
    return ({},) * (min(max(value, 0), _MOST_TIMES) if name == ".rept" else value != 0)


def _computed(said: str) -> str:
    """A directive about rows with the values of its arguments, where these are computed."""
    name, _, rest = said.partition(" ")
    if not name.startswith(".cfi_") or not _SIGN.search(rest):
        return said
    values = list[str]()
    for each in rest.split(","):
        try:
            values.append(str(Expression(_NOWHERE, each).constant()) if _SIGN.search(each) else each.strip())
        except BuildError:
            values.append(each.strip())
    return f"{name} {', '.join(values)}"


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


def _given(arguments: str, macro: _Macro) -> Mapping[str, str]:
    """The arguments of a use, by the names of the parameters: in their order, or as ``name=value``.

    Blanks part those of an assembler's macro, too, where no operator stands (GNU as, section 7.71, ``.macro``).
    """
    apart = list(re.finditer(_COMMA if macro.marks == _OF_CPP else f"{_COMMA}|{_BLANKS}", arguments))
    starts = [0, *(each.end() for each in apart)]
    ends = [*(each.start() for each in apart), len(arguments)]
    values = [(arguments[start:end], start) for start, end in zip(starts, ends, strict=True)] if arguments else []
    names = [name for name, _, _ in (each.partition("=") for each in macro.parameters)]
    named = dict(each.split("=", 1) for each, _ in values if each.partition("=")[0] in names and "=" in each)
    values = [each for each in values if each[0].partition("=")[0] not in named]
    found = dict[str, str]()
    for k, (name, _, default) in enumerate(each.partition("=") for each in macro.parameters):
        value, start = values[k] if k < len(values) else ("", len(arguments))
        rest = arguments[start:] if name.endswith(":vararg") else value
        found[name.removesuffix(":vararg")] = named.get(name) or rest or default
    return found


def _filled(text: str, given: Mapping[str, str], marks: str) -> str:
    names = "|".join(map(re.escape, given))
    text = re.sub(rf"{marks}({names})\b(?:\\\(\))?", lambda match: given[match[1]], text) if given else text
    return _PASTED.sub("", text) if marks == _OF_CPP else text


@lru_cache(maxsize=16)
def stand_ins(sources: Sources) -> Mapping[str, str]:
    """The macros that stand for one directive about rows with their own arguments, whatever their names: by these."""
    unit = preprocessed(sources)
    last = {name: found[-1][1] for name, found in (unit.definitions.items() if unit else ())}
    said = {name: _directive_of(each.body or "", each.parameters or ()) for name, each in last.items()}
    return {name: directive for name, directive in said.items() if directive}


def _directive_of(body: str, parameters: Sequence[str]) -> str:
    """The directive that a macro's body is, if its arguments are the macro's parameters in their order; else ""."""
    name, _, rest = body.strip().rstrip(";").partition(" ")
    arguments = [each.strip().removeprefix("(").removesuffix(")") for each in rest.split(",")] if rest.strip() else []
    return name if name.startswith(".cfi_") and arguments == [*parameters] else ""


@dataclass(frozen=True, slots=True)
class _Macros:
    """The macros of a line: those of the assembler, and of the preprocessor where the line has a ``place``."""

    sources: Sources
    unit: Preprocessed | None
    assemblers: Mapping[str, _Macro]
    place: int = -1

    def valued(self, text: str) -> str:
        """A text with numbers in place of the preprocessor's names of such."""

        def value(match: re.Match[str]) -> str:
            found = None if self.unit is None else self.unit.definition(match[0], self.place)
            is_one = found is not None and found.parameters is None and _NUMBERS.fullmatch(found.body or "")
            return found.body or "" if found and is_one else match[0]

        return _NAME.sub(value, text)

    def named(self, name: str, *, takes: bool) -> _Macro | None:
        """The macro of a name, if that is one; ``takes``: it is used with arguments in brackets."""
        found = None if self.unit is None else self.unit.definition(name, self.place)
        if found is None or (found.parameters is None) == takes:
            return self.assemblers.get(name)
        lines = self.sources.lines(found.file)[found.number - 1 :]
        match = _DEFINE.match(lines[0]) if lines else None
        if match is None or match[1] != name:
            return _Macro(name, found.file, found.parameters or (), ((found.number, found.body or ""),), _OF_CPP)
        body, at, text = list[tuple[int, str]](), 1, match[3]
        while text.rstrip().endswith("\\") and at < len(lines):
            _add_line(body, found.number + at - 1, text.rstrip()[:-1])
            text = lines[at]
            at += 1
        _add_line(body, found.number + at - 1, text)
        return _Macro(name, found.file, found.parameters or (), tuple(body), _OF_CPP)


def _add_line(body: list[tuple[int, str]], number: int, text: str) -> None:
    """One more line of a macro of the preprocessor's, in which a statement goes on until a semicolon."""
    last = _COMMENT.sub("", body[-1][1]) if body else ""
    if any(_split(last)) and not last.rstrip().endswith(";"):
        body[-1] = (body[-1][0], f"{last.rstrip()} {_COMMENT.sub('', text).strip()}")
    else:
        body.append((number, text))


@lru_cache(maxsize=16)
def _assemblers(file: str, sources: Sources) -> Mapping[str, _Macro]:
    """The assembler's own macros of a source, and of what it includes."""
    found: dict[str, _Macro] = {}
    unit = preprocessed(sources)
    lines = list(_with_included(file, sources, _DEEP) if unit is None else unit.lines)
    at = 0
    while at < len(lines):
        file, _, text = lines[at]
        at += 1
        if match := _MACRO.match(text):
            first = at
            while at < len(lines) and ".endm" not in lines[at].text:
                at += 1
            parameters = tuple(name.removesuffix(":req") for name in re.split(r"[\s,]+", match[2].strip()) if name)
            body = tuple((number, own) for _, number, own in lines[first:at])
            found[match[1]] = _Macro(match[1], file, parameters, body, _OF_AS)
    return found


def _with_included(file: str, sources: Sources, deep: int) -> Iterator[LeftLine]:
    """The lines of a source, with those of the files beside it that it includes."""
    for number, text in enumerate(sources.lines(file), 1):
        yield LeftLine(file, number, text)
        if deep and (match := _INCLUDE.match(text)):
            yield from _with_included(str(Path(file).parent / match[1]), sources, deep - 1)
