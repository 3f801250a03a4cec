"""Programs of the corpus, and the header that each source file starts with.

A program is one C file (``name.c``) or one assembly file per instruction set (``name.arm64.S``). Its header is
the block of ``// key: value`` lines at the top, closed by the first line that is not a ``//`` comment; a line
``//   more`` (three spaces or more) continues the value above. Keys:

========================  ======================================================================
``summary``               one sentence: what is interesting here (required)
``exit``                  the status that the program exits with (required): proof that it ran right
``entry``                 the entry symbol (default ``_start``)
``traits``                declared traits, comma-separated names of ``Trait`` members
``frames``                ``LOCATION = f, g, h``: the true frames whenever execution is at LOCATION (a
                          symbol or a label, optionally ``+0x4`` and ``#2`` for the second visit only)
``logical``               ``LOCATION = f, [g], <h>``: the calls that the source made to get there: ``[g]`` was
                          inlined, ``<h>`` left by a tail call
``frame-record``          the name of the frame-record layout, where the file does not use the default
``recipes``               only these recipes (glob patterns, comma-separated); without it all that fit but the
                          ones that a program must ask for (``macho-*``)
``clang-only``            why keystone cannot assemble this file
========================  ======================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from testbed.arch import ARCHES, Arch, Isa
from testbed.catalogue import nearest
from testbed.errors import ProgramError, UsageError
from testbed.traits import Trait


class Language(Enum):
    C = "C"
    ASSEMBLY = "assembly"
    ELF = "a program file from elsewhere"


@dataclass(frozen=True, slots=True)
class Expectation:
    """Declared truth: at ``location`` (every visit, or only the ``visit``-th) the frames are ``frames``."""

    location: str
    visit: int | None
    frames: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Header:
    """The parsed header of one source file."""

    summary: str
    exit: int | None  # None: nobody declared it (a file from elsewhere)
    entry: str = "_start"
    traits: frozenset[Trait] = frozenset()
    frames: tuple[Expectation, ...] = ()
    logical: tuple[Expectation, ...] = ()
    frame_record: str | None = None
    recipes: tuple[str, ...] = ()
    clang_only: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One source file. ``isa`` is the instruction set it is written for; None: C, for all of them."""

    path: Path
    language: Language
    isa: str | None
    text: str = field(repr=False)
    header: Header


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the corpus: its name, and its sources by instruction set (C: under ``"c"``)."""

    name: str
    sources: Mapping[str, Source]

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}"

    @property
    def summary(self) -> str:
        return next(iter(self.sources.values())).header.summary

    def source_for(self, isa: Isa) -> Source | None:
        """The source that can be built for an instruction set, or None."""
        return self.sources.get(isa.name) or self.sources.get("c")

    def arches(self) -> tuple[Arch, ...]:
        """The architectures that this program exists for."""
        return tuple(a for a in ARCHES.values() if any(self.source_for(isa) for isa in a.isas))


COMPILED = (".c", ".cc")  # C, and C++ without a run-time library: one source for all instruction sets

_KEY_LINE = re.compile(r"^//\s?(?P<key>[a-z-]+):\s*(?P<value>.*?)\s*$")
_CONTINUED = re.compile(r"^//\s{3,}(?P<value>\S.*?)\s*$")
_LOCATION = re.compile(r"^(?P<at>[A-Za-z_.$][\w.$]*(?:\+0x[0-9a-f]+)?)(?:#(?P<visit>\d+))?$")
_KEYS = ("summary", "exit", "entry", "traits", "frames", "logical", "frame-record", "recipes", "clang-only")


def parse_header(path: Path | str, text: str) -> Header:
    """The header of a source. Raises ProgramError with the line for anything that is not in the grammar."""
    values: dict[str, tuple[str, int]] = {}
    last: str | None = None
    pending: dict[str, list[tuple[str, int]]] = {"frames": [], "logical": []}  # lines, still growing by continuation
    line = 0
    for line, content in enumerate(text.splitlines(), 1):
        if not content.startswith("//"):
            break
        if (more := _CONTINUED.match(content)) and last is not None:
            if last in pending:
                so_far, at = pending[last][-1]
                pending[last][-1] = f"{so_far} {more['value']}", at
            else:
                values[last] = (f"{values[last][0]} {more['value']}", values[last][1])
            continue
        match = _KEY_LINE.match(content)
        if match is None:
            raise ProgramError(path, line, f"not a header line ('// key: value'): {content!r}")
        key, value = match["key"], match["value"]
        if key not in _KEYS:
            raise ProgramError(path, line, f"unknown header key {key!r}; {nearest(key, _KEYS)}")
        if not value:
            raise ProgramError(path, line, f"header key {key!r} has no value")
        last = key
        if key in pending:
            pending[key].append((value, line))
        elif key in values:
            raise ProgramError(path, line, f"header key {key!r} is already given in line {values[key][1]}")
        else:
            values[key] = (value, line)
    for required in ("summary", "exit"):
        if required not in values:
            raise ProgramError(path, max(line, 1), f"the header has no '// {required}: ...' line")
    status, at = values["exit"]
    if not status.isdecimal() or int(status) > 255:
        raise ProgramError(path, at, f"exit: a status from 0 to 255 is needed, not {status!r}")
    return Header(
        summary=values["summary"][0],
        exit=int(status),
        entry=values.get("entry", ("_start", 0))[0],
        traits=_traits(path, *values["traits"]) if "traits" in values else frozenset(),
        frames=tuple(_expectation(path, at, "frames", given) for given, at in pending["frames"]),
        logical=tuple(_expectation(path, at, "logical", given) for given, at in pending["logical"]),
        frame_record=_frame_record(path, *values["frame-record"]) if "frame-record" in values else None,
        recipes=_listed(values["recipes"][0]) if "recipes" in values else (),
        clang_only=values["clang-only"][0] if "clang-only" in values else None,
    )


def _listed(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _expectation(path: Path | str, line: int, key: str, value: str) -> Expectation:
    location, equals, names = value.partition("=")
    match = _LOCATION.match(location.strip())
    if not equals or match is None or not _listed(names):
        raise ProgramError(path, line, f"{key}: 'LOCATION = f, g, h' is needed, not {value!r}")
    return Expectation(match["at"], int(match["visit"]) if match["visit"] else None, _listed(names), line)


def _traits(path: Path | str, value: str, line: int) -> frozenset[Trait]:
    declared = {trait.name: trait for trait in Trait if trait.declared}
    for name in _listed(value):
        if name not in declared:
            raise ProgramError(path, line, f"{name!r} is no trait that a header declares; {nearest(name, declared)}")
    return frozenset(declared[name] for name in _listed(value))


def _frame_record(path: Path | str, value: str, line: int) -> str:
    known = [record.name for arch in ARCHES.values() for isa in arch.isas for record in isa.records]
    if value not in known:
        raise ProgramError(path, line, f"no frame record {value!r}; {nearest(value, known)}")
    return value


def read_source(path: Path) -> Source:
    """One source file with its header. The name says what it is: ``name.c`` or ``name.<isa>.S``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProgramError(path, 1, f"cannot be read: {error}") from error
    if path.suffix in COMPILED:
        return Source(path, Language.C, None, text, parse_header(path, text))
    isas = [isa.name for arch in ARCHES.values() for isa in arch.isas]
    isa = path.stem.rpartition(".")[2]
    if path.suffix != ".S" or isa not in isas or isa == path.stem:
        raise ProgramError(path, 1, f"a source is named NAME.c or NAME.ISA.S with ISA one of {', '.join(isas)}")
    return Source(path, Language.ASSEMBLY, isa, text, parse_header(path, text))


