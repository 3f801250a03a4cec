"""The declared selection: what the matrix builds by each recipe, and what only `--all` builds."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES, SELECTION, recipe_named, recipes_for, recipes_in, selected
from testbed.campaign.units import units
from testbed.runs.run import run_program
from testbed.words.catalogue import matches
from testbed.words.errors import DataFileError
from tests.build.sources import written

DEFAULT = units(PROGRAMS.values(), ARCHES.values(), RECIPES.values())
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
    assert set(DEFAULT) < set(EVERYTHING)
    assert list(DEFAULT) == [unit for unit in EVERYTHING if unit in set(DEFAULT)]
    assert len(EVERYTHING) == len(set(EVERYTHING)) > 1.5 * len(DEFAULT)


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
    run = run_program(PROGRAMS["recursion"], ARCHES["arm32"], "clang-thumb-O2-aapcs")
    main = run.built.image.symbol_named("main")
    assert main is not None
    assert run.built.image.frame_record_at(main.address).pointer == "r11"
    pointers = run.trace.column("r11")
    assert (run.watched.sites.frame_pointer == pointers).all()
    other = run_program(PROGRAMS["recursion"], ARCHES["arm32"], "clang-thumb-O2-fp")
    assert (other.watched.sites.frame_pointer == other.trace.column("r7")).all()


def test_a_program_of_ones_own_is_not_in_the_selection_of_a_named_recipe(tmp_path: Path) -> None:
    from testbed.program.model import read_program

    names = {recipe.name for recipe in recipes_for(read_program(written(tmp_path)), ARCHES["x86_64"])}
    assert "clang-O2" in names and "gcc-O2" in names and "gcc-O3" not in names
