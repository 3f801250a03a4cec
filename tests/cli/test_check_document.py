"""docs/check.md and the hook for pre-commit: what they show is what there is."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from glob import glob
from pathlib import Path

import pytest

from testbed.checks.options import CheckOptions
from testbed.cli import COMMANDS
from testbed.cli import check as module
from testbed.report.check_report import FORMATS
from testbed.store import KEY_LENGTH, KEY_PATTERN
from tests.cli.command import Testbed, tells
from tests.corpus import script
from tests.golden.whole import golden
from tests.report.checked import CLEAN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
HOOK = dict(re.findall(r"^(?:- |  )(\w+): (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"), re.M))


def commands() -> Iterator[str]:
    """The commands of the page's blocks: of a workflow's steps, and lines of their own."""
    for block in re.findall(r"^```\w*\n(.*?)^```", PAGE, re.S | re.M):
        for line in block.splitlines():
            found = re.match(r"(?:\s*- run: )?(testbed check .*)", line)
            if found and "FILE..." not in line:
                yield found[1].split("  ")[0]  # and what it is for


@pytest.mark.parametrize("command", list(commands()))
def test_each_command_of_the_page_is_understood(
    testbed: Testbed, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[CheckOptions] = []

    def check(path: Path, options: CheckOptions, *_: object, **__: object) -> object:
        asked.append(options)
        return replace(CLEAN, path=path)

    monkeypatch.setattr(module, "_new_check", check)
    monkeypatch.setattr(module, "cluster_executor", nullcontext)
    monkeypatch.chdir(tmp_path)
    for name in ("src/f.S", "build/f.o", "libstdc++.so.6", "p256.o", "go.o", "a.o"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("")
    Path("unwind-baseline.json").write_text('{"schema": 2, "findings": []}')
    _, *arguments = (word for part in shlex.split(command) for word in glob(part) or [part])
    tells(testbed, 0, arguments)
    assert len(asked) == 1


def test_the_page_shows_the_correction_of_its_example(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    source, *_ = re.findall(r"^```asm\n(.*?)^```", PAGE, re.S | re.M)
    Path("sum.S").write_text(source, encoding="utf-8")
    shown = dict(re.findall(r"^\$ testbed check sum.S (--diff|--fix)\n(.*?)^```", PAGE, re.S | re.M))
    assert tells(testbed, 1, ["check", "sum.S", "--diff"]).out == shown["--diff"]
    assert Path("sum.S").read_text(encoding="utf-8") == source
    assert tells(testbed, 0, ["check", "sum.S", "--fix"]).out == shown["--fix"]
    assert Path("sum.S").read_text(encoding="utf-8") != source
    assert tells(testbed, 0, ["check", "sum.S", "--fix"]).out == "sum.S: there is nothing to correct.\n"


def test_what_annotate_writes_as_a_patch_is_applied_from_where_it_was_called(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    source, *_ = re.findall(r"^```asm\n(.*?)^```", PAGE, re.S | re.M)
    Path("src").mkdir()
    Path("src/sum.S").write_text("".join(re.findall(r"^(?!\s+\.cfi).*\n", source, re.M)), encoding="utf-8")
    patch = tells(testbed, 0, ["annotate", "src/sum.S", "--diff"], err=["sum.S: 1 function annotated"]).out
    subprocess.run(["git", "apply", "-"], input=patch, text=True, check=True)
    assert tells(testbed, 0, ["annotate", "src/sum.S", "--diff"], err=["every function has rows"]).out == ""


def test_the_page_shows_commands() -> None:
    assert len(list(commands())) >= 4


def test_each_option_and_format_that_the_page_names_exists() -> None:
    options = {option for parameter in module.command.params for option in parameter.opts}
    own = re.sub(r"^dask .*$", "", PAGE, flags=re.M)
    named = set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", own)) - {"--help"}
    assert named <= options
    assert {f"`{name}`" for name in FORMATS} <= set(re.findall(r"`\w+`", PAGE))


def test_the_hook_is_a_command_for_assembly() -> None:
    program, name = HOOK["entry"].split()
    assert program == "testbed" and name in COMMANDS
    assert HOOK["language"] == "python"  # pre-commit installs this project, and with it the command
    assert f"id: {HOOK['id']}" in PAGE
    chosen = [file for file in ("a.S", "x/b.s", "c.c", "d.sh", "e.S.txt") if re.search(HOOK["files"], file)]
    assert chosen == ["a.S", "x/b.s"]


def test_the_action_gives_its_inputs_to_the_command(testbed: Testbed, tmp_path: Path) -> None:
    action = (ROOT / "action.yml").read_text("utf-8")
    ((line, summary),) = re.findall(r"- run: testbed (.*?) \| (.*)", action)
    inputs = set(re.findall(r"^  (\w+):\n    description", action, re.M))
    assert inputs == set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", line)) and "with: { files:" in PAGE
    (tmp_path / "f.s").write_text(".globl f\n.type f, @function\nf: ret\n.size f, .-f\n")
    given = {"files": str(tmp_path / "f.s"), "options": "--fail-on error", "compiler": "-DX"}
    words = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], line).split()
    printed = testbed(*words).out
    shown = subprocess.run(
        ["bash", "-c", summary],
        input=printed,
        env=os.environ | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout == printed
    assert (tmp_path / "summary.md").read_text() == printed.splitlines(keepends=True)[-1]
    assert printed.splitlines()[-1].startswith("f.s: ")


@pytest.mark.usefixtures("own_cache")
def test_the_example_says_what_the_page_shows(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, shown = re.findall(r"^```(?:asm)?\n(.*?)^```", PAGE, re.S | re.M)[1:3]
    monkeypatch.chdir(tmp_path)
    Path("sum.S").write_text(source)
    said = tells(testbed, 1, ("check", "sum.S"))
    assert f"$ testbed check sum.S\n{said.out}" == shown
    # What it advises, written into the source, leaves nothing to say.
    right = source.replace("\tpushq\t%rbp\n", "\tpushq\t%rbp\n\t.cfi_def_cfa_offset 24\n\t.cfi_offset %rbp, -24\n")
    right = right.replace("\tpopq\t%rbp\n", "\tpopq\t%rbp\n\t.cfi_def_cfa_offset 16\n")
    Path("sum.S").write_text(right)
    said = tells(testbed, 0, ("check", "sum.S"))
    assert said.out.splitlines()[-1] == "sum.S: every row is right; all 14 instructions were executed."


# The page for those who bring an unwinder: its files and commands, run as they stand; what it shows is what comes.


YOUR_UNWINDER = (ROOT / "docs" / "your-unwinder.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", YOUR_UNWINDER, re.S)
EXIT_1 = re.compile(r"-u my_unwinder:MY_UNWINDER( |$)|--unwinder-cmd \./my_unwinder$|^pytest")  # frame pointers lie


def consoles() -> list[str]:
    return [text for language, text in BLOCKS if language == "console"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's Python files, and a `testbed` that is this one."""
    folder = tmp_path_factory.mktemp("yours")
    for language, text in BLOCKS:
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            assert re.fullmatch(r"\w+\.py", name)
            (folder / name).write_text(text)
    (folder / "bin").mkdir()
    for name, package in (("testbed", "testbed.cli"), ("pytest", "pytest")):
        script(folder / "bin" / name, f'#!/bin/sh\nexec "{sys.executable}" -m {package} "$@"\n')
    return folder


