"""Real producers of SFrame and ORC tables: GNU as and ld, objtool. Without them a test skips."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import Built, build
from testbed.build.compile import find_zig, write_source
from testbed.build.recipes import PREBUILT, RECIPES
from testbed.build.tables.sframe import ABIS
from testbed.build.targets import CLANG, LLD
from testbed.image import Image, read_image
from testbed.program.model import Program, Source
from testbed.program.start import START
from testbed.runs.run import judge_all, run_built
from tests.corpus import tool
from tests.unwinders.frames import read_alike
from unwinders.formats.orc import ENTRIES
from unwinders.tables.orc import ORC
from unwinders.tables.sframe import SFRAME

GNU = {"x86_64": ("", "binutils"), "arm64": ("aarch64-linux-gnu-", "binutils-aarch64-linux-gnu")}
_CFLAGS = ("-ffreestanding", "-fno-stack-protector", "-fasynchronous-unwind-tables", "-S")
_NOT_GNU = re.compile(r"^\s*\.addrsig.*$", re.M)  # LLVM's own directives


def gnu(arch: Arch, name: str) -> str:
    prefix, package = GNU[arch.name]
    return tool(prefix + name, package)


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def written(source: Source, folder: Path) -> Path:
    """A source as a file, with its fragments: a generated program has none."""
    write_source(source, folder)
    return folder / source.path.name


def compiled(source: Path, arch: Arch, folder: Path, *flags: str, intel: bool = False) -> Path:
    """A C program and its ``_start`` as one assembly source, in the dialect that GNU as reads (unless ``intel``)."""
    isa = arch.isas[0]
    dialect = [option for option in CLANG[isa.name] if intel or option != "-masm=intel"]
    run(find_zig(), "clang", *dialect, *_CFLAGS, *flags, source, "-o", "compiled.s", cwd=folder)
    whole = folder / "whole.s"
    # _start says its own dialect; the program goes on in the compiler's.
    back = "" if intel or "-masm=intel" not in CLANG[isa.name] else "\n.att_syntax prefix\n"
    body = _NOT_GNU.sub("", (folder / "compiled.s").read_text(encoding="utf-8"))
    whole.write_text(START[isa.name] + back + body, encoding="utf-8")
    return whole


def by_gnu_as(source: Path, arch: Arch, folder: Path, *, entry: str = "_start") -> Image:
    """Assembled with ``--gsframe`` and linked, both by binutils: ld makes one sorted table."""
    run(gnu(arch, "as"), "--gsframe", source, "-o", "gnu.o", cwd=folder)
    run(gnu(arch, "ld"), "-static", "-e", entry, "gnu.o", "-o", "gnu.elf", cwd=folder)
    return read_image(folder / "gnu.elf")


def by_objtool(chosen: Path, source: Path, arch: Arch, folder: Path) -> Image:
    """Assembled by clang, the table made by objtool, linked by lld. SRCARCH: what newer ones ask for."""
    clang = (find_zig(), "clang", "-c", *CLANG[arch.isas[0].name])
    run(*clang, source, "-o", "orc.o", cwd=folder)
    run(chosen, "--orc", "orc.o", cwd=folder, SRCARCH="x86")
    run(find_zig(), "ld.lld", "-m", LLD[arch.name], "-static", "-e", "_start", "orc.o", "-o", "orc.elf", cwd=folder)
    return read_image(folder / "orc.elf")


# Real ORC tables: exact at every instruction of a run.
#
# objtool makes the table from the instructions, not from call frame information: two ways to one truth.


X86_64 = ARCHES["x86_64"]
C_PROGRAMS = [p for p in PROGRAMS.values() if RECIPES["clang-O2"].source_of(p, ARCHES["x86_64"])]
FLAGS = ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
# ORC's offsets have 16 bits; of a frame of 64 KiB objtool writes the lower ones without a word.
TOO_LARGE = {"probed_frame"}
CASES = [
    pytest.param(p, flag, id=f"{p.name}{flag[2:]}") for p in C_PROGRAMS if p.name not in TOO_LARGE for flag in FLAGS
]
# Every installed objtool: Debian has one per kernel version.
OBJTOOLS = sorted(Path("/usr/lib").glob("linux-kbuild-*/tools/objtool/objtool")) or [None]
# objtool stops at a jump table that it cannot follow (Linux builds without them).
OPTIONS = ("-O2", "-fno-jump-tables")


def made(program: Program, flag: str, folder: Path, chosen: Path | None) -> Image:
    if chosen is None:
        pytest.skip("objtool is not installed: apt-get install linux-kbuild-6.1")
    source = program.source_for(X86_64.isas[0])
    assert source is not None
    whole = compiled(written(source, folder), X86_64, folder, *OPTIONS, flag, intel=True)
    return by_objtool(chosen, whole, X86_64, folder)


@pytest.mark.parametrize("chosen", OBJTOOLS, ids=lambda path: path.parts[3] if path else "none")
@pytest.mark.parametrize(("program", "flag"), CASES)
def test_objtools_table_is_exact_at_every_instruction(
    program: Program, flag: str, chosen: Path | None, tmp_path: Path
) -> None:
    image = made(program, flag, tmp_path, chosen)
    source = program.source_for(X86_64.isas[0])
    assert source is not None
    run = run_built(Built(program, X86_64, PREBUILT, X86_64.isas[0], source, image.path, image))
    assert not run.failure
    assert {verdict.outcome.value for verdict in judge_all(run, ORC)} == {"exact"}


def test_the_hash_in_the_header_is_that_of_the_kernels_own_file() -> None:
    """What scripts/orc_hash.sh does: certain lines of orc_types.h, hashed."""
    from hashlib import sha1

    headers = sorted(Path("/usr/src").glob("linux-headers-*/arch/x86/include/asm/orc_types.h"))
    newer = [h for h in headers if "ORC_TYPE_END_OF_STACK" in h.read_text(encoding="utf-8")]
    if not newer:
        pytest.skip("no kernel headers since 6.4: apt-get install linux-headers-6.12.*-common")
    kept, inside = [], False
    for line in newer[-1].read_text(encoding="utf-8").splitlines(keepends=True):
        kept += [line] if re.match(r"#define ORC_(REG|TYPE)_", line) else []
        inside = inside or line == "struct orc_entry {\n"
        kept += [line] if inside else []
        inside = inside and not line.startswith("}")
    image = build(PROGRAMS["leaf_call"], X86_64, RECIPES["keystone"]).image
    assert sha1("".join(kept).encode()).digest() == image.sections[".orc_header"].data
    assert ENTRIES in image.sections


# SFrame tables of GNU as 2.40 (version 1, x86_64 and arm64) and GNU ld: what ours and `.eh_frame` say, at every pc.


SFRAME_PROGRAMS = [
    program
    for program in PROGRAMS.values()
    if (source := RECIPES["clang-O2"].source_of(program, ARCHES["x86_64"])) and not source.header.sources
]
# GNU as 2.40 restores a remembered state without the place of the return address: wrong where there is a link register.
FORGOTTEN = ("genc_17", "genc_61")
GNU_CASES = [
    pytest.param(program, arch, flag, id=f"{program.name}-{arch}{flag[2:]}")
    for program in SFRAME_PROGRAMS
    for arch in ARCHES.values()
    if ABIS[arch.name] is not None
    if not (arch.link and program.name in FORGOTTEN)
    for flag in ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
]


@pytest.mark.parametrize(("program", "arch", "flag"), GNU_CASES)
def test_gnu_as_writes_version_1_and_it_is_right(program: Program, arch: Arch, flag: str, tmp_path: Path) -> None:
    """By both readers, and at every instruction of the run."""
    source = program.source_for(arch.isas[0])
    assert source is not None
    whole = compiled(written(source, tmp_path), arch, tmp_path, "-O2", flag)
    image = read_alike(by_gnu_as(whole, arch, tmp_path), ".sframe")
    assert image.sections[".sframe"].data[2] == 1
    built = Built(program, arch, PREBUILT, arch.isas[0], source, image.path, image)
    run = run_built(built)
    assert not run.failure
    verdicts = judge_all(run, SFRAME)
    assert [verdict.depth for verdict in verdicts] == [len(run.truth(step)) for step in range(len(run))]
    # Version 1 cannot say that a frame is the outermost one. On x86_64 the zero where its return address would be
    # says it; on arm64 the link register still has what the last call left there.
    besides = set() if arch.link is None else {"phantom", "stopped"}
    assert {verdict.outcome.value for verdict in verdicts} <= {"exact"} | besides
