"""Real programs do in the testbed what they do natively, or under qemu-user."""

from __future__ import annotations

import pytest

from tests.process.builds import ALL, elsewhere, ran, told


@pytest.mark.parametrize(("target", "link"), ALL)
def test_hello_says_what_it_says_elsewhere(target: str, link: str) -> None:
    run = ran("hello", target, link, "abc")
    assert told(run) == elsewhere("hello", target, link, "abc")
    assert run.status == 7 and run.stdout.startswith(b"hello 2 abc 3.142 6.2831853072 0.3333333333333333")
    assert len(run.tracks) == 1 and len(run.tracks[0].trace) == run.steps
