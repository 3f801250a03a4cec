"""Catalogues in TOML files: what is wrong in one is said with file, table, key and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.words.data_file import WORDS, Table, read_toml, tables_in
from testbed.words.errors import DataFileError

KEYS = {"name": str, "flags": WORDS, "opt_in": bool}


def recipes(path: Path) -> list[Table]:
    return list(tables_in(path, read_toml(path), "recipe", KEYS, frozenset({"name"})))


def test_a_key_of_the_file_counts_for_each_table_that_does_not_have_it(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('name = "a"\nof_others = true\n[[recipe]]\n[[recipe]]\nname = "b"\nflags = ["-O2"]\n[[other]]\n')
    assert [table.keys for table in recipes(path)] == [{"name": "a"}, {"name": "b", "flags": ("-O2",)}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[recipe]\n", r"no TOML file can be read there: .*line 1"),
        ("[recipe]\n", r"recipe: it is written as \[\[recipe\]\], once for each"),
        ("[[recipe]]\nopt_in = true\n", r"recipe 1: name: it is missing; a string is needed"),
        ('[[recipe]]\nname = "a"\nflag = []\n', r"recipe 1 'a': flag: an unknown key; did you mean flags\?"),
        ('[[recipe]]\nname = "a"\nflags = "-O2"\n', r"recipe 1 'a': flags: a list of strings is needed, not '-O2'"),
        ('[[recipe]]\nname = "a"\nopt_in = 1\n', r"recipe 1 'a': opt_in: true or false is needed, not 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_file_table_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "recipes.toml"
    path.write_text(text)
    with pytest.raises(DataFileError, match=rf"recipes\.toml: {said}"):
        recipes(path)


def test_a_file_that_is_not_there_is_such_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"none\.toml: no TOML file can be read there"):
        recipes(tmp_path / "none.toml")
