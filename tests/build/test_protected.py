"""What the recipes for hardened code make: the flags do what the recipe's summary says, in the file or in the run."""

from __future__ import annotations

import numpy as np
import pytest
from capstone import Cs

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import Built, build
from testbed.build.recipes import RECIPES, first_recipe, recipes_for
from testbed.image.capstone_isas import CAPSTONE
from testbed.runs.run import run_built, run_program
from testbed.words.errors import UsageError
from testbed.words.traits import Trait


def built(program: str, arch: str, recipe: str) -> Built:
    return build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe])


def mnemonics(program: str, arch: str, recipe: str) -> set[str]:
    """Of the whole text; capstone stops at what is no instruction, and there is none."""
    made = built(program, arch, recipe)
    text = made.image.sections[".text"]
    return {
        f"{name} {operands}".strip() for _, _, name, operands in Cs(*CAPSTONE[made.isa.name]).disasm_lite(text.data, 0)
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
    assert letters in built("recursion", "arm64", recipe).image.sections[".eh_frame"].data


@pytest.mark.parametrize("recipe", ["clang-O2-pac", "clang-O2-fp-pac"])
def test_compiled_code_runs_on_the_core_that_signs(recipe: str) -> None:
    run = run_program(PROGRAMS["recursion"], ARCHES["arm64"], recipe)
    assert sum(Trait.SIGNED in run.words(step) for step in range(len(run))) > len(run) // 2


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_a_probed_frame_never_moves_the_stack_by_more_than_a_page(arch: str) -> None:
    def furthest(recipe: str) -> int:
        sp = run_program(PROGRAMS["probed_frame"], ARCHES[arch], recipe).trace.sp.astype(np.int64)
        return int(-np.diff(sp).min())

    assert furthest("probes-O2") <= 0x1000
    assert furthest("clang-O2") >= 0x10000


@pytest.mark.parametrize("arch", ARCHES)
def test_the_stack_protector_s_word_lies_between_the_locals_and_the_return_address(arch: str) -> None:
    run = run_program(PROGRAMS["stack_guard"], ARCHES[arch])
    at = run.at("fill")
    (_, caller, *_) = run.truth(at).frames
    assert caller.cfa is not None
    word = run.arch.word
    stored = [at.memory.unsigned(slot, word) for slot in range(at.sp, caller.cfa, word)]
    assert stored.count(0x5A00A5FF) == 1


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_cxx_with_exceptions_has_their_tables(arch: str) -> None:
    sections = built("cxx_cleanups", arch, "eh-Os").image.sections
    assert b"zPLR\0" in sections[".eh_frame"].data
    assert ".gcc_except_table" in sections
    # DW_CFA_GNU_args_size 32: four arguments are pushed around a call that may throw; arm64 pushes nothing
    assert (b"\x2e\x20" in sections[".eh_frame"].data) == (arch == "x86_64")


def test_outlined_prologues_are_functions_of_their_own() -> None:
    run = run_built(built("outlined_prologues", "arm64", "outline-Oz"))
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
