"""Generated programs as values: what a user types (``gen:12``, ``genc:f64c1+f``), or a shape, as a `Program`."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from testbed.arch import ARCHES, Isa
from testbed.generate.assembly import DIALECTS, assembly_text, is_expressible
from testbed.generate.c_runtime import VECTORS, has_convention
from testbed.generate.c_source import c_text
from testbed.generate.director import parse_director
from testbed.generate.evaluate import evaluate
from testbed.generate.names import PREFIXES, called, named, parts_of
from testbed.generate.seeds import shape_of_seed
from testbed.generate.shape import Shape
from testbed.program.header import parse_header
from testbed.program.model import Language, Program, Source
from testbed.words.errors import DirectorError
from testbed.words.traits import Trait

_RECORDS = {"-mapcs-frame": "r11-apcs"}  # what a flag makes of frame records
_REALIGNING = frozenset({"-mforce-drap", "-mstackrealign"})
_MOST_DECLARED = 16  # visits whose frames the header declares


def shape_named(text: str) -> Shape:
    """The shape of a seed (digits) or a director string. Raises DirectorError."""
    if text.isdecimal() and text.isascii():
        if len(text) > 18:
            raise DirectorError(text, 18, "a seed has at most 18 digits")
        return shape_of_seed(int(text))
    return parse_director(text)


def generated_program(name: str, *, recipes: tuple[str, ...] = ()) -> Program:
    """The program that ``gen:SEED``, ``gen:DIRECTOR`` (assembly) or ``genc:...`` (C) names; it is called ``gen_SEED``.

    ``recipes`` are the only ones that build it (patterns). Raises DirectorError, and ProgramError for a flag that no
    header may name.
    """
    prefix, text, flags = parts_of(name)
    return program_of(shape_named(text), PREFIXES[prefix], name=called(name), recipes=recipes, flags=flags)


def program_of(
    shape: Shape,
    language: Language,
    *,
    name: str | None = None,
    recipes: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
) -> Program:
    """The program of a shape in C, or in assembly for every instruction set that it is generated for."""
    if flags and language is not Language.C:
        raise DirectorError(",".join(flags), 0, "flags are for a compiler: genc:... is a program in C")
    prefix = next(prefix for prefix, of in PREFIXES.items() if of is language)
    chosen = name or called(named(prefix, shape, flags))
    isas = [None] if language is Language.C else _written_for()
    sources = [source_of(shape, isa, name=chosen, recipes=recipes, flags=flags) for isa in isas]
    return Program(chosen, MappingProxyType({source.isa or "c": source for source in sources}))


def _written_for() -> list[Isa]:
    """The instruction sets that assembly is generated for."""
    return [isa for arch in ARCHES.values() for isa in arch.isas if DIALECTS[isa.name]]


def source_of(
    shape: Shape,
    isa: Isa | None,
    *,
    name: str = "gen",
    recipes: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
) -> Source:
    """One source of a shape, with its header: C (``isa`` None), or assembly for an instruction set."""
    evaluation = evaluate(shape)
    if isa:
        traits = [] if is_expressible(shape, isa) else [Trait.INEXPRESSIBLE]
    else:  # GCC copies the return address below a frame that it realigns
        realigned = any(function.align for function in shape.functions) or not _REALIGNING.isdisjoint(flags)
        traits = [Trait.REALIGNED] if realigned else []
        traits += [Trait.VECTOR_RULE] if VECTORS in flags or has_convention(flags) else []
    lines = [f"// recipes: {', '.join(recipes)}"] if recipes else []
    lines += [f"// traits: {', '.join(trait.name for trait in traits)}"] if traits else []
    lines += [f"// flags: {' '.join(flags)}"] if flags else []
    lines += [f"// frame-record: {record}" for flag, record in _RECORDS.items() if flag in flags]
    # Only clang is told which calls are tail calls; GCC decides by its flags, and the run shows which it made.
    stacks = evaluation.stacks if isa else evaluation.possible
    header = _header(shape, evaluation.status, lines, stacks)
    text = header + "\n" + (assembly_text(shape, isa) if isa else c_text(shape, flags))
    path = Path(f"{name}.{isa.name}.S" if isa else f"{name}.c")
    language = Language.ASSEMBLY if isa else Language.C
    return Source(path, language, isa.name if isa else None, text, parse_header(path, text))


def _header(shape: Shape, status: int, more: list[str], stacks: tuple[tuple[str, ...], ...]) -> str:
    """The header: the oracle's status, and its stack at the beginning of each function."""
    lines = [f"// summary: generated call shape {shape}", f"// exit: {status}", *more]
    visits: dict[str, int] = {}
    for stack in stacks[:_MOST_DECLARED]:
        visits[stack[0]] = visits.get(stack[0], 0) + 1
        lines.append(f"// frames: {stack[0]}#{visits[stack[0]]} = {', '.join(stack)}")
    return "\n".join(lines) + "\n"
