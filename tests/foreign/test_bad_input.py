"""Damaged, foreign and incomplete dumps: one typed error that names the file, the offset and the fix."""

import json
import re
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.export.write import snapshot_data
from testbed.foreign import Places, read_snapshot
from testbed.foreign.program_files import below
from testbed.trace import Snapshot
from testbed.words.errors import SnapshotFileError, TestbedError, UsageError
from tests.foreign.small import HERE, WRITERS, small, written
from unwinders import UNWINDERS

SECONDS = 5.0  # for one damaged file: none may make the reader loop


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return small()


def read_or_refused(path: Path) -> TestbedError | None:
    """None where the file reads; any other exception than the testbed's own is a bug and passes through."""
    started = time.process_time()
    try:
        back = read_snapshot(path, Places(skip_missing=True)).snapshot
        UNWINDERS["eh_frame"].unwind(back)
        return None
    except TestbedError as error:
        return error
    finally:
        assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_that_is_cut_off_anywhere_is_refused_with_its_name_and_an_offset(
    kind: str, snapshot: Snapshot, tmp_path: Path
) -> None:
    content = WRITERS[kind](snapshot)
    path = tmp_path / "cut"
    # A core's first pages hold all of its structure; behind them there is only memory.
    ends = [*range(min(len(content), 2600)), *range(2600, len(content), 97)]
    read = []
    for end in ends:
        error = read_or_refused(written(path, content[:end]))
        if error is None:
            read.append(end)
            continue
        assert isinstance(error, SnapshotFileError)
        assert error.path == path and 0 <= error.offset <= len(content)
        assert str(path) in str(error) and "offset 0x" in str(error)
    # What is padding at the end may go.
    assert all(not content[end:].strip(b"\0") for end in read), read[:5]


def refused(path: Path, places: Places | None = None, thread: int | None = None) -> str:
    with pytest.raises(TestbedError) as caught:
        read_snapshot(path, places or HERE, thread=thread)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "at", "layout"), [("core", 18, "<H"), ("macho-core", 4, "<I")], ids=["core", "macho-core"]
)
def test_an_unknown_architecture_is_named_with_those_that_are_known(
    kind: str, at: int, layout: str, snapshot: Snapshot, tmp_path: Path
) -> None:
    damaged = bytearray(WRITERS[kind](snapshot))
    struct.pack_into(layout, damaged, at, 243)  # RISC-V in ELF
    path = written(tmp_path / "riscv", damaged)
    said = refused(path)
    assert f"{path}: at offset {at:#x}: unknown architecture" in said and "arm64" in said


def test_an_unknown_processor_in_a_minidump(snapshot: Snapshot, tmp_path: Path) -> None:
    content = bytearray(WRITERS["minidump"](snapshot))
    streams = [struct.unpack_from("<III", content, 32 + 12 * i) for i in range(5)]
    at = next(offset for kind, _, offset in streams if kind == 7)
    struct.pack_into("<H", content, at, 3)  # PowerPC
    assert f"at offset {at:#x}: unknown architecture: processor 0x3" in refused(written(tmp_path / "a.dmp", content))


def test_a_missing_module_names_where_it_was_looked_for_and_the_options(snapshot: Snapshot, tmp_path: Path) -> None:
    path = naming(snapshot, tmp_path, "/nowhere/lost.so")
    said = refused(path)
    for part in (str(path), "lost.so", "/nowhere/lost.so", "--sysroot", "--file", "--skip-missing"):
        assert part in said
    left = read_snapshot(path, Places(skip_missing=True))
    assert left.left_out == ("/nowhere/lost.so",) and not left.snapshot.images
    given = Places(files=((snapshot.images[0].image.path, 0x40_0000),))
    assert refused(path, given)  # a file at an address is no answer to a module that says its bias


def test_a_file_that_lies_in_the_sysroot_or_beside_the_dump_is_found(snapshot: Snapshot, tmp_path: Path) -> None:
    image = snapshot.images[0].image
    content = WRITERS["core"](snapshot).replace(
        str(image.path.parent).encode(), b"/" + b"x" * (len(str(image.path.parent)) - 1)
    )
    dump = tmp_path / "dumps" / "a.core"
    dump.parent.mkdir()
    dump.write_bytes(content)
    assert "--sysroot" in refused(dump)
    root = tmp_path / "root"
    root.mkdir()
    (root / image.path.name).write_bytes(image.content)
    assert read_snapshot(dump, Places(sysroot=root)).snapshot.images[0].image.path == root / image.path.name
    (dump.parent / image.path.name).write_bytes(image.content)
    assert read_snapshot(dump).snapshot.images[0].image.path == dump.parent / image.path.name
    folder = read_snapshot(dump.parent)
    assert folder.dump.path == dump


