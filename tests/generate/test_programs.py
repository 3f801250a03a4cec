"""Generated programs do what their oracle says: status and stacks, on every instruction set, in C and assembly."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from testbed.arch import ARCHES, Arch
from testbed.build.recipes import recipes_for
from testbed.campaign.fuzz import shrink, smaller
from testbed.generate.assembly import DIALECTS
from testbed.generate.evaluate import INPUT, evaluate
from testbed.generate.program import generated_program, parse_director, program_of, source_of
from testbed.generate.seeds import shape_of_seed
from testbed.generate.shape import ALIGNMENTS, MOST_FRAME, How, Shape, ShapeCall, ShapeFunction, why_not
from testbed.program.model import Language, Program
from testbed.runs.by_name import named_program, named_run
from testbed.runs.run import run_program
from testbed.truth import disagreements
from testbed.words.errors import DirectorError, UsageError

# Call shapes for property tests: every valid one that makes few calls.


@st.composite
def functions(draw: st.DrawFn, number: int, count: int) -> ShapeFunction:
    behind = st.integers(number + 1, count - 1)
    is_last = number + 1 == count
    calls = [] if is_last else draw(st.lists(st.builds(ShapeCall, st.sampled_from(How), behind), max_size=3))
    return ShapeFunction(
        frame=8 * draw(st.one_of(st.integers(0, 20), st.integers(0, MOST_FRAME // 8))),
        saved=draw(st.integers(0, 6)),
        pointer=draw(st.booleans()),
        sub_first=draw(st.booleans()),
        alloca=draw(st.one_of(st.just(0), st.integers(1, 64))),
        vla=draw(st.one_of(st.just(0), st.integers(1, 64))),
        align=draw(st.sampled_from((0, 0, *ALIGNMENTS))),
        early=draw(st.booleans()),
        ends=draw(st.booleans()),
        recursion=draw(st.sampled_from((0, 0, 0, 1, 2))),
        calls=tuple(calls),
        tail=None if is_last else draw(st.one_of(st.none(), behind)),
        stops=draw(st.sampled_from((False, False, False, True))),
    )


@st.composite
def _any_shapes(draw: st.DrawFn) -> Shape:
    count = draw(st.integers(1, 4))
    return Shape(tuple(draw(functions(number, count)) for number in range(count)))


def _runs(shape: Shape) -> bool:
    if why_not(shape) is not None:
        return False
    try:
        evaluate(shape)
    except DirectorError:
        return False
    return True


def shapes() -> st.SearchUnwinder[Shape]:
    return _any_shapes().filter(_runs)


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
        run = run_program(program_of(shape, Language.C), ARCHES[arch], "gcc-O2")
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


# Director strings: they spell every shape, and nothing else.


@given(shapes())
def test_a_shape_is_what_its_string_spells(shape: Shape) -> None:
    assert parse_director(str(shape)) == shape


@given(st.text("f0123456789rpdavoemscitn+ x", max_size=24))
def test_any_text_is_a_shape_or_an_error_that_names_a_place_in_it(text: str) -> None:
    error = None
    try:
        shape = parse_director(text)
    except DirectorError as caught:
        error = caught
    if error is None:
        assert parse_director(str(shape)) == shape
    else:
        assert 0 <= error.position <= len(text)
        assert f"at position {error.position}: {error.detail}" in str(error)


def test_every_letter_means_its_field() -> None:
    shape = parse_director("f64r2pda3v4o32ems2c1i2t1+f8n+f0")
    first, second, third = shape.functions
    assert first == ShapeFunction(
        frame=64,
        saved=2,
        pointer=True,
        sub_first=True,
        alloca=3,
        vla=4,
        align=32,
        early=True,
        ends=True,
        recursion=2,
        calls=(ShapeCall(How.DIRECT, 1), ShapeCall(How.INDIRECT, 2)),
        tail=1,
    )
    assert second == ShapeFunction(frame=8, stops=True)
    assert third == ShapeFunction()
    assert str(shape) == "f64r2pda3v4o32ems2c1i2t1+f8n+f"


@pytest.mark.parametrize(
    ("text", "position", "detail"),
    [
        ("", 0, "a function is missing"),
        ("f+", 2, "a function is missing"),
        ("f8+r2", 3, "a function begins with one 'f'"),
        ("f8f8", 2, "a function begins with one 'f'"),
        ("f8q", 2, "no option 'q'"),
        ("f8 r1", 2, "is no letter of the grammar"),
        ("f8r", 2, "'r' needs a number"),
        ("fp3", 1, "'p' takes no number"),
        ("fr2r2", 3, "given twice, or with 0"),
        ("fr0", 1, "given twice, or with 0"),
        ("fc1r2+f", 3, "belongs before the calls"),
        ("ft1c1+f", 3, "nothing can follow 't'"),
        ("f+f12", 2, "a multiple of 8"),
        ("f40000", 0, "the most is 32768"),
        ("fr7", 0, "the most is 6"),
        ("fo48", 0, "there are 32, 64, 128"),
        ("f+fc1", 2, "it can call the functions behind it only"),
        ("ft9", 0, "it can call the functions behind it only"),
        ("fr6p", 0, "include the frame pointer"),
        ("f" + "+f" * 8, 16, "9 functions; 1 to 8 are possible"),
        ("f1234567", 7, "is no letter of the grammar"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, position: int, detail: str) -> None:
    with pytest.raises(DirectorError, match=detail.replace("+", r"\+")) as caught:
        parse_director(text)
    assert caught.value.position == position
    assert str(caught.value).splitlines()[-1] == "  " + " " * position + "^"


def test_a_shape_that_calls_too_much_is_refused() -> None:
    shape = parse_director("fc1c1c1c1+fc2c2c2c2+fc3c3c3c3+f")
    with pytest.raises(DirectorError, match="more than 64 calls"):
        evaluate(shape)


def test_a_seed_is_the_same_shape_everywhere() -> None:
    """Pinned: what a nightly run printed must still mean the same program."""
    assert {seed: str(shape_of_seed(seed)) for seed in (0, 7, 2**60)} == PINNED
    assert len({shape_of_seed(seed) for seed in range(200)}) > 190


PINNED = {
    0: "f16r2pe",
    7: "f64r5pc3c1+f40r1pdv14i3c3c2+f40r2ds3c3c3+fr4p",
    2**60: "fr3mc1+f24r1o64t3+f24da10v17mc3i3+f24pa5",
}


# Shrinking: what is left fails, and nothing smaller does.

LARGE = "f24r3e+f64r5pda3o64ems1c2i3t2+f520r6i3i3+f8m"


@given(shapes())
def test_smaller_shapes_are_valid_and_shorter_by_something(shape: Shape) -> None:
    found = list(smaller(shape))
    assert shape not in found
    assert all(why_not(each) is None for each in found)
    assert found or str(shape) == "f"


@given(shapes())
def test_what_always_fails_is_shrunk_to_one_empty_function(shape: Shape) -> None:
    assert str(shrink(shape, lambda _: True)) == "f"


@pytest.mark.parametrize(
    ("fails", "shrunk"),
    [
        (lambda function: function.frame == 64 and function.calls, "f64c1+f"),  # a cause in two facts
        (lambda function: function.frame >= 24 and function.saved >= 3, "f24r3"),  # limits, and not only halves
    ],
)
def test_what_has_a_cause_is_shrunk_to_it(fails: Callable[[ShapeFunction], bool], shrunk: str) -> None:
    assert str(shrink(parse_director(LARGE), lambda shape: any(map(fails, shape.functions)))) == shrunk


def test_nothing_is_asked_twice_nor_too_often() -> None:
    asked: list[Shape] = []

    def fails(shape: Shape) -> bool:
        asked.append(shape)
        return len(asked) % 8 == 0

    shrink(parse_director(LARGE), fails, most_tries=25)
    assert 10 < len(asked) == len(set(asked)) <= 25


def test_what_fails_for_no_smaller_one_stays() -> None:
    shape = parse_director(LARGE)
    assert shrink(shape, lambda _: False) == shape
