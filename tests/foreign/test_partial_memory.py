"""The end of what a dump has is not the end of the stack: nothing that was cut off may be taken for the root."""

import json
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import testbed
from programs import PROGRAMS
from testbed import export
from testbed.arch import ARCHES
from testbed.build.recipes import recipes_for
from testbed.conventions import platform
from testbed.export.build_id import mach_o_uuid
from testbed.export.core import core_bytes
from testbed.export.minidump import minidump_bytes
from testbed.export.register_layouts import LAYOUTS
from testbed.export.write import FORMATS, macho_core_bytes, write_snapshot
from testbed.foreign import read_snapshot
from testbed.foreign.model import Dump, Module
from testbed.foreign.program_files import loaded_images
from testbed.foreign.read import read_dump
from testbed.image import LoadedImage
from testbed.image.macho import MACH_O
from testbed.trace import Memory, Snapshot
from testbed.words.errors import SnapshotFileError, UsageError
from tests.corpus import ran, tool
from tests.foreign.small import BINARY, HERE, WRITERS, back, small, written
from tests.unwinders.said import lacking, said, says_less
from unwinders import UNWINDERS

SCANS = ("stack_scan", "stack_scan_strict", "stack_scan_breakpad")
LOGGERS = ("glibc_backtrace_fp", "qi_stack_frame", "bs_backtrace")
UNITS = [("recursion", "x86_64", "clang-O0-fp"), ("recursion", "arm64", "clang-O0-fp"), ("leaf_call", "arm32", None)]


@pytest.fixture
def snapshot() -> Snapshot:
    return ran("leaf_call", "x86_64").at("leaf_body")


def cut(snapshot: Snapshot, kept: int) -> Snapshot:
    """A dump that has ``kept`` bytes of the stack from SP on, and does not say what else was mapped."""
    parts = []
    for start, size in snapshot.memory.regions:
        end = snapshot.sp + kept if start <= snapshot.sp < start + size else start + size
        parts.append((start, snapshot.memory.read(start, end - start)))
    return replace(snapshot, memory=Memory.of(parts), mappings=())


