"""Mistakes of users: each gets one clear message and status 2, never a traceback."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

import testbed
from programs import PROGRAMS
from testbed.cli import COMMANDS, cli, terminal
from testbed.cli.terminal import long_work
from testbed.contract.unwinder import Unwinder
from testbed.native import machine_code
from testbed.native.machine_code import VARIABLE
from testbed.referee import REFEREE_OF, REFEREES
from testbed.report import stepper, timeline
from testbed.words.errors import ToolchainMissing
from testbed.words.printable import printable, printable_lines
from tests import corpus
from tests.cli.command import HEAD, NEVER_ENDS, Testbed, tells
from tests.corpus import referees_unwinder, script

BUILT = "a program file"
SOURCE = PROGRAMS["leaf_call"].sources["arm64"].path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "leaf_cal"], "no program 'leaf_cal'; did you mean leaf_call"),
        (["run", "leaf_call", "--arch", "riscv64"], "did you mean arm64? there are: x86_64, arm64, arm32"),
        (["run", "leaf_call", "--arch", "thumb"], "'thumb' is an instruction set of arm32"),
        (["run", "leaf_call", "--arch", "arm64", "--recipe", "keyston"], "no recipe 'keyston'; did you mean keystone"),
        (["run", "leaf_call", "--arch", "arm64", "--recipe", "clang-O2"], "does not build leaf_call on arm64"),
        (
            ["run", "leaf_call", "--arch", "arm64", "-u", "fp_chian"],
            "no unwinder matches 'fp_chian'; did you mean fp_chain",
        ),
        (
            ["run", "leaf_call", "--arch", "arm64", "--at", "laef"],
            "no symbol 'laef'; did you mean leaf",
        ),
        (["run", "leaf_call", "--arch", "arm64", "--at", "leaf#9"], "is executed once in this run"),
        (["run", "leaf_call", "--at", "leaf", "--json"], "--json is of the whole run: not with --at"),
        (["run", "leaf_call", "--at", "leaf", "-o", "a.svg"], "-o a.svg is of the whole run: not with --at"),
        (
            ["run", "leaf_call", "--at", "main+0x3"],
            "never executed in this run: it lies inside the instruction at main+0x1; near it are executed _start",
        ),
        (["run", "leaf_call", "-o", "-"], "-o -: the end of its name says what to write (.html: a page"),
        (["run", "leaf_call", "--html", "x"], "no option --html any more; in its place: -o FILE.html"),
        (["run", "leaf_call", "--recipe", ""], "no recipe ''; "),
        (["check", "f.S", "--format", "xml"], "--format cannot be 'xml'; did you mean html"),
        (["check", "f.S", "-o", "page.sarrif"], "-o page.sarrif: did you mean .sarif"),
        (["matrix", "--known-bugs", "--report", "nothing", "."], "no report 'nothing'; "),
        (["matrix", "--known-bugs", "--try"], "--try runs the command of a report"),
        (["list", "programs", "-u", "x"], "-u goes with assumptions, not with programs"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "@99999"], "this run has the steps"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "1 + 1"], "is no location"),
        (["run", "interworking", "--arch", "x86_64"], "interworking does not exist for x86_64"),
        (["run", "./nowhere.c"], "no file"),
        (["run", "leaf_call", "--budget", "0"], "'--budget': 0 is not in the range"),
        (["run", "leaf_call", "--budget", "4.5"], "'4.5' is no number of steps: 4000000, 4,000,000 and 4M are"),
        (["run", "leaf_call", "--budget", "1e999"], "'1e999' is no number of steps"),
        (["run", "leaf_call", "--cross-check", "--budget", "-3"], "'--budget': -3 is not in the range"),
        (["run", "./program", "-l"], "error: no option -l; what is not for testbed stands behind --"),
        (["matrix", "-p", "nothing*"], "no program matches"),
        (["matrix", "-p", "leaf_call", "-r", "clang-O2"], "no program is built that way"),
        (["matrix", "-p", "recursion", "-r", "gcc-O3"], "only --all has these units"),
        (["run", "leaf_call", "--outptu"], "no option --outptu; did you mean --output"),
        (["list", "progams"], "WHAT cannot be 'progams'; did you mean programs"),
        (["serve"], "no `testbed serve` any more; in its place: testbed edit"),
        (["generate", "7", "-l", "c"], "in its place: testbed fuzz --write SEED"),
        (["list", "arches", "--clear"], "--clear goes with cache, not with arches"),
        (["list"], "WHAT is missing; there are: programs, unwinders"),
        (["mtrix"], "no command 'mtrix'; did you mean matrix"),
        (["show", "leaf_call"], "in its place: testbed run PROGRAM --at PLACE --machine"),
        (["run", "leaf_call", "--cross-check", "-u", "x"], "--unwinder does not go with --cross-check"),
        (["run"], "error: PROGRAM is missing"),
        (["matrix", "-r", "typo"], "such as keystone, clang-asm"),
        (
            ["backtrace", "leaf_call", "--at", "leaf", "-u", "eh_fram"],
            "no unwinder matches 'eh_fram'; did you mean eh_frame",
        ),
        (["backtrace", "leaf_call", "--at", "leav"], "no symbol 'leav'; did you mean leaf"),
        (["backtrace", "leaf_call", "--at", "leaf", "-s", "none"], "--style cannot be 'none'; "),
        (["run", "leaf_call", "--step"], "--step needs a terminal"),
        (["list", "assumptions", "-u", "eh_fram"], "no unwinder matches 'eh_fram'; did you mean eh_frame"),
        (["backtrace", "leaf_call"], "where in leaf_call? --at LOCATION, or --judge for all of it"),
        (["backtrace", "leaf_call", "--at", "leaf", "--sysroot", "."], "--sysroot does not go with --at: leave it out"),
        (["backtrace", "a.core", "--seed", "2"], "--seed does not go with a snapshot: leave it out"),
        (["backtrace", "leaf_call", "--at", "leaf", "-u", "*_frame"], "-u says who finds the frames: one, not"),
        (["export", "leaf_call"], "export what? PROGRAM --at LOCATION, or --vectors DIR"),
        (["export", "leaf_call", "--vectors", "d"], "choose some by -p"),
        (["export", "leaf_call", "--at", "@0", "-a", "arm64", "-a", "arm32"], "one snapshot is of one --arch"),
        (["export", "--vectors", "d", "--at", "@0"], "--at does not go with --vectors: leave it out"),
        (["check", "leaf_call", "--executed", "--fix"], "--fix does not go with --executed: leave it out"),
        (["check", "leaf_call", "other", "--executed"], "--executed takes one program"),
        (["check", "leaf_call", "--executed", "--arch", "arm64", "-t", "orc"], "has no table that an unwinder reads"),
        (["score", "-u", "nobody"], "no unwinder matches 'nobody'"),
        (["score", "-u", "ehabi", "-a", "x86_64"], "not for any of these architectures"),
        (["score", "-a", "vax"], "no architecture 'vax'"),
        (["score", "-o", "x.svg", "-a", "arm64"], "a badge is of one unwinder"),
        (["score", "--versions", "gdb", "--json"], "--json does not go with --versions"),
        (["run", "--trace", __file__], "no trace file of testbed"),
        (["run", "--trace", "gone"], "No such file"),
        (["run", "leaf_call", "--trace", __file__], "takes the place of PROGRAM"),
        (["run", BUILT, "--frame-record", "r11-gc"], "is no frame record of x86_64"),
        (["run", "leaf_call", "--frame-record", "r11-gcc"], "--frame-record is for program files; the header of leaf"),
        (["run", "leaf_call", "--convention", "go"], "--convention is for program files; the header of leaf_call says"),
        (["run", "leaf_call", "-o", "no/file.trace"], "cannot be written"),
        (["run", "leaf_call", "-o", "a.trace", "-o", "a.html"], "-o FILE.trace only records"),
        (["run", "leaf_call", "-o", "a.trace", "--explain"], "--explain does not go with -o FILE.trace"),
        (["protocol", "--example", "c"], "belong together"),
        (["protocol", "--check"], "--check takes one --unwinder-cmd"),
        (["protocol", "--check", "--unwinder-cmd", "./nothing"], "does not start"),
        (["check", "f.s", "-u", "eh_frame", "-o", "page.html"], "--format html is of tables"),
        (["check", "f.s", "-u", "eh_frame", "--format", "sarif"], "--format sarif is of tables"),
        (["check", "f.s", "-u", "eh_frame", "--baseline", "known.json"], "are of tables"),
        (["check", "f.s", "-u", "eh_frame", "-t", "eh_frame"], "are of tables"),
        (["check", str(SOURCE), "-u", "ehabi"], "it has nothing for arm64"),
    ],
)
def test_a_mistake_gets_one_message_and_status_2(
    testbed: Testbed, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    built = corpus.built("leaf_call", "x86_64", "keystone").path
    tells(testbed, 2, (str(built) if each == BUILT else each for each in arguments), err=[message])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("typo.x86_64.S", "// sumary: x\n", r"typo\.x86_64\.S:1: unknown header key 'sumary'; did you mean summary"),
        ("wrong.x86_64.S", HEAD + ".intel_syntax noprefix\n_start:\n  movv rax, rbx\n", r"wrong\.x86_64\.S:6:\d+: "),
        ("wrong.c", HEAD + "int main(void) { return x; }\n", r"wrong\.c:4:25: error: use of undeclared identifier"),
        ("noisa.S", HEAD, "a program's source is named NAME.c or NAME.ISA.S .*`testbed check noisa.S`"),
        ("loop.x86_64.S", HEAD + NEVER_ENDS, r"did not exit within 500 steps.*last steps:"),
        (
            "status.x86_64.S",
            HEAD + NEVER_ENDS.replace(" jmp _start", " mov edi, 3\n mov eax, 60\n syscall"),
            "exit status 3; the header of status.x86_64.S says 0",
        ),
        ("text.elf", "\xe9t\xe9: no ELF file", "text.elf is no program file. .* testbed run INTERPRETER -- "),
        ("text.cpp", "int main() {}", r"text\.cpp is a source: g\+\+ -g .*text\.cpp -o text; testbed run \./text"),
        ("other.elf", "\0 is no ELF file", "other.elf: at offset 0x0: not an ELF file"),
        ("cut.elf", "\x7fELF\x02\x01\x01", "cut.elf: at offset 0x0: corrupt ELF structure"),
    ],
)
def test_a_bad_file_gets_one_message_that_names_the_place(
    testbed: Testbed, tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    said = tells(testbed, 2, ("run", str(path), "--budget", "500"))
    assert re.search(message, said.err, re.S), said.err
    assert "Traceback" not in said.err


def test_what_is_called_nearly_so_is_named(testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy("/bin/true", "server")
    Path("other.cpp").write_text("int main() {}")
    tells(testbed, 2, ("run", "./serve"), err=["no file './serve'; did you mean server?"])
    tells(testbed, 2, ("run", "other.cp"), err=["no program 'other.cp'; did you mean other.cpp?"])
    tells(testbed, 2, ("run", "dash"), err=[f"no program 'dash'; did you mean {shutil.which('dash')}?"])
    against = ("run", "./server", "--sample", "9", "--against", "other.cpp")
    tells(testbed, 2, against, err=["--against other.cpp: no ELF file"])


@pytest.mark.usefixtures("own_cache")
def test_a_missing_toolchain_says_what_to_install(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)

    def no_zig() -> Path:
        raise ToolchainMissing("clang (ziglang)", "pip install ziglang==0.17.0")

    monkeypatch.setattr("testbed.build.compile.find_zig", no_zig, raising=True)
    tells(testbed, 2, ("run", "recursion", "--arch", "arm64"), err=["pip install ziglang"])


def test_the_cache_command_says_how_its_folder_is_chosen(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "TESTBED_CACHE" in testbed("list", "--help").out
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "mine"))
    assert testbed("list", "cache").out.startswith(f"{tmp_path / 'mine'} (--clear")


# What a shell is told when it asks for names.


ROOT = Path(__file__).parents[2]


def names(*words: str) -> list[str]:
    """What completes the last of some words."""
    found = BashComplete(cli, {}, "testbed", "_TESTBED_COMPLETE").get_completions(list(words[:-1]), words[-1])
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ru",), ["run"]),
        (("run", "./mine"), ["./mine"]),  # a path, where no program is meant
        (("run", "leaf_n"), ["leaf_no_frame"]),
        (("run", "leaf_call", "-a", "arm"), ["arm64", "arm32"]),
        (("run", "leaf_call", "-r", "clang-thumb-Os"), ["clang-thumb-Os", "clang-thumb-Os-fp"]),
        (("matrix", "-u", "prologue"), ["prologue_analysis"]),
        (("matrix", "-p", "leaf_n"), ["leaf_no_frame"]),
        (("gdb", "leaf_n"), ["leaf_no_frame"]),
        (("rows", "leaf_call", "-f", "sfr"), ["sframe"]),
        (("matrix", "--known-bugs", "minidump"), ["minidump_stackwalk"]),
        (("list", "prog"), ["programs"]),
        (("run", "leaf_call", "--diff"), ["--differences"]),
    ],
)
def test_names_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    assert names(*words) == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="apt-get install bash")
def test_bash_asks_the_command(tmp_path: Path) -> None:
    script(tmp_path / "testbed", f'#!/bin/sh\nexec {sys.executable} -m testbed.cli "$@"\n')
    asks = BashComplete(cli, {}, "testbed", "_TESTBED_COMPLETE").source() + (
        'COMP_WORDS=(testbed run leaf_n); COMP_CWORD=2; _testbed_completion testbed; echo "${COMPREPLY[@]}"\n'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", asks], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["leaf_no_frame"], done.stderr


# Names from files on a terminal: nothing in them moves the cursor.


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
    """Of what is in it, and its own."""
    content = corpus.built("leaf_call", "x86_64", "clang-asm").path.read_bytes()
    assert content.count(b"\0middle\0") == 1
    path = tmp_path / "we ird\nna\x1b[2Jme"
    path.write_bytes(content.replace(b"\0middle\0", b"\0\x1b[2Jx\r\0"))
    said = testbed(command[0], str(path), *command[1:])
    assert said.status in (0, 1), said.err
    assert not {"\x1b", "\r", "\x9b"} & set(said.out + said.err)
    assert not any(line.startswith("na") for line in (said.out + said.err).splitlines())
    assert "\\x1b[2Jx\\r" in said.out or command[0] not in ("run", "rows")
    assert "we ird\\nna\\x1b[2Jme" in said.out or command[0] != "run"


@pytest.mark.parametrize("options", [[], ["--trace"]])
def test_a_message_about_a_file_is_spelled_too(testbed: Testbed, options: list[str]) -> None:
    said = tells(testbed, 2, ("run", *options, "/no\x1b[2J.elf"), err=["no\\x1b[2J.elf"])
    assert "\x1b" not in said.err


# Output files are tried before the work; where writing fails after all, the result is still printed.


@pytest.mark.parametrize(
    "command", ["run leaf_call", "matrix -p leaf_call", "fuzz --write 3", "export leaf_call --at @0"]
)
def test_a_file_that_cannot_be_written_is_told_before_the_work(testbed: Testbed, tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "pipe.svg")
    tells(testbed, 2, ("export", "--vectors", str(tmp_path / "pipe.svg")), err=["exists, and is no folder: name a new"])
    for name in ("nowhere/x.svg", "pipe.svg", f"{'n' * 300}.svg", "."):
        said = tells(testbed, 2, (*command.split(), "--output", str(tmp_path / name)))
        assert said.out == "" and (name == "." or "cannot be written" in said.err), name


def test_what_cannot_be_written_in_the_end_loses_nothing(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stepper, "write_stepper", full)
    monkeypatch.setattr(timeline, "write_timeline", full)
    whole = testbed("run", "leaf_call")
    status, out, err = testbed(
        *("run", "leaf_call", "-o", "a.html", "-o", "a.timeline.json"),
    )
    assert (status, out) == (2, whole.out)
    assert err.count("No space left on device") == 2


# Progress: a line every few seconds where no bar can be.


def test_off_a_terminal_there_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter(range(0, 100, 2))
    monkeypatch.setattr(terminal.time, "monotonic", lambda: float(next(now)))
    with long_work("judging\n", "units", 1_500) as work:
        for name in work.each("abcdefgh"):
            assert name
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [f"judging\\n: {n} of 1,500 units, {2 * n + 2} s" for n in (3, 6)]


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with long_work("recording x", "steps") as work:
        work.at(70)
    assert (str(work), capsys.readouterr().err) == ("70 steps", "")


def test_the_first_work_of_all_is_told_to_wait_for_the_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(terminal.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv(machine_code.VARIABLE, str(tmp_path))
    for told in (True, False):
        with long_work("recording x", "steps"):
            pass
        assert ("compiling what judges" in capsys.readouterr().err) is told
        machine_code.keep(machine_code.file_of("a" * 64, "f", "1" * 64), b"code")


# Starting costs what was asked for: which files are opened and which modules are loaded, in a process of its own.


_WATCHED = """
import json, sys
opened, modules = [], lambda: sorted(sys.modules)
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
from testbed.cli import main
if len(sys.argv) > 1:
    try:
        main()
    except SystemExit as done:
        if done.code:
            raise
