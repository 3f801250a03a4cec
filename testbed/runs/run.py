"""One program, built, run, watched and judged: the value that the command line and notebooks work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import tee

import numpy as np

from testbed.arch import Arch
from testbed.build import Built, build
from testbed.build.recipes import Recipe, first_recipe, recipe_named
from testbed.contract.unwinder import Backtrace, Frame, Unwinder
from testbed.conventions.chosen import TakenConvention, chosen_at, taken
from testbed.image import LoadedImage, describe
from testbed.image.disassembly import disassemble
from testbed.machine import record
from testbed.naming.symbolize import NamedFrame, name_of, names_at, with_names, with_places
from testbed.program.header import Span
from testbed.program.model import Program
from testbed.runs.places import located
from testbed.trace import Exited, Snapshot, Trace
from testbed.truth import CallStack, TrueFrame, Truth, disagreements, observe
from testbed.verdicts.assumptions import Failed
from testbed.verdicts.assumptions.words import expected, place, reason
from testbed.verdicts.trace import judge_trace, verdict_at, verdicts_at
from testbed.verdicts.verdict import Accord, Verdict, first_answers
from testbed.words.catalogue import nearest
from testbed.words.errors import EmulationError, ProgramError, TestbedError, UnreadableMemory, UsageError
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

# Return addresses behind no call: where a signal interrupted, and the trampoline that its handler returns to.


def uncalled_in(truth: Truth) -> frozenset[int]:
    """Those of a run."""
    signals = {a.index for a in truth.activations if a.signal}
    returns = (a.return_address for a in truth.activations if a.index in signals or a.parent in signals)
    return frozenset(address for address in returns if address is not None)


def behind_call(frame: TrueFrame | Frame, uncalled: frozenset[int]) -> bool:
    """True where a frame's pc is a return address: a signal's trampoline is none, whoever takes it for one."""
    behind = frame.lookup_pc != frame.pc
    return behind and (isinstance(frame, TrueFrame) or frame.pc not in uncalled)


_KEPT_SITES = 10_000  # a longer run is judged natively, over columns


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run with its truth. ``run[17]`` and ``run.at("leaf+0x4")`` are snapshots."""

    built: Built
    trace: Trace
    watched: Truth = field(repr=False)

    @property
    def program(self) -> Program:
        return self.built.program

    @property
    def arch(self) -> Arch:
        return self.built.arch

    @property
    def recipe(self) -> Recipe:
        return self.built.recipe

    def __len__(self) -> int:
        return len(self.trace)

    @property
    def unseen(self) -> int:
        """The row from which on writes were seen; of a part of a run, what came before left its values in memory."""
        return 0

    @property
    def shown(self) -> range:
        """The rows of the trace that are steps of this run; others are there for what they say of these."""
        return range(len(self))

    def number_of(self, row: int) -> int:
        """What the step at a row is called."""
        return row

    def __repr__(self) -> str:
        return f"<Run {self}>"

    def __str__(self) -> str:
        what = f"{self.program.name} · {self.arch} · {self.recipe.name}: {len(self):,} steps, {self.ending}"
        return f"{what}: {self.failure.splitlines()[0]}" if self.failure else what

    @property
    def loaded(self) -> LoadedImage:
        """The program's image, where it was loaded."""
        return self.trace.images[0]

    @property
    def ending(self) -> str:
        """How the run ended, in a few words."""
        return f"exit {self.trace.end.status}" if isinstance(self.trace.end, Exited) else "did not reach its exit"

    @property
    def failure(self) -> str:
        """Why this run proves nothing about its program, or "": it did not exit, or with the wrong status."""
        return failure_of(self.built, self.trace.end)

    @cached_property
    def disagreements(self) -> tuple[str, ...]:
        """Where the watched stack is not the one that the program's header declares: ``FILE:LINE: what``."""
        header, path = self.built.source.header, self.built.source.path
        return tuple(f"{path}:{each.line}: {each.text}" for each in disagreements(self.watched, header.frames))

    def __getitem__(self, step: int) -> Snapshot:
        if not 0 <= step < len(self):
            raise IndexError(f"step {step}: this run has the steps 0 to {len(self) - 1}")
        return self.trace.snapshot(step)

    def at(self, location: str) -> Snapshot:
        """The snapshot at ``symbol``, ``symbol+0x4``, ``symbol+0x4#2`` (second visit) or ``@N`` (step N).

        A symbol is the linker's name or the readable one, ``ns::f(int)`` or ``ns::f``; ``file.c:30`` is where code of
        a line begins. Visits are counted over all that are called so.
        """
        return self[self.step_at(location)]

    def step_at(self, location: str) -> int:
        """The step at a location. Raises UsageError where it does not exist or is never executed."""
        if location.startswith("@") and location[1:].isdecimal():
            if len(location) > 16 or int(location[1:]) >= len(self):
                raise UsageError(f"{location[:60]}: this run has the steps @0 to @{len(self) - 1}")
            return int(location[1:])
        pcs, visit = self.located(location)
        visits = self._visits_of(pcs)
        if not 1 <= visit <= len(visits):
            raise UsageError(visited(location, pcs, len(visits), self.trace, executed_near(self.trace, pcs)))
        return visits[visit - 1]

    def times(self, location: str) -> tuple[int, int]:
        """How often a location is executed, and how many instructions near it are; 0 where there is none."""
        try:
            pcs = self.located(location)[0]
        except UsageError:
            return 0, 0
        return len(self._visits_of(pcs)), len(executed_near(self.trace, pcs))

    def located(self, location: str) -> tuple[list[int], int]:
        """The pcs and the visit that a location names. Raises UsageError for none."""
        return located([self.loaded], location)

    def _visits_of(self, pcs: Sequence[int]) -> Sequence[int]:
        return sorted(step for pc in set(pcs) for step in self._visits.get(pc, ()))

    @cached_property
    def _visits(self) -> Mapping[int, Sequence[int]]:
        visits: dict[int, list[int]] = {}
        for step, pc in enumerate(self.trace.pc.tolist()):
            visits.setdefault(pc, []).append(step)
        return visits

    def steps_in(self, function: str) -> tuple[int, ...]:
        """The steps that execute inside a function of the image."""
        symbol = self.built.image.symbol_named(function)
        if symbol is None:
            known = (s.name for s in self.built.image.symbols if s.is_function)
            raise UsageError(f"no function {function!r}; {nearest(function, known)}")
        start = symbol.address + self.loaded.bias
        return tuple(i for i, pc in enumerate(self.trace.pc.tolist()) if start <= pc < start + max(symbol.size, 1))

    def number(self, at: Snapshot | int) -> int:
        """The step of a snapshot of a run, or the step itself."""
        step = at if isinstance(at, int) else at.step
        if step is None:
            raise UsageError("this snapshot did not come from a run: it has no truth")
        return step

    def truth(self, at: Snapshot | int) -> CallStack:
        """The true call stack at a snapshot (or step) of this run."""
        return self._stack_of(self.number(at))

    # Every unwinder is judged by these at every step: of a short run each is made once.
    @cached_property
    def _stack_of(self) -> Callable[[int], CallStack]:
        return lru_cache(_KEPT_SITES)(self.watched.stack)

    def words(self, at: Snapshot | int) -> frozenset[Trait]:
        """What people call a site: observed in the trace, of any frame, or declared of the program by its header."""
        return self.watched.traits(self.number(at)) | self.built.source.header.traits

    def span_addresses(self, span: Span) -> tuple[int, int]:
        """Where a part of the code that the header names begins and ends. Raises ProgramError for an unknown label."""
        return self._address(span.start, span), self._address(span.end, span)

    def _address(self, location: str, span: Span) -> int:
        name, _, offset = location.partition("+")
        symbol = self.built.image.symbol_named(name)
        if symbol is None:
            raise ProgramError(self.built.source.path, span.line, f"{name!r} is no symbol of the built file")
        own = next(loaded for loaded in self.trace.images if loaded.image is self.built.image)
        return symbol.address + own.bias + int(offset or "0", 0)

    def where(self, pc: int, *, caller: bool = False) -> str:
        """``function+0x4`` for an address of this run; with ``caller``, for a return address."""
        return describe(self.trace.images, pc, caller=caller)

    def function(self, pc: int) -> str:
        """The name of the function that an address is in, else ``where(pc)``."""
        return name_of(self.trace.images, pc).function or self.where(pc)

    @cached_property
    def uncalled(self) -> frozenset[int]:
        """Return addresses behind no call."""
        return uncalled_in(self.watched)

    def frame_names(self, frames: Iterable[TrueFrame | Frame]) -> tuple[str, ...]:
        """Function names of a stack's frames: return addresses are looked up at their call."""
        return tuple(self.function(frame.pc - behind_call(frame, self.uncalled)) for frame in frames)

    def calls(self, frame: TrueFrame | Frame) -> tuple[NamedFrame, ...]:
        """The calls of the source that one frame stands for: those inlined at its pc, innermost first, the function."""
        return names_at(self.trace.images, frame.pc, caller=behind_call(frame, self.uncalled))

    def place(self, frame: TrueFrame | Frame) -> str:
        """``function+0x4`` of one frame: a return address is named after the function that made the call."""
        return self.where(frame.pc, caller=behind_call(frame, self.uncalled))

    def stop(self, said: Backtrace) -> str:
        """Why an unwinder stopped, with names for addresses; "" where it claims the root."""
        return "" if said.stopped is None else with_places(self.trace.images, str(said.stopped))

    def difference(self, verdict: Verdict) -> str:
        """What a verdict says is wrong first, with names: ``frame 1: main+0x20, not leaf+0x4``."""
        stops = verdict.outcome in (Outcome.REFUSED, Outcome.STOPPED)  # these name a looked-up pc
        return with_places(self.trace.images, verdict.difference, caller=not stops, uncalled=self.uncalled)

    @property
    def undecided(self) -> str:
        """How many steps are undecided, and where the first one is; "" where none is."""
        steps = np.flatnonzero(self.watched.undecided)
        if not len(steps):
            return ""
        first = int(steps[0])
        where = f"{self.where(int(self.trace.pc[first]))} (@{self.number_of(first)})"
        return f"{len(steps):,} undecided from {where}: no effect tells whose steps these are"

    @cached_property
    def conventions(self) -> tuple[TakenConvention, ...]:
        """By what the functions that were entered were judged, where it is not their platform's convention."""
        entered = sorted(set(self.trace.pc[self.watched.activations.opened].tolist()))
        return taken(filter(None, (chosen_at(self.trace.images, pc) for pc in entered)))

    def why(self, verdict: Verdict, step: int) -> str:
        """Why an answer at a step is not exact: the clause that fails, with its evidence; "" where nothing is known.

        Of one that an assumption does not foretell what was foretold, and why.
        """
        if verdict.exact:
            return ""
        if verdict.transition and self.watched.undecided[step]:
            return "undecided: no effect tells whose step this is"
        if verdict.transition:
            return "in transition: no single answer is right"
        reason = self.reason(verdict.failed, step) if verdict.failed else ""
        if verdict.accord is Accord.OPEN:
            return f"open: {reason or 'no clause fails'}"
        if verdict.accord.unforetold:
            return f"UNEXPLAINED: {expected(verdict.failed, self.trace.images, reason)}"
        return reason

    def reason(self, failed: Failed, step: int) -> str:
        """Why an assumption fails at a step: where, by which clause, and with what evidence."""
        return f"at {place(failed, self.trace.images)} {self.evidence(failed, step)}"

    def evidence(self, failed: Failed, step: int) -> str:
        """As `reason`, without the place."""
        said, state = reason(failed, self.trace.images, self.watched, step)
        return f"{said}: {state} (`{self.instruction(step)}` runs next)" if state else said

    def instruction(self, step: int) -> str:
        """The instruction that ``step`` executes, as text; a branch names its target.

        Raises TestbedError where nothing is mapped there: only the trace of a file that others made says that.
        """
        if self.trace.interrupted(step):
            return "a signal arrives"
        pc, size = int(self.trace.pc[step]), int(self.trace.sizes[step])
        return with_names(self.trace.images, disassemble(self.trace.isa(step), self.code(step, pc, size), pc))

    def code(self, step: int, pc: int, size: int) -> bytes:
        """The bytes of code at a pc, as memory was at a step. Raises TestbedError as `instruction` does."""
        try:
            return self.trace.memory(step).read(pc, size)
        except UnreadableMemory as error:
            why = f"{self}: no memory at pc {pc:#x} (step @{step}): the trace is damaged; record it again"
            raise TestbedError(why) from error


