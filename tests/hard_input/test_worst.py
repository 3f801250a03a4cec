"""No reader forgets the budget: the worst files, made for a small budget, are refused by it or read within it."""

import time
from pathlib import Path

import pytest

from testbed.contract.unwinder import Backtrace
from testbed.words.budget import VARIABLE
from testbed.words.errors import TestbedError, UnwindError
from tests.hard_input.catalogue import WORST, WorstFile
from tests.hard_input.worst_tables import expressions

SIZE = 40_000
SMALL = "mapped=1500000,unpacked=1000000,entries=9000,parts=360,steps=30000,seconds=20"
SECONDS = 8.0  # CPU time within a small budget; a reader without one takes minutes
# The limit that each goes over. What is not here may be read within a small budget: there is little of it.
REFUSED_BY = {
    "mapped": "overlapping_segments overlapping_sections overlapping_core many_vdsos overlapping_ranges "
    "module_names macho_core",
    "unpacked": "compressed_sections long_names macho_names shared_names compressed_json trace_that_unpacks",
    "entries": "macho_fixups most_entries symbols_again_and_again shared_lines shared_ranges small_units",
    "parts": "scattered_segments many_mappings",
    "steps": "segments_times_sections entries_without_bytes many_registers shared_exidx "
    "shared_pages pushes small_functions branches",
}
LIMIT_OF = {name: limit for limit, names in REFUSED_BY.items() for name in names.split()}


@pytest.mark.parametrize("worst", WORST, ids=lambda worst: worst.make.__name__)
def test_the_worst_file_is_refused_or_cheap(worst: WorstFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(worst.make(SIZE))
    monkeypatch.setenv(VARIABLE, SMALL)
    began, refused = time.process_time(), ""
    try:
        worst.read(path)
    except (TestbedError, UnwindError) as error:
        refused = str(error).partition("--file-limit ")[2].partition("=")[0]
    assert time.process_time() - began < SECONDS
    assert refused == LIMIT_OF.get(worst.make.__name__, ""), "another limit holds it, or nothing"


def test_the_expressions_of_one_stack_are_bounded_together(tmp_path: Path) -> None:
    (worst,) = (each for each in WORST if each.make is expressions)
    path = tmp_path / "file"
    path.write_bytes(worst.make(SIZE))
    said = worst.read(path)
    assert isinstance(said, Backtrace) and "the DWARF expressions of one stack take more" in str(said.stopped)
