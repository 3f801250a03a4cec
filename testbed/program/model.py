"""Programs of the corpus: one C or C++ file (``name.c``, ``name.cc``), or one assembly file per instruction set
(``name.arm64.S``). Each starts with a header: `testbed.program.header`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from types import MappingProxyType

from testbed.arch import ARCHES, Arch, Isa
from testbed.program.fragments import Fragment, named_files, read_fragments, source_text
from testbed.program.header import Expectation, Header, parse_header
from testbed.words.catalogue import Catalogue, nearest
from testbed.words.errors import ProgramError, UsageError

__all__ = [
    "Expectation",
    "Header",
    "Language",
    "Program",
    "Source",
    "parse_header",
    "program_from_text",
    "program_name",
    "programs_in",
    "read_program",
    "read_source",
]


COMPILED = (".c", ".cc")  # C, and C++ without a run-time library: one source for all instruction sets


class Language(Enum):
    """What a program's source is written in."""

    C = "C"
    ASSEMBLY = "assembly"
    ELF = "a program file from elsewhere"


@dataclass(frozen=True, slots=True)
class Source:
    """One source file. ``isa`` is the instruction set it is written for; None: C, for all of them. ``fragments`` are
    the files that it includes."""

    path: Path
    language: Language
    isa: str | None
    text: str = field(repr=False)
    header: Header
    fragments: tuple[Fragment, ...] = ()

    def units(self, isa: Isa) -> tuple[str, ...]:
        """The files that are compiled or assembled for an instruction set, each to an object: this one comes first."""
        others = [name for name in self.header.sources if not name.endswith(".S") or name.endswith(f".{isa.name}.S")]
        return (self.path.name, *others)

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that was written: the source, then name and text of each fragment."""
        return (self.text, *(part for fragment in self.fragments for part in (fragment.name, fragment.text)))


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the corpus: its name, and its sources by instruction set (C: under ``"c"``)."""

    name: str
    sources: Mapping[str, Source]

    def __repr__(self) -> str:
        return f"<Program {self}>"

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


def read_source(path: Path, *, own: bool = False) -> Source:
    """One source file with its header, which an ``own`` one need not have. The name says what it is: ``name.c`` or
    ``name.<isa>.S``."""
    try:
        text = source_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ProgramError(path, 1, f"cannot be read: {error}") from error
    if path.suffix in COMPILED:
        header = parse_header(path, text, own=own)
        return Source(path, Language.C, None, text, header, named_files(path, header))
    isas = [isa.name for arch in ARCHES.values() for isa in arch.isas]
    isa = path.stem.rpartition(".")[2]
    if path.suffix != ".S" or isa not in isas or isa == path.stem:
        said = f"a program's source is named NAME.c or NAME.ISA.S with ISA one of {', '.join(isas)}"
        raise ProgramError(path, 1, f"{said}; the functions of any source are called by `testbed check {path.name}`")
    header = parse_header(path, text, own=own)
    return Source(path, Language.ASSEMBLY, isa, text, header, (*read_fragments(path, text), *named_files(path, header)))


def program_name(path: Path) -> str:
    """``leaf_call`` for ``leaf_call.c`` and ``leaf_call.arm64.S``."""
    return path.name.split(".")[0]


def read_program(*paths: Path, own: bool = False) -> Program:
    """A program from its source files, which have its name; a user's ``own`` ones need no header."""
    sources = [read_source(path, own=own) for path in paths]
    return Program(program_name(paths[0]), MappingProxyType({source.isa or "c": source for source in sources}))


def programs_in(folder: Path) -> Catalogue[Program]:
    """The programs of a folder, by name. The folder is listed; a program's sources are read when it is asked for."""
    paths: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in (*COMPILED, ".S"):
            paths.setdefault(program_name(path), []).append(path)
    return Catalogue({name: partial(read_program, *sources) for name, sources in paths.items()})


def program_from_text(name: str, arch: Arch, text: str, *, isa: str | None = None, exit: int | None = None) -> Program:
    """A program from an assembly string, for notebooks and tests; a header in the text is read, none is needed."""
    chosen = arch.isa_named(isa) if isa else arch.isas[0]
    if chosen is None:
        raise UsageError(f"{arch} has no instruction set {isa!r}; {nearest(isa or '', [i.name for i in arch.isas])}")
    has_header = text.lstrip().startswith("// summary:")
    text = text.lstrip() if has_header else text  # else mistakes are told by the lines as they were typed
    header = parse_header(name, text) if has_header else Header(summary=name, exit=exit)
    source = Source(Path(f"{name}.{chosen.name}.S"), Language.ASSEMBLY, chosen.name, text, header)
    return Program(name, MappingProxyType({chosen.name: source}))
