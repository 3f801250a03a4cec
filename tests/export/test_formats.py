"""The files that `testbed export` writes, read by people who are not us: gdb, readelf, the schema."""

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path

import jsonschema
import pytest

import testbed
from testbed.export import minidump
from testbed.export.build_id import debug_identifier, gnu_build_id
from testbed.export.core import core_bytes
from testbed.export.dumped_memory import pieces
from testbed.export.minidump import minidump_bytes
from testbed.export.write import FORMATS, macho_core_bytes, snapshot_data, write_snapshot
from testbed.foreign.minidump import read_minidump
from testbed.referee.minidump_stackwalk.unwinder import find as find_stackwalk
from testbed.words.budget import Account
from testbed.words.errors import UsageError

SCHEMA = Path(testbed.__file__).parent / "export" / "snapshot.schema.json"
ISAS = [("x86_64", "keystone"), ("arm64", "keystone"), ("arm32", "keystone"), ("arm32", "keystone-thumb")]
GDB_NAMES = {"rflags": "eflags", "nzcv": "cpsr"}


@pytest.mark.skipif(shutil.which("gdb-multiarch") is None, reason="Debian package: gdb-multiarch")
@pytest.mark.parametrize(("arch", "recipe"), ISAS)
@pytest.mark.parametrize("code", [True, False], ids=["with code", "code in the file only"])
def test_gdb_reads_registers_and_stack_of_a_core(arch: str, recipe: str, code: bool, tmp_path: Path) -> None:
    run = testbed.run("leaf_call", arch=arch, recipe=recipe)
    snapshot = run.at("leaf_body")
    core = tmp_path / "a.core"
    core.write_bytes(core_bytes(snapshot, code=code))
    asked = [f"info registers {GDB_NAMES.get(name, name)}" for name in snapshot.registers]
    options = ["set backtrace past-main on", f"file {run.built.image.path}", f"core-file {core}", *asked, "bt"]
    done = subprocess.run(
        ["gdb-multiarch", "-nx", "-batch", *(part for each in options for part in ("-ex", each))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    names = re.findall(r"^#\d+ .* in (\w+) \(\)", done.stdout, re.M)
    assert names[-4:] == ["leaf", "middle", "main", "_start"]
    for name, value in snapshot.registers.items():
        assert gdb_value(done.stdout, name) == value, name


def gdb_value(printed: str, name: str) -> int:
    """What ``info registers`` shows of one: the bits where it also shows a number, else the first value."""
    line = re.search(rf"^{GDB_NAMES.get(name, name)} +(.*)$", printed, re.M)
    assert line, f"gdb shows no {name}"
    value = re.search(r"(?:raw |u = )(0x[0-9a-f]+)", line[1]) or re.match(r"(0x[0-9a-f]+)", line[1])
    assert value, line[0]
    return int(value[1], 16)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="Debian package: binutils")
def test_readelf_reads_the_notes(tmp_path: Path) -> None:
    snapshot = testbed.run("leaf_call", arch="x86_64").at("leaf")
    core = tmp_path / "a.core"
    core.write_bytes(core_bytes(snapshot))
    said = subprocess.run(["readelf", "-nW", core], capture_output=True, text=True, timeout=60, check=True)
    for part in ("NT_PRSTATUS", "NT_PRPSINFO", "NT_FILE", "NT_AUXV"):
        assert part in said.stdout
    assert "arning" not in said.stderr and "rror" not in said.stderr


@pytest.mark.parametrize(("arch", "recipe"), ISAS)
def test_mapped_files_are_told_in_pages_as_the_kernel_does(arch: str, recipe: str) -> None:
    snapshot = testbed.run("leaf_call", arch=arch, recipe=recipe).at("leaf")
    content, word = core_bytes(snapshot), snapshot.arch.word
    at = content.index(struct.pack("<I4s", 0x4649_4C45, b"CORE")) + 12  # behind the note's type and owner
    count, page, *rest = struct.unpack_from(f"<11{'Q' if word == 8 else 'I'}", content, at)
    assert (count, page) == (3, 0x1000)
    loaded = snapshot.images[0]
    assert [tuple(rest[i : i + 3]) for i in (0, 3, 6)] == [
        (s.address, s.address + 0x1000, s.offset // 0x1000) for s in loaded.image.segments
    ]
    assert [s.offset for s in loaded.image.segments] == [0, 0x1000, 0x2000]


@pytest.mark.parametrize(("arch", "recipe"), ISAS)
def test_bytes_below_sp_are_kept_and_the_unused_stack_is_not(arch: str, recipe: str) -> None:
    snapshot = testbed.run("leaf_call", arch=arch, recipe=recipe).at("leaf_body")
    stack = next(piece for piece in pieces(snapshot) if piece.address <= snapshot.sp < piece.end)
    assert 512 <= snapshot.sp - stack.address <= 0x2000
    assert stack.data == snapshot.memory.read(stack.address, len(stack.data))
    assert stack.writable and not stack.executable
    code = next(piece for piece in pieces(snapshot) if piece.address <= snapshot.pc < piece.end)
    assert code.executable and not code.writable


@pytest.mark.parametrize(("arch", "recipe"), ISAS)
def test_json_follows_its_schema(arch: str, recipe: str) -> None:
    schema = json.loads(SCHEMA.read_text())
    data = snapshot_data(testbed.run("leaf_call", arch=arch, recipe=recipe).at("leaf"))
    jsonschema.validate(json.loads(json.dumps(data)), schema)
    for spoiled in (data | {"version": 2}, data | {"memory": [{"address": "0x0"}]}, data | {"registers": {"pc": 1}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(json.dumps(spoiled)), schema)


def test_a_minidump_names_the_program_file_and_its_identifier() -> None:
    snapshot = testbed.run("leaf_call", arch="arm64").at("leaf")
    content = minidump_bytes(snapshot)
    assert content[:4] == b"MDMP"
    streams = {kind: at for kind, _, at in (struct.unpack_from("<III", content, 32 + 12 * i) for i in range(5))}
    assert streams.keys() == {3, 4, 5, 6, 7}
    assert str(snapshot.images[0].image.path.name).encode("utf-16-le") in content
    assert b"RSDS" in content


def test_a_build_id_in_a_minidump_is_read_by_another_tool_and_by_us(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The corpus has no build ids, real programs have: 20 bytes behind a signature that is a little-endian number."""
    identifier = bytes(range(20))
    monkeypatch.setattr(minidump, "build_id", lambda image: identifier)
    dump = tmp_path / "snapshot.dmp"
    dump.write_bytes(minidump_bytes(testbed.run("leaf_call", arch="x86_64").at("leaf")))
    content = dump.read_bytes()
    read = read_minidump(dump, content, Account(dump, len(content)))
    assert [module.identifier for module in read.modules] == [identifier]
    if (found := find_stackwalk()) is None:
        pytest.skip("no minidump-stackwalk: cargo install minidump-stackwalk")
    done = subprocess.run([found.path, "--json", str(dump)], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout)["modules"][0]["code_id"] == identifier.hex()


def test_an_identifier_as_symbol_stores_write_it() -> None:
    """The example of Breakpad's documents: bytes of a build id, the first fields turned around, the age behind."""
    identifier = bytes.fromhex("0123456789abcdef0123456789abcdef01234567")
    assert debug_identifier(identifier) == "67452301AB89EFCD0123456789ABCDEF0"
    note = struct.pack("<III4s", 4, 20, 3, b"GNU\0") + identifier
    assert gnu_build_id(struct.pack("<III4sI", 4, 4, 1, b"GNU\0", 0) + note) == identifier
    assert gnu_build_id(note[:-4]) in (b"", identifier[:-4]) and gnu_build_id(b"") == b""


def test_there_is_no_mach_o_core_of_a_32_bit_machine() -> None:
    snapshot = testbed.run("leaf_call", arch="arm32").at("leaf")
    with pytest.raises(UsageError, match="--format core"):
        macho_core_bytes(snapshot)


def test_a_file_is_not_replaced_without_force(tmp_path: Path) -> None:
    snapshot = testbed.run("leaf_call", arch="arm64").at("leaf")
    path = tmp_path / "a.core"
    path.write_bytes(b"mine")
    with pytest.raises(UsageError, match="--force"):
        write_snapshot(snapshot, path, FORMATS["core"])
    assert path.read_bytes() == b"mine" and [p.name for p in tmp_path.iterdir()] == ["a.core"]
    write_snapshot(snapshot, path, FORMATS["core"], force=True)
    assert path.read_bytes() == core_bytes(snapshot) and [p.name for p in tmp_path.iterdir()] == ["a.core"]
    with pytest.raises(UsageError, match="cannot be written"):
        write_snapshot(snapshot, tmp_path / "no" / "a.core", FORMATS["core"])
