"""Names from files on a terminal: nothing in them moves the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.words.printable import printable, printable_lines
from tests.cli.command import Testbed


def test_what_cannot_be_printed_is_spelled() -> None:
    assert printable("a\x1b[31m\nb\u202e") == "a\\x1b[31m\\nb\\u202e"
    assert printable("größe · ≠") == "größe · ≠"
    assert printable_lines("a\x07\nb") == "a\\x07\nb"


@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["run", "--at", "@5"],
        ["run", "--at", "@5", "--machine"],
        ["rows"],
        ["backtrace", "--at", "@5"],
        ["check"],
    ],
)
def test_names_of_a_file_do_not_reach_the_terminal_raw(testbed: Testbed, tmp_path: Path, command: list[str]) -> None:
    content = build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["clang-asm"]).path.read_bytes()
    assert content.count(b"\0middle\0") == 1
    path = tmp_path / "evil.elf"
    path.write_bytes(content.replace(b"\0middle\0", b"\0\x1b[2Jx\r\0"))
    said = testbed(command[0], str(path), *command[1:])
    assert said.status in (0, 1), said.err
    assert not {"\x1b", "\r", "\x9b"} & set(said.out + said.err)
    if command[0] in ("run", "rows"):
        assert "\\x1b[2Jx\\r" in said.out


def test_a_message_about_a_file_is_spelled_too(testbed: Testbed, tmp_path: Path) -> None:
    said = testbed("run", str(tmp_path / "no\x1b[2J.elf"))
    assert said.status == 2 and "\x1b" not in said.err and "no\\x1b[2J.elf" in said.err
    said = testbed("run", "--trace", str(tmp_path / "no\x1b[2J.trace"))
    assert said.status == 2 and "\x1b" not in said.err and "no\\x1b[2J.trace" in said.err


@pytest.mark.parametrize(
    "command", [["run"], ["run", "--at", "@5"], ["run", "--at", "@5", "--machine"], ["backtrace", "--at", "@5"]]
)
def test_the_name_of_a_file_is_on_one_line(testbed: Testbed, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "we ird\nna\x1b[2Jme"
    path.write_bytes(build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["clang-asm"]).path.read_bytes())
    said = testbed(command[0], str(path), *command[1:])
    assert said.status in (0, 1), said.err
    assert "\x1b" not in said.out + said.err
    assert not any(line.startswith("na") for line in (said.out + said.err).splitlines())
    assert "we ird\\nna\\x1b[2Jme" in said.out or command[0] == "backtrace"
