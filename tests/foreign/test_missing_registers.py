"""Registers that a file does not have are unknown when it is read, and no file is written that would make them zero."""

from __future__ import annotations

import json
import re
import shutil
import struct
from pathlib import Path

import jsonschema
import pytest

import testbed
from testbed import export
from testbed.arch import ARCHES
from testbed.conventions import platform
from testbed.export.core import core_bytes
from testbed.export.macho_core import macho_core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.register_layouts import LAYOUTS
from testbed.export.snapshot_json import snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.trace import Snapshot
from testbed.words.errors import SnapshotFileError, UsageError
from tests.foreign.small import small
from tests.unwinders.missing import lacking
from unwinders import UNWINDERS

HERE = Places(sysroot=Path("/"))  # the program files are those of this machine

FLOATING = [f"d{i}" for i in range(8, 16)]
BINARY = {"core": core_bytes, "minidump": minidump_bytes, "macho-core": macho_core_bytes}


def back(content: bytes, path: Path) -> Snapshot:
    path.write_bytes(content)
    return read_snapshot(path, Places(skip_missing=True)).snapshot


@pytest.mark.parametrize("arch", ARCHES)
def test_json_has_any_of_them(arch: str, tmp_path: Path) -> None:
    its = ARCHES[arch]
    part = lacking(
        small(arch), [name for name in its.by_name if name not in (its.pc, its.sp, platform(its).preserved[0])]
    )
    read = back(json.dumps(snapshot_data(part)).encode(), tmp_path / "x.json")
    assert read.registers == part.registers
    assert read.registers.keys() == {its.pc, its.sp, platform(its).preserved[0]}


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize("arch", ["arm64", "arm32"])
def test_floating_point_registers_are_there_or_not(kind: str, arch: str, tmp_path: Path) -> None:
    """Each format keeps them apart from the others: a note, a bit of the flags, a thread state."""
    if kind == "macho-core" and arch == "arm32":
        pytest.skip("Mach-O has no programs for 32-bit Arm here")
    whole, part = small(arch), lacking(small(arch), FLOATING)
    assert back(BINARY[kind](whole), tmp_path / "x").registers == whole.registers
    assert back(BINARY[kind](part), tmp_path / "x").registers == part.registers


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize(("arch", "name"), [("x86_64", "rbp"), ("arm64", "x29"), ("arm64", "x30"), ("arm64", "d9")])
def test_a_format_with_a_place_for_each_register_is_not_written(kind: str, arch: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"cannot say that {name} is unknown.*--format json"):
        BINARY[kind](lacking(small(arch), [name]))


@pytest.mark.parametrize("arch", ARCHES)
def test_a_minidump_has_the_registers_that_its_flags_speak_for(arch: str, tmp_path: Path) -> None:
    whole, layout = small(arch), LAYOUTS[arch].minidump
    assert layout.flags is not None
    content = bytearray(minidump_bytes(whole))
    at = context_at(content)
    flags = struct.unpack_from("<I", content, at + layout.flags)[0]
    for bit, names in layout.groups.items():
        struct.pack_into("<I", content, at + layout.flags, flags & ~bit)
        if whole.arch.pc in names:
            with pytest.raises(SnapshotFileError, match=f"no value for .*{whole.arch.pc}"):
                back(bytes(content), tmp_path / "x.dmp")
        else:
            assert back(bytes(content), tmp_path / "x.dmp").registers == lacking(whole, names).registers


def test_the_context_that_breakpad_writes_on_linux(tmp_path: Path) -> None:
    """MDRawContextARM64_Old: flags of 64 bits, 32 registers, pc, cpsr, fpsr, fpcr, 32 registers of 16 bytes."""
    whole = small("arm64")
    content = bytearray(minidump_bytes(whole))
    values = [whole.registers[f"x{i}"] for i in range(31)] + [whole.sp, whole.pc]
    floating = b"".join(whole.registers.get(f"d{i}", 0).to_bytes(16, "little") for i in range(32))
    context = struct.pack("<Q33QIII", 0x8000_0006, *values, whole.registers["nzcv"], 0, 0) + floating
    at = context_at(content)
    content[at : at + len(context)] = context
    assert back(bytes(content), tmp_path / "x.dmp").registers == whole.registers


def context_at(dump: bytes) -> int:
    """Where the exception's CPU context lies: the last field of the stream of type 6."""
    count, at = struct.unpack_from("<II", dump, 8)
    entries = {kind: offset for kind, _, offset in struct.iter_unpack("<III", dump[at : at + 12 * count])}
    return int(struct.unpack_from("<I", dump, entries[6] + 164)[0])


def test_the_snapshot_in_the_readme_reads_as_it_stands(tmp_path: Path) -> None:
    """What a stranger copies: four registers, two pieces of the stack, the file of a program."""
    text = (Path(__file__).parents[2] / "docs" / "real-unwinders.md").read_text(encoding="utf-8")
    example = re.search(r"```json\n(.*?)```", text, re.S)
    assert example is not None
    (tmp_path / "snapshot.json").write_text(example[1])
    shutil.copy(testbed.run("leaf_call", arch="arm64").built.path, tmp_path / "program.elf")
    snapshot = read_snapshot(tmp_path / "snapshot.json", HERE).snapshot
    assert str(UNWINDERS["eh_frame"].unwind(snapshot)) == "leaf+0x8 < middle+0x10 < main+0x10 < _start+0xc (root)"
    for unwinder in UNWINDERS.values():
        if unwinder.applies_to(snapshot.images[0].image):
            assert unwinder.unwind(snapshot).frames[0].pc == snapshot.pc
    assert UNWINDERS["stack_scan"].unwind(snapshot).stopped is not None
    schema = Path(export.__file__).with_name("snapshot.schema.json")
    jsonschema.validate(json.loads(example[1]), json.loads(schema.read_text()))