NEAR = 16  # bytes from a place that was asked for


def executed_near(trace: Trace, pcs: Sequence[int]) -> Mapping[int, int]:
    """Where instructions begin near some places that were executed, in order, each with its size."""
    near = np.zeros(len(trace), np.bool_)
    for pc in pcs:
        near |= trace.pc - np.uint64(pc) + np.uint64(NEAR) <= np.uint64(2 * NEAR)
    found, first = np.unique(trace.pc[near], return_index=True)
    return dict(zip(found.tolist(), trace.sizes[near][first].tolist(), strict=True))


def visited(location: str, pcs: Sequence[int], visits: int, trace: Trace, near: Mapping[int, int]) -> str:
    """Why a visit that was asked for does not exist; of what is never executed, what is executed ``near`` it."""
    times = {0: "never executed", 1: "executed once"}.get(visits, f"executed {visits} times")
    said = f"{location}: pc {' or '.join(f'{pc:#x}' for pc in pcs[:3])} is {times} in this run"
    if visits or not near:
        return said
    around = next((at for at, size in near.items() for pc in pcs if at < pc < at + size), None)
    inside = f": it lies inside the instruction at {describe(trace.images, around)}" if around is not None else ""
    return f"{said}{inside}; near it are executed {', '.join(describe(trace.images, at) for at in near)}"


