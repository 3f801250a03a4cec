"""``testbed names``: how many sites have the right names."""

from __future__ import annotations

import pytest

from testbed.arch import ARCHES
from testbed.build.recipes import RECIPES
from tests.cli.command import Testbed


@pytest.mark.everything
def test_names_of_all_programs_are_counted_by_recipe(testbed: Testbed) -> None:
    said = testbed("names", "--all", "-a", "arm64", "-r", "clang-O2*")
    assert said.status == 0, said.err
    head, *rows, whole = [line.split() for line in said.out.splitlines()]
    assert head[-4:] == ["exact", "ambiguous", "missing", "invented"]
    here = [recipe for recipe in RECIPES.values() if recipe.isa_on(ARCHES["arm64"])]
    assert {row[1] for row in rows} == {recipe.name for recipe in here if recipe.name.startswith("clang-O2")}
    numbers = [[int(cell.replace(",", "")) for cell in row[2:]] for row in rows]
    assert [int(cell.replace(",", "")) for cell in whole[1:]] == [sum(column) for column in zip(*numbers, strict=True)]
