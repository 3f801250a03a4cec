"""Which line of an assembly source each instruction was made from, where the file itself does not say it."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.arch import Arch, Isa
from testbed.build.assembly import read_assembly
from testbed.build.expressions import Place
from testbed.build.keystone import assemble_code
from testbed.build.statements import SourceInstruction
from testbed.image import Image
from testbed.program.model import Source


def source_lines(source: Source, arch: Arch, isa: Isa, image: Image) -> Mapping[int, Place]:
    """The place of each instruction of a hand-written source, by its link-time address in the image built from it.

    It is assembled once more, by our own reader; every assembler puts the same bytes into `.text`. Empty where that is
    not so. Raises BuildError where our reader does not understand the source.
    """
    text = image.sections.get(".text")
    if text is None:
        return {}
    assembly = read_assembly(source, arch, isa)
    code = assemble_code(assembly.statements, arch, 0)
    if len(code.content) != len(text.data):
        return {}
    return {
        text.address + at: statement.place
        for statement, at in zip(assembly.statements, code.addresses, strict=True)
        if isinstance(statement, SourceInstruction)
    }