def failure_of(built: Built, end: Exited | EmulationError) -> str:
    """Why a run that ended so proves nothing about its program, or ""."""
    if isinstance(end, EmulationError):
        return str(end)
    expected = built.source.header.exit
    if expected is not None and end.status != expected:
        return f"exit status {end.status}; the header of {built.source.path.name} says {expected}"
    return ""


def run_program(
    program: Program,
    arch: Arch,
    recipe: str | None = None,
    *,
    seed: int = 1,
    budget: int = 1_000_000,
    fresh: bool = False,
) -> Run:
    """Build a program (by its first recipe, if none is named), run it, watch it."""
    chosen = first_recipe(program, arch) if recipe is None else recipe_named(recipe, program, arch)
    return run_built(build(program, arch, chosen, fresh=fresh), seed=seed, budget=budget)


def run_built(built: Built, *, seed: int = 1, budget: int = 1_000_000) -> Run:
    """Run a built program in the emulator and watch it."""
    signals = built.source.header.signals
    trace = record(built.image, seed=seed, budget=budget, signals=signals, cpu=built.cpu)
    return Run(built, trace, observe(trace))


# An unwinder judged at one site of a run, or at all of them.

COLUMNS_FROM = 500  # steps; fewer are judged one by one


def judge(run: Run, at: Snapshot | int, said: Backtrace, unwinder: Unwinder | None = None) -> Verdict:
    """The verdict on a backtrace at a snapshot of a run; with the unwinder given, it is held to its assumption."""
    return verdict_at(run.watched, said, unwinder, run.number(at))


