"""Generated programs do what their oracle says: status and stacks, on every instruction set, in C and assembly."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings

from testbed.arch import ARCHES, Arch
from testbed.build.recipes import recipes_for
from testbed.generate.assembly import DIALECTS
from testbed.generate.evaluate import INPUT, evaluate
from testbed.generate.program import generated_program, parse_director, program_of, source_of
from testbed.generate.shape import Shape
from testbed.program.model import Language, Program
from testbed.runs.by_name import named_program, named_run
from testbed.runs.run import run_program
from testbed.truth import disagreements
from testbed.words.errors import DirectorError, ToolchainMissing, UsageError
from tests.generate.shapes import shapes

ASSEMBLED = ("keystone", "keystone-thumb")
COMPILED = ("clang-O0-fp", "clang-O2", "clang-thumb-O2")
ISAS = [isa for arch in ARCHES.values() for isa in arch.isas]

# Each option of the grammar at least once, and what is hard to combine.
DIRECTORS = (
    "f64r2c1t2+f0em+f",
    "f24r5pdms2i1c2+fr6m+f4104a3v5o64e",
    "f8da1c1+fr4pv7ec2+f16dc3+f120r1dp",
    "fc1+f40r6dc2+f520o128r3mn",
    "fdr3t1+fpt2+fdt3+f32768",
)


def cells(program: Program, recipes: tuple[str, ...]) -> list[tuple[Arch, str]]:
    return [(a, recipe.name) for a in program.arches() for recipe in recipes_for(program, a) if recipe.name in recipes]


def agree(shape: Shape, language: Language, recipes: tuple[str, ...]) -> int:
    """Run a shape everywhere; how many runs there were."""
    program = program_of(shape, language)
    where = cells(program, recipes)
    for arch, recipe in where:
        run = run_program(program, arch, recipe)
        assert run.failure == "", f"{shape} {arch} {recipe}"
        assert disagreements(run.watched, run.built.source.header.frames) == (), f"{shape} {arch} {recipe}"
        assert run.built.source.header.exit == evaluate(shape).status
    return len(where)


@pytest.mark.parametrize("text", DIRECTORS)
def test_assembly_does_what_the_oracle_says(text: str) -> None:
    assert agree(parse_director(text), Language.ASSEMBLY, (*ASSEMBLED, "clang-asm", "clang-asm-thumb")) == 8


@pytest.mark.parametrize("text", DIRECTORS)
def test_c_does_what_the_oracle_says(text: str) -> None:
    assert agree(parse_director(text), Language.C, COMPILED) == 7


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes())
@example(parse_director("f32768r5pda64v64o128ems4n"))
def test_any_shape_in_assembly_does_what_the_oracle_says(shape: Shape) -> None:
    assert agree(shape, Language.ASSEMBLY, ASSEMBLED) == 4


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes())
def test_any_shape_in_c_does_what_the_oracle_says(shape: Shape) -> None:
    assert agree(shape, Language.C, ("clang-O2",)) == 3


@pytest.mark.parametrize("arch", ARCHES)
def test_gcc_compiles_what_clang_does(arch: str) -> None:
    """With a function that stops, and a tail call: what GCC does not say as clang does."""
    for text in ("f24r5ps2i1c2+f64r3a3v5o64emt2+f", "fc1+f8r2n"):
        shape = parse_director(text)
        try:
            run = run_program(program_of(shape, Language.C), ARCHES[arch], "gcc-O2")
        except ToolchainMissing as missing:
            pytest.skip(str(missing))
        assert run.failure == ""


def test_the_oracle_by_hand() -> None:
    """f0 = 2 s + 2 w, with s after the frame's addition; then the call's result on top."""
    x = INPUT
    assert evaluate(parse_director("f")).status == (x + 7) & 255 | 1
    assert evaluate(parse_director("f8")).status == (x + 7 + x + x + 7) & 255 | 1
    assert evaluate(parse_director("fr2")).status == (3 * (x + 7) + 1 + 2) & 255 | 1
    called = evaluate(parse_director("fc1+f"))
    assert called.status == (x + 7 + x + 7 + 10) & 255 | 1
    assert called.stacks == (("f0", "main", "_start"), ("f1", "f0", "main", "_start"))
    assert evaluate(parse_director("ft1+f")).stacks[1] == ("f1", "main", "_start")
    assert evaluate(parse_director("ft1+f")).possible[1] == ("f1", "(f0)", "main", "_start")
    assert evaluate(parse_director("fn")).stacks[-1] == ("finish", "f0", "main", "_start")
    assert len(evaluate(parse_director("fs3")).stacks) == 4


def test_a_wrong_status_is_noticed() -> None:
    """One constant changed in the source: the run says that it is not what the header promises."""
    source = source_of(parse_director("f8c1+f"), ISAS[0])
    assert "add eax, ecx" in source.text
    source = replace(source, text=source.text.replace("add eax, ecx", "sub eax, ecx", 1))
    failure = run_program(Program("changed", {ISAS[0].name: source}), ARCHES[ISAS[0].name]).failure
    assert failure == f"exit status {failure.split()[2][:-1]}; the header of gen.x86_64.S says {source.header.exit}"


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="needs Linux on x86_64")
@pytest.mark.parametrize("text", DIRECTORS)
def test_the_processor_agrees_with_the_oracle(text: str) -> None:
    shape = parse_director(text)
    for language, recipe in ((Language.ASSEMBLY, "keystone"), (Language.C, "clang-O2")):
        path = run_program(program_of(shape, language), ARCHES["x86_64"], recipe).built.path
        path.chmod(0o755)
        assert subprocess.run([str(path)], timeout=10, check=False).returncode == evaluate(shape).status


def test_equal_shapes_give_equal_sources_and_others_do_not() -> None:
    for isa in (None, *ISAS):
        first, again = (source_of(parse_director("f8r1pc1+f"), isa).text for _ in range(2))
        assert first == again
        assert first != source_of(parse_director("f8r2pc1+f"), isa).text


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_there_are_four_ways_into_a_frame_and_all_give_it_back(arch: Arch) -> None:
    ways = set()
    for text in ("f64r2c1+f", "f64r2dc1+f", "f64r2pc1+f", "f64r2pdc1+f"):
        run = run_program(program_of(parse_director(text), Language.ASSEMBLY), arch)
        steps = run.steps_in("f0")
        sp = [int(run.trace.sp[step]) for step in steps]
        assert sp[0] - min(sp) >= 64 + 2 * arch.word
        assert int(run.trace.sp[steps[-1] + 1]) == sp[0] + arch.entry_cfa
        ways.add(tuple(run.instruction(step) for step in steps[:3]))
    assert len(ways) == 4


def test_the_way_out_before_the_frame_is_taken_by_odd_arguments() -> None:
    def moved(text: str, function: str) -> int:
        run = run_program(program_of(parse_director(text), Language.ASSEMBLY), ARCHES["arm64"])
        return len({int(run.trace.sp[step]) for step in run.steps_in(function)})

    assert INPUT % 2 == 0 and (INPUT + 7) % 2 == 1
    assert moved("f64r3e", "f0") == 3
    assert moved("fc1+f64r3e", "f1") == 1


def test_a_second_epilogue_is_taken_where_the_value_says_so() -> None:
    def last(text: str) -> tuple[int, int]:
        run = run_program(program_of(parse_director(text), Language.ASSEMBLY), ARCHES["arm64"])
        function = run.built.image.symbol_named("f0")
        assert function is not None
        return int(run.trace.pc[run.steps_in("f0")[-1]]), function.address + function.size - 4

    assert (INPUT + 7) & 2 == 0 and (2 * (INPUT + 7) + 1) & 2 == 2
    pc, end = last("fm")
    assert pc == end
    pc, end = last("fr1m")
    assert pc < end


def test_a_typed_name_is_a_program() -> None:
    assert named_program({}, "gen:7").name == "gen_7"
    assert named_program({}, "genc:7").sources.keys() == {"c"}
    assert str(named_run({}, "gen:f8", "arm64", None, seed=1, budget=1000, fresh=False)).startswith("gen_f8 · arm64")
    with pytest.raises(DirectorError, match="at position 1"):
        named_program({}, "gen:fz")
    with pytest.raises(DirectorError, match="at most 18 digits"):
        named_program({}, "gen:" + "1" * 19)
    with pytest.raises(UsageError, match="no program"):
        named_program({}, "gem:7")


def test_recipes_can_be_limited() -> None:
    program = generated_program("genc:7", recipes=("clang-O2",))
    assert [recipe.name for recipe in recipes_for(program, ARCHES["arm64"])] == ["clang-O2"]


def test_an_instruction_set_without_a_dialect_gets_no_assembly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DIALECTS, "_entries", {**DIALECTS, "thumb": None})
    monkeypatch.setattr(DIALECTS, "because", {"thumb": "nobody wrote it"})
    shape, thumb = parse_director("f"), ARCHES["arm32"].isas[1]
    assert program_of(shape, Language.ASSEMBLY).sources.keys() == {"x86_64", "arm64", "a32"}
    with pytest.raises(UsageError, match=r"^no assembly is generated for thumb: nobody wrote it; generate C$"):
        source_of(shape, thumb)
