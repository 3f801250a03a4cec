"""Real producers of SFrame and ORC tables: GNU as and ld, objtool. Without them a test skips."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.arch import Arch
from testbed.build.compile import find_zig, write_source
from testbed.build.targets import CLANG, LLD
from testbed.image import Image, read_elf
from testbed.program.model import Source
from testbed.program.start import START

GNU = {"x86_64": ("", "binutils"), "arm64": ("aarch64-linux-gnu-", "binutils-aarch64-linux-gnu")}
_CFLAGS = ("-ffreestanding", "-fno-stack-protector", "-fasynchronous-unwind-tables", "-S")
_NOT_GNU = re.compile(r"^\s*\.addrsig.*$", re.M)  # LLVM's own directives


def tool(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")
    return found


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
    return read_elf(folder / "gnu.elf")


def objtools() -> list[Path]:
    """Every installed objtool: Debian has one per kernel version."""
    return sorted(Path("/usr/lib").glob("linux-kbuild-*/tools/objtool/objtool"))


def by_objtool(chosen: Path, source: Path, arch: Arch, folder: Path) -> Image:
    """Assembled by clang, the table made by objtool, linked by lld. SRCARCH: what newer ones ask for."""
    clang = (find_zig(), "clang", "-c", *CLANG[arch.isas[0].name])
    run(*clang, source, "-o", "orc.o", cwd=folder)
    run(chosen, "--orc", "orc.o", cwd=folder, SRCARCH="x86")
    run(find_zig(), "ld.lld", "-m", LLD[arch.name], "-static", "-e", "_start", "orc.o", "-o", "orc.elf", cwd=folder)
    return read_elf(folder / "orc.elf")
