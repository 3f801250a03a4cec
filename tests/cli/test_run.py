"""``testbed run``: every step and every strategy, one site, files by path, pages and pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from testbed.report.schemas import schema
from tests.cli.command import HEAD, NEVER_ENDS, Testbed, tells
from tests.image.macho_files import ARM64_CPU, X86_64_CPU, universal
from unwinders import UNWINDERS


@pytest.mark.parametrize(
    ("arch", "recipe"), [("x86_64", "clang-asm"), ("arm64", "keystone"), ("arm32", "keystone-thumb")]
)
def test_run_json_follows_its_schema_and_adds_up(testbed: Testbed, arch: str, recipe: str) -> None:
    said = testbed("run", "leaf_call", "--arch", arch, "--recipe", recipe, "--json")
    data = json.loads(said.out)
    jsonschema.validate(data, schema("run"))
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


def test_run_chooses_strategies_by_glob(testbed: Testbed) -> None:
    data = json.loads(testbed("run", "leaf_call", "--arch", "arm64", "-u", "fp_*", "--json").out)
    assert set(data["summary"]) == {name for name in UNWINDERS if name.startswith("fp_")}


def test_run_takes_a_source_and_an_elf_file_by_path(testbed: Testbed, tmp_path: Path) -> None:
    source = PROGRAMS["leaf_call"].sources["x86_64"]
    copy = tmp_path / "mine.x86_64.S"
    copy.write_text(source.text)
    assert testbed("run", str(copy)).status == 0
    elf = build(PROGRAMS["leaf_call"], ARCHES["arm64"], RECIPES["clang-asm"]).path
    tells(testbed, 0, ("run", str(elf)), out=["prebuilt"])
    said = testbed("run", str(elf), "--arch", "x86_64")
    assert (said.status, "is for arm64, not x86_64" in said.err) == (2, True)
    assert "already built" in testbed("run", str(elf), "--recipe", "keystone").err


def declared_wrong(folder: Path) -> tuple[Path, int]:
    """A copy of `leaf_call` for arm64 that declares a wrong stack, and the index of the line that does."""
    source = PROGRAMS["leaf_call"].sources["arm64"]
    lines = source.text.splitlines()
    line = next(i for i, text in enumerate(lines) if text.startswith("// frames: leaf = "))
    lines[line] = "// frames: leaf = leaf, _start"
    copy = folder / source.path.name
    copy.write_text("\n".join(lines))
    return copy, line


def test_declared_frames_that_were_not_watched_fail_lint_too(testbed: Testbed, tmp_path: Path) -> None:
    source = PROGRAMS["leaf_call"].sources["arm64"]
    assert testbed("check", str(source.path), "--executed")[::2] == (0, "")
    copy, line = declared_wrong(tmp_path)
    tells(
        testbed,
        1,
        ("check", str(copy), "--executed"),
        out=["every row is right"],
        err=[f"{copy}:{line + 1}: leaf (step "],
    )


@pytest.mark.parametrize("pieces", [(), ("--chunk", "20")])
def test_declared_frames_that_were_not_watched_fail_the_run(
    testbed: Testbed, tmp_path: Path, pieces: tuple[str, ...]
) -> None:
    source = PROGRAMS["leaf_call"].sources["arm64"]
    said = testbed("run", str(source.path), *pieces, "-u", "eh_frame")
    assert said.status == 0 and "declared" not in said.err, said.err  # how far it is may be told there
    copy, line = declared_wrong(tmp_path)
    tells(
        testbed,
        1,
        ("run", str(copy), *pieces, "-u", "eh_frame"),
        out=["eh_frame"],
        err=[f"{copy}:{line + 1}: leaf (step ", "declared leaf, _start; watched leaf, "],
    )


def test_run_writes_a_page_and_a_picture(testbed: Testbed, tmp_path: Path) -> None:
    html, svg = tmp_path / "run.html", tmp_path / "run.svg"
    assert testbed("run", "leaf_call", "--arch", "arm64", "-o", str(html), "-o", str(svg)).status == 0
    assert "leaf_call · arm64 · keystone" in html.read_text()
    assert svg.read_text().startswith("<svg")


def test_what_ran_before_a_crash_can_still_be_looked_at(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "loop.x86_64.S"
    path.write_text(HEAD + NEVER_ENDS)
    said = testbed("run", str(path), "--budget", "500", "--at", "@42")
    assert "step 42" in said.out


def test_a_mach_o_file_is_run_and_its_table_printed(testbed: Testbed, tmp_path: Path) -> None:
    parts = [
        (cpu, build(PROGRAMS["recursion"], ARCHES[arch], RECIPES["macho-O2"]).path.read_bytes())
        for cpu, arch in ((X86_64_CPU, "x86_64"), (ARM64_CPU, "arm64"))
    ]
    path = tmp_path / "both"
    path.write_bytes(universal(*parts))
    said = tells(
        testbed,
        2,
        ("run", str(path)),
        err=["both: at offset 0x4: a universal file with x86_64, arm64: say which (--arch)"],
    )
    for arch in ("arm64", "x86_64"):
        said = testbed("run", str(path), "--arch", arch)
        assert (said.status, "compact_unwind" in said.out, "exit 187" in said.out) == (0, True, True), said.err
        assert f"both · {arch} · prebuilt" in said.out
    said = tells(testbed, 0, ("rows", str(path), "-a", "arm64"), out=["__TEXT,__unwind_info (compact_unwind)"])
    assert re.search(
        r"^descend\nloc +CFA +x19 +x20 +x29 +ra *\n─+\n\w+ +x29\+16 +c-24 +c-32 +c-16 +c-8", said.out, re.M
    )


OWN = (
    ".globl _start\n.type _start, %function\n_start:\n  mov x0, #7\n  mov x8, #93\n  svc #0\n.size _start, . - _start\n"
)


@pytest.mark.parametrize("begin", ["", "// a comment of mine\n", "// cpu: signing\n\n", "\n"])
def test_a_source_of_ones_own_needs_no_header(testbed: Testbed, tmp_path: Path, begin: str) -> None:
    path, kept = tmp_path / "mine.arm64.S", tmp_path / "mine.trace"
    path.write_text(begin + OWN)
    tells(testbed, 0, ("run", str(path), "-u", "fp_chain"), out=["exit 7"])
    assert testbed("run", str(path), "-o", str(kept)).status == 0
    assert "exit 7" in testbed("run", "--trace", str(kept), "-u", "fp_chain").out


def test_what_its_header_says_is_checked(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "mine.arm64.S"
    path.write_text("// exit: 6\n" + OWN)
    tells(testbed, 2, ("run", str(path), "-u", "fp_chain"), err=["exit status 7; the header of mine.arm64.S says 6"])
