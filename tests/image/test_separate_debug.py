"""Debug information elsewhere: separate, compressed, or written anew by tools."""

import lzma
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from testbed.image import Image, read_image
from testbed.image.debug import debug_info
from testbed.image.debug.lines import Line
from testbed.image.separate_debug import DebugDirs
from testbed.words.errors import ImageError
from tests.corpus import tool
from unwinders import UNWINDERS

SOURCE = """
int sink;
static __attribute__((noinline)) int inner(int n) { sink = n; return n + 1; }
static inline __attribute__((always_inline)) int between(int n) { return inner(n) * 2; }
__attribute__((noinline)) int outer(int n) { return between(n) + 3; }
int start(void) { return outer(4); }
"""
TOOLS = {"x86_64": "x86_64-linux-gnu-", "arm64": "aarch64-linux-gnu-", "arm32": "arm-linux-gnueabihf-"}
FLAGS = {"x86_64": (), "arm64": (), "arm32": ("-mthumb",)}


@dataclass(frozen=True)
class Kit:
    """A program with everything in a folder of its own, and the binutils of its architecture."""

    arch: str
    folder: Path

    def run(self, tool: str, *arguments: str) -> None:
        subprocess.run([TOOLS[self.arch] + tool, *arguments], cwd=self.folder, check=True, timeout=60)

    @property
    def whole(self) -> Image:
        return read_image(self.folder / "whole")

    def stripped(self, folder: str = "bin") -> Path:
        """The program without symbols and debug information, in a folder of its own."""
        (self.folder / folder).mkdir(exist_ok=True)
        self.run("objcopy", "--strip-all", "whole", f"{folder}/program")
        return self.folder / folder / "program"

    def debug(self, where: str) -> Path:
        (self.folder / where).parent.mkdir(parents=True, exist_ok=True)
        self.run("objcopy", "--only-keep-debug", "whole", where)
        return self.folder / where

    def linked(self, debug: Path) -> Path:
        """The stripped program, with a link to its debug file."""
        program = self.stripped()
        self.run("objcopy", f"--add-gnu-debuglink={debug}", str(program))
        return program


