"""``testbed run``: every step and every unwinder, one site, files by path, pages and pictures."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.cli import COMMANDS, MOVED
from testbed.runs.files import save_run
from testbed.runs.run import run_program
from tests.cli.command import Step, Testbed, data_of, session, tells
from tests.image.macho_files import ARM64_CPU, X86_64_CPU, universal


@pytest.mark.parametrize(
    ("arch", "recipe"), [("x86_64", "clang-asm"), ("arm64", "keystone"), ("arm32", "keystone-thumb")]
)
def test_run_json_follows_its_schema_and_adds_up(testbed: Testbed, arch: str, recipe: str) -> None:
    said = testbed("run", "leaf_call", "--arch", arch, "--recipe", recipe, "--json")
    data = data_of(said.out, "run")
    for name, counts in data["summary"].items():
        outcomes = [data["verdicts"][index]["outcome"] for index in data["steps"]["verdicts"][name]]
        assert counts["sites"] == len(data["steps"]["instruction"]) > 0
        assert counts["exact"] == outcomes.count("exact")
        assert (
            counts["exact"] + counts["foretold"] + counts["unexplained"] + counts["transition"] + counts["undecided"]
            == counts["sites"]
        )
    deepest = max(data["steps"]["activation"])
    names = []
    while data["activations"][deepest]["outer"] is not None:
        names.append(data["activations"][deepest]["caller"])
        deepest = data["activations"][deepest]["outer"]
    assert names[-1] == "_start" and len(names) > 1


def test_run_writes_a_page_and_a_picture(testbed: Testbed, tmp_path: Path) -> None:
    html, svg = tmp_path / "run.html", tmp_path / "run.svg"
    assert testbed("run", "leaf_call", "--arch", "arm64", "-o", str(html), "-o", str(svg)).status == 0
    assert "leaf_call · arm64 · keystone" in html.read_text()
    assert svg.read_text().startswith("<svg")


def test_a_mach_o_file_is_run_and_its_table_printed(testbed: Testbed, tmp_path: Path) -> None:
    parts = [
        (cpu, build(PROGRAMS["recursion"], ARCHES[arch], RECIPES["macho-O2"]).path.read_bytes())
        for cpu, arch in ((X86_64_CPU, "x86_64"), (ARM64_CPU, "arm64"))
    ]
    path = tmp_path / "both"
    path.write_bytes(universal(*parts))
    steps = [
        Step("run {path}", 2, err=["both: at offset 0x4: a universal file with x86_64, arm64: say which (--arch)"]),
        *(
            Step(f"run {{path}} --arch {arch}", out=["compact_unwind", "exit 187", f"both · {arch} · prebuilt"])
            for arch in ("arm64", "x86_64")
        ),
    ]
    session(testbed, steps, path=path)
    said = tells(testbed, 0, ("rows", str(path), "-a", "arm64"), out=["__TEXT,__unwind_info (compact_unwind)"])
    assert re.search(
        r"^descend\nloc +CFA +x19 +x20 +x29 +ra *\n─+\n\w+ +x29\+16 +c-24 +c-32 +c-16 +c-8", said.out, re.M
    )


# Runs in pieces: they are counted and shown as whole ones are.


def summary(out: str) -> list[list[str]]:
    """The lines of the table of unwinders, as words."""
    return [line.split() for line in out.splitlines() if line.rstrip().endswith("%")]


def test_a_run_in_pieces_counts_what_the_whole_run_counts(testbed: Testbed, tmp_path: Path) -> None:
    trace, asked = str(tmp_path / "pieces.trace"), ("-u", "*fp*", "-u", "eh*")
    recursion = ("run", "recursion", "--arch", "arm64")
    whole = tells(testbed, 0, (*recursion, *asked))
    tells(testbed, 0, (*recursion, "--chunk", "50", "-o", trace), out=["in pieces, exit"])
    pieces = tells(testbed, 0, (*recursion, *asked, "--chunk", "50"), out=["looked at in"])
    kept = [tells(testbed, 0, ("run", "--trace", trace, *asked, *more)) for more in ((), ("--chunk", "50"))]
    assert [summary(each.out) for each in (pieces, *kept)] == [summary(whole.out)] * 3 != [[]] * 3
    slow = testbed("run", "leaf_call", "--arch", "arm64", "--chunk", "8")
    assert "lr_leaf" in slow.err and "lr_leaf" not in slow.out


LESS = r"\b(PROLOGUE|EPILOGUE|FRAMELESS), "  # what is told of activations that lie in one piece


def test_one_site_of_a_run_in_pieces_is_shown_as_of_the_whole(testbed: Testbed) -> None:
    for location in ("@17", "leaf+0x4", "middle#1"):
        said = [
            testbed("run", "leaf_call", "--arch", "arm64", "--at", location, *more) for more in ((), ("--chunk", "8"))
        ]
        assert said[0].status == said[1].status == 0
        assert re.sub(LESS, "", said[0].out) == said[1].out


def test_a_long_run_is_taken_in_pieces_by_itself(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testbed.cli.run.WHOLE", 100)
    recursion, trace = "run recursion --arch arm64", tmp_path / "long.trace"
    said = tells(testbed, 0, (*recursion.split(), "-u", "eh_frame"), out=["in 1 piece;"])
    steps = [
        Step(f"{recursion} -o {trace}", out=["in pieces, exit"]),
        Step(f"run --trace {trace} -u eh_frame", out=said.out.splitlines()),
        Step(f"{recursion} --json", 2, err=["--json shows every step"]),
        Step("run leaf_call --arch arm64 -u eh_frame", lacks=["looked at in"]),
        Step("run signal --arch x86_64 -u eh_frame", lacks=["looked at in"]),
        Step(f"{recursion} --budget 150", 2, err=["did not exit within 150 steps"]),
    ]
    session(testbed, steps)


LONG = """// summary: a loop
// exit: 0
volatile unsigned sum;
int main(void) { for (unsigned i = 0; i < %d; i++) sum += i; return 0; }
"""
# The most that this program held: what getrusage says is at least what its parent held, whose copy it was at first.
PEAK = """
import re
from testbed.cli import main
try:
    main()
