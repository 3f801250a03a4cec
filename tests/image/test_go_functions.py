"""A stripped Go program has the names of `.gopclntab`, and any other file the symbols that it has."""

import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.image import Image, Section, describe, read_image
from testbed.image.go_functions import by_usual_names
from testbed.image.model import LoadedImage
from tests import corpus
from tests.unwinders.go_tables import SIZE, Go, section

pytestmark = pytest.mark.skipif(shutil.which("objcopy") is None, reason="objcopy: apt-get install binutils")


def changed(folder: Path, *options: str, table: bytes | None = None, name: str = ".gopclntab") -> Image:
    """A program of the corpus with a table of Go's functions for its code, changed by objcopy."""
    built = corpus.built("leaf_call", "x86_64", "keystone").image
    code = built.sections[".text"].address
    (folder / "table").write_bytes(section([Go("main.first"), Go("main.größe")], text=code) if table is None else table)
    (folder / "before").write_bytes(built.content)
    command = ["objcopy", "--add-section", f"{name}=table", *options, "before", "after"]
    subprocess.run(command, cwd=folder, check=True)
    return read_image(folder / "after")


def named(image: Image, distance: int) -> str:
    return describe((LoadedImage(image),), image.sections[".text"].address + distance)


def test_a_stripped_program_has_the_names_of_its_table(tmp_path: Path) -> None:
    image = changed(tmp_path, "--strip-all")
    assert [named(image, at) for at in (0, 4, SIZE + 1)] == ["main.first", "main.first+0x4", "main.größe+0x1"]


def test_a_program_that_may_lie_anywhere_has_them_under_another_name(tmp_path: Path) -> None:
    image = changed(tmp_path, "--strip-all", name=".data.rel.ro.gopclntab")
    assert [named(image, at) for at in (0, SIZE + 1)] == ["main.first", "main.größe+0x1"]
    assert image.sections[".gopclntab"] is image.sections[".data.rel.ro.gopclntab"]


@pytest.mark.parametrize(
    ("before", "marked", "is_found"),
    [(b"", True, True), (b"\xf1\xff\xff\xff\0\0\1\x08", True, True), (b"", False, False)],
)
def test_a_library_for_c_has_the_table_inside_of_another_section(before: bytes, marked: bool, is_found: bool) -> None:
    """Behind other data, which may look like a header; and in files of Go only."""
    table = section([Go("main.first")], text=0x1000)
    data = before.ljust(64, b"\0") + table
    parts = {".data.rel.ro": Section(".data.rel.ro", 0x5000, 0x400, data)}
    if marked:
        parts[".note.go.buildid"] = Section(".note.go.buildid", 0, 0, b"")
    found = by_usual_names(parts).get(".gopclntab")
    assert (found is not None and (found.address, found.offset, found.data) == (0x5040, 0x440, table)) == is_found


def test_a_mach_o_file_has_the_table_under_another_name() -> None:
    section = Section("__DATA_CONST,__gopclntab", 0, 0, b"")
    assert by_usual_names({section.name: section}) == {section.name: section, ".gopclntab": section}


def test_symbols_go_before_the_table(tmp_path: Path) -> None:
    assert "main.first" not in {symbol.name for symbol in changed(tmp_path).symbols}


@pytest.mark.parametrize("table", [b"", b"\xf1\xff\xff\xff", b"\xf1\xff\xff\xff\0\0\1\x08" + b"\xff" * 64])
def test_a_table_that_cannot_be_read_names_nothing(table: bytes, tmp_path: Path) -> None:
    assert changed(tmp_path, "--strip-all", table=table).symbols == ()
