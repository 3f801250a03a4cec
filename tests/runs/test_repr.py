"""What a value looks like at a prompt: a line, not a screen."""

from __future__ import annotations

import pytest

import testbed


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "arm32"])
def test_values_fit_a_screen(arch: str) -> None:
    run = testbed.run("leaf_call", arch=arch)
    at = run.at("leaf")
    values = (run, run.trace, run.built, run.program, run.loaded, run.built.image, at, run.truth(at), run.arch)
    for value in values:
        assert len(repr(value)) < 400, repr(value)
    assert repr(run).startswith(f"<Run leaf_call · {arch} · keystone: ")
    assert repr(at).startswith("<Snapshot step ")
    assert len(repr(run.watched)) < 2000
