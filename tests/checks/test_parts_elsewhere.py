"""Parts of functions that lie elsewhere: where GCC puts them, and paths into them that went astray before."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from testbed.arch import ARCHES
from testbed.checks.check_file import check_file
from testbed.checks.impossible import without_led_astray
from testbed.checks.options import CheckOptions
from testbed.checks.row_checks import RowChecks
from testbed.cli.table_readers import READERS
from testbed.micro.batches import Batch

COMPILED = """
extern void report(long);
__attribute__((cold, noinline)) static void rare(long n) { report(n); report(n + 1); }
long f(long *words, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++) {
        if (__builtin_expect(words[i] == 7, 0)) {
            rare(words[i]);
            sum ^= words[i];
        }
        sum += words[i];
    }
    return sum;
}
"""
COMPILERS = {"x86_64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}


@pytest.mark.parametrize("arch", COMPILERS)
def test_what_gcc_moves_elsewhere_is_right(tmp_path: Path, arch: str) -> None:
    compiler = shutil.which(COMPILERS[arch])
    if compiler is None:
        pytest.skip(f"needs {COMPILERS[arch]}")
    path = tmp_path / "code.c"
    path.write_text(COMPILED, encoding="utf-8")
    flags = (compiler, "-O2", "-freorder-blocks-and-partition")
    check = check_file(path, CheckOptions(arch=arch, flags=flags, runs=100, steps=400), READERS)
    assert not check.findings
    parts = [part for part in check.parts if part.name == "f.cold"]
    assert len(parts) == 1 and parts[0].never == 0 and parts[0].executed + parts[0].forced > 0


def test_a_path_that_went_astray_in_the_function_stays_so_in_its_part() -> None:
    """As those that come from a landing pad which they entered with the frame of another call, in libstdc++."""
    path = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    forced = path != 2
    in_part = np.array([False, False, False, True, False, True, False, True])
    wrong = np.array([0, 1, 0, 1, 0, 1, 1, 1], np.uint64)
    nothing, every = np.zeros(8, np.bool_), np.ones(8, np.bool_)
    before = RowChecks(ARCHES["x86_64"], np.arange(8, dtype=np.uint64), every, wrong, nothing)
    dropped = np.array([True, False, True, True, True, True, False, True])
    batch = Batch(None, path, forced, nothing, nothing)  # type: ignore[arg-type]
    left = without_led_astray(replace(before, compared=dropped), before, batch, in_part).compared
    assert left.tolist() == [True, False, True, False, True, True, False, True]
