"""Functions of small sources, ready to be called."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from testbed.build.compile import find_zig
from testbed.build.targets import LLD
from testbed.checks.inputs import program_file, read_program
from testbed.image import Image, read_image
from testbed.micro.calling import Caller, CallPath, CallTape
from testbed.micro.layout import CallableImage, make_callable


def built(text: str, suffix: str, arch: str, *flags: str) -> Image:
    """A source as a shared object: its text, its suffix, the architecture."""
    pytest.importorskip("ziglang", reason="needs pip install ziglang")
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"code{suffix}"
        path.write_text(text, encoding="utf-8")
        with program_file(path, arch, flags or (("-O1",) if suffix == ".c" else ())) as file:
            return read_program(file, path)


def library(text: str, arch: str, folder: Path, suffix: str = ".c", *options: str) -> Image:
    """A source as a shared library whose functions call each other through its linkage table, as any library's do.

    ``options`` are the linker's.
    """
    pytest.importorskip("ziglang", reason="needs pip install ziglang")
    (folder / f"code{suffix}").write_text(text, encoding="utf-8")
    target = {"x86_64": "x86_64", "arm64": "aarch64", "arm32": "armv7"}[arch]
    abi = "-linux-gnueabihf" if arch == "arm32" else "-linux-gnu"
    flags = ("-mthumb", "-Qunused-arguments", "-O1", "-fPIC")
    compiled = ("clang", "-target", target + abi, *flags, "-c", f"code{suffix}", "-o", "code.o")
    for command in (compiled, ("ld.lld", "-m", LLD[arch], "-shared", *options, "code.o", "-o", "code.so")):
        subprocess.run((find_zig(), *command), cwd=folder, check=True, capture_output=True)
    return read_image(folder / "code.so")


def ready(image: Image) -> Caller:
    return Caller(make_callable(image), seed=1)


def called(caller: Caller, name: str, *arguments: int, steps: int = 1000) -> CallTape:
    """One natural call of a function by its name."""
    image = caller.image
    symbol = image.loaded.image.symbol_named(name)
    target = (symbol.address + image.loaded.bias) | image.loaded.image.isa_at(symbol.address).address_bit
    registers = tuple(zip(image.convention.arguments, arguments, strict=False))
    return caller.call(CallPath(target, registers), caller.natural, steps)


def result(image: CallableImage, tape: CallTape) -> int:
    """What a function returned: its register at the harness's last step."""
    arch = image.loaded.image.arch
    return int(tape.registers[-1, arch.index[image.convention.results[0]]])
