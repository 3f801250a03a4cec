"""``testbed check``: what is typed reaches the check, what is found is told in every format, and the status says it."""

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from junitparser import JUnitXml

from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli import check as module
from testbed.report.check_report import FORMATS
from testbed.report.json_forms import schema
from testbed.words.errors import ImageError, NothingAskedFor
from testbed.words.table_formats import CHECKED
from tests import corpus
from tests.cli.command import Testbed, data_of, tells
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
    tells(
        testbed,
        0,
        (
            *("check", "source.S", "-f", "a*", "-f", "b", "--call", "f(1, 2)", "-a", "aarch64", "-t", ".eh_*"),
            *("--seed", "7", "--runs", "3", "--steps", "99", "-j", "2", "--", "-Iinclude", "--fail-on", "-DX=1"),
        ),
    )
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


INTERNAL = "an internal error of the testbed"


@pytest.mark.parametrize(
    ("arguments", "status", "out", "err"),
    [
        (["good.o"], 0, ["good.o: every row is right"], []),
        (["good.o", "bad.o"], 1, ["2 files: 1 of 4 functions has a wrong row"], []),
        (["bad.o", "--fail-on", "never"], 0, [], []),
        (["bad.o", "--fail-on", "note"], 1, [], []),
        (["bad.o", "--coverage"], 1, ["_start: it never returns"], []),
        (["bad.o", "--notes"], 1, ["_start+0x0 (endbr64)"], []),
        (["@list", "bad.o"], 1, ["2 files: "], []),
        (
            ["broken.o", "missing.o", "good.o"],
            2,
            [
                *("broken.o: at offset 0x4: not this", "No such file"),
                "good.o: every row is right; all 32 instructions were executed; 2 files could not be checked.\n",
            ],
            [],
        ),
        (["broken.o", "--format", "json"], 2, ['"status": 2'], ["error: broken.o: at offset 0x4: not this"]),
        (["pipe", "folder", "good.o"], 2, ["pipe is no file", "folder is no file"], []),
        (
            ["good.o", "bad.o", "-f", "bad*", "--fail-on", "never"],
            0,
            ["bad.o: 1 of 3"],
            ["1 file without a function that matches bad*"],
        ),
        (["good.o", "-f", "bad*"], 2, ["no function that matches bad*"], []),
        (["bad.o", "broken.o", "--write-baseline", "base.json"], 2, [], ["base.json is not written"]),
        (
            ["bad.o", "stop.o", "good.o", "--write-baseline", "base.json"],
            130,
            ["zlib/crc32.S:118:9: error"],
            ["interrupted: 1 of 3 files checked"],
        ),
        (
            ["internal.o", "good.o", "--format", "json"],
            2,
            ['"file": "good.o"', f"{INTERNAL}, IndexError: tuple index out of", "report it", "TESTBED_TRACEBACK=1"],
            [],
        ),
        (["partly.o", "good.o"], 2, ["f of partly.o: could not be checked", "1 function could not be checked."], []),
        *((["partly.o", "good.o", "--format", form], 2, [INTERNAL], []) for form in FORMATS),
        (["--help"], 0, ["testbed check [OPTIONS] FILE... [-- COMPILER ARGUMENTS]", "--write-baseline"], []),
    ],
)
def test_what_is_told_of_files_and_with_which_status(
    testbed: Testbed, asked: Asked, arguments: list[str], status: int, out: list[str], err: list[str]
) -> None:
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("list").write_text("# mine\ngood.o\n\n  bad.o  \ngood.o\n")
    for said in (testbed("check", *arguments), testbed("check", *arguments)):
        assert said.status == status
        assert [word for word in out if word not in said.out] + [word for word in err if word not in said.err] == []
        assert "Traceback" not in said.err and not Path("base.json").exists()
        assert ("_start: it never returns" in said.out) == ("--coverage" in arguments) or "--format" in arguments
    times = Counter(path.name for path, _ in asked)  # what has a failure is no result to keep
    assert times["partly.o"] in (0, 2) and times["good.o"] <= 1 + ("-f" in arguments)


