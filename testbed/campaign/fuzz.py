"""Generated programs, judged: a site that nothing explains is a finding, and is shrunk to the smallest shape with one.

A case is one shape in one language, on one architecture, by one recipe; its failure is told by the unwinder and the
outcome, so that shrinking does not wander off to another difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from testbed.arch import ARCHES, Arch
from testbed.build.recipes import RECIPES, Recipe, Tool
from testbed.campaign.cells import Unit, UnitResult, units
from testbed.campaign.matrix import judge_unit
from testbed.contract.unwinder import Unwinder
from testbed.generate.c_runtime import CONVENTION, VECTORS
from testbed.generate.evaluate import evaluate
from testbed.generate.program import generated_program, program_of
from testbed.generate.seeds import PREFIXES, named, parts_of
from testbed.generate.shape import ALIGNMENTS, How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.program.model import Program
from testbed.words.errors import DirectorError
from testbed.words.outcome import Outcome
from testbed.words.table_formats import TABLE_FORMATS

# Smaller shapes: from one that fails to one that fails and has no smaller one that does.

MOST_TRIES = 400


def shrink(shape: Shape, fails: Callable[[Shape], bool], *, most_tries: int = MOST_TRIES) -> Shape:
    """A shape that still fails, and none of whose one-step smaller ones (`smaller`) does.

    ``fails`` is asked at most ``most_tries`` times, never twice for the same shape; then the smallest found counts.
    """
    asked: set[Shape] = {shape}
    while True:
        for candidate in smaller(shape):
            if candidate in asked:
                continue
            if len(asked) > most_tries:
                return shape
            asked.add(candidate)
            if fails(candidate):
                shape = candidate
                break
        else:
            return shape


def smaller(shape: Shape) -> Iterator[Shape]:
    """The valid shapes that have one thing less than this one, those that lack most first."""
    for candidate in _candidates(shape):
        if candidate.functions and why_not(candidate) is None and _ends_soon(candidate):
            yield candidate


def _ends_soon(shape: Shape) -> bool:
    try:
        evaluate(shape)
    except DirectorError:
        return False
    return True


def _candidates(shape: Shape) -> Iterator[Shape]:
    functions = shape.functions
    for number in range(len(functions) - 1, -1, -1):
        yield _without(shape, number)
    for number, function in enumerate(functions):
        for less in _less(function, number):
            yield Shape((*functions[:number], less, *functions[number + 1 :]))


def _without(shape: Shape, gone: int) -> Shape:
    """The shape without one function: the calls of it are gone too, the others' targets renumbered."""

    def moved(callee: int) -> int:
        return callee - (callee > gone)

    return Shape(
        tuple(
            replace(
                function,
                calls=tuple(ShapeCall(call.how, moved(call.callee)) for call in function.calls if call.callee != gone),
                tail=None if function.tail in (None, gone) else moved(function.tail),
            )
            for number, function in enumerate(shape.functions)
            if number != gone
        )
    )


def _less(function: ShapeFunction, number: int) -> Iterator[ShapeFunction]:
    calls = function.calls
    for i in range(len(calls)):
        yield replace(function, calls=calls[:i] + calls[i + 1 :])
    if function.tail is not None:
        yield replace(function, tail=None)
    for flag in ("stops", "ends", "early", "sub_first", "pointer"):
        if getattr(function, flag):
            yield replace(function, **{flag: False})  # type: ignore[arg-type]
    for name, values in (
        ("align", (0, *ALIGNMENTS)),
        ("alloca", _numbers(function.alloca, 1)),
        ("vla", _numbers(function.vla, 1)),
        ("recursion", _numbers(function.recursion, 1)),
        ("saved", _numbers(function.saved, 1)),
        ("frame", _numbers(function.frame, 8)),
    ):
        for value in values:
            if value < getattr(function, name):
                yield replace(function, **{name: value})  # type: ignore[arg-type]
    for i, call in enumerate(calls):
        if call.how is How.INDIRECT:
            yield replace(function, calls=(*calls[:i], ShapeCall(How.DIRECT, call.callee), *calls[i + 1 :]))
        if call.callee > number + 1:
            yield replace(function, calls=(*calls[:i], ShapeCall(call.how, call.callee - 1), *calls[i + 1 :]))


