"""From a source to a program file: a recipe's tool, behind a cache."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from testbed.arch import Arch, FrameRecord, Isa
from testbed.build import cache
from testbed.build.recipes import Recipe, Tool, recipes_for
from testbed.image import Image, read_image
from testbed.program.model import Program, Source
from testbed.words.errors import BuildError, UsageError

# Files that a source names and that are not its own: refused with the line, before any tool sees it.
#
# A source reads what lies in its own folder and what its header names. Text is searched for names that lead elsewhere:
# an absolute path, or ``..``. What a macro or the preprocessor puts together is not found here; that it opens nothing
# is the affair of `testbed.build.confined`.

_NAMING = re.compile(
    r"(?P<what>\.\s*incbin|\.\s*include|#\s*(?:include|include_next|import|embed))\b[^\"<\n]{0,40}[\"<](?P<name>[^\"<>\n]*)"
)


def refuse_host_files(source: Source) -> None:
    """Raises BuildError for the first name in a source that leads out of its folder."""
    here = source.path.parent
    for text, path in ((source.text, source.path), *((f.text, here / f.name) for f in source.fragments)):
        for match in _NAMING.finditer(text):
            name = Path(match["name"].removesuffix("\\"))
            if name.is_absolute() or ".." in name.parts:
                line = text.count("\n", 0, match.start()) + 1
                raise BuildError(
                    f"{path}:{line}: {match['what']} {match['name']!r}: a source reads files of its own folder only, "
                    "those that its header names"
                )


__all__ = ["Built", "build"]


@dataclass(frozen=True, eq=False)
class Built:
    """A program as built by one recipe for one instruction set: the file, and what its image says.

    ``tools`` are the versions of what built it.
    """

    program: Program
    arch: Arch
    recipe: Recipe
    isa: Isa
    source: Source
    path: Path
    image: Image = field(repr=False)
    tools: str = ""

    @property
    def cpu(self) -> str | None:
        """The CPU model that it runs on, where that is not the usual one."""
        return self.source.header.cpu or self.recipe.cpu

    def __repr__(self) -> str:
        return f"<Built {self}>"

    def __str__(self) -> str:
        return f"{self.program.name} · {self.isa.name} · {self.recipe.name}: {self.path}"


def build(program: Program, arch: Arch, recipe: Recipe, *, fresh: bool = False) -> Built:
    """Build a program, or take the file of an earlier equal build (never with ``fresh``).

    Raises UsageError where the recipe does not build this program on this architecture, ToolchainMissing where its
    tool is not installed, BuildError (file, line, column, message) where the source does not build.
    """
    isa, source = recipe.isa_on(arch), recipe.source_of(program, arch)
    if isa is None or source is None:
        there = ", ".join(r.name for r in recipes_for(program, arch)) or "none"
        raise UsageError(f"recipe {recipe.name!r} does not build {program.name} on {arch}; there are: {there}")
    name = cache.name_for(program, isa, recipe, cache.build_key(source, arch, isa, recipe))
    path = cache.kept(name, lambda: _file_bytes(source, arch, isa, recipe), fresh=fresh)
    return Built(
        program=program,
        arch=arch,
        recipe=recipe,
        isa=isa,
        source=source,
        path=path,
        image=replace(read_image(path, _frame_records(source, arch, recipe)), conventions=source.header.conventions),
        tools=cache.tool_version(source, arch, recipe),
    )


def _file_bytes(source: Source, arch: Arch, isa: Isa, recipe: Recipe) -> bytes:
    refuse_host_files(source)
    # Imported here: a file from the cache needs no tool.
    match recipe.tool:
        case Tool.KEYSTONE:
            from testbed.build.link import assemble_program

            return assemble_program(source, arch, isa)
        case Tool.CLANG_ASSEMBLY:
            from testbed.build.compile import assemble

            return assemble(source, arch, isa, recipe.flags)
        case Tool.CLANG:
            from testbed.build.compile import compile_c

            return compile_c(source, arch, isa, recipe.flags, recipe.start_of(isa), one_object=recipe.one_object)
        case Tool.OTHER_CLANG:
            from testbed.build.compile import compile_c, find_other_zig

            return compile_c(source, arch, isa, recipe.flags, recipe.start_of(isa), zig=find_other_zig())
        case Tool.GCC:
            from testbed.build.compile import compile_gcc

            return compile_gcc(source, arch, isa, recipe.flags, recipe.start_of(isa))
        case Tool.GNU_ASSEMBLY:
            from testbed.build.compile import assemble_gnu

            return assemble_gnu(source, arch, isa, recipe.flags)
        case Tool.CLANG_MACH_O:
            from testbed.build.compile import compile_mach_o

            return compile_mach_o(source, arch, recipe.flags)
        case Tool.NONE:
            raise BuildError(f"{source.path}: the recipe {recipe.name!r} builds nothing")


def _frame_records(source: Source, arch: Arch, recipe: Recipe) -> dict[str, FrameRecord]:
    """The frame-record layout by instruction set: the recipe's, unless the source's header names another."""
    known = {(isa.name, record.name): record for isa in arch.isas for record in isa.records}
    chosen = {isa: known[isa, name] for isa, name in recipe.frame_records.items() if (isa, name) in known}
    for (isa, name), record in known.items():
        if name == source.header.frame_record and source.isa in (isa, None):
            chosen[isa] = record
    return chosen
