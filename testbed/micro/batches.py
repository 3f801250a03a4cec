"""The recordings of many paths as one trace: the harness calls one function after the other.

A path that did not come back is followed by another step of the harness, as where an exception lands; that step gives
every byte its first value back. So the trace is one of a program that runs on, and all that judges traces judges it.
The first step too is the harness's, with SP above everything. So what a path left unfinished lies below SP, and is
gone; otherwise the truth could take it for another stack, and go back to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.conventions import platform
from testbed.machine.start import MappedPages
from testbed.micro.calling import Over
from testbed.micro.exploring import TakenPath
from testbed.micro.feasible import behind_answers
from testbed.micro.functions import CodePiece
from testbed.micro.layout import CallableImage
from testbed.trace import Exited, Trace, Writes

BATCH = 150_000  # steps: long enough for the native passes over a trace


@dataclass(frozen=True, eq=False)
class Batch:
    """One trace of many paths, and of each step the number of its path.

    ``forced[k]``: step ``k`` belongs to a forced path; ``returned[k]``: to one that came back. ``answered[k]``: control
    has come back there from the stand-in for a function of another file, or for one that a made-up pointer leads to.
    Perhaps the real one never returns.
    ``strays`` are the steps at which a path was sent to code that no branch leads to, with that code's piece.
    ``turned`` are those at which a branch was made to go the other way.
    """

    trace: Trace
    path: NDArray[np.int64] = field(repr=False)
    forced: NDArray[np.bool_] = field(repr=False)
    returned: NDArray[np.bool_] = field(repr=False)
    answered: NDArray[np.bool_] = field(repr=False)
    strays: tuple[tuple[int, CodePiece], ...] = ()
    turned: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    def turned_before(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each of some steps, the last at which a branch of its path had gone the other way by force; -1: none."""
        last = np.searchsorted(self.turned, steps, side="left") - 1
        found = np.concatenate([self.turned, [-1]])[last]
        return np.where((found >= 0) & (self.path[found] == self.path[steps]), found, -1)

    def __len__(self) -> int:
        return len(self.forced)


def one_trace(image: CallableImage, taken: Sequence[TakenPath], asked: Iterable[MappedPages], seed: int) -> Batch:
    """The paths one after the other; ``asked`` are the pages that some of them asked for."""
    lengths = [len(path.tape) for path in taken]
    starts = np.cumsum([1, *lengths[:-1]])
    journal = [
        np.concatenate([_column(path, name, int(start)) for path, start in zip(taken, starts, strict=True)])
        for name in ("step", "address", "size", "value")
    ]
    size = image.calls.answer - image.calls.stop
    mapped = {page.address: page for page in asked}
    trace = Trace(
        image.loaded.image.arch,
        image.images,
        np.concatenate([_beginning(image, taken[0]), *(path.tape.registers for path in taken)]),
        np.concatenate([np.full(1, size, np.uint8), *(path.tape.sizes for path in taken)]),
        Writes(*journal),
        tuple(mapping.region for mapping in (*image.mappings, *mapped.values())),
        end=Exited(0),
        seed=seed,
    )
    path = np.repeat(np.arange(len(taken)), [lengths[0] + 1, *lengths[1:]])
    forced = np.array([each.forced for each in taken])
    returned = np.array([each.tape.over is Over.RETURNED for each in taken])
    strays = tuple(
        (int(start) + step, each.piece) for each, start in zip(taken, starts, strict=True) for step in each.strays
    )
    turned = [int(start) + step for each, start in zip(taken, starts, strict=True) for step in each.turned]
    own = np.array(sorted(turned), np.int64)
    answered = np.zeros(len(trace), np.bool_)
    answered[behind_answers(trace.pc, image)[0]] = True
    return Batch(trace, path, forced[path], returned[path], answered, strays, own)


def _beginning(image: CallableImage, first: TakenPath) -> NDArray[np.uint64]:
    """The harness's first step, which leads to the first call."""
    arch = image.loaded.image.arch
    row = first.tape.registers[:1].copy()
    row[0, arch.index[arch.pc]] = image.harness.image.entry + image.calls.stop
    row[0, arch.index[arch.sp]] = image.sp + 2 * platform(arch).stack_alignment
    return row


def _column(path: TakenPath, name: str, start: int) -> NDArray[Any]:
    column: NDArray[Any] = getattr(path.tape.writes, name)
    return (column + np.uint32(start)).astype(np.uint32) if name == "step" else column