def _numbers(value: int, unit: int) -> tuple[int, ...]:
    """Zero, one unit, the half, one unit less."""
    return (0, unit, value // 2 // unit * unit, value - unit)


# One way to assemble for each instruction set; unoptimised with frame pointers, and optimised without.
DEFAULT_RECIPES = ("keystone*", "clang-O0-fp", "clang-O2", "clang-thumb-O2")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong with a case. ``unwinder`` "" : it does not build, or does not do what its oracle says."""

    unwinder: str
    outcome: Outcome | None
    sentence: str

    @property
    def kind(self) -> tuple[str, Outcome | None]:
        """What stays the same while it is shrunk."""
        return self.unwinder, self.outcome


@dataclass(frozen=True, slots=True)
class FuzzFinding:
    """A failure: the case where it was seen first, and the smallest shape with the fewest flags that shows it."""

    seen: Unit  # its program is what a user types: gen:12
    shape: Shape
    flags: tuple[str, ...]
    failure: Failure
    asked: str = ""  # how a command asks for the unwinder, where its name is not enough

    @property
    def name(self) -> str:
        """The program as a user types it: ``gen:f8c1+f``."""
        return named(parts_of(self.seen.program)[0], self.shape, self.flags)

    @property
    def command(self) -> str:
        """What shows it again."""
        asked = self.asked or f"--unwinder {self.failure.unwinder}"
        chosen = f" {asked}" if self.failure.unwinder else ""
        return f"testbed run {self.name} --arch {self.seen.arch} --recipe {self.seen.recipe}{chosen}"


def cases(seeds: Iterable[int], arches: Sequence[Arch], recipes: Sequence[Recipe]) -> Iterator[Unit]:
    """The units of these seeds, named as a user types them (``gen:12``), seed by seed."""
    for seed in seeds:
        for prefix in PREFIXES:
            name = f"{prefix}:{seed}"
            for unit in units([generated_program(name)], arches, recipes):
                yield replace(unit, program=name)


def judge_case(
    case: Unit,
    unwinders: Sequence[Unwinder],
    *,
    natively: bool | None = None,
) -> UnitResult:
    """A unit of `cases`, built, run and judged, as by `judge_unit`; its failures are values."""
    return replace(_judged(case, generated_program(case.program), unwinders, natively), unit=case)


def _judged(case: Unit, program: Program, unwinders: Sequence[Unwinder], natively: bool | None = None) -> UnitResult:
    """A program in the place of a case's; where its table is wrong, with the mistakes that its compiler is
    known to make with its flags."""
    unit, programs = replace(case, program=program.name), {program.name: program}
    result = judge_unit(unit, programs, unwinders, natively=natively)
    recipe, arch = RECIPES[case.recipe], ARCHES[case.arch]
    isa, source = recipe.isa_on(arch), recipe.source_of(program, arch)
    known = known_defects(recipe, isa.name, source.header.flags) if isa and source else ()
    if not any(cell.unwinder in TABLES and cell.shown for cell in result.cells):
        return result
    return replace(result, mistakes=tuple(each.program for each in known))


def failures(result: UnitResult) -> tuple[Failure, ...]:
    """What is wrong with a judged case, one failure for each unwinder: that it failed, what nothing explains, and a
    row that lies although it was promised, by no mistake that is known."""
    failed = (Failure("", None, result.failed),) if result.failed else ()
    promised = not result.mistakes and _promises_rows(result.unit)
    firsts = [
        (cell.unwinder, cell.first_unexplained or (cell.first_lie if promised and cell.unwinder in TABLES else None))
        for cell in result.cells
    ]
    return failed + tuple(Failure(name, first.outcome, first.sentence) for name, first in firsts if first is not None)


def _promises_rows(unit: Unit) -> bool:
    """True where the compiler was told to describe each instruction: its last such flag is not one against it."""
    flags = (*RECIPES[unit.recipe].flags, *parts_of(unit.program)[2])
    said = [flag for flag in flags if flag.endswith("asynchronous-unwind-tables")]
    return said[-1:] == ["-fasynchronous-unwind-tables"]


def shrunk(
    case: Unit,
    shape: Shape,
    failure: Failure,
    unwinders: Sequence[Unwinder],
) -> FuzzFinding:
    """The finding of a failure of a case: the flags it needs, then the smallest shape that fails in the same way."""
    prefix, _, flags = parts_of(case.program)
    chosen = [unwinder for unwinder in unwinders if unwinder.name == failure.unwinder]
    smallest = failure

    def fails(smaller: Shape, with_flags: tuple[str, ...]) -> bool:
        nonlocal smallest
        program = program_of(smaller, PREFIXES[prefix], flags=with_flags)
        unit = replace(case, program=named(prefix, smaller, with_flags))
        result = replace(_judged(case, program, chosen), unit=unit)
        same = next((each for each in failures(result) if each.kind == failure.kind), None)
        smallest = same or smallest
        return same is not None

    for flag in flags:
        fewer = tuple(other for other in flags if other != flag)
        if fails(shape, fewer):
            flags = fewer
    return FuzzFinding(case, shrink(shape, lambda smaller: fails(smaller, flags)), flags, smallest)


# Tables that compilers are known to write wrongly with some flags: what is said of a program whose rows are false.

TABLES = tuple(name for name, its in TABLE_FORMATS.items() if its.of_compilers)  # a compiler's own rows


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """A compiler's mistake: with a flag that begins with one of ``flags``, on these instruction sets.

    ``program`` is the one of the corpus that shows it, and ``mistake`` what it is. Where a ``callee`` is called, the
    row is wrong of the caller, although it may be right before the call and after it.
    """

    tool: Tool
    isas: frozenset[str]
    flags: tuple[str, ...]
    program: str
    mistake: str
    callee: str = ""


_X86_64, _ARM32 = frozenset({"x86_64"}), frozenset({"a32", "thumb"})
_ARM = _ARM32 | {"arm64"}

KNOWN_DEFECTS = (
    KnownDefect(
        Tool.GCC,
        _ARM,
        ("-fpatchable-function-entry",),
        "entry_nops",
        "rows begin behind the room to patch at an entry",
    ),
    KnownDefect(
        Tool.GCC,
        _X86_64,
        ("-mfunction-return=thunk",),
        "return_thunk",
        "the row of a thunk's last instruction counts a word that is gone",
    ),
    KnownDefect(
        Tool.GCC,
        _X86_64,
        ("-mstackrealign", "-mforce-drap"),
        "realigned_calls",
        "rows of a realigned frame count from a frame pointer that is popped",
    ),
    KnownDefect(
        Tool.GCC,
        _X86_64,
        ("-frename-registers", "-funroll-loops"),
        "renamed_drap",
        "a realigned frame's epilogue has the caller's SP in another register than its row",
    ),
    KnownDefect(
        Tool.GCC,
        _ARM32,
        ("-pg",),
        "profiled",
        "no row counts the word pushed before a profiler's call; a leaf's says there that lr has the return address",
        "__gnu_mcount_nc",
    ),
    KnownDefect(
        Tool.GCC,
        frozenset({"a32"}),
        ("-mapcs-frame",),
        "apcs_tail_call",
        "the row of a tail call's jump counts the words that the load of the caller's SP has taken with it",
    ),
    KnownDefect(
        Tool.CLANG,
        _X86_64,
        (CONVENTION, VECTORS),
        "simd_saved",
        "the row of a frame with SIMD registers comes behind their stores",
    ),
    KnownDefect(
        Tool.CLANG,
        frozenset({"arm64"}),
        ("-mspeculative-load-hardening",),
        "masked_return",
        "the row of an epilogue comes behind the masks of the registers that it loads",
    ),
)


def known_defects(recipe: Recipe, isa: str, flags: Sequence[str]) -> tuple[KnownDefect, ...]:
    """The mistakes that may show in what this recipe builds with these flags."""
    return tuple(
        known
        for known in KNOWN_DEFECTS
        if known.tool is recipe.tool and isa in known.isas and any(flag.startswith(known.flags) for flag in flags)
    )