def test_a_list_from_a_pipe_is_waited_for_some_seconds(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("testbed.words.files.PIPE_SECONDS", 0.1)
    os.mkfifo("pipe")
    tells(testbed, 2, ("check", "@pipe"), err=["the list pipe cannot be read: a pipe to which nobody wrote"])


def test_a_name_that_is_no_text_is_told_in_every_format(testbed: Testbed, asked: Asked) -> None:
    for name in ("odd\udcff.o", "line\nfeed.o"):
        Path(name).write_bytes(b"\x7fELF")
        for form in ("text", *FORMATS):
            tells(testbed, 0, ("check", name, "--format", form, "--fresh", "-o", "out"))
            Path("out").read_text(encoding="utf-8")


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


def test_an_unchanged_file_is_not_checked_again(testbed: Testbed, asked: Asked) -> None:
    first, second = testbed("check", "bad.o"), testbed("check", "bad.o", "-j", "3")
    assert len(asked) == 1 and second.status == 1
    assert second.out == first.out.replace(".debug_frame\n", ".debug_frame (kept from an earlier check)\n", 1)
    for words, content, more in (
        *(("bad.o --fresh", b"bad.o", 1), ("bad.o --seed 2", b"bad.o", 1), ("bad.o", b"again", 1)),
        *(("bad.o", b"again", 0), ("source.S", b"again", 1)),
        ("source.S", b"again", 1),  # what it includes may have changed
    ):
        before = len(asked)
        Path("bad.o").write_bytes(b"\x7fELF" + content)
        testbed("check", *words.split())
        assert len(asked) - before == more, words


def test_a_baseline_knows_what_was_written(testbed: Testbed, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    tells(
        testbed,
        0,
        ("check", "bad.o", "--write-baseline", "base.json"),
        out=["zlib/crc32.S:118:9: error"],
        err=["6 findings written to base.json"],
    )
    tells(testbed, 0, ("check", "bad.o", "--baseline", "base.json"), out=["6 findings known from the baseline"])
    for finding, status, out in (
        (START, 0, ["no longer found, and still in base.json", "bad.o: crc32_z+0x4 (pushq %rbx)"]),
        (replace(WRONG, where="crc32_z+0x6"), 0, []),  # known wherever it moves
        (replace(WRONG, instruction="pop rbp"), 1, []),
    ):
        found = replace(CHECK, path=Path("bad.o"), findings=(finding,))
        monkeypatch.setattr(module, "_new_check", lambda *_, found=found, **__: found)
        tells(testbed, status, ("check", "bad.o", "--baseline", "base.json", "--fresh"), out=out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "no file to check"),
        (["check", "@nolist"], "the list nolist cannot be read: No such file"),
        (["check", "good.o", "-a", "arm65"], "no architecture 'arm65'; did you mean arm64"),
        (["check", "good.o", "-t", "eh_fram"], "no table matches 'eh_fram'; did you mean eh_frame"),
        (["check", "good.o", "-o", "no/where"], "no/where cannot be written: No such file"),
        (["check", "good.o", "-o", "no/where.html"], "no/where.html cannot be written"),
        (["check", "good.o", "--write-baseline", "no/where"], "no/where cannot be written"),
        (["check", "good.o", "--baseline", "none.json"], "none.json cannot be read"),
        (["check", "good.o", "--baseline", "source.S"], "source.S is no baseline"),
        (["check", "good.o", "--format", "xml"], "--format cannot be 'xml'; did you mean html"),
        (["check", "good.o", "--runs", "0"], "invalid value for '--runs'"),
    ],
)
def test_a_mistake_is_said_before_the_work(testbed: Testbed, asked: Asked, arguments: list[str], message: str) -> None:
    tells(testbed, 2, arguments, err=[message])
    assert asked == []


def test_what_is_tried_for_writing_is_left_as_it_was(testbed: Testbed, asked: Asked) -> None:
    Path("out").write_text("mine")
    assert testbed("check", "broken.o", "-o", "out", "--baseline", "none.json").status == 2
    assert Path("out").read_text() == "mine"
    testbed("check", "good.o", "-o", "new", "--baseline", "none.json")
    assert not Path("new").exists()


def test_the_tables_are_those_of_unwinders_with_rows() -> None:
    assert all(UNWINDERS[name].rows is not None for name in CHECKED)