def program_name(path: Path) -> str:
    """``leaf_call`` for ``leaf_call.c`` and ``leaf_call.arm64.S``."""
    return path.name.split(".")[0]


def read_program(path: Path) -> Program:
    """A program from one source file outside the catalogue."""
    source = read_source(path)
    return Program(program_name(path), MappingProxyType({source.isa or "c": source}))


def read_programs(folder: Path) -> Mapping[str, Program]:
    """All programs of a folder, by name."""
    sources: dict[str, dict[str, Source]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in (*COMPILED, ".S"):
            source = read_source(path)
            sources.setdefault(program_name(path), {})[source.isa or "c"] = source
    return MappingProxyType({n: Program(n, MappingProxyType(by_isa)) for n, by_isa in sources.items()})


def program_from_text(name: str, arch: Arch, text: str, *, isa: str | None = None, exit: int | None = None) -> Program:
    """A program from an assembly string, for notebooks and tests; a header in the text is read, none is needed."""
    chosen = arch.isa_named(isa) if isa else arch.isas[0]
    if chosen is None:
        raise UsageError(f"{arch} has no instruction set {isa!r}; {nearest(isa or '', [i.name for i in arch.isas])}")
    text = text.lstrip()
    header = parse_header(name, text) if text.startswith("// summary:") else Header(summary=name, exit=exit)
    source = Source(Path(f"{name}.{chosen.name}.S"), Language.ASSEMBLY, chosen.name, text, header)
    return Program(name, MappingProxyType({chosen.name: source}))


def matches(name: str, patterns: Iterable[str]) -> bool:
    """True where ``name`` matches one of the glob patterns, or there are none."""
    listed = tuple(patterns)
    return not listed or any(fnmatchcase(name, pattern) for pattern in listed)
