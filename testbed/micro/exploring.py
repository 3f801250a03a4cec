"""Paths through one function, until its code was executed or its runs are used up.

First it is called as it is, its callees too, once for each plan of arguments: natural paths. Then it is called alone
(callees are answered, not executed), and at every branch whose other side was never executed a new path goes there,
breadth first; at last the code that no branch leads to is entered from an indirect jump or from behind a call: cases
of a switch, landing pads. Such a path is one that perhaps no run takes; see `testbed.micro.feasible`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from testbed.machine.native.detours import ANSWER_0, HALT
from testbed.micro.calling import Caller, CallPath, CallTape, Over
from testbed.micro.code import PieceCode, piece_code
from testbed.micro.code_scan import has_blocks
from testbed.micro.feasible import feasible_part, natural_part, return_to_answer, until, without_doubtful
from testbed.micro.function_parts import PartsFinder, with_parts
from testbed.micro.functions import CodePiece
from testbed.micro.plans import FOR_WAYS, OF_ANOTHER_SIZE, ArgumentPlan
from testbed.trace import Writes

# Coverage of one function: the paths through it, and which of its instructions they executed.


@dataclass(frozen=True, eq=False)
class TakenPath:
    """The tape of a path that counts; ``forced``: it did not go by itself, or its callees were answered.

    ``strays`` are the steps at which it was sent to code of ``piece`` that no branch leads to.
    ``turned`` are those at which a branch was made to go the other way.
    """

    tape: CallTape = field(repr=False)
    forced: bool
    piece: CodePiece
    strays: tuple[int, ...] = ()
    turned: tuple[int, ...] = ()


@dataclass(eq=False)
class Exploration:
    """Coverage of one piece by its paths: instructions by link-time address. ``dropped``: paths that no run takes.
    ``whole`` is its code with that of the parts that it jumps to.

    ``thorough``: what is not executed is not tried at all, so more is done for it: where a path was gone with its
    callees only it is gone alone too, switches are entered from paths that went astray, large functions have more runs.
    ``wanted`` are sides of branches, (branch, where to), that no path took yet and some path is to take.
    """

    piece: CodePiece
    code: PieceCode
    whole: PieceCode
    thorough: bool = False
    natural: set[int] = field(default_factory=set)
    forced: set[int] = field(default_factory=set)
    wanted: set[tuple[int, int]] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)  # executed on some path on which callees were answered
    lacked: set[int] = field(default_factory=set)  # passed over, since the machine lacks them
    dropped: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    returned: int = 0
    to_answers: set[int] = field(default_factory=set)  # `return_to_answer`, if every natural path ended so

    @property
    def missing(self) -> int:
        """How many instructions were not executed, and wanted sides not taken."""
        return sum(pc not in self.natural and pc not in self.forced for pc in self.whole.sizes) + len(self.wanted)


# Instructions of Thumb's IT blocks whose condition was false, as steps of a path.
#
# A processor fetches such an instruction and does nothing, as with any conditional instruction of A32; a signal may
# arrive there, and its row is as good or bad as another. The emulator has no hook for them, so they are no steps:
# control seems to go from an instruction of the block to a later one, or to what stands right behind it. Only a
# block's last instruction may branch (Arm ARM, IT), so there is nothing else that this can be.

_LONGEST = 16  # bytes: a block has four instructions of at most four


def with_passed_over(
    tape: CallTape, pc: int, bias: int, code_at: Callable[[int], PieceCode | None]
) -> tuple[CallTape, NDArray[np.int64]]:
    """The tape with a step for each instruction that was passed over, and the new place of each step.

    ``pc`` is the program counter's column, ``code_at`` gives the code of the piece at a link-time address. A step that
    is put in has the registers of the one that comes after it, and writes nothing.
    """
    here, sizes = tape.registers[:, pc], tape.sizes.astype(np.uint64)
    gaps = here[1:] - (here[:-1] + sizes[:-1])
    passed: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
    before: list[int] = []
    new: list[tuple[int, int]] = []
    for step in np.flatnonzero((gaps > 0) & (gaps <= _LONGEST)).tolist():
        pair = int(here[step]) - bias, int(here[step + 1]) - bias
        if pair not in passed:
            passed[pair] = _between(code_at(pair[0]), *pair)
        before += [step + 1] * len(passed[pair])
        new += passed[pair]
    places = np.arange(len(tape), dtype=np.int64)
    if not new:
        return tape, places
    at = np.array(before, np.int64)
    rows = tape.registers[at]
    rows[:, pc] = np.array([address for address, _ in new], np.uint64) + np.uint64(bias)
    places += np.searchsorted(at, places, side="right")
    writes = tape.writes
    return (
        replace(
            tape,
            registers=np.insert(tape.registers, at, rows, axis=0),
            sizes=np.insert(tape.sizes, at, np.array([size for _, size in new], np.uint8)),
            writes=Writes(places[writes.step].astype(np.uint32), writes.address, writes.size, writes.value),
            skipped=tuple((int(places[step]), callee) for step, callee in tape.skipped),
        ),
        places,
    )


def _between(code: PieceCode | None, start: int, goes_on: int) -> tuple[tuple[int, int], ...]:
    """The instructions of one IT block between two places, with their sizes."""
    end = code.blocks.get(start, start) if code is not None else start
    if code is None or not start < goes_on <= end:
        return ()
    found, at = [], start + code.sizes[start]
    while at < goes_on and at in code.sizes:
        found.append((at, code.sizes[at]))
        at += code.sizes[at]
    return tuple(found) if at == goes_on else ()


BRANCHES = 300  # of a function that `runs` are enough for; one with more has more of them
TRIES = 3  # how often one side of one branch is tried, behind equally many others that were forced
_Tries = Counter[tuple[int, int, int]]  # by branch, side, and how many were forced before
_LONGEST = 15  # bytes of an instruction
_SEEDS = 256  # tapes that are remembered as ways to code that no branch leads to


@dataclass(frozen=True, slots=True)
class _Way:
    """A path, the link-time pcs of its steps, SP at them from where it was, and the steps whose calls were answered."""

    path: CallPath
    pcs: list[int]
    sp: list[int]
    answered: tuple[int, ...]


class Explorer:
    """Explores the pieces of one file with one machine."""

    def __init__(self, caller: Caller, pieces: Sequence[CodePiece], parts: Sequence[CodePiece] = ()) -> None:
        self._caller = caller
        image = caller.image
        self._image, self._bias = image.loaded.image, image.loaded.bias
        arch = self._image.arch
        self._pc, self._sp = arch.index[arch.pc], arch.index[arch.sp]
        # Alone, only parts of functions and the harness are executed besides the function itself.
        self._alone = caller.alone.copy()
        at = image.harness.image.entry - caller.code
        self._alone[at : at + len(image.calls.harness)] = 0
        self._alone[at + image.calls.stop] = HALT
        self._covered = np.zeros_like(caller.natural)
        self._pieces = sorted(pieces, key=lambda piece: piece.start)
        self._starts = [piece.start for piece in self._pieces]
        self._behind: dict[int, bool] = {}
        self._codes: dict[int, PieceCode] = {}
        self._lengths: dict[int, bool] = {}
        self.parts = PartsFinder(parts, self._code)
        for piece in pieces:
            self._covered[self._places(piece)] = 1
            if not piece.is_entry:
                self._alone[self._places(piece)] = 0

    def _places(self, piece: CodePiece) -> slice:
        low, high = (at + self._bias - self._caller.code for at in (piece.start, piece.end))
        return slice(max(low, 0), max(high, 0))

    def _is_behind(self, address: int) -> bool:
        """Whether the function of the call before a run-time address has ended there: with filling or data at most."""
        if address not in self._behind:
            at = address - self._bias
            piece = self._piece_at(at - 1)
            ended = piece is not None and (at >= piece.end or at not in self._code(piece).sizes)
            self._behind[address] = ended
        return self._behind[address]

    def _code(self, piece: CodePiece) -> PieceCode:
        if piece.start not in self._codes:
            self._codes[piece.start] = piece_code(self._image, piece)
        return self._codes[piece.start]

    def _piece_at(self, address: int) -> CodePiece | None:
        place = bisect_right(self._starts, address) - 1
        return self._pieces[place] if place >= 0 and address < self._pieces[place].end else None

    def explore(
        self,
        piece: CodePiece,
        plans: Sequence[ArgumentPlan],
        *,
        runs: int,
        steps: int,
        thorough: bool = False,
        ways: Iterable[tuple[int, int]] = (),
    ) -> tuple[Exploration, Iterator[TakenPath]]:
        """What is found of a piece, filled in while its paths are taken one after the other.

        Of ``ways``, (from, to), those that are sides of its branches are taken where that can be.
        """
        whole = with_parts(self._code(piece), [self._code(part) for part in self.parts.of(piece)])
        wanted = {(branch, side) for branch, side in ways if side in whole.branches.get(branch, ())}
        found = Exploration(piece, self._code(piece), whole, thorough=thorough, wanted=wanted)
        return found, self._paths(found, plans, runs, steps)

    def _paths(self, found: Exploration, plans: Sequence[ArgumentPlan], runs: int, steps: int) -> Iterator[TakenPath]:
        piece = found.piece
        target = (piece.start + self._bias) | self._image.isa_at(piece.start).address_bit
        plans = (*plans, OF_ANOTHER_SIZE) if found.code.sized else plans
        image = self._caller.image
        paths, others = (
            [CallPath(target, plan.registers(image, target), answer=plan.answer, turned=plan.turned) for plan in its]
            for its in (plans, FOR_WAYS)
        )
        for some in (paths, others):
            if some is others and not found.wanted:
                break
            called = (self._called(path, self._caller.natural, steps) for path in some)
            tapes = [natural_part(tape, image, self._covered, self._caller.code, self._is_behind) for tape in called]
            ends = {return_to_answer(tape, image, found.whole) for tape in tapes}
            found.to_answers |= {pc for pc in ends if pc is not None and None not in ends}
            for tape in without_doubtful(tapes, image, found.whole):
                whole, _ = self._whole(tape)
                self._note(found, whole, forced=False)
                yield TakenPath(whole, forced=False, piece=piece)
        own = self._alone[self._places(piece)]
        kept = own.copy()
        own[:] = 0
        behind = self._behind_parts(piece)
        ended = self._alone[behind]
        self._alone[behind] = ANSWER_0
        try:
            if found.missing or found.code.sized:  # what a callee says is the size of a frame, too
                yield from self._forced(found, paths, runs, steps)
        finally:
            self._alone[behind] = ended
            own[:] = kept

    def _called(self, path: CallPath, places: NDArray[np.uint8], steps: int) -> CallTape:
        """What was recorded of a path until the emulator took an instruction for another one, of another length."""
        tape = self._caller.call(path, places, steps)
        pcs = tape.registers[:, self._pc] - np.uint64(self._bias)
        pairs, first = np.unique(pcs << np.uint64(4) | tape.sizes, return_index=True)
        misread = [step for pair, step in zip(pairs.tolist(), first.tolist(), strict=True) if not self._agrees(pair)]
        return replace(until(tape, min(misread) - 1), over=Over.FAULT) if misread else tape

    def _agrees(self, pair: int) -> bool:
        """Whether the disassembler says the same of an instruction: its address, and 4 bits of its length.

        Within another one it begins none, unless a branch leads there, over a prefix.
        """
        if pair not in self._lengths:
            address, size = pair >> 4, pair & 0xF
            code = self._code_at(address)
            is_own = code is None or code.sizes.get(address, size) == size
            if code is not None and address not in code.sizes:
                within = any(code.sizes.get(address - k, 0) > k for k in range(1, _LONGEST))
                is_own = not within or any(address in sides for sides in code.branches.values())
            self._lengths[pair] = is_own
        return self._lengths[pair]

    def _behind_parts(self, piece: CodePiece) -> NDArray[np.int64]:
        """The places behind the parts of a piece: what stands there is another's, though it may be a part too."""
        ends = np.array(self.parts.ends_of(piece)[1:], np.int64) + (self._bias - self._caller.code)
        return ends[ends < len(self._alone)]

    def _forced(self, found: Exploration, paths: list[CallPath], runs: int, steps: int) -> Iterator[TakenPath]:
        queue, tries = deque(paths), _Tries()
        ways: list[_Way] = []
        astray: list[_Way] = []
        many = found.thorough and len(found.whole.branches) > BRANCHES
        ends = self.parts.ends_of(found.piece)
        for _ in range(runs * len(found.whole.branches) // BRANCHES if many else runs):
            if not queue:
                break
            path = queue.popleft()
            called = self._called(path, self._alone, steps)
            tape = feasible_part(called, self._caller.image, ends, found.whole)
            if isinstance(tape, str):
                found.dropped[tape] += 1
                # Perhaps another side further on makes it possible, or another case of a switch.
                astray.append(self._way(path, called))
                queue.extend(self._other_sides(found, astray[-1], tries))
            else:
                known = len(found.alone)
                whole, places = self._whole(tape)
                new = self._note(found, whole, forced=True)
                way = self._way(path, tape)
                if new or not path.forced:
                    strays = tuple(int(places[step]) for step in self._strayed(found, path, tape))
                    turned = tuple(int(places[step - 1]) for step, _ in path.forced if step <= len(tape))
                    yield TakenPath(whole, True, found.piece, strays, turned)
                    if found.code.sized and path.forced:
                        yield from self._of_another_size(found, path, tape, paths, steps)
                if new or not path.forced or (found.thorough and len(found.alone) > known):
                    ways.append(way)
                queue.extend(self._other_sides(found, way, tries))
            if not queue and found.missing and found.thorough:
                queue.extend(self._gates(found, ways[-_SEEDS:], tries))
            if not queue and found.missing:
                sources = [*astray[-_SEEDS:], *ways[-_SEEDS:]] if found.thorough else ways[-_SEEDS:]
                queue.extend(self._strays(found, sources, tries))

    def _of_another_size(
        self, found: Exploration, path: CallPath, tape: CallTape, plans: Sequence[CallPath], steps: int
    ) -> Iterator[TakenPath]:
        """The same way with SP elsewhere or with other arguments, if its frame is as large as they say."""
        last = path.forced[-1][0]
        lower = replace(path, arguments=(*path.arguments[:-1], plans[-1].arguments[-1]))
        others = [replace(path, arguments=plan.arguments, answer=plan.answer) for plan in plans]
        for plan in (lower, *others):
            if plan.arguments == path.arguments:
                continue
            called = self._called(plan, self._alone, steps)
            other = feasible_part(called, self._caller.image, self.parts.ends_of(found.piece), found.whole)
            if isinstance(other, str) or min(len(other), len(tape)) <= last:
                continue
            one, two = (each.registers[: last + 1] for each in (tape, other))
            frames = [int(each[0, self._sp]) - int(each[-1, self._sp]) for each in (one, two)]
            if np.array_equal(one[:, self._pc], two[:, self._pc]) and frames[0] != frames[1]:
                whole, places = self._whole(other)
                self._note(found, whole, forced=True)
                turned = tuple(int(places[step - 1]) for step, _ in path.forced if step <= len(other))
                yield TakenPath(whole, True, found.piece, (), turned)
                return

    def _whole(self, tape: CallTape) -> tuple[CallTape, NDArray[np.int64]]:
        """The tape with the conditional instructions that it passed over, and where its own steps are."""
        if not has_blocks(self._image.arch):
            return tape, np.arange(len(tape), dtype=np.int64)
        return with_passed_over(tape, self._pc, self._bias, self._code_at)

    def _code_at(self, address: int) -> PieceCode | None:
        piece = self._piece_at(address)
        return None if piece is None else self._code(piece)

    def _strayed(self, found: Exploration, path: CallPath, tape: CallTape) -> tuple[int, ...]:
        sent = (step for step, to in path.forced if to - self._bias in found.code.orphans)
        return tuple(step for step in sent if step < len(tape) - 1)

    def _note(self, found: Exploration, tape: CallTape, *, forced: bool) -> bool:
        """Count a tape; whether it executed something that was not executed before, or took a side that is wanted."""
        found.calls += 1
        found.returned += tape.over is Over.RETURNED
        pcs = tape.registers[:, self._pc] - np.uint64(self._bias)
        taken = found.wanted.intersection(pairwise(pcs.tolist())) if found.wanted else set()
        found.wanted -= taken
        executed = set(np.unique(pcs).tolist())
        executed &= found.whole.sizes.keys()
        found.lacked |= {pc - self._bias for pc in tape.lacked} & executed
        new = executed - found.natural - (found.forced if forced else set())
        if forced:
            found.forced |= executed - found.natural
            found.alone |= executed
        else:
            found.natural |= executed
        return bool(new or taken)

    def _way(self, path: CallPath, tape: CallTape) -> _Way:
        pcs = (tape.registers[:, self._pc] - np.uint64(self._bias)).tolist()
        sp = (tape.registers[:, self._sp] - tape.registers[0, self._sp]).astype(np.int64)
        return _Way(path, pcs, sp.tolist(), tuple(step for step, _ in tape.skipped))

    def _gates(self, found: Exploration, ways: Sequence[_Way], tries: _Tries) -> Iterator[CallPath]:
        """Paths to what was executed with its callees only: where those are answered, code behind it may be new."""
        sides = set[int]()
        for way in ways:
            for path in self._other_sides(found, way, tries, found.alone):
                side = path.forced[-1][1]
                if side not in sides:
                    sides.add(side)
                    yield path

    def _other_sides(
        self, found: Exploration, way: _Way, tries: _Tries, executed: Set[int] | None = None
    ) -> Iterator[CallPath]:
        """A path for each side of a branch on this way that was never executed, be it on a natural path."""
        first = way.path.forced[-1][0] if way.path.forced else 1
        branches = found.whole.branches
        for step in range(first, len(way.pcs) - 1):
            sides = branches.get(way.pcs[step])
            if sides is not None:
                taken = way.pcs[step + 1]
                for side in sides:
                    if side != taken and (at := self._to(found, way, step + 1, side, tries, executed)):
                        yield at

    def _to(
        self, found: Exploration, way: _Way, step: int, side: int, tries: _Tries, executed: Set[int] | None = None
    ) -> CallPath | None:
        """The way to a step, and from there to some code, unless that was ``executed``, or tried often enough.

        The side of a branch that is wanted is taken wherever it leads.
        """
        was = side in found.natural or side in found.forced if executed is None else side in executed
        if (was and (way.pcs[step - 1], side) not in found.wanted) or side not in found.whole.sizes:
            return None
        before = tuple(detour for detour in way.path.forced if detour[0] < step)
        key = (way.pcs[step - 1], side, len(before))
        if tries[key] >= TRIES or (len(before) < len(way.path.forced) and not found.thorough):
            return None
        tries[key] += 1
        return replace(way.path, forced=(*before, (step, side + self._bias)))

    def _strays(self, found: Exploration, ways: Sequence[_Way], tries: _Tries) -> Iterator[CallPath]:
        """Paths to code that no branch leads to: from a jump by a register, or from behind a call."""
        entry_cfa = self._image.arch.entry_cfa
        top = -entry_cfa if any(min(way.sp) < -entry_cfa for way in ways) else 1
        jumps = [
            (way, step + 1)
            for way in ways
            for step, pc in enumerate(way.pcs[:-1])
            if pc in found.whole.indirect and way.sp[step] < top  # with no frame left it is a tail call
        ]
        # One step behind the answer's return: only then is the caller the innermost activation again. Where the
        # instruction there calls, it is another's already; where it moves SP, it is another frame.
        calls = [
            (way, step + 3)
            for way in ways
            for step in way.answered
            if step + 3 < len(way.pcs)
            and way.sp[step] < top
            and way.sp[step + 3] == way.sp[step]
            and step + 2 not in way.answered
        ]
        calls.sort(key=lambda place: place[0].sp[place[1]])  # with the whole frame: where SP is lowest
        for stray in found.code.orphans:
            if stray in found.natural or stray in found.forced:
                continue
            before = [place for place in jumps if place[0].pcs[place[1] - 1] < stray] or jumps
            places = [*before[-1:], *calls[:1]] if stray not in found.code.cases else before[-1:]
            for way, step in places:
                if path := self._to(found, way, step, stray, tries):
                    yield path
                    break
