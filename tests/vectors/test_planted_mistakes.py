"""Each planted mistake is found by the vectors, and without one nothing is: `planted.py` has the mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vectors.planted import BLOCK, PLANTED, ROOT, Planted, checked, with_mistake


@pytest.mark.parametrize(
    ("unwinder", "arch"), sorted({(planted.unwinder, planted.arch) for planted in PLANTED}), ids=str
)
def test_without_a_mistake_nothing_fails(small_set: Path, unwinder: str, arch: str) -> None:
    done = checked(small_set, unwinder, arch)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.what)
def test_a_planted_mistake_is_found(small_set: Path, tmp_path: Path, planted: Planted) -> None:
    done = checked(small_set, planted.unwinder, planted.arch, with_mistake(planted, tmp_path))
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    assert planted.told in done.stdout


def test_the_page_has_all() -> None:
    """`docs/vectors.md` shows each mistake with what was said of it."""
    page = BLOCK.search((ROOT / "docs" / "vectors.md").read_text(encoding="utf-8"))
    assert page is not None
    rows = page[0].splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [f"| {planted.what} (`{planted.file}`)" for planted in PLANTED]
    for row, planted in zip(rows, PLANTED, strict=True):
        assert planted.told in row, "python -m tests.vectors.planted docs/vectors.md"
