"""What a process cannot have: it is told so by name and place, and what ran until then is whole and judged."""

from __future__ import annotations

import pytest

from testbed.image import describe
from testbed.profiling.judge import judge_process, watch_process
from testbed.truth import observe
from tests.process.builds import ran
from unwinders import UNWINDERS


@pytest.mark.parametrize(
    ("what", "call", "told"),
    [
        ("fork", "clone", "Function not implemented"),
        ("exec", "execve", "Function not implemented"),
        ("socket", "socket", "Permission denied"),
        ("peer", "getpeername", "Socket operation on non-socket"),
    ],
)
def test_a_call_that_is_refused_is_named_with_its_place_and_the_program_goes_on(
    what: str, call: str, told: str
) -> None:
    run = ran("cannot", "x86_64", "static", what)
    assert (run.status, run.stdout.decode()) == (5, f"{what}: -1, {told}\n")
    (refused,) = run.refused
    assert refused.name == call
    trace = run.tracks[0].trace
    assert int(trace.pc[refused.step]) == refused.pc and "+0x" in describe(run.images, refused.pc)


def test_an_instruction_that_the_emulator_lacks_ends_the_run_with_its_place() -> None:
    run = ran("cannot", "x86_64", "static", "avx")
    assert run.status is None and run.stdout == b""
    assert "does not have (vpaddd ymm0, ymm0, ymm0) at main+0x" in run.why
    (track,) = run.tracks
    assert len(track.trace) == run.steps > 5_000
    assert observe(track.trace).stack(len(track.trace) - 1).frames[0].pc in range(*_main(run))
    share = judge_process(watch_process(run), UNWINDERS["eh_frame"])
    assert share.sites == run.steps and share.exact > 0.95 * share.judged and not share.unexplained


def _main(run) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    loaded = run.images[0]
    symbol = loaded.image.symbol_named("main")
    assert symbol is not None
    return symbol.address + loaded.bias, symbol.address + symbol.size + loaded.bias
