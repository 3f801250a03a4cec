"""A run and what unwinders say about it, as test vectors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from testbed.arch import Arch
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, units
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.generate.program import generated_program
from testbed.image import LoadedImage
from testbed.program.model import Program
from testbed.runs.run import Run, judge_all
from testbed.truth import TrueFrame
from testbed.truth.native.near import NEAR
from testbed.truth.phases import PHASES, phases
from testbed.vectors.model import SiteClass, Vector, VectorCaller, VectorFile, expected_of
from testbed.verdicts.trace import EXACT, Verdicts, clause_names
from testbed.verdicts.verdict import OUTCOMES, Verdict
from testbed.words.catalogue import matches
from testbed.words.errors import TestbedError
from testbed.words.outcome import Outcome

# Which units become test vectors: every program on every architecture, by a few recipes that differ in kind.

# Each pattern for the programs of those patterns: what else is built adds sites, and no kind of frame or table.
_CHOSEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "keystone*": ("*",),
        "clang-O0-fp": ("*",),
        "clang-O2": ("*",),
        "clang-thumb-O2": ("*",),
        "gcc-O2": ("*",),
        "macho-*": ("*",),
        "clang-O2-sframe": ("*",),
        "clang-O2-debug_frame": ("*",),
        "clang-O2-scs": ("*",),
        "clang-O2-*pac": ("*",),
        "clang*-sync": ("*",),
        "clang*-bare": ("*",),
        "clang*-leaf-fp": ("recursion",),
        "clang*-aapcs": ("recursion",),
    }
)
GENERATED = ("gen:1001", "gen:1002", "gen:1004", "gen:1005", "genc:1001", "genc:1002", "genc:1004", "genc:1005")


def with_generated(programs: Mapping[str, Program]) -> dict[str, Program]:
    """The corpus, and a few programs made from seeds, under the names by which the command line knows them."""
    return {**programs, **{name: generated_program(name) for name in GENERATED}}


def chosen_units(programs: Mapping[str, Program], arches: Iterable[Arch]) -> Sequence[Unit]:
    """The units, in catalogue order. A program that none of the chosen recipes builds comes by all that do."""
    found = []
    for named, program in programs.items():
        for arch in arches:
            each = units([program], [arch], RECIPES.values())
            few = [unit for unit in each if _is_chosen(unit)] or each
            found += [Unit(named, unit.arch, unit.recipe) for unit in few]
    return found


def _is_chosen(unit: Unit) -> bool:
    return any(matches(unit.recipe, [recipe]) and matches(unit.program, which) for recipe, which in _CHOSEN.items())


# Which sites of a run are alike: of each shape the first one becomes a vector.
#
# Two sites of a built program have the same shape if these agree:
#
# * the instruction (its address), and whether a signal arrives instead of it,
# * ``CFA - SP``,
# * ``CFA - FP``, where FP points into the stack above SP; else that it does not,
# * which callee-saved registers have another value than at the activation's first step,
# * for each caller, innermost first: its return address, and how far its CFA is from its callee's; callers that are
#   equal in both, as recursion makes them, count once,
# * what is expected of each technique, and why.
#
# Steps in transition, at which no single answer is right, are no sites.

ReturnChain = tuple[tuple[int, int], ...]


def shapes(run: Run, expected: Callable[[int], Hashable]) -> Mapping[int, int]:
    """The first step of each shape, and how many steps have it; in the order of steps."""
    truth, trace = run.watched, run.trace
    activations, kept = truth.activations, [trace.arch.index[name] for name in platform(trace.arch).preserved]

    @cache
    def chain(index: int) -> ReturnChain:
        activation = activations[index]
        if activation.parent is None or activation.return_address is None or activation.cfa is None:
            return ()
        parent = activations[activation.parent]
        own = activation.return_address, (parent.cfa or 0) - activation.cfa
        outer = chain(activation.parent)
        return outer if own in outer else (own, *outer)

    ends = {region.address: region.end for region in trace.initial}

    def above(sp: int, pointer: int) -> bool:
        return any(start <= sp <= pointer < end for start, end in ends.items())

    first: dict[Hashable, int] = {}
    counts: dict[int, int] = {}
    for step in range(len(trace)):
        if truth.transition[step]:
            continue
        node, sp, pointer = int(truth.node[step]), int(trace.sp[step]), int(truth.sites.frame_pointer[step])
        activation = activations[node]
        cfa = activation.cfa or activation.entry_sp
        changed = trace.registers[step, kept] != trace.registers[activation.opened, kept]
        shape = (
            *(int(trace.pc[step]), trace.interrupted(step), activation.parent is None, cfa - sp),
            cfa - pointer if above(sp, pointer) else None,
            *(changed.tobytes(), chain(node), expected(step)),
        )
        kept_step = first.setdefault(shape, step)
        counts[kept_step] = counts.get(kept_step, 0) + 1
    return dict(sorted(counts.items()))


# The memory of a step as a stranger puts it together: zeros, then the program file's segments, then blocks over them.
#
# A *block* is 64 bytes at a multiple of 64. It is there where memory differs from what the file's segments say. Blocks
# of SP's own region that end more than `BELOW_SP` bytes under SP are left out: what lies there is dead.

BLOCK = 64
BELOW_SP = 256  # the red zone, and words that an epilogue has just popped


class MemoryBlocks:
    """The blocks of a run's steps; what the program file says is looked at once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._regions = [(region.address, region.end) for region in run.trace.initial]
        self._given: dict[int, bytes] = {}
        self._touched = sorted(set(self._initial()) | set(self._written()))

    def at(self, step: int) -> tuple[tuple[int, bytes], ...]:
        """The blocks of one step, by address."""
        memory, sp = self._run.trace.memory(step), int(self._run.trace.sp[step])
        low, high = next(((s, e) for s, e in self._regions if s <= sp <= e), (0, 0))
        found = []
        for address in self._touched:
            if low <= address < high and address + BLOCK <= sp - BELOW_SP:
                continue
            data = memory.read(address, BLOCK)
            if data != self.given(address):
                found.append((address, data))
        return tuple(found)

    def given(self, address: int) -> bytes:
        """A block as the program file has it: zeros where it has nothing."""
        if address not in self._given:
            self._given[address] = given_bytes(self._run.loaded, address, BLOCK)
        return self._given[address]

    def _initial(self) -> Iterator[int]:
        """The blocks that the loader or the kernel has written something else into than the file says."""
        for region in self._run.trace.initial:
            for address in range(region.address, region.end, BLOCK):
                data = region.data[address - region.address :][:BLOCK]
                if (any(data) or self._run.loaded.covers(address)) and data != self.given(address):
                    yield address

    def _written(self) -> Iterator[int]:
        writes = self._run.trace.writes
        for address, size in zip(writes.address.tolist(), writes.size.tolist(), strict=True):
            yield from range(address & -BLOCK, address + size, BLOCK)


