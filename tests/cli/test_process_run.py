"""``testbed run ./program -- arguments``: a real Linux program on the command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

from testbed.cli.process_run import needs_a_kernel
from testbed.profiling.places import MOST_FRAMES
from testbed.referee import present
from testbed.report.schemas import schema
from tests.cli.command import Testbed, tells
from tests.process.builds import built
from unwinders.rows import walk


def test_a_program_with_a_libc_is_run_as_a_process_and_judged(testbed: Testbed, tmp_path: Path) -> None:
    hello, out, profile = built("hello", "x86_64", "static"), tmp_path / "out", tmp_path / "profile.timeline.json"
    sampled = ("--sample", "100", "-o", str(profile), "--stdout", str(out))
    said = tells(testbed, 0, ("run", str(hello), "-u", "eh_frame", *sampled, "--", "abc"))
    assert out.read_text().startswith("hello 2 abc")
    assert "1 thread, exit 7" in said.out and "eh_frame is right at 9" in said.out
    assert "\n_start " not in said.out and " _init in" not in said.out and "start-up and linker" in said.out
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
        assert sum(place["steps"] for place in each["places"]) == each["foretold"] + each["unexplained"]
    assert said.status == any(each["unexplained"] for each in data["strategies"])


def test_what_a_process_has_not_is_said(testbed: Testbed) -> None:
    hello = str(built("hello", "x86_64", "static"))
    assert "not for a process" in testbed("run", hello, "--differences").err
    assert "with --sample N" in testbed("run", hello, "-o", "x.timeline.json").err
    tells(
        testbed,
        2,
        ("run", "leaf_call", "--", "abc"),
        err=["need an ELF program", "leaf_call is a program of the corpus, and no ELF file"],
    )


@pytest.mark.parametrize("chunk", [(), ("--chunk", "20000")])
def test_what_is_said_of_a_convention_holds_for_the_program_or_the_file_that_is_named(
    testbed: Testbed, chunk: tuple[str, ...]
) -> None:
    hello = str(built("hello", "x86_64", "dynamic"))
    said = ("main=sysv-rbx", "_start=go", "libc.so.6!malloc=preserve_most")
    options = [word for each in said for word in ("--convention", each)]
    shown = " ".join(testbed("run", hello, "-u", "eh_frame", *chunk, *options, "--", "abc").out.split())
    assert "judged 1 function by System V x86_64; changes rbx, not System V x86_64: it was said" in shown
    assert "judged 1 function by Clang's preserve_most, not System V x86_64: it was said" in shown
    assert shown.count("judged 1 function by Go ABIInternal") == 1, "of the program, and not of its loader"
    missing = f"--convention: {Path(hello).name} has no function 'malloc'"
    tells(testbed, 2, ("run", hello, *chunk, "--convention", "malloc=go"), err=[missing])
    tells(testbed, 2, ("run", hello, *chunk, "--convention", "aapcs64"), err=["'aapcs64' for x86_64; there are: sysv,"])


def test_one_step_of_a_thread_is_shown(testbed: Testbed) -> None:
    hello, threads = str(built("hello", "x86_64", "dynamic")), str(built("threads", "x86_64", "static"))
    said = testbed("run", hello, "--at", "malloc", "-u", "eh_frame", "-u", "fp_chain", "--", "abc")  # in a library
    assert said.status == 0, said.err
    assert "malloc   " in said.out and "(root)" in said.out and "Its steps by cause" not in said.out
    own = testbed("run", threads, "--at", "work", "-u", "eh_frame")  # the first thread that comes there
    assert own.status == 0 and "start_thread" in own.out and "main" not in own.out.partition("#")[2]
    number = own.out.partition("thread ")[2].partition(":")[0]
    assert testbed("run", threads, "--at", f"{number}:work", "-u", "eh_frame").out == own.out
    assert testbed("run", threads, "--at", f"{number}:@0", "-u", "eh_frame").status == 0
    for wrong, why in (
        ("main#2", "is executed"),
        ("9:main", "no thread 9"),
        ("mian", "no symbol"),
        ("@99999999", "@0"),
    ):
        tells(testbed, 2, ("run", threads, "--at", wrong), err=[why])
    assert "held whole" in testbed("run", threads, "--at", "main", "--chunk", "5000").err


def test_a_place_without_a_symbol_is_shown_by_the_name_that_reports_give_it(testbed: Testbed) -> None:
    hello = str(built("hello", "x86_64", "dynamic"))
    said = testbed("run", hello, "-u", "eh_frame", "--no-debug-files", "--json", "--", "abc")
    (share,) = json.loads(said.out)["strategies"]
    place = next(each for each in share["places"] if "+0x" in each["where"] and each["where"].startswith("ld-linux"))
    step = testbed("run", hello, "-u", "eh_frame", "--no-debug-files", "--at", place["where"], "--", "abc")
    assert step.status == 0 and f"step {place['first']}: {place['where']} " in step.out
    for wrong, why in (("ld-linux-x86-64.so.2+0x1ab71", "never executed"), ("libz.so+0x4", "no symbol")):
        tells(testbed, 2, ("run", hello, "--no-debug-files", "--at", wrong, "--", "abc"), err=[why])


def test_a_table_is_told_wrong_by_its_function_at_one_step(testbed: Testbed) -> None:
    """`_init` of a static program goes through a linkage table without rows."""
    said = testbed("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "--json", "--", "abc")
    (share,) = json.loads(said.out)["strategies"]
    place = share["places"][0]
    step = tells(
        testbed,
        0,
        ("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "--at", f"@{place['first']}"),
        out=[place["because"].split(":")[0]],
    )
    assert "UNEXPLAINED" not in step.out


def test_a_stack_of_more_frames_than_a_walk_goes_through_is_told_as_that(testbed: Testbed) -> None:
    wild = str(built("wild", "x86_64", "static", "-O1"))
    said = tells(testbed, 0, ("run", wild, "-u", "eh_frame", "--", "recursion"))
    assert "a walk gives up after 1024 frames" in " ".join(said.out.split()) and "UNEXPLAINED" not in said.out
    assert MOST_FRAMES == walk.MAX_FRAMES


def test_a_page_steps_through_the_first_thread(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, threads = tmp_path / "page.html", str(built("threads", "x86_64", "static"))
    said = tells(testbed, 0, ("run", threads, "-u", "eh_frame", "-o", str(page)))
    assert "3 other threads are not on it" in said.out and page.read_text().startswith("<!doctype html>")
    monkeypatch.setattr("testbed.cli.process_run.MOST_ON_A_PAGE", 2_000)
    tells(testbed, 2, ("run", threads, "-u", "eh_frame", "-o", str(page)), err=["--budget 2000 shows the first 2,000"])
    tells(testbed, 0, ("run", threads, "-u", "eh_frame", "-o", str(page), "--budget", "2000"), out=["2,000 steps"])


def test_a_real_tool_is_asked_at_a_sample_and_left_out_where_it_has_nothing_to_read(testbed: Testbed) -> None:
    if "libunwind" not in present(["libunwind"]):
        pytest.skip("libunwind is not installed")
    tells(
        testbed,
        0,
        ("run", str(built("hello", "x86_64", "dynamic")), "-u", "libunwind", "--asked-at", "30", "--", "abc"),
        out=["of your code", " sampled"],
    )
    left = testbed("run", str(built("hello", "arm64", "static")), "-u", "libunwind", "--", "abc")
    assert left.status == 1 and "libunwind left out: it does not exist for arm64" in left.err
    tells(
        testbed,
        1,
        ("run", str(built("hello", "x86_64", "static")), "-u", "sframe", "--", "abc"),
        err=["sframe left out: no file of this process has .sframe"],
    )


def test_a_process_in_pieces_says_what_the_whole_one_says(testbed: Testbed) -> None:
    hello = str(built("hello", "x86_64", "static"))
    whole = json.loads(testbed("run", hello, "-u", "eh_frame", "--json", "--", "abc").out)
    pieces = testbed("run", hello, "-u", "eh_frame", "--json", "--chunk", "6500", "--", "abc")
    assert pieces.status == 0 and json.loads(pieces.out) == whole
    shown = testbed("run", hello, "-u", "eh_frame", "--budget", "5000000", "--", "abc").out
    assert "pieces  1: watched and judged" in shown
    chains = [
        testbed("run", hello, "-u", "bs_backtrace", "--json", *more, "--", "abc") for more in ((), ("--chunk", "6500"))
    ]
    assert [each.status for each in chains] == [0, 0] and json.loads(chains[0].out) == json.loads(chains[1].out)
    (asked,) = json.loads(chains[1].out)["strategies"]
    assert (asked["judged"], asked["sampled"]) == (500, True)
    assert "held whole" in testbed("run", hello, "--sample", "9", "--chunk", "6500").err
    whole = testbed("run", str(built("signals", "x86_64", "static")), "-u", "eh_frame", "--json", "--chunk", "6500")
    assert "signals-x86_64-static handles a signal: held whole, up to 4,000,000 steps." in whole.err
    assert whole.status == 0 and json.loads(whole.out)["steps"] > 20_000


def test_names_of_a_stripped_program_come_from_its_debug_file(testbed: Testbed, tmp_path: Path) -> None:
    hello = built("hello", "x86_64", "static")
    stripped, debug = tmp_path / hello.name, tmp_path / "debug" / f"{hello.name}.debug"
    debug.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", hello, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", hello, stripped], check=True)
    without = testbed("run", str(stripped), "-u", "eh_frame", "--", "abc")
    named = testbed("run", str(stripped), "-u", "eh_frame", "--debug-dir", str(debug.parent), "--", "abc")
    assert without.status == named.status == 0
    assert "printf_fp" not in without.out and "printf_fp" in named.out


def test_the_two_witnesses_are_compared_on_a_process(testbed: Testbed) -> None:
    tells(
        testbed,
        0,
        ("run", "--cross-check", str(built("hello", "x86_64", "static")), "--", "abc"),
        out=[" agree, 0 disagree"],
        err=["0 of 18,", "in transition"],
    )


def test_only_what_a_libc_starts_needs_a_kernel(testbed: Testbed) -> None:
    assert needs_a_kernel(built("hello", "x86_64", "dynamic")) and needs_a_kernel(built("hello", "arm64", "static"))
    from programs import PROGRAMS
    from testbed.arch import ARCHES
    from testbed.build import build
    from testbed.build.recipes import RECIPES

    assert not needs_a_kernel(build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["clang-asm"]).path)


@pytest.mark.everything
def test_a_program_of_go_is_run_as_a_process(testbed: Testbed, tmp_path: Path) -> None:
    """Static, without a libc, and with threads that its own runtime makes."""
    source, program = tmp_path / "hello.go", tmp_path / "hello"
    source.write_text('package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello", 1+1) }\n')
    cache = {"GOCACHE": str(tmp_path / "cache"), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    try:
        subprocess.run(["go", "build", "-o", program, source], check=True, env={**os.environ, **cache}, cwd=tmp_path)
    except FileNotFoundError:
        pytest.skip("apt-get install golang-go")
    said = testbed("run", str(program), "-u", "debug_frame")
    assert "hello 2" in said.out and "threads, exit 0" in said.out