@pytest.mark.parametrize("text", consoles(), ids=["python", "assumption", "pytest", "another language"])
def test_a_session_goes_as_it_is_shown(text: str, folder: Path) -> None:
    if "cc -O2" in text and shutil.which("cc") is None:
        pytest.skip("no C compiler: apt install gcc")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "-p testbed.pytest_plugin -p no:cacheprovider",  # as where it is installed
        "COLUMNS": "100",
    }
    here = folder
    for command, shown in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", text, re.M):
        if command.startswith("cd "):
            here /= command.removeprefix("cd ")
            continue
        done = subprocess.run(command, shell=True, cwd=here, env=environment, capture_output=True, text=True)
        lies = EXIT_1.search(command) and "--check" not in command
        assert done.returncode == (1 if lies else 0), f"{command}\n{done.stdout}{done.stderr}"
        at = 0
        for line in (line for line in shown.splitlines() if line != "..."):
            assert line in done.stdout[at:], f"{command} does not print\n{line}\n{done.stdout}"
            at = done.stdout.index(line, at) + len(line)


def test_the_page_has_its_examples() -> None:
    assert [language for language, _ in BLOCKS].count("python") == 3
    assert len(consoles()) == 4


# What commands print, whole, each in ``golden/outputs``.


SHOWN = (
    "run leaf_call --arch arm64",
    "run leaf_call --arch arm64 --at leaf",
    "run leaf_call --arch x86_64 --at leaf --explain",
    "run noreturn_last_call --arch arm64 --recipe clang-O2 --at finish",
    "run tail_branches -a arm64 -r clang-O2 --at leaf",
    "run inline_chain -a arm64 -r clang-O2 --at at_level2",
    "run tail_chain -a arm64 -r clang-O2 --at last",
    "run leaf_call --arch arm32 --differences --explain",
    "run leaf_call --arch arm64 -u eh_frame",
    "run leaf_call --arch x86_64 -u orc -u builtin_return_address",
    "run recursion --arch x86_64 --recipe clang-O2 -u fp_chain -u eh_frame",
    "run signal --arch arm64 -u fp_chain -u stack_scan -u eh_frame -u sframe",
    "run leaf_call --arch arm64 --at leaf+0x4 --machine",
    "run recursion --arch x86_64 --recipe clang-O2 --at bottom --machine",
    "run signal_alternate --arch x86_64 --at on_second --machine",
    "run inline_chain -a arm64 -r clang-O2 --at at_level2 --machine",
    "run tail_chain -a arm64 -r clang-O2 --at last --machine",
    "backtrace tail_chain -a arm64 -r clang-O2 --at leaf",
    "backtrace tail_chain -a arm64 -r clang-O2 --at leaf -u eh_frame -s json",
    "rows leaf_call --arch x86_64 -f eh_frame",
    "check leaf_call --executed --arch x86_64",
    "check leaf_call --executed --arch arm32",
    "check leaf_call --executed --arch x86_64 -t orc",
    "check epilogue_cfa --executed --arch arm32",
    "check epilogue_cfa_wrong --executed --arch arm64",
    "backtrace tail_branches --judge -a x86_64 -r clang-O2",
    "list assumptions -u eh_* -u fp_chain",
    "list assumptions -u eh_frame --json",
    "list arches",
)
_KEY = re.compile(rf"(?<=\.){KEY_PATTERN}(?=\.elf)")  # of a kept program file: another build of it is another key


@pytest.mark.whole
@pytest.mark.parametrize("command", SHOWN)
def test_a_command_prints_what_it_printed(testbed: Testbed, command: str, request: pytest.FixtureRequest) -> None:
    said = testbed(*command.split())
    narrow = command.startswith(("run", "rows"))
    assert not narrow or max(map(len, said.out.splitlines())) <= 100
    assert "\x1b" not in said.out and said.err == ""
    text = _KEY.sub("0" * KEY_LENGTH, f"{said.out}{said.status}\n")
    golden(f"commands/{re.sub(r'[^a-z0-9]+', '-', command, flags=re.I)}.txt", text, request)
