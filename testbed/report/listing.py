"""The code of a run as lines: every function that was entered, instruction by instruction, with its source lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from testbed.image import LoadedImage, image_covering
from testbed.image.debug import debug_info
from testbed.image.debug.lines import Line
from testbed.image.disassembly import disassemble_sized
from testbed.image.symbols import readable
from testbed.naming.symbolize import with_names
from testbed.runs.run import Run

MAX_GAP = 4096  # bytes of a function that were never executed and are still listed


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
        loaded = image_covering(run.trace.images, pc)
        symbol = loaded.image.function_at(pc - loaded.bias) if loaded else None
        if loaded is None or symbol is None or symbol.size > 16 * MAX_GAP:
            step = executed[pc]
            lines.append(_executed(run, loaded, step, ""))
            done = pc + int(run.trace.sizes[step])
            continue
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
    text = _lines_of(run.built.source.text) if line.name == run.built.source.path.name else ()
    return line, text[line.line - 1].strip() if line.line <= len(text) else ""


@lru_cache(maxsize=4)
def _lines_of(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines())
