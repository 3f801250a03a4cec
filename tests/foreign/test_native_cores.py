"""Real cores of real processes, the kernel's and gdb's: ours beside gdb's own backtrace of the same file."""

import os
import re
import resource
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.contract.unwinder import Backtrace
from testbed.foreign import Places, read_snapshot
from testbed.image import image_covering, read_image
from testbed.naming.symbolize import symbolize
from testbed.remote.snapshot_target import answer, layout
from testbed.trace import Memory, Snapshot
from testbed.words.errors import SnapshotFileError
from tests.corpus import ran, tool
from tests.foreign.small import HERE, WRITERS, back, small
from unwinders import UNWINDERS

SOURCE = """
#include <stdlib.h>
static int compare(const void *a, const void *b) {
    if (*(const int *)a == 3) abort();
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) int middle(int n) {
    int v[8] = {5, 4, 3, 2, 1, 0, 9, 8};
    v[0] += n;
    qsort(v, 8, sizeof *v, compare);
    return v[0];
}
int main(int argc, char **argv) { return middle(argc) + 1; }
"""

WALK = """
frame = gdb.newest_frame()
while frame:
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        print("PC", frame.pc())
    frame = frame.older()
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler for this machine; Debian package: gcc"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="the core is an x86_64 process's"),
]
KNOWN = ["raise", "abort", "compare", "middle", "main"]
needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="Debian package: gdb")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dynamically linked program, position-independent: it aborts below the C library's qsort."""
    folder = tmp_path_factory.mktemp("native")
    (folder / "program.c").write_text(SOURCE)
    subprocess.run(
        ["gcc", "-O1", "-g", "-fpie", "-pie", "-o", "program", "program.c"], cwd=folder, check=True, timeout=60
    )
    return folder / "program"


@pytest.fixture(scope="module")
def gcore(program: Path) -> Path:
    path = program.parent / "by-gdb.core"
    commands = ("-ex", "run", "-ex", f"gcore {path}")
    subprocess.run(["gdb", "-nx", "-batch", *commands, str(program)], capture_output=True, timeout=60, check=False)
    if not path.exists():
        pytest.skip("gdb cannot run a process here (ptrace is not allowed)")
    return path


def names(core: Path, unwinder: str, places: Places = HERE) -> tuple[list[int], list[str], Backtrace]:
    of = read_snapshot(core, places).snapshot
    said = UNWINDERS[unwinder].unwind(of)
    return [f.pc for f in said.frames], [f.function for f in symbolize(of.images, said).frames], said


def gdb_backtrace(program: Path, core: Path) -> list[int]:
    """pc of every frame that is on the stack, by gdb's own unwinder, past main."""
    file = core.parent / "walk.py"
    file.write_text(WALK)
    options = ("set backtrace past-main on", "set backtrace past-entry on")
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *(part for each in options for part in ("-ex", each)), "-x", file, program, core],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return [int(pc) for pc in re.findall(r"^PC (\d+)$", done.stdout, re.M)]


@needs_gdb
def test_a_core_of_gdb_unwinds_to_main_and_as_gdb_says(program: Path, gcore: Path) -> None:
    pcs, functions, said = names(gcore, "eh_frame")
    assert said.stopped is None
    assert functions[-1] == "_start" and "main" in functions
    inner = functions[: functions.index("main") + 1]
    assert [f for f in inner if f in KNOWN] == KNOWN
    assert pcs == gdb_backtrace(program, gcore)
    assert names(gcore, "eh_frame_hdr")[0] == pcs


@needs_gdb
def test_the_vdso_is_read_from_memory_and_libraries_from_the_names_in_the_core(gcore: Path) -> None:
    images = {loaded.image.path.name: loaded for loaded in read_snapshot(gcore, HERE).snapshot.images}
    assert {"program", "libc.so.6", "[vdso]"} <= images.keys()
    assert images["[vdso]"].image.symbol_named("__vdso_clock_gettime") is not None
    assert images["program"].bias and images["libc.so.6"].bias