print(json.dumps([opened, modules()]), file=sys.stderr)
"""


@dataclass(frozen=True)
class Started:
    """What one process opened below the corpus, by name, and every module that it loaded."""

    sources: frozenset[str]
    modules: frozenset[str]

    def of(self, *packages: str) -> set[str]:
        """The modules of some packages."""
        return {module for module in self.modules for each in packages if f"{module}.".startswith(f"{each}.")}


@cache
def started(*arguments: str) -> Started:
    """The command in a fresh process; without arguments the command line is imported, and no more."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    opened, modules = json.loads(done.stderr.splitlines()[-1])
    paths = [Path(name) for name in opened]
    return Started(
        frozenset(path.name for path in paths if path.parent.name == "programs" and path.suffix in (".c", ".cc", ".S")),
        frozenset(modules),
    )


LIBRARIES = ("numpy", "unicorn", "capstone", "keystone", "elftools", "numba", "jinja2", "zstandard", "pydemumble")
OURS = ("testbed.generate", "testbed.referee", "testbed.build", "testbed.machine", "testbed.image", "unwinders")
FOLDERS = sorted(path.parent.name for path in (ROOT / "testbed/referee").glob("*/unwinder.py"))
NOTHING = (*LIBRARIES, *OURS, "rich", "programs", "testbed.arch", "importlib.metadata")
LEAF = {path.path.name for path in PROGRAMS["leaf_call"].sources.values()}
RUN = "run leaf_call --arch arm64"


