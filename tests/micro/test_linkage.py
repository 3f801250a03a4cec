"""Slots of a linkage table by the names of their functions, beside what binutils' disassembler says of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.image import read_image
from testbed.micro.linkage import with_imports

CALLS = {"x86_64": "call ext@plt", "arm64": "bl ext", "arm32": "bl ext"}
TARGETS = {"x86_64": "call ext@plt", "arm64": "bl ext@plt", "arm32": "bl ext@plt"}


@pytest.mark.parametrize("arch", CALLS)
def test_the_instruction_of_a_finding_names_the_import_that_it_calls(tmp_path: Path, arch: str) -> None:
    path = tmp_path / "code.s"
    path.write_text(f".text\n.globl f\n.type f, %function\nf:\n{CALLS[arch]}\n{CALLS[arch]}\nnop\n.size f, . - f\n")
    (finding,) = check_file(path, CheckOptions(arch=arch, runs=20, steps=100), READERS).findings
    assert finding.instruction == TARGETS[arch]


LIBRARIES = {
    "/usr/lib/x86_64-linux-gnu/libz.so.1": "objdump",
    "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1": "objdump",
    "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1": "aarch64-linux-gnu-objdump",
    "/usr/arm-linux-gnueabihf/lib/libgcc_s.so.1": "arm-linux-gnueabihf-objdump",
    "/usr/arm-linux-gnueabihf/lib/libm.so.6": "arm-linux-gnueabihf-objdump",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_slots_are_those_that_a_disassembler_names(library: str) -> None:
    tool = shutil.which(LIBRARIES[library])
    if tool is None or not Path(library).exists():
        pytest.skip(f"{library} or {LIBRARIES[library]} is not installed")
    run = subprocess.run([tool, "-d", library], capture_output=True, text=True, check=True)
    said = re.findall(r"^([0-9a-f]+) <([^>]+@plt)>:$", run.stdout, re.MULTILINE)
    image = read_image(Path(library))
    found = {(s.address, s.name) for s in with_imports(image).symbols if s.name.endswith("@plt")}
    assert found and {(int(address, 16), name.split("@")[0]) for address, name in said} == {
        (address, name.split("@")[0]) for address, name in found
    }
