"""``testbed check``: what is typed reaches the check, what is found is told in every format, and the status says it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml

from testbed.checks.model import FileCheck
from testbed.checks.options import TABLES, CheckOptions
from testbed.cli import check as module
from testbed.report.check_formats import FORMATS
from testbed.words.errors import ImageError, NothingAskedFor
from tests.cli.command import Testbed
from tests.report.checked import CHECK, CLEAN, START, WRONG
from unwinders import UNWINDERS

Asked = list[tuple[Path, CheckOptions]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    """Files that need no emulator: bad.o has findings, good.o none, broken.o is none. What was asked of each."""
    seen: Asked = []

    def check(
        path: Path, options: CheckOptions, progress: Callable[[int, int], None], _: object, *, goes_on: bool
    ) -> FileCheck:
        assert isinstance(goes_on, bool)
        seen.append((path, options))
        progress(1, 2)
        if path.name == "broken.o":
            raise ImageError(path, 4, "not this")
        if path.name == "good.o" and options.functions == ("bad*",):
            raise NothingAskedFor(f"{path}: it has no function that matches bad*")
        if path.name == "internal.o":
            raise IndexError("tuple index out of range")
        if path.name == "partly.o":
            return replace(CHECK, path=path, failures={"f": "an internal error of the testbed, IndexError"})
        if path.name == "stop.o":
            raise KeyboardInterrupt
        return replace(CHECK if path.name == "bad.o" else CLEAN, path=path)

    monkeypatch.setattr(module, "_new_check", check)
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name in ("bad.o", "good.o", "broken.o", "internal.o", "partly.o", "stop.o"):
        Path(name).write_bytes(b"\x7fELF" + name.encode())
    Path("source.S").write_text("nop\n")
    return seen


def test_what_was_typed_is_what_is_asked(testbed: Testbed, asked: Asked) -> None:
    said = testbed(
        *("check", "source.S", "-f", "a*", "-f", "b", "--call", "f(1, 2)", "-a", "aarch64", "-t", ".eh_*"),
        *("--seed", "7", "--runs", "3", "--steps", "99", "-j", "2", "--", "-Iinclude", "--fail-on", "-DX=1"),
    )
    assert said.status == 0, said.err
    assert asked == [
        (
            Path("source.S"),
            CheckOptions(
                functions=("a*", "b"),
                calls=("f(1, 2)",),
                arch="arm64",
                tables=(".eh_*",),
                seed=7,
                runs=3,
                steps=99,
                jobs=2,
                flags=("-Iinclude", "--fail-on", "-DX=1"),
            ),
        )
    ]


def test_the_status_says_whether_anything_is_wrong(testbed: Testbed, asked: Asked) -> None:
    assert testbed("check", "good.o").status == 0
    said = testbed("check", "good.o", "bad.o")
    assert said.status == 1
    assert said.out.splitlines()[-1].startswith("2 files: 1 of 4 functions has a wrong row")
    assert testbed("check", "bad.o", "--fail-on", "never").status == 0
    assert testbed("check", "bad.o", "--fail-on", "note").status == 1


def test_a_broken_file_is_told_and_the_others_are_checked(testbed: Testbed, asked: Asked) -> None:
    said = testbed("check", "broken.o", "missing.o", "good.o")
    assert said.status == 2
    assert "broken.o: at offset 0x4: not this" in said.out and "No such file" in said.out
    assert said.out.splitlines()[-1] == (
        "good.o: every row is right; all 32 instructions were tried; 2 files could not be checked."
    )
    assert "Traceback" not in said.err
    said = testbed("check", "broken.o", "--format", "json")
    assert said.status == json.loads(said.out)["status"] == 2
    assert "error: broken.o: at offset 0x4: not this" in said.err


def test_what_is_no_file_is_not_waited_for(testbed: Testbed, asked: Asked) -> None:
    os.mkfifo("pipe")
    Path("folder").mkdir()
    said = testbed("check", "pipe", "folder", "good.o")
    assert said.status == 2 and len(asked) == 1
    assert "pipe is no file" in said.out and "folder is no file" in said.out


def test_a_list_from_a_pipe_is_waited_for_some_seconds(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("testbed.words.files.PIPE_SECONDS", 0.1)
    os.mkfifo("pipe")
    said = testbed("check", "@pipe")
    assert said.status == 2 and "the list pipe cannot be read: a pipe to which nobody wrote" in said.err


def test_a_name_that_is_no_text_is_told_in_every_format(testbed: Testbed, asked: Asked) -> None:
    for name in ("odd\udcff.o", "line\nfeed.o"):
        Path(name).write_bytes(b"\x7fELF")
        for form in ("text", *FORMATS):
            said = testbed("check", name, "--format", form, "--fresh", "--html", "page.html", "-o", "out")
            assert said.status == 0 and "Traceback" not in said.err, said.err
            Path("out").read_text(encoding="utf-8")


def test_of_several_files_some_may_lack_what_was_asked_for(testbed: Testbed, asked: Asked) -> None:
    said = testbed("check", "good.o", "bad.o", "-f", "bad*", "--fail-on", "never")
    assert said.status == 0 and said.out.splitlines()[-1].startswith("bad.o: 1 of 3")
    assert "1 file without a function that matches bad*" in said.err
    said = testbed("check", "good.o", "-f", "bad*")
    assert said.status == 2 and "no function that matches bad*" in said.out


def test_every_format_is_printed_or_written(testbed: Testbed, asked: Asked, tmp_path: Path) -> None:
    for form in ("text", "json", "sarif", "github", "junit"):
        printed = testbed("check", "bad.o", "--format", form)
        written = testbed("check", "bad.o", "--format", form, "-o", "out", "--fresh")
        assert printed.status == written.status == 1
        assert written.out.startswith("bad.o: 1 of 3 functions has a wrong row") and written.out.count("\n") == 1
        text = Path("out").read_text()
        if form in ("text", "json"):
            printed = testbed("check", "bad.o", "--format", form, "--fresh")
        assert text == printed.out
        if form in ("json", "sarif"):
            json.loads(text)
        if form == "junit":
            assert sum(suite.failures for suite in JUnitXml.fromstring(text)) > 0


def test_coverage_and_notes_reach_the_text(testbed: Testbed, asked: Asked) -> None:
    assert "_start: it never returns" not in testbed("check", "bad.o").out
    assert "_start: it never returns" in testbed("check", "bad.o", "--coverage").out
    assert "_start+0x0 (endbr64)" in testbed("check", "bad.o", "--notes").out


def test_an_unchanged_file_is_not_checked_again(testbed: Testbed, asked: Asked) -> None:
    first, second = testbed("check", "bad.o"), testbed("check", "bad.o", "-j", "3")
    assert len(asked) == 1 and second.status == 1
    assert second.out == first.out.replace(".debug_frame\n", ".debug_frame (kept from an earlier check)\n", 1)
    testbed("check", "bad.o", "--fresh")
    testbed("check", "bad.o", "--seed", "2")
    Path("bad.o").write_bytes(b"\x7fELF again")
    testbed("check", "bad.o")
    assert len(asked) == 4
    testbed("check", "source.S")
    testbed("check", "source.S")  # what it includes may have changed
    assert len(asked) == 6


def test_a_baseline_knows_what_was_written(testbed: Testbed, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    said = testbed("check", "bad.o", "--write-baseline", "base.json")
    assert said.status == 0 and "zlib/crc32.S:120: error" in said.out
    assert "6 findings written to base.json" in said.err
    said = testbed("check", "bad.o", "--baseline", "base.json")
    assert said.status == 0 and "6 findings known from the baseline" in said.out
    monkeypatch.setattr(module, "_new_check", lambda path, *_, **__: replace(CHECK, path=path, findings=(START,)))
    said = testbed("check", "bad.o", "--baseline", "base.json", "--fresh")
    assert said.status == 0 and "no longer found, and still in base.json" in said.out
    assert "bad.o: crc32_z+0x4 (push rbx)" in said.out
    moved = replace(WRONG, where="crc32_z+0x6")
    monkeypatch.setattr(module, "_new_check", lambda path, *_, **__: replace(CHECK, path=path, findings=(moved,)))
    assert testbed("check", "bad.o", "--baseline", "base.json", "--fresh").status == 0, "known wherever it moves"
    other = replace(WRONG, instruction="pop rbp")
    monkeypatch.setattr(module, "_new_check", lambda path, *_, **__: replace(CHECK, path=path, findings=(other,)))
    assert testbed("check", "bad.o", "--baseline", "base.json", "--fresh").status == 1


def test_a_baseline_is_not_written_from_half_of_the_files(testbed: Testbed, asked: Asked) -> None:
    said = testbed("check", "bad.o", "broken.o", "--write-baseline", "base.json")
    assert said.status == 2 and "base.json is not written" in said.err and not Path("base.json").exists()


def test_a_list_names_files(testbed: Testbed, asked: Asked) -> None:
    Path("list").write_text("# mine\ngood.o\n\n  bad.o  \ngood.o\n")
    assert testbed("check", "@list", "bad.o").status == 1
    assert [path.name for path, _ in asked] == ["good.o", "bad.o"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "no file to check"),
        (["check", "@nolist"], "the list nolist cannot be read: No such file"),
        (["check", "good.o", "-a", "arm65"], "no architecture 'arm65'; did you mean arm64"),
        (["check", "good.o", "-t", "eh_fram"], "no table matches 'eh_fram'; did you mean eh_frame"),
        (["check", "good.o", "-o", "no/where"], "no/where cannot be written: No such file"),
        (["check", "good.o", "--html", "no/where"], "no/where cannot be written"),
        (["check", "good.o", "--write-baseline", "no/where"], "no/where cannot be written"),
        (["check", "good.o", "--baseline", "none.json"], "none.json cannot be read"),
        (["check", "good.o", "--baseline", "source.S"], "source.S is no baseline"),
        (["check", "good.o", "--format", "xml"], "--format cannot be 'xml'; there are: text, json"),
        (["check", "good.o", "--runs", "0"], "invalid value for '--runs'"),
    ],
)
def test_a_mistake_is_said_before_the_work(testbed: Testbed, asked: Asked, arguments: list[str], message: str) -> None:
    said = testbed(*arguments)
    assert said.status == 2 and message in said.err and "Traceback" not in said.err
    assert asked == []


def test_what_is_tried_for_writing_is_left_as_it_was(testbed: Testbed, asked: Asked) -> None:
    Path("out").write_text("mine")
    assert testbed("check", "broken.o", "-o", "out", "--baseline", "none.json").status == 2
    assert Path("out").read_text() == "mine"
    testbed("check", "good.o", "-o", "new", "--baseline", "none.json")
    assert not Path("new").exists()


def test_an_interrupt_tells_what_was_done(testbed: Testbed, asked: Asked) -> None:
    said = testbed("check", "bad.o", "stop.o", "good.o", "--write-baseline", "base.json")
    assert said.status == 130 and "interrupted: 1 of 3 files checked" in said.err
    assert "zlib/crc32.S:120: error" in said.out and not Path("base.json").exists()


def test_the_tables_are_those_of_strategies_with_rows() -> None:
    assert all(UNWINDERS[name].rows is not None for name in TABLES)


def test_its_help_says_how_the_compiler_is_told(testbed: Testbed) -> None:
    said = testbed("check", "--help")
    assert said.status == 0 and "testbed check [OPTIONS] FILE... [-- COMPILER ARGUMENTS]" in said.out
    assert "--write-baseline" in said.out


def test_an_internal_error_is_that_of_one_file_or_function_and_no_finding(testbed: Testbed, asked: Asked) -> None:
    said = testbed("check", "internal.o", "good.o", "--format", "json")
    told = json.loads(said.out)
    assert (said.status, [file["file"] for file in told["files"]]) == (2, ["good.o"])
    assert told["broken"][0]["reason"].startswith("an internal error of the testbed, IndexError: tuple index out of")
    assert "report it" in told["broken"][0]["reason"] and "TESTBED_TRACEBACK=1" in told["broken"][0]["reason"]
    said = testbed("check", "partly.o", "good.o")
    assert said.status == 2
    assert "f of partly.o: could not be checked" in said.out and "1 function could not be checked." in said.out
    assert not testbed("check", "partly.o").out.count("kept from an earlier")
    for form in FORMATS:
        said = testbed("check", "partly.o", "good.o", "--format", form)
        assert said.status == 2
        assert "an internal error of the testbed" in said.out


def test_an_internal_error_shows_its_place_where_that_is_asked_for(
    testbed: Testbed, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTBED_TRACEBACK", "1")
    assert "Traceback" in testbed("check", "internal.o").err