def test_another_file_of_the_same_name_is_refused(snapshot: Snapshot, tmp_path: Path) -> None:
    image = snapshot.images[0].image
    other = bytearray(image.content)
    other[image.sections[".text"].offset + 1] ^= 1
    (tmp_path / image.path.name).write_bytes(other)
    said = refused(written(tmp_path / "one.dmp", WRITERS["minidump"](snapshot)), Places())
    assert "is not the file that was mapped" in said and "--file" in said


def test_a_program_file_of_another_architecture_is_refused(snapshot: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path / "one.mcore", WRITERS["macho-core"](snapshot))
    x86 = small("x86_64").images[0].image.path
    assert "is for x86_64" in refused(path, Places(files=((x86, 0x40_0000),)))


@pytest.mark.parametrize("kind", ["core", "minidump", "macho-core"])
def test_a_thread_that_is_not_there(kind: str, snapshot: Snapshot, tmp_path: Path) -> None:
    path = written(tmp_path / "one", WRITERS[kind](snapshot))
    assert "no thread 7: the file has 1" in refused(path, Places(skip_missing=True), 7)


def test_folders_without_a_snapshot_or_with_two(snapshot: Snapshot, tmp_path: Path) -> None:
    assert "no snapshot" in refused(tmp_path)
    for name in ("a.dmp", "b.dmp"):
        written(tmp_path / name, WRITERS["minidump"](snapshot))
    assert "2 snapshots (a.dmp, b.dmp)" in refused(tmp_path)
    assert "No such file" in refused(tmp_path / "none.core")


CHANGES: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ('needs "format"', lambda d: d.update(format="x")),
    ("version 7", lambda d: d.update(version=7)),
    ("unknown architecture: arch is 'riscv'", lambda d: d.update(arch="riscv")),
    ("registers.x77", lambda d: d["registers"].update(x77="0x0")),
    ("registers.x0", lambda d: d["registers"].update(x0=5)),
    ("registers.x0", lambda d: d["registers"].update(x0="0x1" + 16 * "0")),
    ("no value for sp", lambda d: d["registers"].pop("sp")),
    ("pac-mask: there is no such entry; did you mean pac_mask", lambda d: d.update({"pac-mask": "0x0"})),
    ("memory[0].bytes: there is no such entry", lambda d: d["memory"][0].update(bytes="00")),
    ("images[0].base: there is no such entry; did you mean bias", lambda d: d["images"][0].update(base="0x0")),
    ("mappings[0]: it needs a start", lambda d: d.update(mappings=["0x0"])),
    ("mappings[0].size: there is no such entry", lambda d: d.update(mappings=[{"start": "0x0", "size": "0x1"}])),
    ("mappings[0].end", lambda d: d.update(mappings=[{"start": "0x0"}])),
    ("mappings: 0x2 to 0x1", lambda d: d.update(mappings=[{"start": "0x2", "end": "0x1"}])),
    ("pac_mask: 127", lambda d: d.update(pac_mask=127)),
    ("pac_mask 0xffffffffffff is no mask", lambda d: d.update(pac_mask="0xffffffffffff")),
    ("memory is no list", lambda d: d.update(memory={})),
    ("memory[0]", lambda d: d["memory"][0].update(hex="00", zlib="x")),
    ("memory[0].hex", lambda d: d.update(memory=[{"address": "0x0", "hex": "0"}])),
    ("memory[0].zlib", lambda d: d.update(memory=[{"address": "0x0", "zlib": "eJz="}])),
    ("memory[0].address", lambda d: d.update(memory=[{"address": "12", "hex": "00"}])),
    ("leaves the address space", lambda d: d.update(memory=[{"address": "0x" + 16 * "f", "hex": "0000"}])),
    (
        "two pieces have the byte at 0x1",
        lambda d: d.update(memory=[{"address": f"0x{i}", "hex": "0000"} for i in (0, 1)]),
    ),
    ("images[0]: it needs a path", lambda d: d.update(images=[{"bias": "0x0"}])),
    ("images[0].bias", lambda d: d["images"][0].update(bias=None)),
    ("frame_records.arm64", lambda d: d["images"][0].update(frame_records={"arm64": "x"})),
    ("build_id", lambda d: d["images"][0].update(build_id="xyz")),
]


