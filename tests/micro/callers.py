"""Functions of small sources, ready to be called."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from testbed.checks.inputs import program_file, read_program
from testbed.image import Image
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


def ready(image: Image) -> Caller:
    return Caller(make_callable(image), seed=1)


def called(caller: Caller, name: str, *arguments: int, steps: int = 1000) -> CallTape:
    """One natural call of a function by its name."""
    image = caller.image
    symbol = image.loaded.image.symbol_named(name)
    assert symbol is not None
    target = (symbol.address + image.loaded.bias) | image.loaded.image.isa_at(symbol.address).address_bit
    registers = tuple(zip(image.convention.arguments, arguments, strict=False))
    return caller.call(CallPath(target, registers), caller.natural, steps)


def result(image: CallableImage, tape: CallTape) -> int:
    """What a function returned: its register at the harness's last step."""
    arch = image.loaded.image.arch
    return int(tape.registers[-1, arch.index[image.convention.result]])
