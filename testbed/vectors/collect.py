"""A run and what strategies say about it, as test vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from testbed.contract.unwinder import Unwinder
from testbed.runs.judging import judge_all
from testbed.runs.run import Run
from testbed.truth import TrueFrame
from testbed.truth.native.near import NEAR
from testbed.truth.phases import PHASES, phases
from testbed.vectors.memory_blocks import MemoryBlocks
from testbed.vectors.model import SiteClass, Vector, VectorCaller, VectorFile, expected_of
from testbed.vectors.shapes import shapes
from testbed.verdicts.one import Verdict
from testbed.verdicts.trace import OUTCOMES, Verdicts
from testbed.words.errors import TestbedError
from testbed.words.outcome import Outcome

SaidAt = tuple[Outcome, str]
"""An outcome, and the mechanism of the limit that explains it; "" where it is exact."""


def collect(named: str, run: Run, unwinders: Sequence[Unwinder], *, natively: bool | None = None) -> VectorFile:
    """The vectors of a run: its sites, one of each shape, with what ``unwinders`` show of their techniques.

    Raises TestbedError where one of them is wrong and nothing explains it: nobody can say what to expect there.
    """
    asked = [unwinder for unwinder in unwinders if unwinder.applies_to(run.built.image)]
    said = {unwinder.name: _said(run, unwinder, natively) for unwinder in asked}
    phase, blocks = phases(run.watched), MemoryBlocks(run)
    caller_of, told = _callers(run), cache(run.instruction)
    first_at: dict[int, int] = {}

    def instruction(step: int) -> str:
        if run.trace.interrupted(step):
            return told(step)
        return told(first_at.setdefault(int(run.trace.pc[step]), step))

    vectors = []
    for step, visits in shapes(run, lambda step: tuple(each[step] for each in said.values())).items():
        innermost, *callers = run.truth(step).frames
        vectors.append(
            Vector(
                step=step,
                phase=PHASES[int(phase[step])],
                where=run.where(innermost.pc),
                instruction=instruction(step),
                isa=run.trace.isa(step).name,
                registers=run[step].registers,
                cfa=innermost.cfa,
                callers=tuple(caller_of(caller) for caller in callers),
                site_class=_site_class(run, step, {name: each[step] for name, each in said.items()}),
                blocks=blocks.at(step),
                visits=visits,
            )
        )
    return VectorFile(named, run, tuple(said), tuple(vectors))


def _callers(run: Run) -> Callable[[TrueFrame], VectorCaller]:
    made: dict[int, VectorCaller] = {}

    def caller(frame: TrueFrame) -> VectorCaller:
        # A run keeps its true frames, so the same caller is the same object; the frame is held, so its id is its own.
        key = id(frame)
        if key not in made:
            held.append(frame)
            made[key] = _caller(run, frame)
        return made[key]

    held: list[TrueFrame] = []
    return caller


def _caller(run: Run, frame: TrueFrame) -> VectorCaller:
    also: tuple[int, ...] = ()
    if frame.goes_on is not None:
        near = range(frame.pc + 1, frame.goes_on) if frame.pc < frame.goes_on <= frame.pc + NEAR else ()
        also = (*near, frame.goes_on)
    kind = "interrupted" if frame.interrupted else "call" if frame.calling else "trampoline"
    known = {name: value for name, value in frame.registers.items() if name not in (run.arch.pc, run.arch.flags)}
    return VectorCaller(frame.pc, frame.cfa, kind, run.function(frame.lookup_pc), known, also)


def _site_class(run: Run, step: int, said: Mapping[str, SaidAt]) -> SiteClass:
    return SiteClass(
        traits=tuple(sorted(trait.name for trait in run.traits(step))),
        expected={name: expected_of(outcome) for name, (outcome, _) in said.items()},
        because={name: f"{outcome.value}: {why}" for name, (outcome, why) in said.items() if why},
    )


def _said(run: Run, unwinder: Unwinder, natively: bool | None) -> Sequence[SaidAt]:
    """What a strategy says at every step. Raises TestbedError where a difference is unexplained."""
    verdicts = judge_all(run, unwinder, natively=natively)
    said = _said_natively(verdicts) if isinstance(verdicts, Verdicts) else [_said_of(each) for each in verdicts]
    for step, (outcome, why) in enumerate(said):
        if outcome is not Outcome.EXACT and not why and not run.watched.transition[step]:
            raise TestbedError(f"{run}: at step {step} {unwinder.name} is {outcome.value}, and nothing explains it")
    return said


def _said_of(verdict: Verdict) -> SaidAt:
    return verdict.outcome, verdict.explained_by.mechanism if verdict.explained_by else ""


def _said_natively(verdicts: Verdicts) -> list[SaidAt]:
    pairs = zip(verdicts.outcome.tolist(), verdicts.explained.tolist(), strict=True)
    return [(OUTCOMES[outcome], verdicts.limits[why].mechanism if why >= 0 else "") for outcome, why in pairs]