@pytest.mark.parametrize(("name", "arch", "recipe"), UNITS)
def test_no_unwinder_says_more_of_a_dump_that_was_cut_off(name: str, arch: str, recipe: str | None) -> None:
    run, stops = ran(name, arch, recipe), set()
    for step in range(0, len(run), max(1, len(run) // 12)):
        snapshot = run[step]
        left = snapshot.memory.mapped_until(snapshot.sp) - snapshot.sp
        for kept in {8, 16, 24, 64, left // 2 & -8, left} - {0}:
            if kept > left:
                continue
            for unwinder in UNWINDERS.values():
                if unwinder.applies_to(run.built.image):
                    whole, part = unwinder.unwind(snapshot), unwinder.unwind(cut(snapshot, kept))
                    assert not says_less(part, whole), (
                        f"{unwinder}, step {step}, {kept} bytes: {says_less(part, whole)}"
                    )
                    if part.stopped:
                        stops.add((unwinder.name, part.stopped.reason))
                    assert unwinder.name not in SCANS or part.stopped is not None
    assert {(scan, "NotInSnapshot") for scan in SCANS} <= stops
    assert ("glibc_backtrace_fp", "NotInSnapshot") in stops


@pytest.mark.parametrize("kind", ["core", "minidump", "json"])
@pytest.mark.parametrize("name", SCANS)
def test_a_file_says_whether_the_stack_is_whole(snapshot: Snapshot, name: str, kind: str, tmp_path: Path) -> None:
    for part in (snapshot, cut(snapshot, 64)):
        read = back(WRITERS[kind](part), tmp_path)
        assert read.stack_end()[1] == read.is_whole == (part is snapshot)
        said = UNWINDERS[name].unwind(read).stopped
        assert (said is None) == (UNWINDERS[name].unwind(part).stopped is None)
        assert part is snapshot or (said is not None and said.reason == "NotInSnapshot")


def test_a_mach_o_core_has_no_way_to_say_that_the_stack_is_cut_off(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match=r"part of the stack is missing.*--format json"):
        macho_core_bytes(cut(snapshot, 64))


def test_a_segment_of_a_core_that_is_longer_in_memory_than_in_the_file(snapshot: Snapshot, tmp_path: Path) -> None:
    """What the kernel writes where a limit on the size, or a filter, left out the rest of a mapping."""
    content = bytearray(core_bytes(snapshot))
    count = struct.unpack_from("<H", content, 56)[0]
    for at in range(64, 64 + 56 * count, 56):
        kind, _, _, address, _, in_file, _, _ = struct.unpack_from("<IIQQQQQQ", content, at)
        if kind == 1 and address <= snapshot.sp < address + in_file:
            struct.pack_into("<Q", content, at + 32, snapshot.sp + 64 - address)
    read = back(content, tmp_path)
    assert read.stack_end() == (snapshot.sp + 64, False)
    assert UNWINDERS["stack_scan"].unwind(read).stopped is not None


def test_a_core_without_the_words_that_the_kernel_put_on_the_stack_is_not_whole(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    """A tool that writes as much of the stack as it likes; the auxiliary vector points to what is not there."""
    end = snapshot.memory.mapped_until(snapshot.sp)
    for pointer, whole in ((end - 8, True), (end + 8, False)):
        content = core_bytes(snapshot)
        entry = struct.pack("<2Q", 9, snapshot.images[0].entry)  # AT_ENTRY: the program's file is known without it
        content = content.replace(entry, struct.pack("<2Q", 31, pointer), 1)
        assert back(content, tmp_path).is_whole is whole


def test_breakpads_copy_of_the_maps_says_what_was_mapped(snapshot: Snapshot, tmp_path: Path) -> None:
    start, end = next((a, a + n) for a, n in snapshot.memory.regions if a <= snapshot.sp < a + n)
    for last in (end, end + 0x1000):
        content = bytearray(minidump_bytes(snapshot))
        text = f"{start:08x}-{last:08x} rw-p 00000000 00:00 0    [stack]\n".encode()
        count, at = struct.unpack_from("<II", content, 8)
        for entry in range(at, at + 12 * count, 12):
            if struct.unpack_from("<I", content, entry)[0] == 16:
                struct.pack_into("<III", content, entry, 0x4767_0009, len(text), len(content))
        read = back(bytes(content) + text, tmp_path)
        assert read.mappings == ((start, last),)
        assert read.is_whole is (last == end)


def test_memory_in_several_pieces_is_one_stack(snapshot: Snapshot, tmp_path: Path) -> None:
    start, size = next((a, n) for a, n in snapshot.memory.regions if a <= snapshot.sp < a + n)
    middle = snapshot.sp + 16
    halves = [(start, snapshot.memory.read(start, middle - start))]
    halves.append((middle, snapshot.memory.read(middle, start + size - middle)))
    rest = [(a, snapshot.memory.read(a, n)) for a, n in snapshot.memory.regions if a != start]
    parts = dict(arch="x86_64", registers=snapshot.registers, memory=[*rest, *halves])
    images = [(snapshot.images[0].image.path, 0)]
    whole = Snapshot.from_parts(**parts, images=images, mappings=[(a, a + n) for a, n in snapshot.memory.regions])
    unknown = Snapshot.from_parts(**parts, images=images)
    for name in SCANS:
        said, recorded_says = UNWINDERS[name].unwind(whole), UNWINDERS[name].unwind(snapshot)
        assert not says_less(said, recorded_says)
        assert str(said.stopped) == str(recorded_says.stopped)
        assert UNWINDERS[name].unwind(unknown).stopped is not None


@pytest.mark.parametrize("name", LOGGERS[1:])
def test_a_logger_cannot_know_what_it_would_have_read(name: str) -> None:
    """In the process an unreadable record ends the list; in a dump it may just not be there."""
    registers = {"rip": 0x1000, "rsp": 0x8000, "rbp": 0x8000}
    record = [(0x8000, struct.pack("<4Q", 0x8010, 0x1234, 0x9000, 0x1240))]
    given = dict(arch="x86_64", registers=registers, memory=record, images=[])
    assert UNWINDERS[name].unwind(Snapshot.from_parts(**given)).stopped is not None
    assert UNWINDERS[name].unwind(Snapshot.from_parts(**given, mappings=[(0x8000, 0x8020)])).stopped is None
    there = [(0x8000, 0x8020), (0x9000, 0xA000)]  # mapped, and not in the dump
    assert UNWINDERS[name].unwind(Snapshot.from_parts(**given, mappings=there)).stopped is not None


# Registers that a file does not have are unknown when it is read, and no file is written that would make them zero.

FLOATING = [f"d{i}" for i in range(8, 16)]


@pytest.mark.parametrize("arch", ARCHES)
def test_json_has_any_of_them(arch: str, tmp_path: Path) -> None:
    its = ARCHES[arch]
    part = lacking(
        small(arch), [name for name in its.by_name if name not in (its.pc, its.sp, platform(its).preserved[0])]
    )
    read = back(WRITERS["json"](part), tmp_path)
    assert read.registers == part.registers
    assert read.registers.keys() == {its.pc, its.sp, platform(its).preserved[0]}


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize("arch", ["arm64", "arm32"])
def test_floating_point_registers_are_there_or_not(kind: str, arch: str, tmp_path: Path) -> None:
    """Each format keeps them apart from the others: a note, a bit of the flags, a thread state."""
    if kind == "macho-core" and arch == "arm32":
        pytest.skip("Mach-O has no programs for 32-bit Arm here")
    whole, part = small(arch), lacking(small(arch), FLOATING)
    assert back(BINARY[kind](whole), tmp_path).registers == whole.registers
    assert back(BINARY[kind](part), tmp_path).registers == part.registers


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
                back(bytes(content), tmp_path)
        else:
            assert back(bytes(content), tmp_path).registers == lacking(whole, names).registers


def test_the_context_that_breakpad_writes_on_linux(tmp_path: Path) -> None:
    """MDRawContextARM64_Old: flags of 64 bits, 32 registers, pc, cpsr, fpsr, fpcr, 32 registers of 16 bytes."""
    whole = small("arm64")
    content = bytearray(minidump_bytes(whole))
    values = [whole.registers[f"x{i}"] for i in range(31)] + [whole.sp, whole.pc]
    floating = b"".join(whole.registers.get(f"d{i}", 0).to_bytes(16, "little") for i in range(32))
    context = struct.pack("<Q33QIII", 0x8000_0006, *values, whole.registers["nzcv"], 0, 0) + floating
    at = context_at(content)
    content[at : at + len(context)] = context
    assert back(bytes(content), tmp_path).registers == whole.registers


def context_at(dump: bytes) -> int:
    """Where the exception's CPU context lies: the last field of the stream of type 6."""
    count, at = struct.unpack_from("<II", dump, 8)
    entries = {kind: offset for kind, _, offset in struct.iter_unpack("<III", dump[at : at + 12 * count])}
    return int(struct.unpack_from("<I", dump, entries[6] + 164)[0])


def test_the_snapshot_in_the_readme_reads_as_it_stands(tmp_path: Path) -> None:
    """What a stranger copies: four registers, two pieces of the stack, the file of a program."""
    text = (Path(__file__).parents[2] / "docs" / "real-unwinders.md").read_text(encoding="utf-8")
    example = re.search(r"```json\n(.*?)```", text, re.S)
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


# The note "all image infos" of a Mach-O core, as LLDB writes and reads it.


def mach_o() -> Snapshot:
    return testbed.run("alloca_vla", arch="arm64", recipe="macho-O2").at("main")


def dump_of(content: bytes, folder: Path) -> Dump:
    return read_dump(written(folder / "a.mcore", content))


def entry(content: bytes) -> int:
    """Where the note's only entry begins: the note's command says where its header is, and that where the entries."""
    (header,) = struct.unpack_from("<Q", content, content.index(b"all image infos\0") + 16)
    version, count, first, size, _ = struct.unpack_from("<IIQII", content, header)
    assert (version, count, size) == (1, 1, 48)
    return int(first)


def test_it_names_path_uuid_and_address(tmp_path: Path) -> None:
    of = mach_o()
    (module,) = dump_of(macho_core_bytes(of), tmp_path).modules
    loaded = of.images[0]
    assert (module.name, module.start) == (str(loaded.image.path), loaded.image.base + loaded.bias)
    assert len(module.identifier) == 16 and module.identifier == mach_o_uuid(loaded.image.content)


def test_an_image_whose_segments_lie_apart_begins_at_the_lowest_that_is_loaded(tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(mach_o()))
    segments = [(b"__PAGEZERO", 0), (b"__DATA", 0x9000), (b"__TEXT", 0x8000)]
    struct.pack_into("<QQI", content, entry(content) + 24, (1 << 64) - 1, len(content), len(segments))
    content += b"".join(struct.pack("<16sQQ", name, address, 0) for name, address in segments)
    assert [module.start for module in dump_of(bytes(content), tmp_path).modules] == [0x8000]


@pytest.mark.parametrize(("at", "value"), [(0, 0), (24, (1 << 64) - 1)], ids=["no path", "no address"])
def test_an_image_without_a_path_or_an_address_is_none(at: int, value: int, tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(mach_o()))
    struct.pack_into("<Q", content, entry(content) + at, value)
    assert dump_of(bytes(content), tmp_path).modules == ()


def test_what_lies_outside_the_file_is_refused_with_its_place(tmp_path: Path) -> None:
    content = bytearray(macho_core_bytes(mach_o()))
    struct.pack_into("<Q", content, entry(content), len(content))
    with pytest.raises(SnapshotFileError, match="the path of an image has no end"):
        dump_of(bytes(content), tmp_path)
    struct.pack_into("<I", content, entry(content) - 20, 1 << 31)
    with pytest.raises(SnapshotFileError, match="2147483648 images"):
        dump_of(bytes(content), tmp_path)


def test_lldb_finds_the_program_file_by_itself(tmp_path: Path) -> None:
    lldb = tool("lldb-22 lldb", "lldb-22")
    core = written(tmp_path / "a.mcore", macho_core_bytes(mach_o()))
    done = subprocess.run(
        [lldb, "--no-lldbinit", "-b", "-o", f"target create --core {core}", "-o", "bt"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "`main" in done.stdout and "`_start" in done.stdout, done.stdout + done.stderr


# What `testbed export` writes and `testbed.foreign` reads is the same machine to every unwinder.

EXCHANGED = [
    *(
        (name, arch.name, None)
        for name, program in PROGRAMS.items()
        for arch in program.arches()
        if recipes_for(program, arch)
    ),
    *(("alloca_vla", arch, "macho-O2") for arch in ("x86_64", "arm64")),
    *(("leaf_call", "arm32", recipe) for recipe in ("keystone-thumb", "clang-asm-thumb")),
    *(("alloca_vla", "arm32", recipe) for recipe in ("clang-O2", "clang-thumb-O2-fp")),
]
STEPS = 3  # a run is cut in so many parts: what is looked at is between them


@pytest.mark.parametrize(("name", "arch", "recipe"), EXCHANGED, ids=lambda part: str(part))
def test_every_unwinder_says_the_same_of_a_file_that_was_read_back(
    name: str, arch: str, recipe: str | None, tmp_path: Path
) -> None:
    run = testbed.run(name, arch=arch, recipe=recipe)
    unwinders = [unwinder for unwinder in UNWINDERS.values() if unwinder.applies_to(run.built.image)]
    assert unwinders
    for step in sorted({len(run) * i // STEPS for i in range(1, STEPS)}):
        snapshot = run[step]
        for how in FORMATS.values():
            if how.name == "macho-core" and MACH_O[snapshot.arch.name] is None:
                continue
            path = tmp_path / f"{step}{how.suffix}"
            write_snapshot(snapshot, path, how)
            back = read_snapshot(path, HERE).snapshot
            assert back.registers == snapshot.registers
            assert [image.bias for image in back.images] == [image.bias for image in snapshot.images]
            expected = snapshot if how.name == "json" else without_frame_records(snapshot)
            for unwinder in unwinders:
                assert said(unwinder.unwind(back)) == said(unwinder.unwind(expected)), (
                    f"{how.name}, {unwinder}, step {step}"
                )


def without_frame_records(snapshot: Snapshot) -> Snapshot:
    """Which layout its frame records have is said by no program file, core or minidump."""
    images = tuple(LoadedImage(replace(i.image, frame_records={}), i.bias) for i in snapshot.images)
    return replace(snapshot, images=images, step=None)


def test_a_file_that_is_mapped_in_part_is_placed_by_the_mappings_offset(tmp_path: Path) -> None:
    """A core of a process that unmapped the header of a program, or dumped its code alone, names an offset."""
    image = small("x86_64").images[0].image
    code = next(segment for segment in image.segments if segment.executable and segment.offset >= 0x1000)
    page = code.offset & -0x1000
    there = 0x7F00_0000_0000
    module = Module(str(image.path), there, 0, offset=page)
    dump = Dump(tmp_path / "core", "ELF core", image.arch, small("x86_64").registers, (), (module,))
    (loaded,), _ = loaded_images(dump, HERE)
    assert code.address + loaded.bias == there + code.offset - page
