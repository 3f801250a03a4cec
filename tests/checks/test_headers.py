"""Sources that include what every system has are compiled for every architecture."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.checks.inputs import program_file
from testbed.image import read_image

SOURCE = """
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "mine.h"
size_t f(const char *text) { return strlen(text) + (size_t)errno + MINE; }
"""


@pytest.mark.parametrize("arch", list(ARCHES))
def test_headers_of_the_compiler_of_libc_and_of_the_project_are_found(arch: str, tmp_path: Path) -> None:
    source, folder = tmp_path / "f.c", tmp_path / "include"
    source.write_text(SOURCE)
    folder.mkdir()
    (folder / "mine.h").write_text("#define MINE 3\n")
    with program_file(source, arch, (f"-I{folder}", "-Wall", "-Werror")) as path:
        image = read_image(path)
    assert image.arch is ARCHES[arch] and image.symbol_named("f") is not None


def test_a_header_of_the_project_comes_before_those_of_the_system(tmp_path: Path) -> None:
    source, folder = tmp_path / "f.c", tmp_path / "include"
    source.write_text("#include <string.h>\nint mine(void) { return MINE; }\n")
    folder.mkdir()
    (folder / "string.h").write_text("#define MINE 3\n")
    with program_file(source, "arm64", (f"-I{folder}",)) as path:
        assert read_image(path).symbol_named("mine") is not None


def test_assembly_that_is_not_preprocessed_is_no_reason_to_warn(tmp_path: Path) -> None:
    source = tmp_path / "f.s"
    source.write_text(".globl f\n.type f, @function\nf:\n ret\n.size f, .-f\n")
    with program_file(source, "x86_64", ("-Werror",)) as path:
        assert read_image(path).symbol_named("f") is not None
