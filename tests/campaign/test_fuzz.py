"""Campaigns over generated programs, with random flags of compilers."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Cell, Difference, Unit, UnitResult
from testbed.campaign.fuzz import cases, failures, judge_case, shrunk, smaller
from testbed.campaign.random_flags import MOST_FLAGS, OF_CLANG, OF_GCC, RECIPES_FOR_FLAGS, flagged_cases
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.generate.evaluate import Evaluation, evaluate
from testbed.generate.program import generated_program, parse_director, shape_named
from testbed.generate.seeds import called, named, parts_of
from testbed.generate.shape import Shape
from testbed.trace import Snapshot
from testbed.verdicts.verdict import Accord, SiteKind
from testbed.words.errors import DirectorError, ProgramError
from testbed.words.outcome import Outcome
from tests.cli.command import Testbed, tells
from unwinders import UNWINDERS
from unwinders.tables.eh_frame import EH_FRAME

FRAME = 0x50  # bytes: the saved link register in 16, and locals of 49 to 64


def _lies_about_one_frame(snapshot: Snapshot) -> Backtrace:
    """eh_frame, but behind the caller's frame of FRAME bytes it claims the end of the stack."""
    said = EH_FRAME.unwind(snapshot)
    for below, frame in enumerate(said.frames[1:]):
        cfa = said.frames[below].cfa
        if cfa is not None and frame.cfa is not None and frame.cfa - cfa == FRAME:
            return Backtrace(said.frames[: below + 2], None)
    return said


LIAR = Unwinder(
    name="liar", summary="wrong at one frame size", unwind=_lies_about_one_frame, assumption=EH_FRAME.assumption
)
LARGE = "f120r3pi1c2+f64r1ms1c2i3+f24a3r2+f8d"  # function 1 has the frame; it is no leaf
CASE = Unit(f"gen:{LARGE}", "arm64", "keystone")


def test_an_unwinder_that_lies_at_one_frame_size_is_shrunk_to_that_frame_in_a_function_that_calls() -> None:
    (failure,) = failures(judge_case(CASE, [LIAR]))
    found = shrunk(CASE, shape_named(CASE.program.partition(":")[2]), failure, [LIAR])
    assert (found.failure.unwinder, found.failure.outcome) == ("liar", Outcome.ENDED_EARLY)
    assert str(found.shape) == "f56s1", "one function that calls itself, its frame as small as rounding allows"
    assert found.command == f"testbed run gen:{found.shape} --arch arm64 --recipe keystone --unwinder liar"
    assert not judge_case(replace(CASE, program="gen:f64+f64"), [LIAR]).failed
    for shape in smaller(found.shape):
        assert failures(judge_case(replace(CASE, program=f"gen:{shape}"), [LIAR])) == (), str(shape)


@pytest.mark.parametrize(
    ("unwinder", "flags", "mistakes", "fails"),
    [
        ("eh_frame", "", (), True),
        ("debug_frame", ",-fno-plt", (), True),
        ("eh_frame", ",-fno-asynchronous-unwind-tables", (), False),  # nothing is promised between calls
        ("eh_frame", "", ("return_thunk",), False),  # a mistake that is known
        ("sframe", "", (), False),  # not the compiler's
    ],
)
def test_a_row_that_a_compiler_promised_is_a_failure_where_it_lies(
    unwinder: str, flags: str, mistakes: tuple[str, ...], fails: bool
) -> None:
    unit = Unit(f"genc:12{flags}", "x86_64", "clang-O2")
    lie = Difference(7, "f0+0x4", Outcome.WRONG, "address", "the stack is f0.", "the row leads to 0x10")
    cell = Cell(
        kinds={SiteKind(Outcome.WRONG, Accord.FAILS, "address"): 1}, unit=unit, unwinder=unwinder, first_lie=lie
    )
    found = failures(UnitResult(unit, (cell,), mistakes=mistakes))
    assert [failure.sentence for failure in found] == [lie.sentence] * fails


def test_what_no_unwinder_gets_wrong_is_no_failure() -> None:
    result = judge_case(CASE, [EH_FRAME])
    assert result.cells[0].sites == result.steps > 50
    assert result.unit == CASE
    assert failures(result) == ()


