"""Symbols of images, and their names without mangling."""

import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pydemumble
import pytest

from testbed.image import Symbol, demangling, read_image
from testbed.image.demangling import FEW_REFERENCES, SHORT, brief, demangled, whole_function
from testbed.image.symbols import symbol_for
from tests.corpus import tool
from tests.image.debugged import built, compile_by_gcc
from tests.image.hand_made import BASE, SIZE, image_of


def function(name: str, at: int, size: int, **kind: bool) -> Symbol:
    return Symbol(name, BASE + at, size, True, **kind)


LOCAL, WEAK = function("a", 0, 0x10, local=True), function("bb", 0, 0x10, weak=True)
LONG, SHORT_ONE = function("global_name", 0, 0x10), function("global", 0, 0x10)
LABEL = Symbol("label", BASE + 8, 0, False)

# symbols, and which of them names an address, by the distance from BASE
NAMED: list[tuple[list[Symbol], dict[int, str | None]]] = [
    # the nearest function within its size
    (
        [function("f", 0, 0x10), function("g", 0x20, 0x10)],
        {-1: None, 0: "f", 0xF: "f", 0x10: None, 0x1F: None, 0x20: "g", 0x2F: "g", 0x30: None, SIZE: None},
    ),
    # a function inside another is the nearer, and the outer one goes on behind it
    (
        [function("outer", 0, 0x100), function("inner", 0x20, 0x10)],
        {0x1F: "outer", 0x20: "inner", 0x30: "outer"},
    ),
    # of aliases the global before the weak before the local, and then the shorter
    ([LOCAL, WEAK, LONG, SHORT_ONE], {4: "global"}),
    ([SHORT_ONE, LONG, WEAK, LOCAL], {4: "global"}),
    ([LOCAL, WEAK], {4: "bb"}),
    # a function without a size reaches to the next symbol and no further: where f ends, it does not begin again
    ([function("hand_written", 0, 0), function("f", 0x40, 0x10)], {0x3F: "hand_written", 0x50: None}),
    ([function("mark", 0, 0), function("f", 0, 0x10)], {4: "f"}),  # one with a size goes before one without
    # labels serve where no function does, and data and mapping symbols never
    ([function("f", 0, 0x10), LABEL], {9: "f"}),
    ([LABEL], {9: "label"}),
    ([Symbol("table", BASE + 0x10, 0x20, False, is_data=True)], {0x14: None}),
    ([Symbol("$d", BASE, 0, False)], {0: None}),
]


@pytest.mark.parametrize(("symbols", "names"), NAMED)
def test_a_symbol_names_an_address(symbols: list[Symbol], names: dict[int, str | None]) -> None:
    image = image_of(symbols=tuple(symbols))
    found = {at: symbol_for(image, BASE + at) for at in names}
    assert {at: symbol and symbol.name for at, symbol in found.items()} == names


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
    image = read_image(tmp_path / "lib.so")
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


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Circle::area() const", "Circle::area() const"),
        ("void std::__introsort_loop<It<Shape*>, long, Cmp>(It<Shape*>, long, Cmp)", "std::__introsort_loop<..>"),
        ("std::vector<std::unique_ptr<Shape>, std::allocator<int>>::~vector()", "std::vector<..>::~vector"),
        ("std::basic_ostream<char>& std::operator<< <char>(std::basic_ostream<char>&, char)", "std::operator<<"),
        ("std::function<void (std::string const&)>::operator()(std::string) const", "std::function<..>::operator()"),
        (
            "std::vector<std::unique_ptr<Shape>>::operator std::span<Shape>() const",
            "std::vector<..>::operator std::span<..>",
        ),
        ("main::'lambda'(std::string const&, auto&)::operator()(int) const", "main::'lambda'::operator()"),
        ("work(std::string)::{lambda(std::string)#1}::operator()(int)", "work::{lambda}::operator()"),
        ("(anonymous namespace)::parse(std::basic_string<char> const&)", "(anonymous namespace)::parse"),
        (
            "<alloc::vec::Vec<alloc::string::String> as core::ops::Drop>::drop",
            "<alloc::vec::Vec<..> as core::ops::Drop>::drop",
        ),
        (
            "runtime.(*mcentral).partialUnswept.function.of.some.length",
            "runtime.(*mcentral).partialUnswept.function.of.some.length",
        ),
        ("std::" + "f<" * 30, "std::f<..>"),
        (
            "std::basic_string<char, std::allocator<char>> std::operator+<char>(char const*, std::allocator<char>&&)",
            "std::operator+<..>",
        ),
        ("_ZSt4swapI4ItemENSt9enable_ifIXsrSt6__and_IJSt6__not_IT_EEE5valueEvE4typeERS5_SF_", "std::swap<..>"),
        ("_ZNSt4deepI4ItemENSt9enable_ifIXsrSt6__and_IJSt6_EE", "_ZNSt4deepI4ItemENSt9enable_ifIXsrSt6_.."),
        ("_Z9999" + "f" * 60, "_Z9999" + "f" * 32 + ".."),
    ],
)
def test_a_long_name_is_made_short_for_a_line(name: str, short: str) -> None:
    assert brief(name) == short