@pytest.mark.parametrize(
    ("command", "sources", "without", "but"),
    [
        *((command, set(), NOTHING, ()) for command in ("", "--help", "-h")),  # the command line itself loads nothing
        ("list arches", set(), (*LIBRARIES, "programs", *OURS), ()),
        ("list unwinders", set(), ("testbed.generate", "testbed.referee", "testbed.machine", "programs"), ()),
        (RUN, LEAF, tuple(f"testbed.referee.{room}" for room in ("process", *FOLDERS)), ()),
        (RUN, LEAF, ("numba", "llvmlite", "numpy.ma", "jinja2", "multiprocessing"), ()),
        (RUN, LEAF, ("testbed.report.matrix_text", "testbed.image.macho", "testbed.image.debug.lines"), ()),
        (RUN, LEAF, ("testbed.generate",), ("", ".seeds", ".shape", ".evaluate")),  # what a name stands for
        (f"{RUN} -u fp_chain", LEAF, ("unwinders.chains",), ("", ".fp_chain")),  # an unwinder is loaded alone
        (f"{RUN} -u fp_chain", LEAF, ("unwinders.tables", "unwinders.analysis", "unwinders.scans"), ()),
    ],
)
def test_a_command_reads_and_loads_what_it_needs(
    command: str, sources: set[str], without: tuple[str, ...], but: tuple[str, ...]
) -> None:
    process = started(*command.split())
    assert process.sources == sources
    assert process.of(*without) <= {without[0] + each for each in but}


