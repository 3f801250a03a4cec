"""What recipes promise, and which of them a program has."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES, SELECTION, first_recipe, recipe_named, recipes_for, recipes_in, selected
from testbed.build.targets import ZEROED_BASE
from testbed.campaign.cells import units
from testbed.image.disassembly import disassembler
from testbed.program.model import program_from_text, read_program
from testbed.runs.run import run_built
from testbed.words.catalogue import matches
from testbed.words.errors import BuildError, DataFileError, UsageError
from testbed.words.traits import Trait
from tests import corpus
from tests.build.procedures import written

EVERYTHING = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values(), everything=True)


@pytest.mark.parametrize(("recipes", "programs"), SELECTION)
def test_every_pattern_names_recipes_and_programs_that_there_are(
    recipes: tuple[str, ...], programs: tuple[str, ...]
) -> None:
    for names, patterns in ((RECIPES, recipes), (PROGRAMS, programs)):
        for pattern in patterns:
            assert [name for name in names if matches(name, [pattern])], pattern


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('tool = "clang"', "tool: there is no 'clang'; there are: KEYSTONE, "),
        ('tool = "GCC"\narches = ["arm"]', "arches: there is no 'arm'; did you mean arm"),
        ('tool = "GCC"\n[[recipe]]\nname = "a"\nsummary = ""\ntool = "GCC"', "name: another recipe has that name"),
    ],
)
def test_a_recipe_that_cannot_be_read_is_named_with_its_key(lines: str, said: str) -> None:
    content = tomllib.loads(f'[[recipe]]\nname = "a"\nsummary = "of a test"\n{lines}\n')
    with pytest.raises(DataFileError, match=rf"^mine\.toml: recipe \d 'a': {said}"):
        recipes_in(Path("mine.toml"), content)


def test_the_selection_is_a_part_of_everything_in_the_same_order() -> None:
    assert set(corpus.UNITS) < set(EVERYTHING)
    assert list(corpus.UNITS) == [unit for unit in EVERYTHING if unit in set(corpus.UNITS)]
    assert len(EVERYTHING) == len(set(EVERYTHING))


def test_patterns_of_one_recipe_add_up_and_an_unnamed_recipe_builds_all() -> None:
    assert selected("clang-O2", "anything") and selected("keystone", "recursion")
    assert selected("gcc-O2", "anything")
    assert selected("gcc-O0", "alloca_vla") and not selected("gcc-O0", "recursion")
    assert not selected("clang-other-O2", "recursion")


def test_a_program_that_is_not_selected_is_built_by_name(tmp_path: Path) -> None:
    program = read = PROGRAMS["recursion"]
    arch = ARCHES["arm64"]
    assert RECIPES["gcc-O3"] not in recipes_for(program, arch)
    assert RECIPES["gcc-O3"] in recipes_for(program, arch, everything=True)
    assert recipe_named("gcc-O3", read, arch) is RECIPES["gcc-O3"]


def test_frame_records_of_a_recipe_reach_the_image_and_the_truth() -> None:
    """Thumb code that chains through r11: the prologue is over when r11 is set, not r7."""
    run = corpus.ran("recursion", "arm32", "clang-thumb-O2-aapcs")
    main = run.built.image.symbol_named("main")
    assert run.built.image.frame_record_at(main.address).pointer == "r11"
    pointers = run.trace.column("r11")
    assert (run.watched.sites.frame_pointer == pointers).all()
    other = corpus.ran("recursion", "arm32", "clang-thumb-O2-fp")
    assert (other.watched.sites.frame_pointer == other.trace.column("r7")).all()


def test_a_program_of_ones_own_is_not_in_the_selection_of_a_named_recipe(tmp_path: Path) -> None:
    names = {recipe.name for recipe in recipes_for(read_program(written(tmp_path)), ARCHES["x86_64"])}
    assert "clang-O2" in names and "gcc-O2" in names and "gcc-O3" not in names


# What the recipes for hardened code make: the flags do what the recipe's summary says, in the file or in the run.


def mnemonics(program: str, arch: str, recipe: str) -> set[str]:
    """Of the whole text; capstone stops at what is no instruction, and there is none."""
    made = corpus.built(program, arch, recipe)
    text = made.image.sections[".text"]
    return {
        f"{name} {operands}".strip() for _, _, name, operands in disassembler(made.isa.name).disasm_lite(text.data, 0)
    }


@pytest.mark.parametrize(
    ("arch", "recipe", "there"),
    [
        ("arm64", "clang-O2-pac", {"paciasp", "autiasp"}),
        ("arm64", "clang-O2-fp-pac", {"pacibsp", "autibsp"}),
        ("x86_64", "clang-O2-cet", {"endbr64"}),
    ],
)
def test_protected_code_has_the_instructions_that_protect(arch: str, recipe: str, there: set[str]) -> None:
    assert there <= mnemonics("recursion", arch, recipe)
    assert not there & mnemonics("recursion", arch, "clang-O2")


def test_functions_that_are_called_through_pointers_begin_with_a_branch_target() -> None:
    """``paciasp`` is one itself; a function that does not sign has ``bti c``."""
    assert mnemonics("function_pointers", "arm64", "clang-O2-pac") & {"paciasp", "bti c"}
    assert "endbr64" in mnemonics("function_pointers", "x86_64", "clang-O2-cet")


@pytest.mark.parametrize(("recipe", "letters"), [("clang-O2-pac", b"zR\0"), ("clang-O2-fp-pac", b"zRB\0")])
def test_the_table_says_which_key_signs(recipe: str, letters: bytes) -> None:
    assert letters in corpus.built("recursion", "arm64", recipe).image.sections[".eh_frame"].data


@pytest.mark.parametrize("recipe", ["clang-O2-pac", "clang-O2-fp-pac"])
def test_compiled_code_runs_on_the_core_that_signs(recipe: str) -> None:
    run = corpus.ran("recursion", "arm64", recipe)
    assert sum(Trait.SIGNED in run.words(step) for step in range(len(run))) > len(run) // 2


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_a_probed_frame_never_moves_the_stack_by_more_than_a_page(arch: str) -> None:
    def furthest(recipe: str) -> int:
        sp = corpus.ran("probed_frame", arch, recipe).trace.sp.astype(np.int64)
        return int(-np.diff(sp).min())

    assert furthest("probes-O2") <= 0x1000
    assert furthest("clang-O2") >= 0x10000


@pytest.mark.parametrize("arch", ARCHES)
def test_the_stack_protector_s_word_lies_between_the_locals_and_the_return_address(arch: str) -> None:
    run = corpus.ran("stack_guard", arch)
    at = run.at("fill")
    (_, caller, *_) = run.truth(at).frames
    assert caller.cfa is not None
    word = run.arch.word
    stored = [at.memory.unsigned(slot, word) for slot in range(at.sp, caller.cfa, word)]
    assert stored.count(0x5A00A5FF) == 1


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_cxx_with_exceptions_has_their_tables(arch: str) -> None:
    sections = corpus.built("cxx_cleanups", arch, "eh-Os").image.sections
    assert b"zPLR\0" in sections[".eh_frame"].data
    assert ".gcc_except_table" in sections
    # DW_CFA_GNU_args_size 32: four arguments are pushed around a call that may throw; arm64 pushes nothing
    assert (b"\x2e\x20" in sections[".eh_frame"].data) == (arch == "x86_64")


def test_outlined_prologues_are_functions_of_their_own() -> None:
    run = run_built(corpus.built("outlined_prologues", "arm64", "outline-Oz"))
    helpers = [s for s in run.built.image.symbols if s.is_function and s.name.startswith("OUTLINED_FUNCTION_PROLOG")]
    assert helpers
    assert run.steps_in(helpers[0].name)


def test_recipes_that_need_something_of_the_program_come_only_where_it_asks_for_them() -> None:
    asked = {"guard-O2", "eh-Os", "probes-O2", "outline-Oz"}
    for program in PROGRAMS.values():
        named = {pattern for source in program.sources.values() for pattern in source.header.recipes}
        for arch in program.arches():
            for recipe in recipes_for(program, arch):
                assert recipe.name not in asked or recipe.name.split("-")[0] + "-*" in named


def test_a_program_that_nothing_builds_on_an_architecture_says_where_it_is_built() -> None:
    with pytest.raises(UsageError, match="no recipe builds outlined_prologues on x86_64; they do on arm64"):
        first_recipe(PROGRAMS["outlined_prologues"], ARCHES["x86_64"])


# Zeroed memory of assembly programs: `.bss` has one place, whoever assembles.


PAIRS = [
    ("x86_64", "keystone", "clang-asm"),
    ("arm64", "keystone", "clang-asm"),
    ("arm32", "keystone", "clang-asm"),
    ("arm32", "keystone-thumb", "clang-asm-thumb"),
]


@pytest.mark.parametrize(("arch", "ours", "clangs"), PAIRS)
def test_both_ways_to_build_map_the_same_zeroed_memory(arch: str, ours: str, clangs: str) -> None:
    found = []
    for recipe in (ours, clangs):
        image = corpus.built("other_stack", arch, recipe).image
        (segment,) = (s for s in image.segments if s.address == ZEROED_BASE)
        assert (segment.readable, segment.writable, segment.executable) == (True, True, False)
        assert not any(segment.data)
        found.append(segment.size)
    assert found == [0x2040, 0x2040]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stack:", "a label of .bss is a new one that begins with .L"),
        (".Lroom:\n.Lroom:", "a label of .bss is a new one that begins with .L"),
        (".quad 1", "in .bss there are labels and .space with a size, not .quad 1"),
        (".space 16, 1", "in .bss there are labels and .space with a size"),
        ("nop", "an instruction in .bss"),
    ],
)
def test_what_cannot_stand_in_zeroed_memory_is_an_error_with_its_line(line: str, said: str) -> None:
    text = f"_start:\nnop\n.bss\n{line}\n"
    program = program_from_text("zeroed", ARCHES["arm64"], text)
    with pytest.raises(BuildError, match=r"zeroed.arm64.S:\d+:1: ") as caught:
        build(program, ARCHES["arm64"], RECIPES["keystone"])
    assert said in str(caught.value)


def test_code_goes_on_after_zeroed_memory() -> None:
    text = "_start:\nldr x0, .Lp\n.bss\n.Lroom:\n.space 8\n.text\nbrk #1\n.p2align 3\n.Lp:\n.quad .Lroom\n"
    image = build(program_from_text("zeroed", ARCHES["arm64"], text), ARCHES["arm64"], RECIPES["keystone"]).image
    assert image.sections[".text"].data[-8:] == ZEROED_BASE.to_bytes(8, "little")
