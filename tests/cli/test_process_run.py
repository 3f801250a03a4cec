"""``testbed run ./program -- arguments``: a real Linux program on the command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.cli.program_files import needs_a_kernel
from testbed.process.recorder import ProcessRecorder
from testbed.profiling import judge
from testbed.referee import present
from testbed.truth.windows import watch
from tests.cli.command import Step, Testbed, data_of, session, tells
from tests.process.builds import built
from tests.report.chromium import opened


def test_a_program_with_a_libc_is_run_as_a_process_and_judged(testbed: Testbed, tmp_path: Path) -> None:
    hello, out, profile = built("hello", "x86_64", "static"), tmp_path / "out", tmp_path / "profile.timeline.json"
    sampled = ("--sample", "100", "-o", str(profile), "--stdout", str(out))
    said = tells(testbed, 0, ("run", str(hello), "-u", "eh_frame", *sampled, "--", "abc"))
    assert out.read_text().startswith("hello 2 abc")
    assert "1 thread, exit 7" in said.out and "eh_frame is right at 9" in said.out
    assert "\n_start " not in said.out and " _init in" not in said.out and "start-up and linker" in said.out
    assert max(map(len, said.out.splitlines())) <= 100
    assert json.loads(profile.read_text())["profiles"][0]["name"] == "truth"


def test_flame_graphs_stand_beside_the_true_one_and_two_builds_beside_each_other(
    testbed: Testbed, tmp_path: Path
) -> None:
    """Without frame pointers `deep` and its callers are lost by `fp_chain`; with them they are not, at some cost."""
    page = tmp_path / "flames.html"
    plain, linked = tmp_path / "plain", tmp_path / "linked"
    for path, flags in ((plain, ()), (linked, ("-fno-omit-frame-pointer",))):
        path.symlink_to(built("children", "x86_64", "dynamic", *flags))
    given = ("-u", "fp_chain", "-u", "eh_frame", "--sample", "7", "--against", str(linked), "-o", str(page))
    said = tells(testbed, 0, ("run", str(plain), *given, "--", "fork"))
    words = " ".join(said.out.split())
    assert re.search(r"[\d,]+ with your functions on the stack\. Its flame graph shows ", words)
    assert re.search(
        r"Of [\d,]+ samples? with functions of .* on the stack, a profiler that unwinds by fp_chain", words
    )
    table = r"eh_frame +plain +0 % +[\d.]+ % .*\neh_frame +linked +0 % "
    assert re.search(table, said.out), said.out[said.out.index("A profiler") :]
    assert f"{linked.name} beside {plain.name}: " in words and "steps of its own code (" in words
    moved = r"fp_chain ([\d.]+) % → ([\d.]+) %"
    gained = re.search(
        rf"%\); your callers found at these steps: {moved}; samples with your functions in the wrong place, those in "
        rf"libraries too: {moved}\.$",
        words,
    )
    assert gained is not None
    found, then, wrong, less = map(float, gained.groups())
    assert found < then and less < wrong
    text = page.read_text()
    assert text.count('class="flame"') == 6 and "<script src" not in text and "http" not in text
    assert "own lost" in text and 'data-name="deep"' in text and ">main</div>" in text
    assert " with your functions on the stack, of " in text and 'data-name="_start"' not in text
    true = text[text.index('class="flame"') : text.index(f"fp_chain · {plain.name}<")]
    assert "lost" not in true and "invented" not in true
    with opened(page) as shown:
        box = shown.locator(".flame").first.locator('[data-name="deep"]').first
        wide = "box => box.clientWidth / box.parentElement.clientWidth"
        before = box.evaluate(wide)
        box.click()
        assert before < 0.9 and box.evaluate(wide) > 0.99 and shown.locator(".all:visible").count() == 1
        assert shown.locator(".flame").first.locator('.box[data-name="main"]').first.evaluate(wide) > 0.99
        others = [each.locator('[data-name="deep"]:visible').first for each in shown.locator(".flame").all()]
        assert len(others) == 6 and all(each.evaluate(wide) > 0.99 for each in others)
        shown.keyboard.press("Escape")
        assert box.evaluate(wide) == before and shown.locator(".all:visible").count() == 0
        for sought, told in (("deep", "deep: on "), ("nobody", "nobody: nowhere")):  # what is not that stands back
            shown.fill(".find", sought)
            assert told in shown.locator(".found").first.inner_text()
        assert shown.locator(".sought .flame .box").first.evaluate("box => getComputedStyle(box).opacity") == "0.4"
    assert "--sample N" in testbed("run", str(plain), "--against", str(linked)).err


def test_json_of_a_process_follows_its_schema_and_adds_up(testbed: Testbed) -> None:
    said = testbed(
        "run", str(built("hello", "arm64", "static")), "-u", "eh_frame", "-u", "fp_chain", "--json", "--", "x"
    )
    data = data_of(said.out, "process")
    assert (data["status"], data["arch"], len(data["threads"])) == (7, "arm64", 1)
    for each in data["unwinders"]:
        assert each["judged"] == data["steps"]
        parts = ("exact", "whole", "stops", "lies", "transition")
        assert sum(each[part] for part in parts) == each["judged"]
        assert sum(place["steps"] for place in each["places"]) == each["foretold"] + each["unexplained"]
        assert sum(place["whole"] for place in each["places"]) == each["whole"]
    assert said.status == any(each["unexplained"] for each in data["unwinders"])


@pytest.mark.parametrize(
    "step",
    [
        Step("run {hello} --differences", 2, err=["not for a process"]),
        Step("run {hello} -o x.timeline.json", 2, err=["with --sample N"]),
        Step(
            "run leaf_call -- abc",
            2,
            err=["need an ELF program", "is a program of the corpus, and no ELF file"],
        ),
        Step("run --cross-check {hello} -- abc", out=[" agree, 0 disagree"], err=["0 of 18,", "in transition"]),
    ],
)
def test_what_a_process_has_not_is_said_and_its_witnesses_are_compared(testbed: Testbed, step: Step) -> None:
    session(testbed, [step], hello=built("hello", "x86_64", "static"))


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


def test_a_process_begins_in_the_current_folder_and_reads_its_files_and_what_is_installed(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "names.txt").write_text("b\na\n")
    monkeypatch.chdir(tmp_path)
    script = "read name; pwd; echo $name; echo made > own; [ -e /usr/lib/os-release ]"
    said = tells(testbed, 0, ("run", "/bin/dash", "-u", "eh_frame", "--", "-ec", f"exec < names.txt; {script}"))
    assert f"\n{tmp_path}\nb\n" in said.out and not (tmp_path / "own").exists()
    monkeypatch.chdir("/")
    said = tells(testbed, 0, ("run", "/bin/dash", "-u", "eh_frame", "--", "-c", f"[ -e {tmp_path} ] || pwd"))
    assert "\n/\n" in said.out
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    tells(testbed, 2, ("run", "/bin/true", "-u", "eh_frame"), err=["the current folder was deleted"])


def test_variables_of_its_environment_are_given_by_name(testbed: Testbed) -> None:
    given = ("--env", "HOME=/tmp", "--env", "LANG=de=x")
    said = tells(testbed, 0, ("run", "/usr/bin/env", "-u", "eh_frame", *given))
    assert said.out.startswith("env printed:\nPATH=/usr/bin:/bin\nLANG=de=x\nHOME=/tmp\n\n")
    for wrong in ("HOME", "=/tmp"):
        tells(testbed, 2, ("run", "/usr/bin/env", "--env", wrong), err=["NAME=VALUE, for example"])


def test_a_program_is_called_as_it_was_named_where_that_name_means_it(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "name.c").write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(int n, char **v) { char own[999] = ""; readlink("/proc/self/exe", own, 998); puts(v[0]); puts(own); }'
    )
    subprocess.run(["gcc", "name.c", "-o", "name"], cwd=tmp_path, check=True)
    (tmp_path / "below/link").symlink_to("../name")
    own, elsewhere = str(tmp_path / "name"), "/program/name"
    for folder, asked, called, lies in (
        (tmp_path, "name", "./name", own),
        (tmp_path, "./below/link", "./below/link", own),
        (tmp_path, own, own, own),
        (tmp_path / "below", "../name", elsewhere, elsewhere),
    ):
        monkeypatch.chdir(folder)
        assert f"\n{called}\n{lies}\n" in tells(testbed, 0, ("run", asked, "-u", "eh_frame")).out, asked
    shell = tells(testbed, 0, ("run", "/bin/dash", "-u", "eh_frame", "--", "-c", "echo $0"))
    assert "\n/bin/dash\n" in shell.out


def test_a_process_reads_what_the_command_reads_where_that_is_said() -> None:
    command = [sys.executable, "-c", "from testbed.cli import main; main()", "run", "/bin/dash", "-u", "eh_frame"]
    said = subprocess.run(
        [*command, "--stdin", "-", "--", "-c", "cat"], input=b"from a pipe\n", capture_output=True, check=True
    )
    assert b"dash printed:\nfrom a pipe\n" in said.stdout


def test_who_reads_no_more_ends_the_command_with_a_status_of_its_own() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from testbed.cli import main; main()", "run", "/bin/true", "-u", "eh_frame"]
    said = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (said.returncode, said.stderr.decode().count("Error")) == (141, 0)


def test_of_a_script_it_is_told_how_its_interpreter_is_run(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "count.sh"
    script.write_text('#!/bin/sh -e\necho "counted $1"\n')
    command = f"testbed run /bin/sh --folder {tmp_path}={tmp_path} -- -e {script} 'a b'"
    tells(testbed, 2, ("run", str(script), "--", "a b"), err=[f"count.sh is a script of /bin/sh: {command}"])
    tells(testbed, 2, ("run", str(script)), err=["script of /bin/sh"])
    assert "counted a b" in testbed(*shlex.split(command)[1:]).out
    monkeypatch.chdir(tmp_path)
    tells(testbed, 2, ("run", "count.sh"), err=["script of /bin/sh: testbed run /bin/sh -- -e count.sh"])
    script.write_text("#!/usr/bin/env dash\n")
    tells(
        testbed, 2, ("run", "count.sh"), err=[f"of {shutil.which('dash')}: testbed run {shutil.which('dash')} -- count"]
    )
    script.write_text("#!\n")
    tells(testbed, 2, ("run", str(script)), err=["names no interpreter"])


OPENS = """
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    open("there", 0), open("there", 0), open("missing", 0);
    if (!fork()) open("forked", 0), _exit(3);
    wait(0);
    if (!vfork()) open("vforked", 0), _exit(4);
    wait(0);
}
"""


def test_a_file_that_the_host_has_and_the_run_does_not_show_is_told_once_with_its_place_of_children_too(
    testbed: Testbed, tmp_path: Path
) -> None:
    for name in ("there", "forked", "vforked"):
        (tmp_path / name).write_text("x")
    (tmp_path / "opens.c").write_text(OPENS.replace('open("', f'open("{tmp_path}/'))
    program = tmp_path / "opens"
    subprocess.run(["gcc", "-static", "-o", program, tmp_path / "opens.c"], check=True)
    said = "".join(tells(testbed, 0, ("run", str(program), "-u", "eh_frame")).out.split())
    shown = f"--folder {tmp_path}/there={tmp_path}/there"
    told = f"ENOENT, {tmp_path}/there is not shown ({shown})"
    assert said.count("refusedopen") == 3 and told.replace(" ", "") in said
    for number, name, status in ((5229, "forked", 3), (5230, "vforked", 4)):
        assert re.search(rf"process{number},of5228:opens:\d\d?\d?steps,exit{status}refusedopen", said)
        assert re.search(rf"ofprocess{number}:ENOENT,{tmp_path}/{name}isnotshown", said)
    data = json.loads(testbed("run", str(program), "-u", "eh_frame", "--json").out)
    assert len(data["threads"]) == 1 and [child["status"] for child in data["children"]] == [3, 4]
    for each, name in zip((data, *data["children"]), ("there", "forked", "vforked"), strict=True):
        (refused,) = each["refused"]
        assert (refused["path"], refused["error"]) == (f"{tmp_path}/{name}", "ENOENT")
        assert refused["step"] < each["steps"]
    assert testbed("run", str(program), "-u", "eh_frame", *shown.split()).out.count("refused") == 2


def test_the_answer_says_what_it_is_not_about(testbed: Testbed) -> None:
    """Each process of a pipe is forked, and executes a program: a line of the report says both."""
    asked = ("run", "/bin/dash", "-u", "eh_frame", "--", "-c", "/bin/true | /bin/true; exit")
    said = tells(testbed, 0, asked).out
    assert "lies there. Not judged: what 2 processes did besides (--child NAME judges one)." in " ".join(said.split())
    lines = said.splitlines()
    each = r"process +52(29|30), of 5228: true: [\d,]+ steps, exit 0; before it dash: [\d,]+ steps"
    assert [bool(re.fullmatch(each, line)) for line in lines if line.startswith("process ")] == [True, True]
    killed = tells(
        testbed,
        0,
        ("run", "/bin/dash", "-u", "eh_frame", "--", "-c", "kill -SEGV $$"),
        out=["SIGSEGV ended it.", "\nstack   "],
    )
    step = re.search(r"--at (@\d+) shows the stack at which SIGSEGV ended it", " ".join(killed.out.split()))
    assert step and killed.out.splitlines()[0].endswith(", ended by SIGSEGV")
    at_end = ("run", "/bin/dash", "-u", "eh_frame", "--at", step[1], "--", "-c", "kill -SEGV $$")
    tells(testbed, 0, at_end, out=["kill"])
    cut = ("run", "/bin/dash", "-u", "eh_frame", "--budget", "250000", "--", "-c", "while :; do :; done")
    tells(testbed, 0, cut, out=["nobody lies there. The program did not come to its end."])
    early = ("run", str(built("hello", "x86_64", "dynamic")), "--at", "main", "--budget", "3000")
    tells(testbed, 2, early, err=["never executed in this run; its 3,000 steps are used up; --budget"])


def test_another_program_of_a_run_is_judged_by_its_name_or_its_processs_number(testbed: Testbed) -> None:
    program = built("hello", "x86_64", "static")
    command = f"/bin/true | {program} abc"
    asked = ("run", "/bin/dash", "-u", "eh_frame", "--folder", f"{program.parent}={program.parent}", "--child")

    def judged(child: str, *more: str) -> str:
        return tells(testbed, 0, (*asked, child, *more, "--", "-c", f"{command}; exit")).out

    hello = judged(program.name)
    assert hello == judged("5230") and f"{program.name} · x86_64 · a process" in hello
    assert "dash printed:\nhello 2 abc" in hello
    assert f"functions of {program.name}" in hello and "_start+" in judged("5230", "--at", "main")
    assert data_of(judged("true", "--json"), "process")["program"].endswith("true")
    twice = tells(testbed, 0, ("run", "/bin/dash", "--child", "true", "--", "-c", "/bin/true; /bin/true; exit")).out
    assert "this is process 5229; true was also 5230 (--child NUMBER)" in " ".join(twice.split())
    wrong = ("run", "/bin/dash", "--child", "nope", "--", "-c", "/bin/true; exit")
    tells(testbed, 2, wrong, err=["no other program of this run is 'nope'; there is dash (5229), true (5229)"])
    tells(testbed, 2, ("run", "/bin/dash", "--child", "1", "--chunk", "9000", "--", "-c", "exit"), err=["held whole"])


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
    for jobs in ("1", "2"):
        pieces = testbed("run", hello, "-u", "eh_frame", "--json", "--chunk", "6500", "-j", jobs, "--", "abc")
        assert pieces.status == 0 and json.loads(pieces.out) == whole
    shown = testbed("run", hello, "-u", "eh_frame", "--budget", "5000000", "--", "abc").out
    assert "pieces  1: watched and judged" in shown
    chains = [
        testbed("run", hello, "-u", "bs_backtrace", "--json", *more, "--", "abc") for more in ((), ("--chunk", "6500"))
    ]
    assert [each.status for each in chains] == [0, 0] and json.loads(chains[0].out) == json.loads(chains[1].out)
    (asked,) = json.loads(chains[1].out)["unwinders"]
    assert (asked["judged"], asked["sampled"]) == (500, True)
    assert "held whole" in testbed("run", hello, "--sample", "9", "--chunk", "6500").err
    whole = testbed("run", str(built("signals", "x86_64", "static")), "-u", "eh_frame", "--json", "--chunk", "6500")
    assert "signals-x86_64-static handles a signal: held whole, and at most 4,000,000 steps." in whole.err
    assert whole.status == 0 and json.loads(whole.out)["steps"] > 20_000


@pytest.mark.parametrize("more", [(), ("--chunk", "6500")])
def test_an_interrupt_ends_the_run_and_what_it_did_is_judged(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    execute, pieces = ProcessRecorder.execute, []

    def interrupted(recorder: ProcessRecorder) -> int:
        pieces.append(recorder)
        if len(pieces) == 5:
            signal.raise_signal(signal.SIGINT)
        return execute(recorder)

    monkeypatch.setattr(ProcessRecorder, "execute", interrupted)
    said = testbed("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "--json", *more, "--", "abc")
    found = json.loads(said.out)
    steps = found["steps"]
    assert said.status == 130 and "what it did is judged" in said.err
    assert found["ending"] == f"interrupted after {steps:,} steps" and found["complete"] is False
    assert 1_000 < steps == found["unwinders"][0]["judged"] and found["status"] is None


@pytest.mark.parametrize(("owner", "name"), [(watch, "_look"), (judge.Judging, "add")], ids=["watched", "judged"])
def test_an_interrupt_while_it_is_judged_shows_what_was_judged(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    own, seen = getattr(owner, name), list[object]()

    def interrupted(*given: Any, **named: Any) -> Any:
        seen.append(given)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)
        return own(*given, **named)

    hello = ("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "--chunk", "2000")
    monkeypatch.setattr(owner, name, interrupted)
    said = tells(testbed, 130, (*hello, "--", "abc"), err=["what is done until then is shown; once more ends all"])
    words = " ".join(said.out.split())
    told = re.search(r"the first ([\d,]+) of ([\d,]+) steps, .*\. Interrupted: not judged, ([\d,]+) steps at", words)
    assert told is not None, said.out
    judged, total, left = (int(number.replace(",", "")) for number in told.groups())
    monkeypatch.undo()
    whole = json.loads(testbed(*hello, "--json", "--", "abc").out)
    assert whole["complete"] is True
    assert 6_000 <= judged < 9_000 and judged + left == total == whole["steps"], said.out


def test_an_interrupt_between_two_unwinders_shows_the_first(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    own = judge.judge_process

    def interrupted(*given: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return own(*given, **named)

    monkeypatch.setattr(judge, "judge_process", interrupted)
    said = testbed("run", str(built("hello", "x86_64", "static")), "-u", "eh_frame", "-u", "fp_chain", "--", "abc")
    assert said.status == 130 and " Interrupted: not asked, eh_frame.\n" in said.out
    assert "fp_chain is right at " in said.out


def test_of_functions_without_names_it_is_told_who_has_them(testbed: Testbed, tmp_path: Path) -> None:
    stripped = tmp_path / "program"
    subprocess.run(["objcopy", "--strip-all", built("hello", "x86_64", "dynamic"), stripped], check=True)
    said = "program has no names for these: a debug file has (--debug-dir FOLDER)"
    tells(testbed, 0, ("run", str(stripped), "-u", "eh_frame", "--", "abc"), out=["\n+0x", said])


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


def test_only_what_a_libc_starts_needs_a_kernel(testbed: Testbed) -> None:
    assert needs_a_kernel(built("hello", "x86_64", "dynamic")) and needs_a_kernel(built("hello", "arm64", "static"))
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