@needs_gdb
def test_another_build_of_the_program_is_refused(program: Path, gcore: Path, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(SOURCE.replace("argc) + 1", "argc) + 2"))
    subprocess.run(
        ["gcc", "-O1", "-g", "-fpie", "-pie", "-Wl,--build-id", "-o", "program", "x.c"],
        cwd=tmp_path, check=True, timeout=60,
    )  # fmt: skip
    if ".note.gnu.build-id" not in read_image(program).sections:
        pytest.skip("this gcc links without build ids")
    with pytest.raises(SnapshotFileError, match="is not the file that was mapped"):
        read_snapshot(gcore, Places(files=((tmp_path / "program", None),), sysroot=Path("/")))


def test_a_core_of_the_kernel_unwinds_to_start(program: Path) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern != "core":
        pytest.skip(f"the kernel does not write cores to the current folder (core_pattern is {pattern!r})")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    subprocess.run(
        [str(program)],
        cwd=program.parent,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)),
        stderr=subprocess.DEVNULL,
    )
    found = sorted(program.parent.glob("core*"))
    if not found:
        pytest.skip("the kernel wrote no core (limit, or a container that does not allow it)")
    _, functions, said = names(found[0], "eh_frame")
    assert said.stopped is None
    assert functions[-1] == "_start" and functions.index("abort") < functions.index("compare") < functions.index("main")


@needs_gdb
def test_names_come_from_compressed_debug_data(program: Path, gcore: Path, tmp_path: Path) -> None:
    """MiniDebugInfo, as Fedora's packages carry it: a stripped program with an xz-compressed symbol table."""
    if shutil.which("objcopy") is None or shutil.which("xz") is None:
        pytest.skip("Debian packages: binutils, xz-utils")
    for command in (
        "objcopy --only-keep-debug --remove-section .comment --strip-debug program mini",
        "xz -f mini",
        "strip --strip-all -o stripped program",
        "objcopy --add-section .gnu_debugdata=mini.xz stripped with",
    ):
        (tmp_path / "program").write_bytes(program.read_bytes())
        subprocess.run(command.split(), cwd=tmp_path, check=True, timeout=60)
    start = next(m.start for m in read_snapshot(gcore, HERE).dump.modules if m.name.endswith("/program"))
    stripped = names(gcore, "eh_frame", Places(files=((tmp_path / "stripped", start),), sysroot=Path("/")))[1]
    assert "middle" not in stripped
    functions = names(gcore, "eh_frame", Places(files=((tmp_path / "with", start),), sysroot=Path("/")))[1]
    assert [name for name in functions if name in ("compare", "middle", "main")] == ["compare", "middle", "main"]


GDB_NAMES = """
frame = gdb.newest_frame()
while frame:
    place = frame.find_sal()
    print("FRAME", frame.name(), place.symtab.filename.split("/")[-1] if place.symtab else None, place.line)
    frame = frame.older()
"""


