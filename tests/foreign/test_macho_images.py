"""The note "all image infos" of a Mach-O core, as LLDB writes and reads it."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import testbed
from testbed.export.build_id import mach_o_uuid
from testbed.export.write import macho_core_bytes
from testbed.foreign.model import Dump
from testbed.foreign.read import read_dump
from testbed.trace import Snapshot
from testbed.words.errors import SnapshotFileError


def snapshot() -> Snapshot:
    return testbed.run("alloca_vla", arch="arm64", recipe="macho-O2").at("main")


def dump_of(content: bytes, folder: Path) -> Dump:
    (folder / "a.mcore").write_bytes(content)
    return read_dump(folder / "a.mcore")


def entry(content: bytes) -> int:
    """Where the note's only entry begins: the note's command says where its header is, and that where the entries."""
    (header,) = struct.unpack_from("<Q", content, content.index(b"all image infos\0") + 16)
    version, count, first, size, _ = struct.unpack_from("<IIQII", content, header)
    assert (version, count, size) == (1, 1, 48)
    return int(first)


def test_it_names_path_uuid_and_address(tmp_path: Path) -> None:
    of = snapshot()
    (module,) = dump_of(macho_core_bytes(of), tmp_path).modules
    loaded = of.images[0]
    assert (module.name, module.start) == (str(loaded.image.path), loaded.image.base + loaded.bias)
    assert len(module.identifier) == 16 and module.identifier == mach_o_uuid(loaded.image.content)


def test_an_image_whose_segments_lie_apart_begins_at_the_lowest_that_is_loaded(tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(snapshot()))
    segments = [(b"__PAGEZERO", 0), (b"__DATA", 0x9000), (b"__TEXT", 0x8000)]
    struct.pack_into("<QQI", content, entry(content) + 24, (1 << 64) - 1, len(content), len(segments))
    content += b"".join(struct.pack("<16sQQ", name, address, 0) for name, address in segments)
    assert [module.start for module in dump_of(bytes(content), tmp_path).modules] == [0x8000]


@pytest.mark.parametrize(("at", "value"), [(0, 0), (24, (1 << 64) - 1)], ids=["no path", "no address"])
def test_an_image_without_a_path_or_an_address_is_none(at: int, value: int, tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(snapshot()))
    struct.pack_into("<Q", content, entry(content) + at, value)
    assert dump_of(bytes(content), tmp_path).modules == ()


def test_what_lies_outside_the_file_is_refused_with_its_place(tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(snapshot()))
    struct.pack_into("<Q", content, entry(content), len(content))
    with pytest.raises(SnapshotFileError, match="the path of an image has no end"):
        dump_of(bytes(content), tmp_path)
    struct.pack_into("<I", content, entry(content) - 20, 1 << 31)
    with pytest.raises(SnapshotFileError, match="2147483648 images"):
        dump_of(bytes(content), tmp_path)


def test_lldb_finds_the_program_file_by_itself(tmp_path: Path) -> None:
    lldb = shutil.which("lldb-22") or shutil.which("lldb")
    if lldb is None:
        pytest.skip("no lldb: apt install lldb-22")
    (tmp_path / "a.mcore").write_bytes(macho_core_bytes(snapshot()))
    done = subprocess.run(
        [lldb, "--no-lldbinit", "-b", "-o", f"target create --core {tmp_path / 'a.mcore'}", "-o", "bt"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "`main" in done.stdout and "`_start" in done.stdout, done.stdout + done.stderr
