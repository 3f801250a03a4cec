"""Run a snippet and ask the second witness for the frames at its labels."""

from functools import cache

from testbed.campaign.prove import Proof, prove
from testbed.image.symbols import describe
from testbed.machine import record
from testbed.program.header import Signal
from testbed.trace import Exited, Trace
from testbed.truth import Truth
from testbed.witness import Testimony, attest
from tests.machine.snippets import image_of, visits


@cache
def recorded(
    isa: str, body: str, *, start: bool = True, signals: tuple[Signal, ...] = (), cpu: str | None = None
) -> Trace:
    """The run of a snippet, which exits with 42."""
    trace = record(image_of(isa, body, start=start), budget=20_000, signals=signals, cpu=cpu)
    assert trace.end == Exited(42), trace.end
    return trace


def witness(isa: str, body: str, *frames: str, cpu: str | None = None, start: bool = True) -> Testimony:
    """What is said of a snippet. Each of ``frames`` is ``LABEL = f, g, h``: the functions at every visit of a label.

    ``LABEL#2`` is the second visit.
    """
    trace = recorded(isa, body, cpu=cpu, start=start)
    said = attest(trace)
    assert not said.unfollowed  # SP alone may tell that a function returned: that would prove nothing
    assert frames
    for line in frames:
        label, _, names = (part.strip() for part in line.partition("="))
        label, _, visit = label.partition("#")
        steps = visits(trace, label)
        for step in [steps[int(visit) - 1]] if visit else steps:
            assert ", ".join(functions(trace, said, step)) == names, f"{line} (step {step})"
    return said


def agreed(truth: Truth) -> Proof:
    """What both witnesses say of a run, of which they say the same."""
    proof = prove(truth)
    assert proof.dissents == () and proof.disagreed == 0 and not proof.unfollowed, (proof, proof.dissents)
    return proof


def functions(trace: Trace, said: Testimony, step: int) -> tuple[str, ...]:
    """The functions of the frames, innermost first."""
    frames = said.frames(step, int(trace.pc[step]))
    names = (describe(trace.images, frame.pc, caller=frame.calling) for frame in frames)
    return tuple(name.partition("+")[0] for name in names)