def test_an_internal_error_shows_its_place_where_that_is_asked_for(
    testbed: Testbed, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTBED_TRACEBACK", "1")
    assert "Traceback" in testbed("check", "internal.o").err


# `testbed check --executed`: exit statuses, JSON, and runs and tables that are broken.


STOPS = """\
// summary: its epilogue has no row, and then it goes where no code is
// exit: 0
.intel_syntax noprefix
.globl _start
.type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    call work
    xor eax, eax
    jmp rax
    .cfi_endproc
.size _start, . - _start
.type work, @function
work:
    .cfi_startproc
    push rbx
    .cfi_def_cfa_offset 16
    .cfi_offset rbx, -16
    pop rbx
    ret
    .cfi_endproc
.size work, . - work
"""


def test_many_functions_without_a_row_are_one_finding(testbed: Testbed, tmp_path: Path) -> None:
    names = [f"bare{k}" for k in range(6)]
    calls = "".join(f"    call {name}\n" for name in names)
    path = tmp_path / "bare.x86_64.S"
    bodies = "".join(
        f".type {name}, @function\n{name}:\n    nop\n    ret\n.size {name}, . - {name}\n" for name in names
    )
    start, _, _ = STOPS.partition("    call work\n")
    ends = "    mov edi, 0\n    mov eax, 60\n    syscall\n    .cfi_endproc\n.size _start, . - _start\n"
    path.write_text(f"{start}{calls}{ends}{bodies}")
    out = testbed("check", str(path), "--executed", "-t", "eh_frame").out
    assert f"no row covers 6 functions that are called: {', '.join(names[:5])} and bare5: add `.cfi_startproc`" in out
    assert "11 more instructions in 5 more functions by the same cause" in out
    assert out.count("\n") == 2


def test_json_follows_its_schema(testbed: Testbed) -> None:
    said = testbed("check", "early_return_wrong", "--executed", "--arch", "x86_64", "--format", "json")
    data = data_of(said.out, "check_executed")
    assert (said.status, data["status"], data["failure"]) == (1, 1, None)
    table = data["tables"][0]
    assert (table["unwinder"], table["table"]) == ("eh_frame", ".eh_frame")
    assert table["wrong"] == sum(finding["instructions"] for finding in table["findings"])
    assert table["findings"][0]["repair"]["directives"] == [".cfi_restore_state"]
    for spoiled in ({"tables": None}, {"surprise": 1}, {"status": 3}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | spoiled, schema("check_executed"))


def test_a_run_that_stopped_early_is_looked_at_as_far_as_it_went(testbed: Testbed, tmp_path: Path) -> None:
    source = tmp_path / "stops.x86_64.S"
    source.write_text(STOPS)
    tells(
        testbed,
        1,
        ("check", str(source), "--executed", "-t", "eh_frame"),
        out=["work+0x2 (ret): the row says CFA = rsp+16, the true CFA is rsp+8 here"],
        err=["only the", "steps before its end are looked at"],
    )
    as_json = json.loads(testbed("check", str(source), "--executed", "-t", "eh_frame", "--format", "json").out)
    assert "pc 0x0" in as_json["failure"]
    source.write_text(STOPS.replace("    ret\n", "    .cfi_def_cfa_offset 8\n    ret\n"))
    right = testbed("check", str(source), "--executed", "-t", "eh_frame")
    assert (right.status, "only the" in right.err, "every row is right" in right.out) == (2, True, True)


@pytest.mark.parametrize("length", [0xFFFF_FFF0, 0x7FFF_FFFF, 3])
def test_a_malformed_table_is_a_finding_and_no_traceback(testbed: Testbed, tmp_path: Path, length: int) -> None:
    run = corpus.ran("leaf_call", "arm64", "keystone")
    content = bytearray(run.built.path.read_bytes())
    at = run.built.image.sections[".eh_frame"].offset
    content[at : at + 4] = length.to_bytes(4, "little")
    broken = tmp_path / "broken"
    broken.write_bytes(content)
    said = tells(
        testbed,
        1,
        ("check", str(broken), "--executed", "-t", "eh_frame"),
        out=["eh_frame: ", "the row says nothing that can be read, .eh_frame"],
    )
    assert "every row is right" not in said.out


def test_lines_come_from_debug_information(testbed: Testbed, tmp_path: Path) -> None:
    source = tmp_path / "debugged.c"
    source.write_text(
        "// summary: a\n// exit: 0\n"
        'void __attribute__((naked, noinline)) odd(void) { asm volatile("push rbx\\n pop rbx\\n ret"); }\n'
        "int main(void) {\n    odd();\n    return 0;\n}\n"
    )
    data = json.loads(
        testbed(
            "check", str(source), "--executed", "-a", "x86_64", "-r", "clang-O0", "-t", "eh_frame", "--format", "json"
        ).out
    )
    (finding,) = data["tables"][0]["findings"]
    assert (Path(finding["source"]).name, finding["line"], finding["where"]) == ("debugged.c", 3, "odd+0x1")


# Unwinders judged where functions are called alone: from the command, in text and JSON, of tables and of programs.


# Two pushes, of which the table may know one; callee() is judged where both() calls it.
PUSHES = """
    .text
    .globl both
    .type both, @function
both:
    .cfi_startproc
    pushq %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    pushq %rbp
    {row}
    call callee
    cmpq $0x1234567, %rax
    je 1f
    xorl %ebp, %ebp
1:  leaq 1(%rax), %rax
    popq %rbp
    .cfi_def_cfa_offset 16
    popq %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size both, . - both
    .type callee, @function
callee:
    .cfi_startproc
    xorl %eax, %eax
    ret
    .cfi_endproc
    .size callee, . - callee
    .section .note.GNU-stack, "", @progbits
"""
KNOWN = ".cfi_def_cfa_offset 24\n    .cfi_offset %rbp, -24"

# It opens every image as a file, and says the interrupted frame; of the named functions it claims that it is the root.
OPENER = """
import json, sys
say = lambda **what: print(json.dumps(what), flush=True)
low, high = (int(word, 16) for word in sys.argv[1:])
for line in sys.stdin:
    got = json.loads(line)
    if got["type"] == "hello":
        say(type="hello", protocol=1, name="opener", version="1")
    elif got["type"] == "session":
        left = got["images"]
    elif got["type"] == "image":
        assert open(got["path"], "rb").read(4) == b"\\x7fELF"
        bias = int(got["bias"], 16) if left == 2 else bias
        left -= 1
        if not left:
            say(type="ready")
    else:
        pc = got["registers"]["rip"]
        lies = low <= (int(pc, 16) - bias) % 2**64 < high
        end = {"root": True} if lies else {"stopped": "no more"}
        say(type="frames", id=got["id"], frames=[{"pc": pc}], **end)
"""


@pytest.fixture
def pushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("right.s").write_text(PUSHES.format(row=KNOWN))
    Path("wrong.s").write_text(PUSHES.format(row=""))
    Path("program.py").write_text(OPENER)


@pytest.mark.usefixtures("pushes")
def test_a_right_table_leads_to_the_caller_from_every_instruction(testbed: Testbed) -> None:
    said = tells(testbed, 0, ("check", "right.s", "-u", "eh_frame", "--format", "json"))
    data = data_of(said.out, "check_unwinders")
    (counted,) = data["files"][0]["unwinders"]
    assert counted["judged"] == counted["whole"] == 12 and counted["lies"] == []


@pytest.mark.usefixtures("pushes")
def test_a_wrong_row_makes_who_reads_it_lie(testbed: Testbed) -> None:
    """At six instructions, from behind the second push to the first pop, and at two of the callee."""
    said = tells(testbed, 1, ("check", "wrong.s", "-u", "eh_frame", "-u", "stack_scan"))
    lines = reversed(said.out.splitlines())  # a row, and at the end a sentence
    by_name = {line.split()[0]: line.split() for line in lines if line.startswith(("eh_", "stack_"))}
    assert by_name["stack_scan"][1] == "12" and by_name["eh_frame"][1:6] == ["4", "33.3", "%", "0", "8"]
    assert "both+0x2: eh_frame: wrong" in said.out
    assert "true both+0x2 < _start+0x3" in said.out


@pytest.mark.usefixtures("pushes")
def test_a_program_is_judged_alike(testbed: Testbed) -> None:
    """What it opens are files, also of a source and of who calls; a lie of it fails, an honest stop does not."""

    def command(low: int, high: int) -> str:
        return shlex.join([sys.executable, "program.py", hex(low), hex(high)])

    said = tells(testbed, 0, ("check", "right.s", "--unwinder-cmd", command(0, 0)))
    *_, row, _, sentence = said.out.splitlines()
    assert row.split() == ["opener", "0", "0", "%", "12", "0", "0"]
    assert sentence == "opener is right at none of 12 instructions, stops honestly at 12."
    tells(
        testbed,
        1,
        ("check", "right.s", "--unwinder-cmd", command(0, 1 << 40), "-f", "callee"),
        out=["callee: opener: ended early", "says callee and claims the root", "true callee < _start+0x3"],
    )
