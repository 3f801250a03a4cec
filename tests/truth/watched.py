"""Run a snippet and compare the watched stacks with the declared ones."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from testbed.machine import record
from testbed.program.model import parse_header
from testbed.trace import Exited, Trace
from testbed.truth import Truth, disagreements, observe
from testbed.truth.events import find_transfers
from testbed.truth.path import path_of
from tests.machine.snippets import image_of, visits
from tests.truth.pieces import agree_in_pieces


@dataclass(frozen=True)
class Shown:
    """A program by instruction set, and what is watched of it.

    Its stacks at labels, how many activations there were (None: any number), how many of them nobody called, where it
    is in transition between two stacks (None: anywhere) and where nothing is decided, as labels.
    """

    bodies: Mapping[str, str]
    frames: tuple[str, ...]
    activations: int | None = None
    uncalled: int = 1
    transition: Mapping[str, Collection[str]] | None = field(default_factory=dict)
    undecided: Collection[str] = ()


def shown_cases(shown: Mapping[str, Shown]) -> list[Any]:
    """The programs, by what each shows, as cases of `is_watched`."""
    return [pytest.param(each, isa, id=f"{what} {isa}") for what, each in shown.items() for isa in each.bodies]


def is_watched(shown: Shown, isa: str) -> None:
    """What a program shows is watched."""
    truth = watch(isa, shown.bodies[isa], *shown.frames, undecided=shown.undecided)
    assert shown.undecided or not truth.undecided.any()
    assert shown.activations in (None, len(truth.activations))
    assert sum(activation.parent is None for activation in truth.activations) == shown.uncalled
    if shown.transition is not None:
        assert labels_where(truth, truth.transition) == set(shown.transition.get(isa, ()))


def watch(isa: str, body: str, *frames: str, exit: int = 42, undecided: Collection[str] = ()) -> Truth:
    """The truth about a snippet that exits with ``exit``; each ``LABEL = f, g, h`` of ``frames`` holds.

    ``LABEL#2`` is the second visit. It is decided, but at the labels that are ``undecided``.
    """
    trace = record(image_of(isa, body), budget=20_000)
    assert trace.end == Exited(exit), trace.end
    truth = observe(trace)
    agree(trace)
    if trace.sizes.all():  # and so it has to in pieces, whatever is open between them
        for length in (4, 5, 9, 30):
            agree_in_pieces(truth, length)
    declared = "\n".join(["// summary: s", "// exit: 0", *(f"// frames: {line}" for line in frames)])
    assert frames
    assert disagreements(truth, parse_header("snippet", declared).frames) == ()
    places = [line.partition("=")[0].strip() for line in frames]
    found = {place.partition("#")[0] for place in places if truth.undecided[_steps_of(truth, place)].any()}
    assert found == set(undecided)
    return truth


def agree(trace: Trace) -> int:
    """The rules find the same as Python and compiled; how many activations."""
    transfers = find_transfers(trace)
    readable, native = (path_of(trace, transfers, natively) for natively in (False, True))
    assert tuple(native.activations) == tuple(readable.activations)
    assert native.node.tolist() == readable.node.tolist()
    assert native.found and readable.found and native.found.jumps == readable.found.jumps
    assert native.undecided.tolist() == readable.undecided.tolist()
    assert native.activations.goes_on.tolist() == readable.activations.goes_on.tolist()
    return len(readable.activations)


def steps_at(truth: Truth, label: str) -> list[int]:
    return visits(truth.trace, label)


def _steps_of(truth: Truth, location: str) -> list[int]:
    label, _, visit = location.partition("#")
    return steps_at(truth, label)[slice(int(visit) - 1, int(visit)) if visit else slice(None)]


def labels_where(truth: Truth, mask: NDArray[np.bool_]) -> set[str]:
    """The steps that a mask selects, as the nearest label at or before each pc (``label+0x4``)."""
    symbols = truth.trace.images[0].image.symbols
    names = set()
    for pc in truth.trace.pc[mask].tolist():
        symbol = max((s for s in symbols if s.address <= pc), key=lambda s: (s.address, s.is_function))
        names.add(symbol.name + (f"+{pc - symbol.address:#x}" if pc > symbol.address else ""))
    return names
