"""``--debug-dir`` of ``testbed unwind`` and ``table``: names from separate debug files, only where the user says so."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from testbed.image import read_image
from tests.cli.command import Testbed

NO_EH_FRAME = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
SCHEMA = Path(__file__).parents[2] / "testbed" / "report" / "schema" / "unwind.json"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A snapshot inside a stripped program, as a stranger would write it by hand, and the program's debug file."""
    if shutil.which("gcc") is None or shutil.which("objcopy") is None:
        pytest.skip("Debian packages: gcc, binutils")
    (tmp_path / "x.c").write_text("int inner(int n) { return n + 1; }\nint start(void) { return inner(4) + 2; }\n")
    machine = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True, timeout=60).stdout
    arch = {"x86_64": "x86_64", "aarch64": "arm64"}.get(machine.partition("-")[0])
    if arch is None:
        pytest.skip("gcc is for an architecture that is not in the catalogue")
    for command in (
        f"gcc -g -O0 {NO_EH_FRAME} -nostdlib -static -no-pie -Wl,-estart -o whole x.c",
        "objcopy --only-keep-debug whole program.debug",
        "objcopy --strip-all whole program",
        "objcopy --add-gnu-debuglink=program.debug program",
    ):
        subprocess.run(command.split(), cwd=tmp_path, check=True, timeout=60)
    inner = read_image(tmp_path / "whole").symbol_named("inner")
    assert inner is not None
    pc = "rip" if arch == "x86_64" else "pc"
    sp = "rsp" if arch == "x86_64" else "sp"
    data = {
        "format": "testbed snapshot",
        "version": 1,
        "arch": arch,
        "registers": {pc: hex(inner.address), sp: "0x7fff0000"},
        "memory": [{"address": "0x7fff0000", "hex": "00" * 16}],
        "images": [{"path": "program", "bias": "0x0"}],
    }
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(data))
    return path


def test_names_come_from_the_debug_file_where_a_folder_is_given(testbed: Testbed, snapshot: Path) -> None:
    without = testbed("unwind", str(snapshot), "--sysroot", "/", "-u", "eh_frame")
    assert without.status == 1 and "no strategy found a caller" in without.err  # no table, and a stack of zeros
    assert "inner" not in without.out and "debug information" not in without.out
    found = testbed("unwind", str(snapshot), "--sysroot", "/", "-u", "eh_frame", "--debug-dir", str(snapshot.parent))
    assert f"debug information from {snapshot.parent / 'program.debug'}" in found.out
    assert "inner" in found.out and "x.c:1" in found.out


def test_a_table_of_a_debug_file_is_shown(testbed: Testbed, snapshot: Path) -> None:
    program = str(snapshot.parent / "program")
    assert testbed("table", program, "-f", "debug_frame").status == 2
    found = testbed("table", program, "-f", "debug_frame", "--debug-dir", str(snapshot.parent))
    assert found.status == 0 and "inner" in found.out
    both = testbed("table", program, "--compare", "--debug-dir", str(snapshot.parent))
    assert both.status == 2 and "leave out --debug-dir" in both.err


def test_as_data_it_keeps_the_schema(testbed: Testbed, snapshot: Path) -> None:
    said = json.loads(
        testbed("unwind", str(snapshot), "--sysroot", "/", "--json", "--debug-dir", str(snapshot.parent)).out
    )
    jsonschema.validate(said, json.loads(SCHEMA.read_text()))
    assert said["images"][0]["debug_file"] == str(snapshot.parent / "program.debug")
    (snapshot.parent / "program.debug").write_bytes(b"another file")
    said = json.loads(
        testbed("unwind", str(snapshot), "--sysroot", "/", "--json", "--debug-dir", str(snapshot.parent)).out
    )
    jsonschema.validate(said, json.loads(SCHEMA.read_text()))
    assert "debug_file" not in said["images"][0] and "the CRC is" in said["images"][0]["notes"][0]