def test_demangling_is_cxxfilts() -> None:
    names = [
        s.name for arch in ("x86_64", "arm64") for s in built("cxx_names", arch, "clang-O2").symbols if s.is_function
    ]
    assert sum(name.startswith("_Z") for name in names) >= 8
    done = subprocess.run([tool("c++filt", "binutils"), *names], capture_output=True, text=True, check=True)
    assert [demangled(name) for name in names] == done.stdout.splitlines()


# Names that were made to harm are read within limits, and honest ones as the library says them.


# Of libstdc++: 16 references to what was said before.
LONG = (
    "_ZNSt8_Rb_treeISsSt4pairIKSsSt3mapISsSt6vectorISsSaISsEESt4lessISsESaIS1_IS2_S5_EEEESt10_Select1stISA_ES7_SaISA_EE"
    "8_M_eraseEPSt13_Rb_tree_nodeISA_E"
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(demangling, "_apart", demangling._ReaderApart())
    demangled.cache_clear()
    yield
    if demangling._apart.child is not None:
        demangling._apart.child.close()


def reference(index: int) -> str:
    """The Itanium ABI's name of the part of that index: S_, S0_ ... SZ_, S10_."""
    digits, left = "", index - 1
    while index and (left >= 0):
        digits, left = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[left % 36] + digits, left // 36 - (left < 36)
    return f"S{digits}_"


def doubling(levels: int) -> str:
    """A<int, int>, B<the one before, twice>, and so on: each level is ten bytes, and says twice as much."""
    return "_Z1f1AIiiE" + "".join(f"1BI{reference(1 + 2 * level) * 2}E" for level in range(levels))


def test_a_name_that_says_gigabytes_stays_as_it_is() -> None:
    assert len(pydemumble.demangle(doubling(10)) or "") > 30_000, "it doubles"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name in (doubling(18), doubling(34)):
        started = time.monotonic()
        assert demangled(name) == name
        assert time.monotonic() - started < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


@pytest.mark.parametrize("name", ["_Z1f" + "1AI" * 32_000, "_Z1f" + "F" * 100_000, "_ZN" + "1a" * 100_000])
def test_a_name_that_is_nested_without_end_ends_no_process(name: str) -> None:
    assert demangled(name) == name
    assert demangled("_Z1fv") == "f()"


def test_honest_names_are_read_as_the_library_says_them() -> None:
    assert sum(map(LONG.count, "STBQ")) > FEW_REFERENCES
    assert demangled(LONG) == pydemumble.demangle(LONG) != LONG
    assert demangled(LONG + ".cold") == pydemumble.demangle(LONG)
    deep = "_Z1f" + "P" * SHORT + "i"
    assert demangled(deep) == pydemumble.demangle(deep)


def test_names_over_which_it_dies_again_and_again_are_given_up() -> None:
    for level in range(demangling._DEATHS):
        assert demangled(doubling(40 + level)) == doubling(40 + level)
    assert demangled(LONG) == LONG and demangling._apart.child is None
