"""Random flags: the same for a seed each time, for the compiler that takes them, and part of what shows a finding."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.fuzz import failures, judge_case, shrunk
from testbed.campaign.random_flags import MOST_FLAGS, OF_CLANG, OF_GCC, RECIPES_FOR_FLAGS, flagged_cases
from testbed.campaign.results import Unit
from testbed.cli import cli
from testbed.contract.unwinder import Unwinder
from testbed.generate.names import called, named, parts_of
from testbed.generate.program import generated_program, shape_named
from testbed.words.errors import DirectorError, ProgramError
from unwinders import UNWINDERS

OF_ANY = {"-pg", "-DVECTORS", "-fpatchable-function-entry=2"}  # by themselves: for every instruction set
RECIPES_ASKED = [RECIPES[name] for name in RECIPES_FOR_FLAGS]


def test_a_seed_has_the_same_flags_each_time_and_other_seeds_have_others() -> None:
    found = list(flagged_cases(range(60), list(ARCHES.values()), RECIPES_ASKED))
    assert found == list(flagged_cases(range(60), list(ARCHES.values()), RECIPES_ASKED))
    assert len(found) == 60 * len(ARCHES)
    assert {unit.recipe for unit in found} == set(RECIPES_FOR_FLAGS)
    for unit in found:
        prefix, _, flags = parts_of(unit.program)
        assert prefix == "genc" and 1 <= len(flags) <= 2 * MOST_FLAGS
        isa = RECIPES[unit.recipe].isa_on(ARCHES[unit.arch])
        assert isa is not None
        words = {
            name: {word for table in (OF_GCC, OF_CLANG) for draw in table[name] for word in draw.split()}
            for name in OF_GCC
        }
        others = set().union(*(of for name, of in words.items() if name != isa.name)) - OF_ANY
        assert others.isdisjoint(set(flags) - words[isa.name])
    assert len({parts_of(unit.program)[2] for unit in found}) > 60


def test_flags_that_compilers_refuse_together_are_not_drawn_together() -> None:
    for unit in flagged_cases(range(200), list(ARCHES.values()), RECIPES_ASKED):
        flags = parts_of(unit.program)[2]
        assert sum(flag.startswith("-DCONVENTION") for flag in flags) <= 1
        assert not {"-fstack-check", "-fstack-clash-protection"} <= set(flags)
        assert not {"-mapcs-frame", "-DVECTORS"} <= set(flags)
        if "-pg" in flags:
            assert "-fno-omit-frame-pointer" in RECIPES[unit.recipe].flags


@pytest.mark.parametrize(
    ("shape", "flags", "arch", "recipe", "program"),
    [
        ("f8c1+f16r2", "-DCONVENTION=ms_abi,-DVECTORS", "x86_64", "clang-O2", "simd_saved"),
        ("f8c1+f16r2", "-mfunction-return=thunk", "x86_64", "gcc-O2", "return_thunk"),
        ("f8c1+f16r2", "-pg", "arm32", "gcc-thumb-O2-fp", "profiled"),
        ("f8c1+f16r2", "-fpatchable-function-entry=2", "arm64", "gcc-O2", "entry_nops"),
        ("fc1t1+f", "-mapcs-frame", "arm32", "gcc-O2", "apcs_tail_call"),
    ],
)
def test_a_mistake_that_a_compiler_is_known_for_is_named(
    shape: str, flags: str, arch: str, recipe: str, program: str
) -> None:
    """By the program of the corpus that shows it; without the flag nothing is named."""
    case = Unit(f"genc:{shape},{flags}", arch, recipe)
    tables = [UNWINDERS[name] for name in ("eh_frame", "debug_frame", "ehabi")]
    result = judge_case(case, tables)
    if result.skipped:
        pytest.skip(result.skipped)
    assert failures(result) == ()
    assert result.mistakes == (program,)
    assert judge_case(replace(case, program=f"genc:{shape}"), tables).mistakes == ()


@pytest.mark.parametrize(
    ("program", "recipe", "mistake"),
    [
        ("genc:fc1+fa1o32,-mfunction-return=thunk-inline", "gcc-O2-fp", "return_thunk"),
        ("genc:f8v1o32,-funroll-loops", "gcc-O2", "renamed_drap"),
    ],
)
def test_wrong_rows_of_realigned_frames_are_found_with_their_expressions(
    program: str, recipe: str, mistake: str
) -> None:
    case, tables = Unit(program, "x86_64", recipe), [UNWINDERS["eh_frame"], UNWINDERS["eh_frame_hdr"]]
    result = judge_case(case, tables)
    if result.skipped:
        pytest.skip(result.skipped)
    assert failures(result) == () and result.mistakes == (mistake,)


@pytest.mark.parametrize("flags", ["-pg", "-pg,-mfentry", "-finstrument-functions", "-mfunction-return=thunk-extern"])
def test_what_a_flag_makes_a_compiler_call_is_there(flags: str) -> None:
    result = judge_case(Unit(f"genc:f8c1+f16r2,{flags}", "x86_64", "clang-O2-fp"), [UNWINDERS["eh_frame"]])
    assert failures(result) == () and result.steps > 20


@pytest.mark.parametrize("arch", ARCHES)
def test_what_a_probe_in_a_cleanup_needs_is_there(arch: str) -> None:
    """The table of handlers names a routine, and the cleanup ends with going on to throw."""
    case = Unit("genc:fn,-finstrument-functions,-fexceptions", arch, "gcc-O2")
    result = judge_case(case, [UNWINDERS["prologue_analysis"]])
    if result.skipped:
        pytest.skip(result.skipped)
    assert failures(result) == ()


def test_flags_are_part_of_a_programs_name_and_of_its_header() -> None:
    name = named("genc", "f8c1+f", ("-fno-plt", "-mbranch-protection=pac-ret+leaf"))
    assert name == "genc:f8c1+f,-fno-plt,-mbranch-protection=pac-ret+leaf"
    program = generated_program(name)
    assert program.name == called(name) == "genc_f8c1_f__fno_plt__mbranch_protection_pac_ret_leaf"
    assert program.sources["c"].header.flags == ("-fno-plt", "-mbranch-protection=pac-ret+leaf")
    with pytest.raises(DirectorError, match="flags are for a compiler"):
        generated_program("gen:f,-fno-plt")
    with pytest.raises(ProgramError, match="'-fplugin=x' is not among"):
        generated_program("genc:f,-fplugin=x")


def test_records_that_a_flag_makes_are_named_in_the_header() -> None:
    assert generated_program("genc:f,-mapcs-frame").sources["c"].header.frame_record == "r11-apcs"
    assert generated_program("genc:f,-fno-plt").sources["c"].header.frame_record is None


def test_a_finding_keeps_the_flags_that_it_needs() -> None:
    """A strategy that lies where GCC's and clang's code begins with a branch target."""
    liar = replace(UNWINDERS["fp_chain"], name="liar", assumption=None)
    case = Unit("genc:f8c1+f,-fno-plt,-fno-omit-frame-pointer,-fwrapv", "x86_64", "clang-O0")
    found = _shrunk(case, liar)
    assert parts_of(found)[2] == ()
    told = _shrunk(replace(case, program="genc:f8c1+f,-fno-plt,-mcmodel=none"), liar)
    assert parts_of(told)[2] == ("-mcmodel=none",)  # the build fails, with this flag alone


def _shrunk(case: Unit, unwinder: Unwinder) -> str:
    first = failures(judge_case(case, [unwinder]))[0]
    return shrunk(case, shape_named(parts_of(case.program)[1]), first, [unwinder]).name


def test_the_command_judges_one_program_a_seed_and_architecture() -> None:
    arguments = ("--flags", "random", "--seeds", "2", "-a", "x86_64", "-r", "clang-O1", "-u", "eh_frame")
    result = CliRunner().invoke(cli, ["fuzz", "-j1", *arguments])
    assert (result.exit_code, result.exception) == (0, None)
    assert result.stdout.startswith("seeds 0 to 1: 2 units, ")


def test_a_tail_call_that_a_compiler_did_not_make_is_no_disagreement() -> None:
    """GCC is not told which calls are tail calls: at -O0 it makes none of them, and the run shows it."""
    for recipe in ("gcc-O0-fp", "gcc-O2", "clang-O0-fp"):
        result = judge_case(Unit("genc:f8t1+f8c2+f", "x86_64", recipe), [UNWINDERS["eh_frame"]])
        assert result.skipped or failures(result) == (), recipe