@pytest.mark.parametrize(("said", "change"), CHANGES, ids=[said for said, _ in CHANGES])
def test_each_mistake_in_json_is_named_by_its_place(
    said: str, change: Callable[[dict[str, Any]], object], snapshot: Snapshot, tmp_path: Path
) -> None:
    data = snapshot_data(snapshot)
    change(data)
    path = tmp_path / "one.json"
    path.write_text(json.dumps(data))
    error = refused(path)
    assert said in error and str(path) in error


WHOLE = {"rip": 0, "rsp": 8, "rbp": 0}
# what is wrong, and what differs from a snapshot that is right
WRONG_PARTS: list[tuple[str, dict[str, Any]]] = [
    ("no register 'eip'", {"registers": WHOLE | {"eip": 1}}),
    ("no value for rsp", {"registers": {"rip": 0, "rbp": 0}}),
    ("64 bits", {"registers": WHOLE | {"rax": 1 << 64}}),
    ("overlap", {"memory": [(0, b"ab"), (1, b"c")]}),
    *(("is no range of addresses", {"mappings": [wrong]}) for wrong in ((2, 1), (0, 1 << 65), (-1, 4))),
    ("x86_64 signs no return addresses", {"pac_mask": 0x7F << 48}),
    *(
        ("no mask of signature bits", {"arch": "arm64", "registers": {"pc": 0, "sp": 0}, "pac_mask": mask})
        for mask in ((1 << 48) - 1, 1 << 64)  # the first has the address's bits instead of the others
    ),
]


def test_from_parts_says_what_is_wrong() -> None:
    right: dict[str, Any] = {"arch": "amd64", "registers": WHOLE, "memory": [(8, bytes(8))], "images": []}
    for said, wrong in WRONG_PARTS:
        with pytest.raises(UsageError, match=re.escape(said)):
            Snapshot.from_parts(**right | wrong)
    whole = Snapshot.from_parts(**right)
    assert (whole.sp, whole.pac_mask) == (8, None)


# A dump may name any file: only those below the folders that the user gave are opened.


def naming(snapshot: Snapshot, folder: Path, name: str) -> Path:
    """A dump whose only module is called that, in a folder of its own."""
    data = snapshot_data(snapshot)
    data["images"][0]["path"] = name
    (folder / "dump").mkdir(parents=True, exist_ok=True)
    (folder / "dump" / "a.json").write_text(json.dumps(data))
    return folder / "dump" / "a.json"


def refused_file(path: Path, places: Places | None = None) -> str:
    with pytest.raises(SnapshotFileError) as caught:
        read_snapshot(path, places)
    return str(caught.value)


def test_an_absolute_name_is_opened_only_below_the_sysroot(snapshot: Snapshot, tmp_path: Path) -> None:
    file = snapshot.images[0].image.path.resolve()
    dump = naming(snapshot, tmp_path, str(file))
    assert "--sysroot /" in refused_file(dump)
    assert read_snapshot(dump, Places(sysroot=Path("/"))).snapshot.images[0].image.path == file
    assert "--sysroot /" in refused_file(dump, Places(sysroot=tmp_path))


@pytest.mark.parametrize(
    "name", ["../secret", "/../secret", "x/../../secret", "link", "/link", "folder/secret", ".", ""]
)
def test_no_name_leads_out_of_a_folder(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    content = snapshot.images[0].image.path.read_bytes()
    (tmp_path / "secret").write_bytes(content)
    root = tmp_path / "root"
    for folder in (root, tmp_path / "dump"):
        folder.mkdir()
        (folder / "x").mkdir()
        (folder / "link").symlink_to(tmp_path / "secret")
        (folder / "folder").symlink_to(tmp_path)
    refused_file(naming(snapshot, tmp_path, name), Places(sysroot=root))
    assert below(root, name) is None


def test_links_inside_a_folder_are_followed(snapshot: Snapshot, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "usr" / "lib").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "usr" / "lib" / "a.so").write_bytes(snapshot.images[0].image.path.read_bytes())
    found = read_snapshot(naming(snapshot, tmp_path, "/lib/a.so"), Places(sysroot=root))
    assert found.snapshot.images[0].image.path == root / "lib" / "a.so"


@pytest.mark.parametrize("name", ["n" * 300, "/" + "d/" * 5000 + "x", "\x1b[31mred", "a\nb"])
def test_odd_names_are_told_on_one_line(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    said = refused_file(naming(snapshot, tmp_path, name), Places(sysroot=tmp_path))
    assert said.isprintable() and len(said) < 2500


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_what_no_file_can_be_called_is_a_mistake_of_the_dump(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    assert "it needs a path" in refused_file(naming(snapshot, tmp_path, name))