def test_a_program_that_does_not_do_what_its_oracle_says_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that is wrong about functions with two saved registers or more stands for a wrong build."""

    def wrong(shape: Shape) -> Evaluation:
        right = evaluate(shape)
        off = any(function.saved >= 2 for function in shape.functions)
        return replace(right, status=right.status ^ 2) if off else right

    monkeypatch.setattr("testbed.generate.program.evaluate", wrong)
    (failure,) = failures(judge_case(CASE, [EH_FRAME]))
    assert failure.unwinder == "" and "exit status" in failure.sentence
    found = shrunk(CASE, parse_director(LARGE), failure, [EH_FRAME])
    assert str(found.shape) == "fr2"
    assert found.command == "testbed run gen:fr2 --arch arm64 --recipe keystone"


def test_cases_are_every_seed_in_both_languages_by_every_recipe() -> None:
    recipes = [RECIPES["keystone"], RECIPES["keystone-thumb"], RECIPES["clang-O2"]]
    found = [str(case) for case in cases(range(3, 5), [ARCHES["arm32"]], recipes)]
    assert found == [
        *("gen:3-arm32-keystone", "gen:3-arm32-keystone-thumb", "genc:3-arm32-clang-O2"),
        *("gen:4-arm32-keystone", "gen:4-arm32-keystone-thumb", "genc:4-arm32-clang-O2"),
    ]


# The command


FUZZ = ("fuzz", "-j1", "-r", "keystone")


def test_fuzz_judges_seeds_and_says_how_much(tmp_path: Path, testbed: Testbed) -> None:
    saved = tmp_path / "findings.txt"
    said = tells(testbed, 0, [*FUZZ, "--seeds", "2", "-a", "arm64", "-u", "eh_frame", "--save", str(saved)])
    assert said.out.startswith("seeds 0 to 1: 2 units, ")
    assert said.out.endswith("everything explained\n")
    assert not saved.exists()


@pytest.mark.usefixtures("own_cache")
def test_fuzz_prints_and_saves_the_command_that_shows_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, testbed: Testbed
) -> None:
    broken = replace(UNWINDERS["fp_chain"], name="fp_chain", assumption=None)
    monkeypatch.setattr("testbed.cli.unwinders.UNWINDERS", MappingProxyType({"fp_chain": broken}))
    saved = tmp_path / "findings.txt"
    where = (*FUZZ, "--seeds", "1", "-a", "x86_64", "--save", str(saved))
    command = "testbed run gen:f --arch x86_64 --recipe keystone --unwinder fp_chain"
    tells(testbed, 1, where, [command, "Frame 0 is not the root."])
    assert command in saved.read_text().splitlines()
    assert not (tmp_path / "cache").exists(), "what nobody builds twice is not kept"
    found = json.loads(tells(testbed, 1, [*where, "--json"]).out)
    assert (found["schema"], found["seeds"], found["units"]) == (2, [0, 0], 1)
    assert {each["program"] for each in found["findings"]} >= {"gen:f"}
    assert {each["command"] for each in found["findings"]} == set(saved.read_text().splitlines())


def test_fuzz_stops_when_its_time_is_over(testbed: Testbed) -> None:
    said = tells(testbed, 0, [*FUZZ, "--minutes", "0.02", "-a", "arm64", "-u", "eh_frame"])
    assert int(said.out.split(" units")[0].split()[-1]) < 200


def test_fuzz_says_what_it_cannot_do(testbed: Testbed) -> None:
    for arguments in (("--seeds", "1", "--minutes", "1"), ("-r", "keystone-thumb", "-a", "arm64")):
        tells(testbed, 2, ["fuzz", "-j1", *arguments], err=["error: "])


def test_fuzz_writes_a_source_that_runs(tmp_path: Path, testbed: Testbed) -> None:
    for name, arguments in (("a.c", ()), ("b.thumb.S", ("-a", "thumb")), ("c.arm64.S", ("-a", "aarch64"))):
        path = str(tmp_path / name)
        assert testbed("fuzz", "--write", "f8c1+f", *arguments, "-o", path) == (0, "", "")
        tells(testbed, 0, ["run", path, "-u", "stack_scan"])
    assert testbed("fuzz", "--write", "f8c1+f", "-a", "arm64").out == (tmp_path / "c.arm64.S").read_text()
    tells(testbed, 2, ["fuzz", "--write", "f8", "-o", str(tmp_path / "d.c"), "-a", "arm64"])


# Random flags: the same for a seed each time, for the compiler that takes them, and part of what shows a finding.


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
        # frames that are aligned anew, whose rows are expressions
        ("fc1+fa1o32", "-mfunction-return=thunk-inline", "x86_64", "gcc-O2-fp", "return_thunk"),
        ("f8v1o32", "-funroll-loops", "x86_64", "gcc-O2", "renamed_drap"),
    ],
)
def test_a_mistake_that_a_compiler_is_known_for_is_named(
    shape: str, flags: str, arch: str, recipe: str, program: str
) -> None:
    """By the program of the corpus that shows it; without the flag nothing is named."""
    case = Unit(f"genc:{shape},{flags}", arch, recipe)
    tables = [UNWINDERS[name] for name in ("eh_frame", "eh_frame_hdr", "debug_frame", "ehabi")]
    result = judge_case(case, tables)
    if result.skipped:
        pytest.skip(result.skipped)
    assert failures(result) == ()
    assert result.mistakes == (program,)
    assert judge_case(replace(case, program=f"genc:{shape}"), tables).mistakes == ()


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
    """An unwinder that lies where GCC's and clang's code begins with a branch target."""
    liar = replace(UNWINDERS["fp_chain"], name="liar", assumption=None)
    case = Unit("genc:f8c1+f,-fno-plt,-fno-omit-frame-pointer,-fwrapv", "x86_64", "clang-O0")
    found = _shrunk(case, liar)
    assert parts_of(found)[2] == ()
    told = _shrunk(replace(case, program="genc:f8c1+f,-fno-plt,-mcmodel=none"), liar)
    assert parts_of(told)[2] == ("-mcmodel=none",)  # the build fails, with this flag alone


def _shrunk(case: Unit, unwinder: Unwinder) -> str:
    first = failures(judge_case(case, [unwinder]))[0]
    return shrunk(case, shape_named(parts_of(case.program)[1]), first, [unwinder]).name


def test_the_command_judges_one_program_a_seed_and_architecture(testbed: Testbed) -> None:
    arguments = ("--flags", "random", "--seeds", "2", "-a", "x86_64", "-r", "clang-O1", "-u", "eh_frame")
    assert tells(testbed, 0, ["fuzz", "-j1", *arguments]).out.startswith("seeds 0 to 1: 2 units, ")


def test_a_tail_call_that_a_compiler_did_not_make_is_no_disagreement() -> None:
    """GCC is not told which calls are tail calls: at -O0 it makes none of them, and the run shows it."""
    for recipe in ("gcc-O0-fp", "gcc-O2", "clang-O0-fp"):
        result = judge_case(Unit("genc:f8t1+f8c2+f", "x86_64", recipe), [UNWINDERS["eh_frame"]])
        assert result.skipped or failures(result) == (), recipe
