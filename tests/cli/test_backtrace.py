"""``testbed backtrace``: the calls of the source."""

from __future__ import annotations

import json
import re

from tests.cli.command import Testbed


def test_backtrace_prints_the_calls_of_the_source(testbed: Testbed) -> None:
    said = testbed("backtrace", "tail_chain", "-a", "arm64", "-r", "clang-O2", "--at", "leaf")
    assert said.status == 0, said.err
    names = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) \(\)", said.out, re.M)
    assert names == ["leaf", "last", "second", "first", "main", "_start"]
    by_strategy = testbed(
        *("backtrace", "tail_chain", "-a", "arm64", "-r", "clang-O2", "--at", "leaf", "-u", "eh_frame", "-s", "json")
    )
    assert [frame["function"] for frame in json.loads(by_strategy.out)["frames"]] == names


def test_backtrace_names_what_it_does_not_know(testbed: Testbed) -> None:
    said = testbed("backtrace", "leaf_call", "--at", "leaf", "-u", "eh_fram")
    assert said.status == 2
    assert "no strategy 'eh_fram'" in said.err and "eh_frame" in said.err
    assert testbed("backtrace", "leaf_call", "--at", "leav").status == 2
    assert testbed("backtrace", "leaf_call", "--at", "leaf", "-s", "none").status == 2
