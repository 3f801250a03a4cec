"""What one step of a run shows: code, registers, the stack, rows in force, the true stack, every unwinder's beside it.

`StepView` is gathered from a run and from what unwinders said, each part when it is first asked for. The terminal
(`step_text`), the full screen (`step_screen`) and notebooks (`markup`) only lay it out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from testbed.campaign.names import true_frames
from testbed.contract.unwinder import Backtrace, Unwinder
from testbed.image import LoadedImage, function_covering, image_covering
from testbed.image.debug import debug_info
from testbed.image.debug.lines import Line
from testbed.image.disassembly import disassemble_sized
from testbed.image.symbols import readable
from testbed.naming.beside import Alignment
from testbed.naming.symbolize import NamedBacktrace, symbolize, with_names
from testbed.report.phrases import frame_pointer, stack_pointer
from testbed.report.stack_drawing import StackDrawing, changed_registers, draw_stack
from testbed.report.table_text import row_cells
from testbed.runs.frames_beside import frames_beside, told
from testbed.runs.run import Run, judge
from testbed.verdicts.verdict import Verdict
from testbed.words.outcome import Outcome
from testbed.words.printable import printable

# The code of a run as lines: every function that was entered, instruction by instruction, with its source lines.

MAX_GAP = 4096  # bytes of a function that were never executed and are still listed
MOST_OF_SOURCE = 1 << 22  # bytes of a source file that is read
MOST_OF_LINE = 120  # characters of a line that are shown


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One instruction. ``function`` is "" outside functions; ``source`` is where its line begins here."""

    pc: int
    size: int
    text: str
    where: str
    function: str
    executed: bool
    source: Line | None = None
    source_text: str = ""


@dataclass(frozen=True)
class Listing:
    """All lines by address; ``row_of`` gives the line of a pc."""

    lines: tuple[CodeLine, ...]

    def row_of(self, pc: int) -> int:
        return bisect_right(self.lines, pc, key=lambda line: line.pc) - 1

    def around(self, pc: int, before: int, after: int) -> tuple[CodeLine, ...]:
        """The lines of the same function around ``pc``."""
        row = self.row_of(pc)
        near = self.lines[max(0, row - before) : row + after + 1]
        return tuple(line for line in near if line.function == self.lines[row].function)


@lru_cache(maxsize=4)
def listing(run: Run) -> Listing:
    """The listing of a run. Code that never ran is decoded in the gaps of the functions that did."""
    executed = _first_steps(run)
    lines: list[CodeLine] = []
    done = 0
    for pc in sorted(executed):
        if pc < done:
            continue
        found = function_covering(run.trace.images, pc)
        if found is None or found[1].size > 16 * MAX_GAP:
            step = executed[pc]
            lines.append(_executed(run, image_covering(run.trace.images, pc), step, ""))
            done = pc + int(run.trace.sizes[step])
            continue
        loaded, symbol = found
        start = max(symbol.address + loaded.bias, done)
        done = symbol.address + loaded.bias + symbol.size
        lines += _function(run, loaded, readable(symbol), start, done, executed)
    return Listing(tuple(lines))


def _first_steps(run: Run) -> dict[int, int]:
    """A step for each pc: the first that executes the instruction, else the first at which a signal arrives there."""
    pcs, sizes = run.trace.pc, run.trace.sizes
    steps = np.concatenate([np.flatnonzero(sizes), np.flatnonzero(sizes == 0)])
    found, first = np.unique(pcs[steps], return_index=True)
    return dict(zip(found.tolist(), steps[first].tolist(), strict=True))


def _function(
    run: Run, loaded: LoadedImage, name: str, start: int, end: int, executed: dict[int, int]
) -> Iterator[CodeLine]:
    at = start
    while at < end:
        if at in executed and run.trace.sizes[executed[at]]:
            line = _executed(run, loaded, executed[at], name)
        else:
            line = _decoded(run, loaded, at, end, executed, name)
        yield line
        at += line.size


def _executed(run: Run, loaded: LoadedImage | None, step: int, function: str) -> CodeLine:
    pc, size = int(run.trace.pc[step]), int(run.trace.sizes[step])
    return CodeLine(pc, size, run.instruction(step), run.where(pc), function, True, *_source(run, loaded, pc))


