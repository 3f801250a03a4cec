"""The tests mirror the rooms, and share by helper modules: no test is imported."""

import re

import pytest

from tests.house.sources import ROOT, imported, modules, relative

pytestmark = pytest.mark.whole

# What is tested besides the rooms of testbed.
BESIDES = {"golden", "hard_input", "hostile", "house", "mutation", "programs", "unwinders"}


def test_nobody_imports_from_a_test() -> None:
    """What two tests need stands in a module of its own, so that either can be read, moved or run without the other."""
    wrong = [
        f"{relative(path)} imports {module}"
        for path in [*modules("tests"), *modules("docs")]
        for module in imported(path)
        if re.search(r"\btests\.(\w+\.)*test_", module)
    ]
    assert not wrong


def test_every_folder_of_tests_is_named_after_what_it_tests() -> None:
    rooms = {path.name for path in (ROOT / "testbed").iterdir() if path.is_dir()}
    folders = {
        path.parent.relative_to(ROOT / "tests").parts[0] for path in modules("tests") if path.parent.name != "tests"
    }
    assert folders <= rooms | BESIDES
