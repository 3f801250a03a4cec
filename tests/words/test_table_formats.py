"""Each format of tables is registered once, and what its entry names is there."""

from __future__ import annotations

from importlib import import_module

import pytest

from testbed.contract.assumption import TableRow
from testbed.words.table_formats import AT_CALLS, CHECKED, OF_DIRECTIVES, TABLE_FORMATS, Promise, TableFormat
from unwinders import UNWINDERS

EVERY = TABLE_FORMATS.values()


@pytest.mark.parametrize("its", EVERY, ids=lambda its: its.name)
def test_what_an_entry_names_is_there(its: TableFormat) -> None:
    for reference in filter(None, (its.second, its.writer)):
        module, _, name = reference.partition(":")
        assert callable(getattr(import_module(module), name))
    unwinder = UNWINDERS[its.name]
    assert unwinder.rows is not None, "a technique of the same name reads it"
    assert isinstance(unwinder.assumption, TableRow) and unwinder.assumption.format == its.section


def test_every_technique_that_reads_a_table_is_of_a_registered_format() -> None:
    sections = {its.section for its in EVERY}
    read = {each.assumption.format for each in UNWINDERS.values() if isinstance(each.assumption, TableRow)}
    assert read == sections and len(sections) == len(EVERY)


def test_what_rooms_ask_follows_from_the_entries() -> None:
    assert {*CHECKED} == {its.name for its in EVERY if its.checked} - {"eh_frame_hdr"}, "not what finds others' rows"
    promises = [TABLE_FORMATS[name].at_calls for name in CHECKED]
    assert promises == sorted(promises), "those first that promise a row for every instruction"
    assert {name for name in TABLE_FORMATS if TABLE_FORMATS[name].promise is not Promise.EVERYWHERE} == AT_CALLS
    assert AT_CALLS.isdisjoint(OF_DIRECTIVES), "directives are advised of tables that say something everywhere"