@needs_gdb
@pytest.mark.parametrize("found_by", ["build id", "debug link"])
def test_names_that_gdb_has_from_a_separate_debug_file_come_out(
    found_by: str, program: Path, gcore: Path, tmp_path: Path
) -> None:
    """A stripped program, as distributions install them, and its debug file in a folder that the user names."""
    tool("objcopy", "binutils")
    (tmp_path / "program").write_bytes(program.read_bytes())
    debug = tmp_path / "debug" / "program.debug"
    if found_by == "build id":
        note = read_image(program).sections.get(".note.gnu.build-id")
        if note is None:
            pytest.skip("this gcc links without build ids")
        identifier = note.data[16:].hex()
        debug = tmp_path / "debug" / ".build-id" / identifier[:2] / f"{identifier[2:]}.debug"
    debug.parent.mkdir(parents=True)
    commands = [["objcopy", "--only-keep-debug", "program", str(debug)], ["objcopy", "--strip-all", "program"]]
    if found_by == "debug link":
        commands.append(["objcopy", f"--add-gnu-debuglink={debug}", "program"])
    for command in commands:
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    start = next(m.start for m in read_snapshot(gcore, HERE).dump.modules if m.name.endswith("/program"))
    files = ((tmp_path / "program", start),)
    if found_by == "debug link":  # beside the program
        (tmp_path / "program.debug").write_bytes(debug.read_bytes())

    def named(places: Places) -> list[tuple[str, str | None, int]]:
        of = read_snapshot(gcore, places).snapshot
        frames = symbolize(of.images, UNWINDERS["eh_frame"].unwind(of)).frames
        return [(f.function, f.line.name if f.line else None, f.line.line if f.line else 0) for f in frames]

    assert "middle" not in [name for name, _, _ in named(Places(files, Path("/")))]
    ours = named(Places(files, Path("/"), debug_dirs=(tmp_path / "debug",)))
    script = tmp_path / "names.py"
    script.write_text(GDB_NAMES)
    settings = ("set backtrace past-main on", f"set debug-file-directory {tmp_path}/debug")
    options = [part for setting in settings for part in ("-iex", setting)]
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *options, "-x", script, tmp_path / "program", gcore],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    theirs = re.findall(r"^FRAME (\w+) program\.c (\d+)$", done.stdout, re.M)
    assert [name for name, _ in theirs] == ["compare", "middle", "main"], done.stdout + done.stderr
    assert [(name, str(line)) for name, file, line in ours if file == "program.c"] == theirs


# Which bits of a return address are its signature is a fact of the process, so a snapshot carries it.
#
# A program that signs is recorded where addresses have 48 bits. Here its signed addresses get the signatures that a
# process with 39, 42, 48 or 52 bits would have given them.

ARM64 = ARCHES["arm64"]
BITS = (39, 42, 48, 52)
PROGRAMS = [("pac_ret", "keystone"), ("pac_ret", "clang-asm"), ("recursion", "clang-O2-fp-pac")]
STRIPPING = ("eh_frame", "eh_frame_hdr", "sframe", "prologue_analysis", "builtin_return_address")


def mask_of(bits: int) -> int:
    """Linux: GENMASK(54, bits), the bits between those of an address and those that the processor ignores."""
    return (1 << 55) - (1 << bits)


def signed_for(snapshot: Snapshot, bits: int) -> Snapshot:
    """The snapshot as it would be with addresses of so many bits: signatures elsewhere, and all of them set."""

    def moved(word: int) -> int:
        address = word & ~ARM64.signature
        loaded = image_covering(snapshot.images, address - 1)
        return address | mask_of(bits) if address != word and loaded else word

    registers = {n: moved(v) if n in ("x29", "x30") else v for n, v in snapshot.registers.items()}
    parts = []
    for start, size in snapshot.memory.regions:
        data = snapshot.memory.read(start, size)
        if start <= snapshot.sp < start + size:
            data = b"".join(struct.pack("<Q", moved(word)) for (word,) in struct.iter_unpack("<Q", data))
        parts.append((start, data))
    return replace(snapshot, registers=registers, memory=Memory.of(parts), pac_mask=mask_of(bits))


def told(said: Backtrace) -> object:
    frames = [(f.kind, f.pc, f.cfa) for f in said.frames]
    return frames, said.stopped and (said.stopped.reason, said.stopped.pc)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(("program", "recipe"), PROGRAMS)
