"""``testbed run ./program -- arguments``: a real Linux program on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from testbed.cli.process_run import needs_a_kernel
from testbed.report.json_data import schema
from tests.cli.command import Testbed
from tests.process.builds import built


def test_a_program_with_a_libc_is_run_as_a_process_and_judged(testbed: Testbed, tmp_path: Path) -> None:
    hello, out, profile = built("hello", "x86_64", "static"), tmp_path / "out", tmp_path / "profile.json"
    sampled = ("--sample", "100", "--timeline", str(profile), "--stdout", str(out))
    said = testbed("run", str(hello), "-u", "eh_frame", *sampled, "--", "abc")
    assert said.status == 0, said.err + said.out
    assert out.read_text().startswith("hello 2 abc")
    assert "1 thread, exit 7" in said.out and "0 of 1 strategy exact at all" in said.out
    assert "_init in hello-x86_64-static: no row" in said.out
    assert max(map(len, said.out.splitlines())) <= 100
    assert json.loads(profile.read_text())["profiles"][0]["name"] == "truth"


def test_json_of_a_process_follows_its_schema_and_adds_up(testbed: Testbed) -> None:
    said = testbed(
        "run", str(built("hello", "arm64", "static")), "-u", "eh_frame", "-u", "fp_chain", "--json", "--", "x"
    )
    data = json.loads(said.out)
    jsonschema.validate(data, schema("process"))
    assert (data["status"], data["arch"], len(data["threads"])) == (7, "arm64", 1)
    for each in data["strategies"]:
        assert each["judged"] == data["steps"]
        parts = ("exact", "whole", "stops", "lies", "transition")
        assert sum(each[part] for part in parts) == each["judged"]
        assert sum(place["steps"] for place in each["places"]) == each["explained"] + each["unexplained"]
    assert said.status == any(each["unexplained"] for each in data["strategies"])


def test_what_a_process_has_not_is_said(testbed: Testbed) -> None:
    hello = str(built("hello", "x86_64", "static"))
    assert "not for a process" in testbed("run", hello, "--at", "main").err
    assert "with --sample N" in testbed("run", hello, "--timeline", "x.json").err
    said = testbed("run", "leaf_call", "--", "abc")
    assert said.status == 2 and "need an ELF program" in said.err


def test_the_two_witnesses_are_compared_on_a_process(testbed: Testbed) -> None:
    said = testbed("prove", str(built("hello", "x86_64", "static")), "--", "abc")
    assert said.status == 0, said.out
    assert " agree, 0 disagree" in said.out and "0 of 18," in said.err and "in transition" in said.err


def test_only_what_a_libc_starts_needs_a_kernel(testbed: Testbed) -> None:
    assert needs_a_kernel(built("hello", "x86_64", "dynamic")) and needs_a_kernel(built("hello", "arm64", "static"))
    from programs import PROGRAMS
    from testbed.arch import ARCHES
    from testbed.build import build
    from testbed.build.recipes import RECIPES

    assert not needs_a_kernel(build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["clang-asm"]).path)
