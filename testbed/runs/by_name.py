"""From what a user types to a run: a program's name, the path of a source, or the path of a program file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from testbed.arch import Arch, FrameRecord, arch_named
from testbed.build import Built, build
from testbed.build.recipes import PREBUILT, first_recipe, recipe_named, recipes_for
from testbed.conventions.chosen import check_patterns, check_said
from testbed.generate.seeds import is_generated
from testbed.image import Image, linked_image
from testbed.image.separate_debug import NOWHERE, DebugDirs
from testbed.program.header import Header
from testbed.program.model import COMPILED, Language, Program, Source, read_program
from testbed.runs.run import Run, run_built
from testbed.words.catalogue import nearest
from testbed.words.errors import UsageError
from testbed.words.printable import printable

# A run of a program file that came from elsewhere, and what its owner says of it that no file can say.


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a header or a recipe would say: ``frame_records``, layouts by name; ``conventions``, patterns and names.

    A layout holds for every instruction set that has one of that name.
    """

    frame_records: tuple[str, ...] = ()
    conventions: tuple[tuple[str, str], ...] = ()

    def layouts(self, arch: Arch) -> dict[str, FrameRecord]:
        """The layouts by instruction set. Raises UsageError for a name that the architecture does not have."""
        known = {record.name for isa in arch.isas for record in isa.records}
        for name in self.frame_records:
            if name not in known:
                raise UsageError(f"{name!r} is no frame record of {arch}; {nearest(name, known)}")
        return {
            isa.name: record
            for isa in arch.isas
            for record in isa.records
            for name in self.frame_records
            if record.name == name
        }


NOTHING_SAID = FileFacts()


def run_file(
    path: Path, *, arch: Arch | None = None, seed: int = 1, budget: int = 1_000_000, facts: FileFacts = NOTHING_SAID
) -> Run:
    """Run a program file that came from elsewhere. Raises UsageError as `built_file` does."""
    return run_built(built_file(path, arch=arch, facts=facts), seed=seed, budget=budget)


def built_file(path: Path, *, arch: Arch | None = None, facts: FileFacts = NOTHING_SAID) -> Built:
    """A program file that came from elsewhere: static, starting at its entry, ending by the exit system call.

    ``arch`` chooses in a file that holds several. Raises UsageError for a file that needs others to run.
    """
    image = _runnable(path, linked_image(path, arch=arch))
    check_said(image.arch, facts.conventions)
    check_patterns(image, facts.conventions)
    records = {**image.frame_records, **facts.layouts(image.arch)}
    image = replace(image, frame_records=records, conventions=facts.conventions)
    source = Source(path, Language.ELF, None, "", Header(summary=f"the file {printable(str(path))}", exit=None))
    program = Program(printable(path.stem), MappingProxyType({"elf": source}))
    return Built(
        program=program,
        arch=image.arch,
        recipe=PREBUILT,
        isa=image.isa_at(image.entry),
        source=source,
        path=path,
        image=image,
    )


def _runnable(path: Path, image: Image) -> Image:
    if ".interp" in image.sections:
        raise UsageError(f"{path} is dynamically linked; only static programs run here: link it with -static -nostdlib")
    if image.imports:
        named = ", ".join(image.imports[:3]) + (", ..." if len(image.imports) > 3 else "")
        raise UsageError(f"{path} imports {named}; only programs that need no library run here: link it with -nostdlib")
    if not image.entry or not any(
        s.executable and s.address <= image.entry < s.address + s.size for s in image.segments
    ):
        raise UsageError(f"{path} has no entry point in its code, so it is no program to run")
    return image


SOURCES = (*COMPILED, ".S")
Programs = Mapping[str, Program]


def named_run(
    programs: Programs,
    name: str,
    arch: str | None,
    recipe: str | None,
    *,
    seed: int,
    budget: int,
    fresh: bool,
    facts: FileFacts = NOTHING_SAID,
) -> Run:
    """Build what was named, run it, watch it. Raises UsageError as `named_built` does."""
    return run_built(named_built(programs, name, arch, recipe, fresh=fresh, facts=facts), seed=seed, budget=budget)


def named_built(
    programs: Programs,
    name: str,
    arch: str | None,
    recipe: str | None,
    *,
    fresh: bool,
    facts: FileFacts = NOTHING_SAID,
) -> Built:
    """Build what was named. ``facts`` are of a program file; a source's header says its own.

    Raises UsageError where a name means nothing here.
    """
    if not _is_built(programs, name):
        if facts != NOTHING_SAID:
            option = "--frame-record" if facts.frame_records else "--convention"
            raise UsageError(f"{option} is for program files; the header of {name} says its own")
        program = named_program(programs, name)
        chosen = named_arch(program, arch)
        how = first_recipe(program, chosen) if recipe is None else recipe_named(recipe, program, chosen)
        return build(program, chosen, how, fresh=fresh)
    if recipe is not None:
        raise UsageError(f"{name} is already built: --recipe is for sources")
    built = built_file(Path(name), arch=arch_named(arch) if arch else None, facts=facts)
    if arch is not None and arch_named(arch) is not built.arch:
        raise UsageError(f"{name} is for {built.arch}, not {arch_named(arch)}")
    return built


def named_image(
    programs: Programs, name: str, arch: str | None, recipe: str | None, debug: DebugDirs = NOWHERE
) -> Image:
    """The file that was named: built where it is a program or a source, read where it is a program file.

    ``debug`` are folders in which the debug file of a program file is looked for.
    """
    if _is_built(programs, name):
        return linked_image(Path(name), arch=arch_named(arch) if arch else None, debug=debug)
    program = named_program(programs, name)
    chosen = named_arch(program, arch)
    how = first_recipe(program, chosen) if recipe is None else recipe_named(recipe, program, chosen)
    return build(program, chosen, how).image


def named_program(programs: Programs, name: str) -> Program:
    """A program of the catalogue, a generated one (``gen:12``: a seed or director string), or one from its source."""
    if is_generated(name):
        from testbed.generate.program import generated_program

        return generated_program(name)
    if name in programs:
        return programs[name]
    path = Path(name)
    if path.suffix in SOURCES or os.sep in name or path.is_dir():
        if not path.is_file():
            raise UsageError(f"{name} is a folder" if path.is_dir() else f"no file {name!r}{files_beside(path)}")
        return read_program(path, own=True)
    found = shutil.which(name)
    instead = f"did you mean {found}?" if found else nearest(name, programs)
    raise UsageError(f"no program {name!r}{files_beside(path) or f'; {instead}'}")


def files_beside(path: Path) -> str:
    """The files that are called nearly so, in the same folder."""
    there = os.listdir(path.parent) if path.parent.is_dir() else ()
    near = [str(path.parent / each) for each in get_close_matches(path.name, there)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def named_arch(program: Program, name: str | None) -> Arch:
    """The architecture of that name, if the program exists for it; without a name the first one it is built for."""
    there = program.arches()
    if name is None:
        return next((arch for arch in there if recipes_for(program, arch)), there[0])
    arch = arch_named(name)
    if arch not in there:
        raise UsageError(f"{program.name} does not exist for {arch}; it does for {', '.join(map(str, there))}")
    return arch


def _is_built(programs: Programs, name: str) -> bool:
    path = Path(name)
    return name not in programs and path.is_file() and path.suffix not in SOURCES