def _decoded(run: Run, loaded: LoadedImage, pc: int, end: int, executed: dict[int, int], function: str) -> CodeLine:
    """An instruction that never ran: its size is that of what capstone decodes, at most up to the next one that did."""
    isa = loaded.image.isa_at(pc - loaded.bias)
    limit = min(end, pc + 16)
    limit = next((at for at in range(pc + 1, limit) if at in executed), limit)
    code = run.code(0, pc, limit - pc)
    text, size = disassemble_sized(isa, code, pc)
    return CodeLine(
        pc, size, with_names(run.trace.images, text), run.where(pc), function, False, *_source(run, loaded, pc)
    )


def _source(run: Run, loaded: LoadedImage | None, pc: int) -> tuple[Line | None, str]:
    if loaded is None:
        return None, ""
    info = debug_info(loaded.image)
    line = info.line_at(pc - loaded.bias)
    if line is None or not line.line or not info.begins_line(pc - loaded.bias):
        return None, ""
    own = line.name == run.built.source.path.name
    text = _lines_of(run.built.source.text) if own else _lines_of_file(Path(line.file), loaded.image.path)
    return line, printable(text[line.line - 1].strip())[:MOST_OF_LINE] if line.line <= len(text) else ""


@lru_cache(maxsize=4)
def _lines_of(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines())


@lru_cache(maxsize=64)
def _lines_of_file(source: Path, program: Path) -> tuple[str, ...]:
    """The source that a program was made from, where it is still there; none that was written later, or is huge."""
    try:
        made, built = source.stat(), program.stat()
        if not source.is_absolute() or not source.is_file() or made.st_size > MOST_OF_SOURCE:
            return ()
        return tuple(source.read_text("utf-8", "replace").splitlines()) if made.st_mtime <= built.st_mtime else ()
    except (OSError, ValueError):  # not here, or no name that a file can have
        return ()


# Moves from one step of a run to another: what the keys of every stepper do.


class Move(Enum):
    """A move; the value is its key and what it does. A difference is new where the step before had not the same one."""

    NEXT = ("n", "next step")
    BACK = ("b", "back")
    NEXT_CALL = ("c", "next call")
    OUT = ("o", "out: back in the caller")
    NEXT_DIFFERENCE = ("d", "next difference")
    FIRST = ("0", "first step")
    LAST = ("$", "last step")

    @property
    def key(self) -> str:
        return self.value[0]

    @property
    def does(self) -> str:
        return self.value[1]


def moved(run: Run, step: int, move: Move, unwinders: Sequence[Unwinder]) -> int:
    """The step that a move leads to; the same step where there is none."""
    last = len(run) - 1
    match move:
        case Move.NEXT:
            return min(step + 1, last)
        case Move.BACK:
            return max(step - 1, 0)
        case Move.FIRST:
            return 0
        case Move.LAST:
            return last
        case Move.NEXT_CALL:
            return next((a.opened for a in run.watched.activations if a.opened > step and a.parent is not None), step)
        case Move.OUT:
            parent = run.watched.activations[int(run.watched.node[step])].parent
            later = (k for k in range(step + 1, last + 1) if int(run.watched.node[k]) == parent)
            return next(later, step)
        case Move.NEXT_DIFFERENCE:
            before = _outcomes(run, step, unwinders)
            for k in range(step + 1, last + 1):
                now = _outcomes(run, k, unwinders)
                if any(b is not a and b is not Outcome.EXACT for a, b in zip(before, now, strict=True)):
                    return k
                before = now
            return step


def _outcomes(run: Run, step: int, unwinders: Sequence[Unwinder]) -> list[Outcome]:
    snapshot = run[step]
    return [judge(run, snapshot, unwinder.unwind(snapshot), unwinder).outcome for unwinder in unwinders]


@dataclass(frozen=True, eq=False)
class StepAnswer:
    """What an unwinder said at a step, and the verdict on it."""

    run: Run = field(repr=False)
    step: int
    unwinder: Unwinder
    said: Backtrace
    verdict: Verdict

    @property
    def frames(self) -> tuple[tuple[Alignment, str], ...]:
        """Its frames beside the true ones, innermost first, by place."""
        return frames_beside(self.run, self.step, self.said)

    @property
    def told(self) -> list[tuple[Alignment, str]]:
        """The same as a line shows them: marked by what they are, repeats folded."""
        return list(told(self.run, self.step, self.said))

    @property
    def end(self) -> str:
        return "(root)" if self.said.stopped is None else f"stops: {self.said.stopped.reason}"

    @property
    def difference(self) -> str:
        """What is wrong first; "" where nothing is."""
        return self.run.difference(self.verdict)

    @property
    def why(self) -> str:
        return self.run.why(self.verdict, self.step)