def test_signatures_are_taken_off_by_the_snapshots_mask(program: str, recipe: str, bits: int) -> None:
    run = ran(program, "arm64", recipe)
    unwinders = [UNWINDERS[name] for name in STRIPPING if UNWINDERS[name].applies_to(run.built.image)]
    signed = 0
    for step in range(0, len(run), max(1, len(run) // 12)):
        snapshot = run[step]
        other = signed_for(snapshot, bits)
        signed += other.memory.read(snapshot.sp, 64) != snapshot.memory.read(snapshot.sp, 64)
        for unwinder in unwinders:
            assert told(unwinder.unwind(other)) == told(unwinder.unwind(snapshot)), f"{unwinder}, step {step}"
    assert signed


def test_without_a_mask_a_signed_address_is_no_frame() -> None:
    """The mask that most processes have would make a false frame of another one's address."""
    run = ran("pac_ret", "arm64", "keystone")
    stopped = 0
    for step in range(0, len(run), 3):
        unknown = replace(signed_for(run[step], 39), pac_mask=None)
        for name in STRIPPING:
            whole, said = UNWINDERS[name].unwind(run[step]), UNWINDERS[name].unwind(unknown)
            pcs = [frame.pc for frame in said.frames]
            assert pcs == [frame.pc for frame in whole.frames][: len(pcs)]
            if len(pcs) < len(whole.frames):
                assert said.stopped is not None and said.stopped.reason == "UnsupportedRule"
                assert "pac_mask" in str(said.stopped)
                stopped += 1
    assert stopped > 20


def test_without_a_mask_an_address_inside_an_image_has_no_signature() -> None:
    """The same program on a core that cannot sign: its hints do nothing, and its rows still say "signed"."""
    run = ran("pac_ret", "arm64", "keystone")
    snapshot = run[len(run) // 2]
    plain = replace(signed_for(snapshot, 55), pac_mask=None)  # of 55 bits no bit is left for a signature
    assert told(UNWINDERS["eh_frame"].unwind(plain)) == told(UNWINDERS["eh_frame"].unwind(snapshot))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_carries_the_mask(kind: str, bits: int, tmp_path: Path) -> None:
    run = ran("pac_ret", "arm64", "keystone")
    snapshot = signed_for(run[len(run) // 2], bits)
    read = back(WRITERS[kind](snapshot), tmp_path)
    assert read.pac_mask is not None
    assert read.pac_mask & (1 << 55) - 1 == mask_of(bits)  # a Mach-O core says how many bits are the address
    for name in STRIPPING:
        assert told(UNWINDERS[name].unwind(read)) == told(UNWINDERS[name].unwind(snapshot)), name


@pytest.mark.parametrize("kind", ["core", "minidump"])
def test_code_pointers_have_a_mask_of_their_own(kind: str, tmp_path: Path) -> None:
    content = bytearray(WRITERS[kind](small("arm64")))
    at = content.index(struct.pack("<2Q", ARM64.signature, ARM64.signature))
    struct.pack_into("<2Q", content, at, mask_of(52), mask_of(39))
    assert back(content, tmp_path).pac_mask == mask_of(39)


@pytest.mark.parametrize("kind", WRITERS)
def test_where_it_is_not_known_no_file_says_it(kind: str, tmp_path: Path) -> None:
    assert back(WRITERS[kind](replace(small("arm64"), pac_mask=None)), tmp_path).pac_mask is None


@pytest.mark.parametrize(("version", "says"), [(3, (47, 0, 0)), (4, (47, 47, 0))])
def test_lldbs_note_of_the_addresses_bits(version: int, says: tuple[int, ...], tmp_path: Path) -> None:
    content = bytearray(WRITERS["macho-core"](small("arm64")))
    at = content.index(struct.pack("<IIQ", 3, 48, 0))
    struct.pack_into("<4I", content, at, version, *says)
    assert back(content, tmp_path).pac_mask == (1 << 64) - (1 << 47)


@pytest.mark.parametrize("bits", BITS)
def test_a_debugger_is_told_the_snapshots_mask(bits: int) -> None:
    snapshot = replace(small("arm64"), pac_mask=mask_of(bits))
    names = [name for name, _ in layout(ARM64)]
    assert answer(snapshot, f"p{names.index('pauth_cmask'):x}") == mask_of(bits).to_bytes(8, "little").hex()
    assert f"addressing_bits:{bits};" in (answer(snapshot, "qHostInfo") or "")
    unknown = replace(snapshot, pac_mask=None)
    assert answer(unknown, f"p{names.index('pauth_cmask'):x}") == "xx" * 8
    assert "addressing_bits" not in (answer(unknown, "qHostInfo") or "")
