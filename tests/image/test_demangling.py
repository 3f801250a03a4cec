"""Names that were made to harm are read within limits, and honest ones as the library says them."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import pydemumble
import pytest

from testbed.image import demangling
from testbed.image.demangling import FEW_REFERENCES, SHORT, demangled

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