except SystemExit as exit:
    assert not exit.code
print("MB", int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.parametrize("what", ["judged", "recorded"])
def test_nothing_holds_a_long_run_whole_not_even_to_find_out_that_it_is_long(what: str, tmp_path: Path) -> None:
    """The peak of four times as many steps is not larger. Two million steps, held whole, are some 400 MB."""
    peaks = []
    for rounds in (600_000, 2_400_000):
        source = tmp_path / f"rounds{rounds}.c"
        source.write_text(LONG % rounds)
        given = ["-u", "eh_frame"] if what == "judged" else ["-o", str(tmp_path / "file.trace")]
        start = ["run", str(source), "--arch", "x86_64", "-r", "clang-O2", "--budget", "1000000000", *given]
        said = subprocess.run([sys.executable, "-c", PEAK, *start], capture_output=True, text=True, check=True).stdout
        assert "pieces" in said
        peaks.append(int(said.split()[-1]))
    assert peaks[1] < peaks[0] + 40 and peaks[0] < 400, peaks


def test_a_run_that_ends_within_what_is_held_is_whole_whatever_the_budget(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("run", "leaf_call", "--arch", "arm64", "-u", "eh_frame")
    usual = testbed(*asked)
    for whole, in_pieces in ((24, True), (25, False)):  # it has 25 steps
        monkeypatch.setattr("testbed.cli.run.WHOLE", whole)
        said = tells(testbed, 0, (*asked, "--budget", "3M"))
        assert ("looked at in" in said.out, summary(said.out)) == (in_pieces, summary(usual.out))


# ``testbed run -o FILE.trace``, and ``testbed run`` on what it wrote.


def test_a_recorded_file_is_judged_as_the_run_itself(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "leaf.trace"
    recorded = tells(testbed, 0, ("run", "leaf_call", "--arch", "arm64", "-o", str(file)), out=["exit 42"])
    assert f"{file.stat().st_size:,} bytes" in recorded.out
    for options in ([], ["--json"], ["--at", "leaf"], ["--differences", "-u", "fp_*"]):
        fresh, kept = (
            testbed("run", *what, *options) for what in (("leaf_call", "--arch", "arm64"), ("--trace", str(file)))
        )
        assert fresh.out and kept == fresh, options


def test_a_trace_that_is_where_no_memory_is_is_told_so(testbed: Testbed, tmp_path: Path) -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "clang-asm")
    registers, step = run.trace.registers.copy(), len(run) // 2
    registers[step, run.trace.arch.index[run.trace.arch.pc]] = 0xDEAD_0000
    file = tmp_path / "forged.trace"
    save_run(replace(run, trace=replace(run.trace, registers=registers)), file)
    for options in ([], ["--json"], ["--differences"], ["--at", f"@{step}"], ["-o", str(tmp_path / "page.html")]):
        tells(testbed, 2, ("run", "--trace", str(file), *options), err=[f"no memory at pc 0xdead0000 (step @{step})"])


# What somebody meets who has read only the README: help, narrow terminals, messages that say what to do.


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_help_tells_every_command_in_whole_sentences(
    testbed: Testbed, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = " ".join(testbed("--help").out.split())
    assert [name for name, sentence in COMMANDS.items() if f"{name} {sentence}" not in said] == []


def test_the_map_of_commands_is_true_and_old_names_say_what_replaces_them(testbed: Testbed) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("takes the place of |\n")[2]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", text.partition("\n\n")[0], re.M)
    assert sorted(name for name, _ in rows) == sorted(COMMANDS) and len(COMMANDS) <= 14
    before = {name for _, names in rows for name in re.findall(r"`(\w+)`", names)} - {*COMMANDS}
    assert before | {"completion"} == {*MOVED}
    assert all(words.split()[1] in COMMANDS for name, words in MOVED.items() if name != "completion")
    for name, words in MOVED.items():
        said = tells(testbed, 2, (name, "leaf_call", "--at", "leaf"))
        assert said.err == f"error: there is no `testbed {name}` any more; in its place: {words}\n"


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("60", 60), ("no number", 100), ("0", 100)])
def test_columns_are_honoured_where_there_is_no_terminal(
    testbed: Testbed, columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = testbed("list", "programs").out.splitlines()
    longest = max(len(line) for line in lines if " " in line.strip())  # a name alone may be longer than a line
    assert width - 8 < longest <= width


# Ctrl-C ends a command wherever it arrives, 130 and one word; streams that are closed, or know few signs.

_COMMAND = """
import signal, sys, time, weakref
import click
from testbed import cli

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it


class Something:
    pass


def in_finalizer():
    thing = Something()
    weakref.finalize(thing, signal.raise_signal, signal.SIGINT)
    del thing
    time.sleep(20)


def in_callback():
    import ctypes

    kind = ctypes.CFUNCTYPE(None)
    kind(lambda: signal.raise_signal(signal.SIGINT))()
    time.sleep(20)


def in_compiled_code():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as interrupt:
        raise SystemError("returned a result with an exception set") from interrupt


def somewhere_else():
    raise SystemError("another one")


cli.cli.main = lambda **_: globals()[sys.argv[1]]()
cli.main()
"""


def _done(*command: str, **how: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, text=True, timeout=60, env=environment, stderr=subprocess.PIPE, **how)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    ("where", "status", "told"),
    [
        *((where, 130, "^interrupted\n$") for where in ("in_finalizer", "in_callback", "in_compiled_code")),
        ("somewhere_else", 2, "SystemError: another one"),  # 1 says what was found
    ],
)
def test_an_interrupt_is_never_lost_and_another_error_is_shown(where: str, status: int, told: str) -> None:
    done = _done(sys.executable, "-c", _COMMAND, where)
    assert done.returncode == status and re.search(told, done.stderr), done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
@pytest.mark.parametrize(
    "command", ["run leaf_call --json", "run leaf_call", "list assumptions --json", "--help", "run leaf_cal 2>&-"]
)
def test_a_closed_stream_is_no_mistake_and_a_mistake_shows_in_the_status(closed: str, command: str) -> None:
    done = _done(
        "sh",
        "-c",
        f'"$0" -c "from testbed.cli import main; main()" {command} {closed}',
        sys.executable,
        stdout=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (2 if "leaf_cal " in command else 0, "")


def _printed(words: str, **environment: str) -> bytes:
    """What a command in a process of its own prints."""
    command = [sys.executable, "-m", "testbed.cli", *words.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_lines_and_arrows_gets_similar_signs(encoding: str) -> None:
    lines, similar = (
        _printed("run leaf_call --arch arm64", PYTHONIOENCODING=name).decode(name).splitlines()
        for name in ("utf-8", encoding)
    )
    text = "".join(similar)
    assert "?" not in text and text.isascii() == (encoding == "ascii")
    marks = [line for line in lines if line.startswith("  11 ")]
    assert marks and marks == [line for line in similar if line.startswith("  11 ")]
    assert [len(line) for line in lines[:30]] == [len(line) for line in similar[:30]]


def test_lines_in_a_pipe_end_where_their_text_ends() -> None:
    for words in ("run leaf_call", "list assumptions -u fp_chain", "run leaf_call --at leaf --machine"):
        said = _printed(words).decode()
        assert len(said) > 500 and not [line for line in said.splitlines() if line != line.rstrip()]