def given_bytes(loaded: LoadedImage, address: int, size: int) -> bytes:
    """What a program file's segments say of run-time memory; zeros where they say nothing."""
    out = bytearray(size)
    for segment in loaded.image.segments:
        start = segment.address + loaded.bias
        low, high = max(address, start), min(address + size, start + len(segment.data))
        if low < high:
            out[low - address : high - address] = segment.data[low - start : high - start]
    return bytes(out)


_UNFORETOLD = "not foretold"
SaidAt = tuple[Outcome, str]
"""An outcome, and the clause of the assumption that fails, if one does; "" where it is exact."""


def collect(named: str, run: Run, unwinders: Sequence[Unwinder], *, natively: bool | None = None) -> VectorFile:
    """The vectors of a run: its sites, one of each shape, with what ``unwinders`` show of their techniques.

    Raises TestbedError where one of them is wrong and that is not foretold: nobody can say what to expect there.
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
        words=tuple(sorted(word.name for word in run.words(step))),
        expected={name: expected_of(outcome) for name, (outcome, _) in said.items()},
        because={name: f"{outcome.value}: {why}" for name, (outcome, why) in said.items() if why},
    )


def _said(run: Run, unwinder: Unwinder, natively: bool | None) -> Sequence[SaidAt]:
    """What an unwinder says at every step. Raises TestbedError where it is wrong, and that is not foretold."""
    verdicts = judge_all(run, unwinder, natively=natively)
    said = _said_natively(verdicts) if isinstance(verdicts, Verdicts) else [_said_of(each) for each in verdicts]
    for step, (outcome, _) in enumerate(said):
        if verdicts[step].unexplained:
            raise TestbedError(f"{run}: at step {step} {unwinder.name} is {outcome.value}, which is not foretold")
    return said


def _said_of(verdict: Verdict) -> SaidAt:
    return verdict.outcome, "" if verdict.exact else verdict.clause or _UNFORETOLD


def _said_natively(verdicts: Verdicts) -> list[SaidAt]:
    names = clause_names(verdicts.unwinder)
    pairs = zip(verdicts.outcome.tolist(), verdicts.clause.tolist(), strict=True)
    return [(OUTCOMES[outcome], "" if outcome == EXACT else names[clause] or _UNFORETOLD) for outcome, clause in pairs]
