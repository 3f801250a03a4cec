"""The command line as a user meets it: output, exit status, and one clear message for each mistake."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from junitparser import JUnitXml

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.cli import main
from testbed.referee import REFEREES
from testbed.report.data import schema
from unwinders import UNWINDERS


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str


Testbed = Callable[..., Said]


@pytest.fixture
def testbed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Testbed:
    """Run the command as `testbed ARGUMENTS` does, in this process."""

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["testbed", *arguments])
        monkeypatch.setenv("NO_COLOR", "1")
        status: object = 0
        try:
            main()
        except SystemExit as done:
            status = done.code or 0
        printed = capsys.readouterr()
        assert isinstance(status, int)
        return Said(status, printed.out, printed.err)

    return run


def test_run_prints_every_step_and_every_strategy_in_100_columns(testbed: Testbed) -> None:
    said = testbed("run", "leaf_call", "--arch", "arm64")
    assert said.status == 0, said.err
    steps = [int(m[1]) for m in re.finditer(r"^ *(\d+) +\S+.*", said.out, re.M)]
    data = json.loads(testbed("run", "leaf_call", "--arch", "arm64", "--json").out)
    assert steps[: len(data["steps"])] == [step["step"] for step in data["steps"]]
    assert max(map(len, said.out.splitlines())) <= 100
    for name in ("fp_chain", "eh_frame"):
        assert name in said.out
    assert "First difference of fp_chain: at step" in said.out
    assert "\x1b" not in said.out


@pytest.mark.parametrize(
    ("arch", "recipe"), [("x86_64", "clang-asm"), ("arm64", "keystone"), ("arm32", "keystone-thumb")]
)
def test_run_json_follows_its_schema_and_adds_up(testbed: Testbed, arch: str, recipe: str) -> None:
    said = testbed("run", "leaf_call", "--arch", arch, "--recipe", recipe, "--json")
    data = json.loads(said.out)
    jsonschema.validate(data, schema("run"))
    for name, counts in data["summary"].items():
        outcomes = [step["verdicts"][name]["outcome"] for step in data["steps"]]
        assert counts["sites"] == len(data["steps"]) > 0
        assert counts["exact"] == outcomes.count("exact")
        assert counts["exact"] + counts["explained"] + counts["unexplained"] + counts["transition"] == counts["sites"]
    assert [frame["function"] for step in data["steps"] for frame in step["truth"]][-1] == "_start"


def test_run_chooses_strategies_by_glob(testbed: Testbed) -> None:
    data = json.loads(testbed("run", "leaf_call", "--arch", "arm64", "-u", "fp_*", "--json").out)
    assert set(data["summary"]) == {name for name in UNWINDERS if name.startswith("fp_")}


def test_run_at_a_location_shows_each_strategy_beside_the_truth(testbed: Testbed) -> None:
    said = testbed("run", "leaf_call", "--arch", "arm64", "--at", "leaf")
    assert said.status == 0, said.err
    assert "the true stack" in said.out
    assert "SKIPPED" in said.out  # fp_chain at a function's first instruction
    assert "_start" in said.out


def test_run_takes_a_source_and_an_elf_file_by_path(testbed: Testbed, tmp_path: Path) -> None:
    source = PROGRAMS["leaf_call"].sources["x86_64"]
    copy = tmp_path / "mine.x86_64.S"
    copy.write_text(source.text)
    assert testbed("run", str(copy)).status == 0
    from testbed.arch import ARCHES
    from testbed.build import build
    from testbed.build.recipes import RECIPES

    elf = build(PROGRAMS["leaf_call"], ARCHES["arm64"], RECIPES["clang-asm"]).path
    said = testbed("run", str(elf))
    assert said.status == 0, said.err
    assert "prebuilt" in said.out
    said = testbed("run", str(elf), "--arch", "x86_64")
    assert (said.status, "is for arm64, not x86_64" in said.err) == (2, True)
    assert "already built" in testbed("run", str(elf), "--recipe", "keystone").err


@pytest.mark.parametrize("pieces", [(), ("--chunk", "20")])
def test_declared_frames_that_were_not_watched_fail_the_run(
    testbed: Testbed, tmp_path: Path, pieces: tuple[str, ...]
) -> None:
    source = PROGRAMS["leaf_call"].sources["arm64"]
    said = testbed("run", str(source.path), *pieces, "-u", "eh_frame")
    assert (said.status, said.err.strip()) == (0, "")
    lines = source.text.splitlines()
    line = next(i for i, text in enumerate(lines) if text.startswith("// frames: leaf = "))
    lines[line] = "// frames: leaf = leaf, _start"
    copy = tmp_path / source.path.name
    copy.write_text("\n".join(lines))
    said = testbed("run", str(copy), *pieces, "-u", "eh_frame")
    assert said.status == 1
    assert f"{copy}:{line + 1}: leaf (step " in said.err
    assert "declared leaf, _start; watched leaf, " in said.err
    assert "eh_frame" in said.out, "the verdicts are shown all the same"


def test_a_return_address_is_named_after_the_function_that_called(testbed: Testbed) -> None:
    """The call in `work` never returns: its return address is the first of the next function."""
    said = testbed("run", "noreturn_last_call", "--arch", "arm64", "--recipe", "clang-O2", "--at", "finish")
    assert re.search(r"^1 +work\+0x[0-9a-f]+ ", said.out, re.M), said.out


def test_run_writes_a_page_and_a_picture(testbed: Testbed, tmp_path: Path) -> None:
    html, svg = tmp_path / "run.html", tmp_path / "run.svg"
    assert testbed("run", "leaf_call", "--arch", "arm64", "--html", str(html), "--svg", str(svg)).status == 0
    assert "leaf_call · arm64 · keystone" in html.read_text()
    assert svg.read_text().startswith("<svg")


def test_matrix_writes_what_it_prints(testbed: Testbed, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"matrix.{kind}" for kind in ("json", "html", "junit", "svg")}
    options = [part for kind, path in files.items() for part in (f"--{kind}", str(path))]
    said = testbed("matrix", "-p", "leaf_call", "-p", "tail_call", "-r", "clang-asm*", "-j", "2", *options)
    assert said.status == 0, said.out + said.err
    assert max(map(len, said.out.splitlines())) <= 100
    data = json.loads(files["json"].read_text())
    jsonschema.validate(data, schema("matrix"))
    assert data["complete"]
    assert data["totals"]["sites"] == sum(cell["sites"] for cell in data["cells"]) > 0
    assert data["totals"]["unexplained"] == 0
    xml = JUnitXml.fromfile(str(files["junit"]))
    assert sum(suite.tests for suite in xml) == len(data["cells"])
    page = files["html"].read_text()
    assert "leaf_call" in page
    assert "src=" not in page
    assert "href=" not in page  # self-contained
    picture = files["svg"].read_text()
    assert "leaf_call" in picture
    assert "font-face" not in picture  # no web font: the picture needs no network


def test_the_whole_matrix_has_what_the_selection_leaves_out(testbed: Testbed, tmp_path: Path) -> None:
    out = tmp_path / "matrix.json"
    chosen = ("-p", "switch_table", "-a", "x86_64", "-r", "clang-O3", "-r", "clang-O2", "-j", "1", "--json", str(out))
    recipes = []
    for options in ((), ("--all",)):
        said = testbed("matrix", *chosen, *options)
        assert said.status == 0, said.out + said.err
        data = json.loads(out.read_text())
        recipes.append({cell["recipe"] for cell in data["cells"]})
        (tools,) = data["tools"]
        assert tools["recipes"] == sorted(recipes[-1]) and tools["version"].startswith("ziglang 0.")
    assert recipes == [{"clang-O2"}, {"clang-O2", "clang-O3"}]


def test_a_missing_compiler_is_a_skip_that_names_its_package(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    said = testbed("matrix", "-p", "recursion", "-a", "arm64", "-r", "gcc-O2", "-r", "clang-O2", "-j", "1")
    assert said.status == 0, said.out + said.err
    assert "1 skipped" in said.out
    assert "apt-get install gcc-12-aarch64-linux-gnu" in " ".join(said.out.split())
    listed = testbed("list", "recipes")
    assert listed.status == 0
    assert "gcc-12-arm-linux-gnueabihf (not installed)" in listed.out


def test_matrix_in_one_process_or_two_is_the_same(testbed: Testbed, tmp_path: Path) -> None:
    results = []
    for jobs in ("1", "2"):
        out = tmp_path / f"{jobs}.json"
        said = testbed("matrix", "-p", "leaf_*", "-a", "x86_64", "-r", "keystone", "-j", jobs, "--json", str(out))
        assert said.status == 0, said.out
        results.append(json.loads(out.read_text()))
    assert results[0] == results[1]
    assert {cell["program"] for cell in results[0]["cells"]} == {"leaf_call", "leaf_no_frame"}
    assert {"fp_chain", "eh_frame"} <= {cell["unwinder"] for cell in results[0]["cells"]}


def test_table_prints_the_rows_of_a_program(testbed: Testbed) -> None:
    said = testbed("table", "leaf_call", "--arch", "x86_64", "-f", "eh_frame")
    assert said.status == 0, said.err
    rows = [line.split() for line in said.out.partition("\nleaf\n")[2].splitlines()[2:6]]
    start = int(rows[0][0], 16)
    assert [(int(loc, 16) - start, cfa, rbp, ra) for loc, cfa, rbp, ra in rows] == [
        (0, "rsp+8", "u", "c-8"),
        (1, "rsp+16", "c-16", "c-8"),
        (4, "rbp+16", "c-16", "c-8"),
        (12, "rsp+8", "u", "c-8"),
    ]


def test_table_of_a_file_without_tables_says_so(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "bare.arm64.S"
    path.write_text(HEAD + ".type _start, %function\n_start:\n  ret\n.size _start, . - _start\n")
    said = testbed("table", str(path), "-f", "*frame*")
    assert said.status == 2
    assert "no table that a strategy reads" in said.err


def test_table_compare_puts_formats_side_by_side(testbed: Testbed) -> None:
    said = testbed("table", "leaf_call", "--arch", "arm32", "--compare")
    assert said.status == 0, said.err
    assert "debug_frame, ehabi side by side" in " ".join(said.out.split())
    assert re.search(
        r"^    ehabi +CFA r11\+8, ra c-4 +CFA 0x[0-9a-f]+, to 0x[0-9a-f]+   false, PROLOGUE$", said.out, re.M
    )
    assert max(len(line) for line in said.out.splitlines()) <= 100


def test_table_compare_needs_two_tables(testbed: Testbed) -> None:
    said = testbed("table", "leaf_call", "--arch", "arm64", "--compare", "-f", "sframe")
    assert said.status == 2
    assert "too few tables to compare: sframe" in said.err


def test_table_compare_of_a_file_that_cannot_run_compares_what_stands_there(testbed: Testbed) -> None:
    library = next(iter(sorted(Path("/lib/x86_64-linux-gnu").glob("libm.so.6"))), None)
    if library is None:
        pytest.skip("there is no x86_64 libm here: apt-get install libc6")
    said = testbed("table", str(library), "--compare")
    assert said.status == 0, said.err
    assert "Not run:" in said.out


def test_a_damaged_table_is_one_message(testbed: Testbed, tmp_path: Path) -> None:
    built = build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["keystone"])
    content = bytearray(built.path.read_bytes())
    content[built.image.sections[".sframe"].offset] ^= 0xFF
    path = tmp_path / "damaged.elf"
    path.write_bytes(content)
    for options in (("--compare",), ("-f", "sframe")):
        said = testbed("table", str(path), *options)
        assert said.status == 2
        assert ".sframe+0x0: the magic number is" in said.err


@pytest.mark.parametrize("what", ["programs", "unwinders", "recipes", "arches"])
def test_list_prints_each_catalogue(testbed: Testbed, what: str) -> None:
    said = testbed("list", what)
    assert said.status == 0
    expected = {"programs": "leaf_call", "unwinders": "eh_frame", "recipes": "clang-O2", "arches": "thumb"}
    assert expected[what] in said.out


def test_cache_says_where_it_is(testbed: Testbed) -> None:
    assert re.search(r"\d+ files, [\d.]+ MB", testbed("cache").out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "leaf_cal"], "no program 'leaf_cal'; did you mean leaf_call"),
        (["run", "leaf_call", "--arch", "arm65"], "no architecture 'arm65'; did you mean arm64"),
        (["run", "leaf_call", "--arch", "thumb"], "'thumb' is an instruction set of arm32"),
        (["run", "leaf_call", "--arch", "arm64", "--recipe", "keyston"], "no recipe 'keyston'; did you mean keystone"),
        (["run", "leaf_call", "--arch", "arm64", "--recipe", "clang-O2"], "does not build leaf_call on arm64"),
        (
            ["run", "leaf_call", "--arch", "arm64", "-u", "fp_chian"],
            "no strategy matches 'fp_chian'; did you mean fp_chain",
        ),
        (["run", "leaf_call", "--arch", "arm64", "--at", "laef"], "no symbol 'laef'; did you mean leaf"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "leaf#9"], "times in this run"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "@99999"], "this run has the steps"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "1 + 1"], "is no location"),
        (["run", "interworking", "--arch", "x86_64"], "interworking does not exist for x86_64"),
        (["run", "./nowhere.c"], "no file"),
        (["matrix", "-p", "nothing*"], "no program matches"),
        (["matrix", "-p", "leaf_call", "-r", "clang-O2"], "no program is built that way"),
        (["matrix", "-p", "recursion", "-r", "gcc-O3"], "only --all has these units"),
        (["run", "leaf_call", "--nonsense"], "No such option"),
    ],
)
def test_a_mistake_gets_one_message_and_status_2(testbed: Testbed, arguments: list[str], message: str) -> None:
    said = testbed(*arguments)
    assert said.status == 2
    assert message in said.err
    assert "Traceback" not in said.err


HEAD = "// summary: a test\n// exit: 0\n\n"
NEVER_ENDS = (
    ".intel_syntax noprefix\n.globl _start\n.type _start, @function\n_start:\n jmp _start\n.size _start, . - _start\n"
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("typo.x86_64.S", "// sumary: x\n", r"typo\.x86_64\.S:1: unknown header key 'sumary'; did you mean summary"),
        ("wrong.x86_64.S", HEAD + ".intel_syntax noprefix\n_start:\n  movv rax, rbx\n", r"wrong\.x86_64\.S:6:\d+: "),
        ("wrong.c", HEAD + "int main(void) { return x; }\n", r"wrong\.c:4:25: error: use of undeclared identifier"),
        ("noisa.S", HEAD, "a source is named NAME.c or NAME.ISA.S"),
        ("loop.x86_64.S", HEAD + NEVER_ENDS, r"did not exit within 500 steps.*last steps:"),
        (
            "status.x86_64.S",
            HEAD + NEVER_ENDS.replace(" jmp _start", " mov edi, 3\n mov eax, 60\n syscall"),
            "exit status 3; the header of status.x86_64.S says 0",
        ),
        ("text.elf", "this is no ELF file", "text.elf: at offset 0x0: not an ELF file"),
        ("cut.elf", "\x7fELF\x02\x01\x01", "cut.elf: at offset 0x0: corrupt ELF structure"),
    ],
)
def test_a_bad_file_gets_one_message_that_names_the_place(
    testbed: Testbed, tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    said = testbed("run", str(path), "--budget", "500")
    assert said.status == 2, said.out
    assert re.search(message, said.err, re.S), said.err
    assert "Traceback" not in said.err


def test_a_missing_toolchain_says_what_to_install(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr("testbed.build.compile.find_zig", _no_zig, raising=True)
    said = testbed("run", "recursion", "--arch", "arm64")
    assert said.status == 2
    assert "pip install ziglang" in said.err


def _no_zig() -> Path:
    from testbed.words.errors import ToolchainMissing

    raise ToolchainMissing("clang (ziglang)", "pip install ziglang==0.17.0")


def test_what_ran_before_a_crash_can_still_be_looked_at(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "loop.x86_64.S"
    path.write_text(HEAD + NEVER_ENDS)
    said = testbed("run", str(path), "--budget", "500", "--at", "@42")
    assert "step 42" in said.out


def test_a_lying_strategy_makes_the_run_and_the_matrix_fail(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import MappingProxyType

    from testbed.contract.frames import Backtrace, Frame, FrameKind
    from testbed.contract.unwinder import Unwinder

    liar = Unwinder(
        name="always_root",
        summary="claims that every interrupted function is the root",
        unwind=lambda at: Backtrace((Frame(FrameKind.INTERRUPTED, at.pc, at.registers),), None),
    )
    for module in ("strategies", "matrix"):
        monkeypatch.setattr(f"testbed.cli.{module}.UNWINDERS", MappingProxyType({"always_root": liar}))
    said = testbed("run", "leaf_call", "--arch", "arm64")
    assert said.status == 1
    assert "UNEXPLAINED" in said.out
    said = testbed("matrix", "-p", "leaf_call", "-a", "arm64", "-j", "1")
    assert said.status == 1
    assert "UNEXPLAINED" in said.out


def test_an_interrupted_matrix_says_what_was_done(tmp_path: Path) -> None:
    """Ctrl-C reaches the command and its workers; what is judged by then is printed, and the status is 130."""
    # A shell's background jobs ignore interrupts, and so does whatever they start.
    heard = "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heard += "sys.argv = ['testbed', *sys.argv[1:]]; runpy.run_module('testbed.cli', run_name='__main__')"
    command = [sys.executable, "-c", heard, "matrix", "-j", "2"]
    environment = {**os.environ, "TESTBED_CACHE": str(tmp_path), "NO_COLOR": "1"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    for _ in range(1200):  # an empty cache: building everything takes far longer than the first units
        if len(list(tmp_path.rglob("*.judged"))) >= 2:
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, out + err
    done = re.search(r"(\d+) of (\d+) units", out)
    assert done and 0 < int(done[1]) < int(done[2]), out
    assert "INTERRUPTED" in out
    assert "Traceback" not in err


def test_a_mach_o_file_is_run_and_its_table_printed(testbed: Testbed, tmp_path: Path) -> None:
    from programs import PROGRAMS
    from testbed.arch import ARCHES
    from testbed.build import build
    from testbed.build.recipes import RECIPES
    from tests.image.macho_files import ARM64_CPU, X86_64_CPU, universal

    parts = [
        (cpu, build(PROGRAMS["recursion"], ARCHES[arch], RECIPES["macho-O2"]).path.read_bytes())
        for cpu, arch in ((X86_64_CPU, "x86_64"), (ARM64_CPU, "arm64"))
    ]
    path = tmp_path / "both"
    path.write_bytes(universal(*parts))
    said = testbed("run", str(path))
    assert said.status == 2
    assert "both: at offset 0x4: a universal file with x86_64, arm64: say which (--arch)" in said.err
    for arch in ("arm64", "x86_64"):
        said = testbed("run", str(path), "--arch", arch)
        assert (said.status, "compact_unwind" in said.out, "exit 187" in said.out) == (0, True, True), said.err
        assert f"both · {arch} · prebuilt" in said.out
    said = testbed("table", str(path), "-a", "arm64")
    assert said.status == 0
    assert "__TEXT,__unwind_info (compact_unwind)" in said.out
    assert re.search(
        r"^descend\nloc +CFA +x19 +x20 +x29 +ra *\n─+\n\w+ +x29\+16 +c-24 +c-32 +c-16 +c-8", said.out, re.M
    )


def test_a_recorded_file_is_judged_as_the_run_itself(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "leaf.trace"
    recorded = testbed("record", "leaf_call", "--arch", "arm64", "-o", str(file))
    assert recorded.status == 0, recorded.err
    assert f"{file.stat().st_size:,} bytes" in recorded.out and "exit 42" in recorded.out
    for options in ([], ["--json"], ["--at", "leaf"], ["--differences", "-u", "fp_*"]):
        fresh, kept = (
            testbed("run", "leaf_call", "--arch", "arm64", *options),
            testbed("run", "--trace", str(file), *options),
        )
        assert fresh.out and kept == fresh, options


def test_mistakes_with_trace_files_are_one_message_each(testbed: Testbed, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a trace")
    for arguments, said in (
        (("run", "--trace", str(text)), "no trace file of testbed"),
        (("run", "--trace", str(tmp_path / "gone")), "No such file"),
        (("run", "leaf_call", "--trace", str(text)), "takes the place of PROGRAM"),
        (("run",), "PROGRAM is missing"),
        (("record", "leaf_call", "-o", str(tmp_path / "no" / "file")), "cannot be written"),
        (("record", "leaf_call"), "--output"),
    ):
        mistake = testbed(*arguments)
        assert mistake.status == 2 and said in mistake.err and "Traceback" not in mistake.err, arguments


def test_a_run_that_ended_early_is_recorded_and_says_so(testbed: Testbed, tmp_path: Path) -> None:
    file = tmp_path / "early"
    recorded = testbed("record", "leaf_call", "--arch", "arm64", "--budget", "5", "-o", str(file))
    assert recorded.status == 0 and "did not exit within 5 steps" in recorded.err
    judged = testbed("run", "--trace", str(file))
    assert judged.status == 2 and "did not exit within 5 steps" in judged.err


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


def test_names_counts_the_outcomes(testbed: Testbed) -> None:
    said = testbed("names", "tail_branches", "-a", "x86_64", "-r", "clang-O2")
    assert said.status == 0, said.err
    assert re.search(r"78 sites: exact 34, ambiguous 44, missing 0, invented 0; 9 tail calls were watched", said.out)
    assert "declared at meet" in said.out


def test_names_of_all_programs_are_counted_by_recipe(testbed: Testbed) -> None:
    said = testbed("names", "--all", "-a", "arm64", "-r", "clang-O2*")
    assert said.status == 0, said.err
    head, *rows, whole = [line.split() for line in said.out.splitlines()]
    assert head[-4:] == ["exact", "ambiguous", "missing", "invented"]
    here = [recipe for recipe in RECIPES.values() if recipe.isa_on(ARCHES["arm64"])]
    assert {row[1] for row in rows} == {recipe.name for recipe in here if recipe.name.startswith("clang-O2")}
    numbers = [[int(cell.replace(",", "")) for cell in row[2:]] for row in rows]
    assert [int(cell.replace(",", "")) for cell in whole[1:]] == [sum(column) for column in zip(*numbers, strict=True)]
    assert testbed("names").status == testbed("names", "leaf_call", "--all").status == 2


def test_one_site_has_the_calls_of_the_source_where_the_file_knows_them(testbed: Testbed) -> None:
    said = testbed("run", "tail_branches", "-a", "arm64", "-r", "clang-O2", "--at", "leaf")
    assert said.status == 0, said.err
    assert re.findall(r"^(\d+)  (\w+)\S* +tail_branches\.c:\d+ *$", said.out, re.M) == [
        *(("0", "leaf"), ("1", "meet"), ("2", "main"))
    ]
    assert "above frame 1: ambiguous tail calls" in said.out
    assert "tail_branches.c" not in testbed("run", "leaf_call", "-a", "arm64", "--at", "leaf").out


@pytest.mark.parametrize("command", ["run", "show"])
def test_calls_without_a_frame_are_marked_where_they_were(testbed: Testbed, command: str) -> None:
    inlined = testbed(command, "inline_chain", "-a", "arm64", "-r", "clang-O2", "--at", "at_level2")
    assert re.search(r"level2 \[inlined\] .*\n +level1 \[inlined\] .*\n *0 +worker\+0x\w+ ", inlined.out), inlined.out
    gone = testbed(command, "tail_chain", "-a", "arm64", "-r", "clang-O2", "--at", "last")
    assert re.search(r"0 +last .*\n +second \[tail call\].*\n +first \[tail call\].*\n *1 +main", gone.out), gone.out


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


def test_run_and_backtrace_take_real_unwinders_by_name(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = testbed("run", "leaf_call", "--arch", "arm64", "-u", "libdwarf")
    assert missing.status == 2
    assert "no strategy matches 'libdwarf'" in missing.err
    absent = dataclasses.replace(REFEREES["libdw"], find=lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr("testbed.cli.strategies.REFEREES", {"libdw": absent})
        for command in ("run", "backtrace"):
            said = testbed(command, "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw")
            assert said.status == 2
            assert f"libdw needs libdw, which is not installed: {absent.package}" in said.err
    if REFEREES["libdw"].find() is None:
        pytest.skip("libdw is not installed: apt-get install libdw1")
    assert "libdw     exact" in testbed("run", "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw").out
    assert "in middle ()" in testbed("backtrace", "leaf_call", "--arch", "arm64", "--at", "leaf", "-u", "libdw").out


def summary(out: str) -> list[list[str]]:
    """The lines of the table of strategies, as words."""
    return [line.split() for line in out.splitlines() if line.rstrip().endswith("%")]


def test_a_run_in_pieces_counts_what_the_whole_run_counts(testbed: Testbed, tmp_path: Path) -> None:
    whole = testbed("run", "recursion", "--arch", "arm64", "-u", "*fp*", "-u", "eh*")
    pieces = testbed("run", "recursion", "--arch", "arm64", "-u", "*fp*", "-u", "eh*", "--chunk", "50")
    assert pieces.status == whole.status == 0 and "pieces" in pieces.out
    assert summary(pieces.out) == summary(whole.out) != []
    recorded = testbed("record", "recursion", "--arch", "arm64", "--chunk", "50", "-o", str(tmp_path / "pieces"))
    assert recorded.status == 0 and "in pieces, exit" in recorded.out
    for more in ((), ("--chunk", "50")):
        again = testbed("run", "--trace", str(tmp_path / "pieces"), "-u", "*fp*", "-u", "eh*", *more)
        assert again.status == 0 and summary(again.out) == summary(whole.out)
    slow = testbed("run", "leaf_call", "--arch", "arm64", "--chunk", "8")
    assert "stack_scan" in slow.err and "stack_scan" not in slow.out


def test_one_site_of_a_run_in_pieces_is_shown_as_of_the_whole(testbed: Testbed) -> None:
    for location in ("@17", "leaf+0x4", "middle#1"):
        said = [
            testbed("run", "leaf_call", "--arch", "arm64", "--at", location, *more) for more in ((), ("--chunk", "8"))
        ]
        assert said[0].status == said[1].status == 0
        assert said[0].out == said[1].out


def test_a_long_run_is_taken_in_pieces_by_itself(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from testbed.cli import long_runs

    monkeypatch.setattr(long_runs, "WHOLE", 100)
    monkeypatch.setattr("testbed.cli.run.WHOLE", 100)
    said = testbed("run", "recursion", "--arch", "arm64", "-u", "eh_frame")
    assert said.status == 0 and "in 1 pieces" in said.out
    recorded = testbed("record", "recursion", "--arch", "arm64", "-o", str(tmp_path / "long"))
    assert recorded.status == 0 and "in pieces, exit" in recorded.out
    assert testbed("run", "--trace", str(tmp_path / "long"), "-u", "eh_frame").out == said.out
    held = testbed("run", "recursion", "--arch", "arm64", "--json")
    assert held.status == 2 and "--json shows every step" in held.err
    whole = testbed("run", "leaf_call", "--arch", "arm64", "-u", "eh_frame")
    assert whole.status == 0 and "pieces" not in whole.out
    signals = testbed("run", "signal", "--arch", "x86_64", "-u", "eh_frame")
    assert signals.status == 0 and "pieces" not in signals.out
    cut = testbed("run", "recursion", "--arch", "arm64", "--budget", "150")
    assert cut.status == 2 and "did not exit within 150 steps" in cut.err
