"""From an address to a symbol: size, aliases, pieces of functions, labels, and the names people read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from testbed.image import Symbol, read_elf
from testbed.image.demangling import demangled, whole_function
from testbed.image.symbols import aliases_of, symbol_for
from tests.image.debugged import built, compile_by_gcc, tool
from tests.image.hand_made import BASE, SIZE, image_of


def name_at(address: int, *symbols: Symbol) -> str | None:
    found = symbol_for(image_of(symbols=symbols), address)
    return found.name if found else None


def test_the_nearest_function_within_its_size() -> None:
    f, g = Symbol("f", BASE, 0x10, True), Symbol("g", BASE + 0x20, 0x10, True)
    assert [name_at(BASE + at, f, g) for at in (0, 0xF, 0x10, 0x1F, 0x20, 0x2F, 0x30)] == [
        *("f", "f", None, None, "g", "g", None)
    ]
    assert name_at(BASE - 1, f, g) is None
    assert name_at(BASE + SIZE, f, g) is None


def test_a_function_inside_another_is_the_nearer_and_the_outer_one_goes_on_behind_it() -> None:
    outer, inner = Symbol("outer", BASE, 0x100, True), Symbol("inner", BASE + 0x20, 0x10, True)
    assert [name_at(BASE + at, outer, inner) for at in (0x1F, 0x20, 0x30)] == ["outer", "inner", "outer"]


def test_of_aliases_the_global_before_the_weak_before_the_local_and_then_the_shorter() -> None:
    local = Symbol("a", BASE, 0x10, True, local=True)
    weak = Symbol("bb", BASE, 0x10, True, weak=True)
    long, short = Symbol("global_name", BASE, 0x10, True), Symbol("global", BASE, 0x10, True)
    assert name_at(BASE + 4, local, weak, long, short) == "global"
    assert name_at(BASE + 4, short, long, weak, local) == "global"
    assert name_at(BASE + 4, local, weak) == "bb"
    image = image_of(symbols=(local, weak, Symbol("far", BASE + 0x10, 4, True)))
    assert set(aliases_of(image, weak)) == {"a", "bb"}


def test_a_function_without_a_size_reaches_to_the_next_symbol_and_no_further() -> None:
    sizeless, sized = Symbol("hand_written", BASE, 0, True), Symbol("f", BASE + 0x40, 0x10, True)
    assert name_at(BASE + 0x3F, sizeless, sized) == "hand_written"
    assert name_at(BASE + 0x50, sizeless, sized) is None, "f ended; hand_written does not begin again"


def test_one_with_a_size_goes_before_one_without_at_the_same_address() -> None:
    assert name_at(BASE + 4, Symbol("mark", BASE, 0, True), Symbol("f", BASE, 0x10, True)) == "f"


def test_labels_serve_where_no_function_does_and_data_never() -> None:
    label, data = Symbol("label", BASE + 8, 0, False), Symbol("table", BASE + 0x10, 0x20, False, is_data=True)
    function = Symbol("f", BASE, 0x10, True)
    assert name_at(BASE + 9, function, label) == "f"
    assert name_at(BASE + 9, label) == "label"
    assert name_at(BASE + 0x14, data) is None


def test_mapping_symbols_name_nothing() -> None:
    assert name_at(BASE, Symbol("$d", BASE, 0, False)) is None
    for symbol in built("recursion", "arm32", "clang-thumb-O2").symbols:
        assert not symbol.name.startswith("$")


def test_a_thumb_function_is_found_from_its_first_byte_on() -> None:
    image = built("recursion", "arm32", "clang-thumb-O2")
    main = image.symbol_named("main")
    assert main is not None and main.address % 2 == 0
    assert symbol_for(image, main.address) == main
    assert symbol_for(image, main.address + 1) == main


def test_every_name_is_the_one_that_nm_gives_the_address() -> None:
    image = built("function_pointers", "x86_64", "clang-O2")
    listed = subprocess.run([tool("nm", "binutils"), "-S", image.path], capture_output=True, text=True, check=True)
    functions = [
        line.split() for line in listed.stdout.splitlines() if line.split()[-2] in "Tt" and len(line.split()) == 4
    ]
    assert len(functions) > 5
    for start, size, _, name in functions:
        for address in (int(start, 16), int(start, 16) + int(size, 16) - 1):
            found = symbol_for(image, address)
            assert found is not None and found.name == name


def test_dynamic_symbols_serve_where_the_others_are_stripped(tmp_path: Path) -> None:
    (tmp_path / "lib.c").write_text("int exported(int x) { return x + 1; }\nstatic int own(int x) { return x; }\n"
                                    "int (*keep)(int) = own;\n")  # fmt: skip
    command = [tool("gcc", "gcc"), "-shared", "-fPIC", "-nostdlib", "-O0", "-s", "lib.c", "-o", "lib.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = read_elf(tmp_path / "lib.so")
    if image.arch.name != "x86_64":
        pytest.skip("gcc makes files for another machine")
    assert ".symtab" not in image.sections
    exported = image.symbol_named("exported")
    assert exported is not None and symbol_for(image, exported.address + 2) == exported
    assert symbol_for(image, exported.address + exported.size) is None, "own was stripped: no name, not its neighbour's"


def test_a_cold_piece_is_named_after_its_function(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(
        """
volatile int seed = 3;
__attribute__((noreturn, cold, noinline)) void stop(int x) { seed = x; for (;;) ; }
__attribute__((noinline)) int work(int x) {
    if (x > 100) { seed = seed + 1; seed = seed * 3; stop(x); }
    return x + seed;
}
int main(void) { return work(seed); }
"""
    )
    image = compile_by_gcc(tmp_path, "x86_64", "-g0")
    pieces = [s for s in image.symbols if s.name.startswith("work.cold")]
    assert pieces, "gcc splits this function"
    found = symbol_for(image, pieces[0].address + 1)
    assert found is not None and found.name == pieces[0].name
    assert demangled(found.name) == whole_function(found.name) == "work"


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("main", "main"),
        ("_ZN5shape4areaEii", "shape::area(int, int)"),
        ("_ZN5shape4areaEii.cold", "shape::area(int, int)"),
        ("_Z1fv.part.0.cold", "f()"),
        ("work.cold.1", "work"),
        ("work.part.0", "work"),
        ("work.constprop.0", "work.constprop.0"),
        ("_Znot_mangled", "_Znot_mangled"),
        (".cold", ".cold"),
        ("", ""),
    ],
)
def test_names_as_people_read_them(name: str, readable: str) -> None:
    assert demangled(name) == readable


def test_demangling_is_cxxfilts() -> None:
    names = [
        s.name for arch in ("x86_64", "arm64") for s in built("cxx_names", arch, "clang-O2").symbols if s.is_function
    ]
    assert sum(name.startswith("_Z") for name in names) >= 8
    done = subprocess.run([tool("c++filt", "binutils"), *names], capture_output=True, text=True, check=True)
    assert [demangled(name) for name in names] == done.stdout.splitlines()
