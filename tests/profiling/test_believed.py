"""Real tools on a process: where they believe a table, the file's missing and wrong rows are what explains them."""

from __future__ import annotations

from functools import cache

import pytest

from testbed.cli.table_readers import evaluate_rule
from testbed.contract.unwinder import Unwinder
from testbed.profiling.judge import (
    SAMPLE_OF_TOOLS,
    BelievedTable,
    believed_by,
    judge_process,
    steps_asked,
    traits_of_tables,
    watch_process,
)
from testbed.profiling.result import WatchedProcess
from testbed.referee import present
from testbed.words.traits import Trait
from tests.process.builds import ran
from unwinders import UNWINDERS

READERS = [UNWINDERS[name] for name in ("eh_frame", "debug_frame", "ehabi")]


@cache
def watched(target: str = "x86_64") -> WatchedProcess:
    return watch_process(ran("hello", target, "dynamic", "abc"))


def tables(*names: str) -> list[BelievedTable]:
    return [BelievedTable(UNWINDERS[name]) for name in names]


def tool(name: str) -> Unwinder:
    there = present([name])
    if name not in there:
        pytest.skip(f"{name} is not installed")
    return there[name]


@pytest.mark.parametrize("name", ["libdw", "libunwind"])
def test_a_library_finds_every_caller_in_files_that_lie_anywhere(name: str) -> None:
    share = judge_process(watched(), tool(name), evaluate=evaluate_rule, sample=60, readers=READERS)
    assert share.sampled and share.sites == 60
    assert share.exact + share.whole == share.judged, share.places
    assert share.unexplained == 0


def test_without_its_missing_row_the_start_of_a_dynamic_linker_explains_nothing() -> None:
    libdw = tool("libdw")
    blind = judge_process(watched(), libdw, evaluate=evaluate_rule, sample=60)
    assert blind.unexplained == blind.whole > 0
    assert {place.function for place in blind.places} == {"_start"}


def test_traits_of_frames_are_those_of_their_rows() -> None:
    truth = watched("arm64").threads[0].watched
    traits = traits_of_tables(truth, tables("eh_frame"), evaluate_rule)
    share = judge_process(watched("arm64"), UNWINDERS["eh_frame"], evaluate=evaluate_rule)
    wrong = next(place for place in share.places if place.because == "CFA is sp+0xd0, true sp+0xe0")
    missing = next(place for place in share.places if place.because.startswith("no row"))
    assert traits(wrong.first, 0) == {Trait.WRONG_TABLE}
    assert Trait.NO_TABLE in {trait for depth in range(4) for trait in traits(missing.first, depth)}
    entry = traits_of_tables(watched().threads[0].watched, tables("eh_frame"), evaluate_rule)(0, 0)
    assert entry == {Trait.NO_TABLE}, "the dynamic linker's"


def test_the_tables_that_a_tool_believes_are_those_that_it_needs_or_the_first() -> None:
    truth = watched("thumb").threads[0].watched
    believed = [each.reader.name for each in believed_by(tool("gdb"), READERS, truth) or ()]
    assert believed == [each for each in ("eh_frame", "debug_frame", "ehabi") if each in believed]
    assert "ehabi" in believed
    others = believed_by(tool("libdw"), READERS, truth)
    assert others is not None and "ehabi" not in [each.reader.name for each in others], "it reads none"
    assert believed_by(UNWINDERS["stack_scan"], READERS, truth) is None
    assert believed_by(UNWINDERS["eh_frame"], READERS, truth) is None, "its own rows explain it"
    assert believed_by(tool("gdb"), (), truth) is None, "nobody says what its tables are"
    assert steps_asked(tool("libdw")) == SAMPLE_OF_TOOLS < steps_asked(UNWINDERS["stack_scan"])


def test_the_first_table_with_a_row_is_believed_and_what_cannot_be_unwound_is_said() -> None:
    """Most of Debian's libraries of 32-bit ARM is marked EXIDX_CANTUNWIND."""
    truth = watched("thumb").threads[0].watched
    steps = range(0, len(truth.trace), 997)
    with_ehabi = traits_of_tables(truth, tables("eh_frame", "ehabi"), evaluate_rule)
    without = traits_of_tables(truth, tables("eh_frame"), evaluate_rule)
    said = [with_ehabi(step, 0) for step in steps]
    assert {Trait.NO_TABLE, Trait.CANNOT_UNWIND} in said
    assert any(Trait.NO_TABLE not in traits for traits in said), "the first kind has no row, the second one has"
    assert {without(step, 0) for step in steps} == {frozenset({Trait.NO_TABLE})}
    of_callers = traits_of_tables(truth, [BelievedTable(UNWINDERS["ehabi"], of_callers=True)], evaluate_rule)
    assert {of_callers(step, 0) for step in steps} == {frozenset({Trait.NO_TABLE})}
    assert any(Trait.NO_TABLE not in of_callers(step, 1) for step in steps)