@cache
def compiled(arch: str, folder: Path) -> None:
    compiler = TOOLS[arch] + "gcc"
    if shutil.which(compiler) is None:
        compiler = "gcc" if arch == "x86_64" else pytest.skip(f"no {compiler}; Debian package: gcc-{TOOLS[arch]}")
    (folder / "x.c").write_text(SOURCE)
    options = (
        "-O1",
        "-g",
        "-nostdlib",
        "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables",
        "-Wl,--build-id",
        "-Wl,-estart",
    )
    command = [compiler, *FLAGS[arch], *options, "-o", "whole", "x.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)


@pytest.fixture(params=TOOLS)
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Kit:
    arch: str = request.param
    for name in ("objcopy", "gcc"):
        tool(TOOLS[arch] + name, f"gcc and binutils for {arch}")
    compiled(arch, tmp_path)
    return Kit(arch, tmp_path)


def names(image: Image) -> object:
    return sorted((s.name, s.address, s.size) for s in image.symbols if s.is_function)


def lines(image: Image) -> list[tuple[str, tuple[str, ...], Line | None]]:
    """Function, inlined calls and line of each byte of the code that the source is made of."""
    info, found = debug_info(image), []
    assert not info.problems
    code = image.sections[".text"]
    for address in range(code.address, code.address + len(code.data)):
        if (function := info.function_at(address)) is not None:
            inlined = tuple(one.name for one in info.inlined_at(address))
            found.append((function.name, inlined, info.line_at(address)))
    return found


def rows(image: Image) -> list[str]:
    table = UNWINDERS["debug_frame"].rows
    return [str(row) for row in table(image).rows]


def assert_the_same(image: Image, whole: Image) -> None:
    assert names(image) == names(whole)
    assert image.isa_marks == whole.isa_marks
    assert {name for name, _, _ in lines(whole)} == {"inner", "outer", "start"}
    assert any(inlined == ("between",) for _, inlined, _ in lines(whole))
    assert lines(image) == lines(whole)
    assert rows(image) == rows(whole) and rows(whole)
    assert UNWINDERS["debug_frame"].applies_to(image)


def by_build_id(kit: Kit) -> tuple[Path, DebugDirs]:
    identifier = kit.whole.sections[".note.gnu.build-id"].data[16:].hex()
    kit.debug(f"usr/lib/debug/.build-id/{identifier[:2]}/{identifier[2:]}.debug")
    return kit.stripped(), DebugDirs((kit.folder / "usr/lib/debug",))


def beside(kit: Kit) -> tuple[Path, DebugDirs]:
    return kit.linked(kit.debug("bin/program.debug")), DebugDirs((kit.folder / "nowhere",))


def in_dot_debug(kit: Kit) -> tuple[Path, DebugDirs]:
    return kit.linked(kit.debug("bin/.debug/program.debug")), DebugDirs((kit.folder / "nowhere",))


def below_the_folder(kit: Kit) -> tuple[Path, DebugDirs]:
    there = kit.debug(f"debug/{kit.folder}/bin/program.debug".replace("//", "/"))
    return kit.linked(there), DebugDirs((kit.folder / "nowhere", kit.folder / "debug"))


def below_the_folder_as_on_its_own_machine(kit: Kit) -> tuple[Path, DebugDirs]:
    there = kit.debug("debug/opt/app/program.debug")
    return kit.linked(there), DebugDirs((kit.folder / "debug",), "/opt/app/program")


PLACES: list[Callable[[Kit], tuple[Path, DebugDirs]]] = [
    by_build_id, beside, in_dot_debug, below_the_folder, below_the_folder_as_on_its_own_machine,
    lambda kit: (kit.linked(kit.debug("debug/program.debug")), DebugDirs((kit.folder / "debug",))),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_debug_file_is_found(kit: Kit, place: Callable[[Kit], tuple[Path, DebugDirs]]) -> None:
    program, dirs = place(kit)
    image = read_image(program, debug=dirs)
    assert image.debug_file is not None and image.notes == ()
    assert_the_same(image, kit.whole)


def test_without_folders_nothing_is_looked_for(kit: Kit) -> None:
    for place in (by_build_id, beside, in_dot_debug):
        program, _ = place(kit)
        image = read_image(program)
        assert image.debug_file is None and image.notes == () and names(image) == []
        assert ".debug_info" not in image.sections and ".debug_frame" not in image.sections


def test_a_file_with_another_crc_is_another_file(kit: Kit) -> None:
    debug = kit.debug("bin/program.debug")
    program = kit.linked(debug)
    found = debug.read_bytes()
    debug.write_bytes(found + b"\0")  # it reads as before
    image = read_image(program, debug=DebugDirs((kit.folder,)))
    assert image.debug_file is None and names(image) == []
    assert (
        f"the CRC is {zlib.crc32(found + bytes(1)):#010x}, .gnu_debuglink says {zlib.crc32(found):#010x}"
        in image.notes[0]
    )
    assert image.notes[-1] == "its debug file program.debug was not found"
    (kit.folder / "program.debug").write_bytes(found)  # a wrong one does not hide the right one
    assert read_image(program, debug=DebugDirs((kit.folder,))).debug_file == kit.folder / "program.debug"


def test_a_file_with_another_build_id_is_another_file(kit: Kit) -> None:
    program, dirs = by_build_id(kit)
    (debug,) = (kit.folder / "usr").rglob("*.debug")
    identifier = bytes.fromhex(debug.parent.name + debug.stem)
    debug.write_bytes(debug.read_bytes().replace(identifier, identifier[::-1]))
    image = read_image(program, debug=dirs)
    assert image.debug_file is None and f"its build id is {identifier[::-1].hex()}" in image.notes[0]


def test_a_damaged_debug_file_does_not_lose_the_program(kit: Kit) -> None:
    program, dirs = by_build_id(kit)
    (debug,) = (kit.folder / "usr").rglob("*.debug")
    whole = debug.read_bytes()
    for content in (
        b"",
        b"no ELF",
        whole[:80],
        whole[: len(whole) // 2],
        whole[:60] + b"\xff\xff\xff\xff" + whole[64:],
    ):
        debug.write_bytes(content)
        image = read_image(program, debug=dirs)
        assert image.segments and (image.debug_file is None) == bool(image.notes)


@pytest.mark.parametrize("name", ["../program.debug", "/etc/passwd", "..", "", "x" * 5000])
def test_a_link_leads_to_no_other_folder(kit: Kit, name: str) -> None:
    debug = kit.debug("program.debug")
    raw = name.encode() + b"\0"
    section = kit.folder / "link"
    section.write_bytes(raw + bytes(-len(raw) % 4) + struct.pack("<I", zlib.crc32(debug.read_bytes())))
    program = kit.stripped()
    kit.run("objcopy", "--add-section", f".gnu_debuglink={section}", str(program))
    assert read_image(program, debug=DebugDirs((kit.folder / "bin",))).debug_file is None


def test_mini_debug_info_has_symbols_and_a_table(kit: Kit) -> None:
    """As Android's build makes it: symbols and .debug_frame, xz-compressed. It is in the file: no folder is needed."""
    kept = [f"--keep-symbol={name}" for name in ("inner", "outer", "start")]
    kit.run("objcopy", "-S", "--keep-section=.debug_frame", *kept, "whole", "mini")
    (kit.folder / "mini.xz").write_bytes(lzma.compress((kit.folder / "mini").read_bytes()))
    program = kit.stripped()
    kit.run("objcopy", "--add-section", f".gnu_debugdata={kit.folder / 'mini.xz'}", str(program))
    image = read_image(program)
    assert {"inner", "outer", "start"} <= {s.name for s in image.symbols if s.is_function}
    assert rows(image) == rows(kit.whole) and rows(image)
    assert UNWINDERS["debug_frame"].applies_to(image)
    damaged = program.read_bytes().replace(b"\xfd7zXZ", b"\xfd7zXY")
    program.write_bytes(damaged)
    with pytest.raises(ImageError, match="gnu_debugdata is not xz data"):
        read_image(program)


def test_what_dwz_moved_elsewhere_is_said_to_be_missing(kit: Kit) -> None:
    alternate = kit.folder / "alt"
    alternate.write_bytes(b"/usr/lib/debug/.dwz/common.debug\0" + bytes(20))
    kit.run("objcopy", "--add-section", f".gnu_debugaltlink={alternate}", "whole")
    program, dirs = by_build_id(kit)
    (note,) = read_image(program, debug=dirs).notes
    assert "/usr/lib/debug/.dwz/common.debug (.gnu_debugaltlink), which is not read" in note


# Debug information as distributions' tools leave it: relative folders, aliases, dwz.


def native(folder: Path, sources: dict[str, str], *options: str) -> Image:
    tool("gcc", "gcc")
    for name, source in sources.items():
        (folder / name).write_text(source)
    command = ["gcc", "-g", "-O2", "-nostdlib", "-Wl,-estart", *options, "-o", "program", *sources]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return read_image(folder / "program")


def test_a_relative_folder_of_the_unit_is_not_put_in_front_of_itself(tmp_path: Path) -> None:
    """As distributions build packages: -ffile-prefix-map makes the folder of each unit relative."""
    sources = {"x.c": "int start(void) { return 4; }\n"}
    image = native(tmp_path, sources, "-gdwarf-5", f"-ffile-prefix-map={tmp_path}=./nptl")
    start = image.symbol_named("start")
    line = debug_info(image).line_at(start.address)
    assert line is not None and line.file == "nptl/x.c"


def test_a_call_by_another_name_of_a_function_leads_to_it(tmp_path: Path) -> None:
    """Aliases, of which a C library is full: debug information has the function under one of its names."""
    callee = "int n; __attribute__((noinline)) int real(int a) { n = a; return a; }\n"
    callee += 'int also(int) __attribute__((alias("real")));\n'
    caller = "int also(int); int start(void) { return also(4) + 1; }\n"
    image = native(tmp_path, {"callee.c": callee, "caller.c": caller}, "-fPIC", "-static")
    info = debug_info(image)
    (start,) = (function for function in info.functions if function.name == "start")
    (site,) = start.call_sites
    assert site.target is not None and site.target.name == "also"
    called = info.function_of(site.target)
    assert called is not None and called.name == "real"


_SHARED = """
struct point { int x, y; struct { long a, b, c; } inner[4]; };
static inline __attribute__((always_inline)) int twice(struct point *p) { volatile int k = p->x; return k * 2 + p->y; }
static inline __attribute__((always_inline)) int thrice(struct point *p, int often) {
    int sum = 0;
    for (int i = 0; i < often; i++) sum += twice(p);
    return sum;
}
int from_b(struct point *p);
"""


_USING = {
    "a.c": _SHARED + "void start(void) { struct point p = {1, 2}; volatile int r = thrice(&p, 3) + from_b(&p); }",
    "b.c": _SHARED + "int from_b(struct point *p) { return thrice(p, 5) + twice(p); }",
}


def inlined_in(image: Image) -> list[tuple[tuple[str, int, int], ...]]:
    """At every address of every function: the inlined calls there, by name, line and column of the call."""
    debug = debug_info(image)
    functions = sorted((s.address, s.size) for s in image.symbols if s.is_function and s.size)
    return [
        tuple((each.name, each.called_from.line, each.called_from.column) for each in debug.inlined_at(address))
        for start, size in functions
        for address in range(start, start + size)
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_debug_information_that_dwz_has_made_smaller(version: int, tmp_path: Path) -> None:
    """In one file it says the same. What it moved to a file for several programs is missing, which is said."""
    tool("dwz", "dwz")
    whole = inlined_in(native(tmp_path, _USING, f"-gdwarf-{version}"))
    assert {len(calls) for calls in whole} == {0, 1, 2}
    for name in ("one", "first", "second"):
        shutil.copy(tmp_path / "program", tmp_path / name)
    for arguments in (["one"], ["-m", "common", "first", "second"]):
        subprocess.run(["dwz", *arguments], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "one").stat().st_size < (tmp_path / "program").stat().st_size
    assert inlined_in(read_image(tmp_path / "one")) == whole
    image = read_image(tmp_path / "first")
    (note,) = image.notes
    assert "common (.gnu_debugaltlink), which is not read: names may be missing" in note
    assert inlined_in(image) == [tuple(("", line, column) for _, line, column in calls) for calls in whole]
    assert debug_info(image).problems == ()
