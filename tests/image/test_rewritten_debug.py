"""Debug information as distributions' tools leave it: relative folders, aliases, dwz."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.image import Image, read_image
from testbed.image.debug import debug_info


def native(folder: Path, sources: dict[str, str], *options: str) -> Image:
    if shutil.which("gcc") is None:
        pytest.skip("Debian package: gcc")
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
    assert start is not None
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
    if shutil.which("dwz") is None:
        pytest.skip("Debian package: dwz")
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
