"""``testbed show``: one step, drawn."""

from __future__ import annotations

import re

from tests.cli.command import Testbed


def test_show_draws_one_step_whole(testbed: Testbed) -> None:
    said = testbed("show", "leaf_call", "--arch", "arm64", "--at", "leaf+0x4")
    assert said.status == 0, said.err
    assert re.search(r"→ +leaf\+0x4 +mov x29, sp", said.out)
    assert re.search(r"▣ +[0-9a-f]{16} +x29 of middle +← SP", said.out)
    assert re.search(r"↩ +[0-9a-f]{16} +return to middle\+0x10", said.out)
    assert re.search(r"^eh_frame\b.* leaf\+0x4 +sp\+16 +x29=c-16 +x30=c-8", said.out, re.M)
    assert "≠" in said.out
    assert max(map(len, said.out.splitlines())) <= 100


def test_show_names_the_source_line(testbed: Testbed) -> None:
    said = testbed("show", "recursion", "--arch", "x86_64", "--recipe", "clang-O2", "--at", "bottom")
    assert re.search(r"→ +bottom +.* \d+: trail\[0\] = x;", said.out), said.out


def test_show_steps_only_in_a_terminal(testbed: Testbed) -> None:
    said = testbed("show", "leaf_call", "--step")
    assert said.status == 2
    assert "--step needs a terminal" in said.err