class RowInForce(NamedTuple):
    """What unwinders' tables say at a pc: since where, the CFA, the rules (or why there is no row)."""

    names: tuple[str, ...]
    start: str
    cfa: str
    rules: str


@dataclass(frozen=True, eq=False)
class StepView:
    """One step of a run, with what was said there."""

    run: Run = field(repr=False)
    step: int
    answers: tuple[StepAnswer, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.run.program.name} · {self.run.arch} · {self.run.recipe.name}"

    @property
    def number(self) -> str:
        """``step 3 of 0 to 24: leaf+0x4``."""
        return f"step {self.step} of 0 to {len(self.run) - 1}: {self.where}"

    @property
    def pc(self) -> int:
        return int(self.run.trace.pc[self.step])

    @property
    def where(self) -> str:
        return self.run.where(self.pc)

    @property
    def instruction(self) -> str:
        return self.run.instruction(self.step)

    @property
    def words(self) -> list[tuple[str, str]]:
        """The words about the site, by name, and what each means; one of a frame further out has its number."""
        frames = self.run.watched.frames_of_traits(self.step)
        of = {word: f" of frame {number}" for word, number in frames.items() if number}
        words = sorted(self.run.words(self.step), key=lambda word: word.name)
        return [(f"{word.name}{of.get(word, '')}", word.value) for word in words]

    @property
    def frame(self) -> str:
        """SP, FP and the return address, by the frame: ``sp = cfa-0x10, fp = caller's, return address at cfa-0x8``."""
        ra = self.stack.return_address
        sp, fp = stack_pointer(self.run, self.step), frame_pointer(self.run, self.step)
        return f"sp = {sp}, fp = {fp}" + f", return address {ra}" * bool(ra)

    @cached_property
    def changed(self) -> tuple[tuple[str, int, int], ...]:
        """The registers that the step before changed: name, value before, value now."""
        return changed_registers(self.run, self.step)

    @cached_property
    def stack(self) -> StackDrawing:
        return draw_stack(self.run, self.step)

    def code(self, before: int, after: int) -> tuple[CodeLine, ...]:
        """So many lines of the function around pc."""
        return listing(self.run).around(self.pc, before, after)

    @cached_property
    def rows(self) -> tuple[RowInForce, ...]:
        """The rows in force of all unwinders that are tables; what several say alike is one."""
        same: dict[tuple[str, str, str], list[str]] = {}
        for answer in self.answers:
            if row := row_in_force(self.run, answer.unwinder, self.pc):
                same.setdefault(row, []).append(answer.unwinder.name)
        return tuple(RowInForce(tuple(names), *row) for row, names in same.items())

    @property
    def true_places(self) -> list[str]:
        """The true frames, innermost first."""
        return [self.run.place(frame) for frame in self.run.truth(self.step).frames]

    @property
    def inlined(self) -> list[list[str]]:
        """For each true frame the calls that were inlined there, innermost first."""
        return [[str(call) for call in self.run.calls(frame)[:-1]] for frame in self.run.truth(self.step).frames]

    @cached_property
    def named(self) -> NamedBacktrace:
        """The calls of the source that the true frames stand for."""
        return symbolize(self.run.trace.images, true_frames(self.run, self.step))


def step_view(run: Run, step: int, unwinders: Sequence[Unwinder]) -> StepView:
    """A step at which these unwinders are asked and judged."""
    snapshot = run[step]
    said = [(unwinder, unwinder.unwind(snapshot)) for unwinder in unwinders]
    return StepView(run, step, tuple(StepAnswer(run, step, u, each, judge(run, snapshot, each, u)) for u, each in said))


def row_in_force(run: Run, unwinder: Unwinder, pc: int) -> tuple[str, str, str] | None:
    """Since where, the CFA and the rules of the row at a pc; None of what is no table, and where no image is."""
    loaded = image_covering(run.trace.images, pc)
    if unwinder.rows is None or loaded is None:
        return None
    row, cfa, rules = row_cells(unwinder, loaded, pc)
    return run.where(row.start + loaded.bias) if row else "", cfa, rules
