"""Real unwinders at snapshots that lack registers: they say less than of the whole one, and never see a zero."""

from __future__ import annotations

import pytest

import testbed
from testbed.arch import ARCHES
from testbed.referee import present
from tests.unwinders.missing import lacking, says_less

UNITS = [("alloca_vla", "x86_64", "clang-O0-fp"), ("alloca_vla", "arm64", "clang-O0-fp"), ("leaf_call", "arm32", None)]


@pytest.mark.parametrize(("name", "arch", "recipe"), UNITS, ids=lambda part: str(part))
def test_a_real_unwinder_never_says_more_of_a_snapshot_with_fewer_registers(
    name: str, arch: str, recipe: str | None
) -> None:
    run, its = testbed.run(name, arch=arch, recipe=recipe), ARCHES[arch]
    strategies = [unwinder for unwinder in present().values() if unwinder.applies_to(run.built.image)]
    if not strategies:
        pytest.skip("no real unwinder is installed: testbed list referees")
    snapshot = run[len(run) // 2]
    subsets = [
        its.frame_pointers[:1],
        *([(its.link,)] if its.link else []),
        its.preserved,
        tuple(name for name in its.by_name if name not in (its.pc, its.sp)),
    ]
    for unwinder in strategies:
        whole = unwinder.unwind(snapshot)
        assert len(whole.frames) > 1, unwinder
        for names in subsets:
            part = unwinder.unwind(lacking(snapshot, names))
            assert not says_less(part, whole), f"{unwinder} without {', '.join(names)}: {says_less(part, whole)}"
        assert part.stopped is not None, unwinder