def judge_all(run: Run, unwinder: Unwinder, *, natively: bool | None = None) -> Sequence[Verdict]:
    """The verdicts of one unwinder at every step of a run.

    ``natively`` decides between the judge of whole traces, for an unwinder that walks them, and one verdict after the
    other; both say the same. None: whatever is faster for this run alone.
    """
    if natively is None:
        natively = len(run) >= COLUMNS_FROM
    if unwinder.unwind_trace is None:
        return judge_steps(run, unwinder, range(len(run)))
    swept = unwinder.unwind_trace(run.trace)
    if natively:
        return judge_trace(run.watched, swept, unwinder)
    return _verdicts(run, unwinder, range(len(run)), swept)


def judge_steps(run: Run, unwinder: Unwinder, steps: Sequence[int]) -> tuple[Verdict, ...]:
    """The verdicts at some steps of a run, at which an unwinder is asked one after the other."""
    return _verdicts(run, unwinder, steps, (unwinder.unwind(run.trace.snapshot(step)) for step in steps))


def _verdicts(run: Run, unwinder: Unwinder, steps: Sequence[int], said: Iterable[Backtrace]) -> tuple[Verdict, ...]:
    answers, kept = tee(said)
    return tuple(first_answers(zip(verdicts_at(run.watched, answers, unwinder, steps), kept, strict=True)))
