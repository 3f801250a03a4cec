"""A run of a program file that came from elsewhere, and what its owner says of it that no file can say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from testbed.arch import Arch, FrameRecord
from testbed.build import Built
from testbed.build.recipes import PREBUILT
from testbed.conventions.chosen import check_patterns, check_said
from testbed.image import Image, linked_image
from testbed.program.header import Header
from testbed.program.model import Language, Program, Source
from testbed.runs.run import Run, run_built
from testbed.words.catalogue import nearest
from testbed.words.errors import UsageError
from testbed.words.printable import printable


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