def test_a_check_of_one_function_waits_for_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise SystemError('the compiler was loaded')")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", VARIABLE: str(tmp_path)}
    command = [sys.executable, "-m", "testbed.cli", "check", str(ROOT / "docs/examples/sum.S"), "--arch", "arm64"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1 and "sum+0x10" in done.stdout, done.stderr


def test_one_real_unwinder_is_looked_for_alone() -> None:
    referees_unwinder("libdw", "libdw")
    process = started("run", "leaf_call", "--arch", "arm64", "-u", "libdw")
    assert process.of("testbed.referee.libdw")
    assert process.of(*(f"testbed.referee.{folder}" for folder in FOLDERS if folder != "libdw")) == set()


# What the tables say beside the code is what the code says.


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_each_command_by_its_own_first_sentence(name: str) -> None:
    command = import_module(f"testbed.cli.{name}").command
    assert isinstance(command, click.Command)
    for width in (20, 45, 80, 1000):
        assert click.Command(name, help=COMMANDS[name]).get_short_help_str(width) == command.get_short_help_str(width)


def test_the_catalogue_of_referees_knows_their_unwinders() -> None:
    assert all(name == referee.name for name, referee in REFEREES.items())
    there = {unwinder.name: name for name, referee in REFEREES.items() for unwinder in referee.unwinders}
    assert there == dict(REFEREE_OF)
    assert list(there) == list(REFEREE_OF), "in the same order"


def test_the_programs_are_called_as_the_catalogue_says() -> None:
    assert all(name == program.name for name, program in PROGRAMS.items())


def test_the_front_door_gives_what_it_declares() -> None:
    """Type checkers read imports, Python a table: both name the same values."""
    tree = ast.parse(Path(testbed.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    declared = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for name in testbed.__all__:
        value = getattr(testbed, name)
        if name in declared:
            assert value is getattr(import_module(str(declared[name])), name)
        assert name in dir(testbed)
    assert testbed.Unwinder is Unwinder
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        assert testbed.nothing  # type: ignore[attr-defined]
