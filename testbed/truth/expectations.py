"""Declared truth against watched truth: a program says what its frames are at a label, the trace must agree."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from testbed.image import describe, image_covering
from testbed.image.symbols import symbol_for
from testbed.program.model import Expectation
from testbed.trace import Trace
from testbed.truth.truth import Truth

_CLONE = re.compile(r"(?:\.(?:constprop|isra)\.\d+)+$")


def disagreements(truth: Truth, expectations: Iterable[Expectation]) -> tuple[str, ...]:
    """One sentence for each declared stack that is not the watched one; empty where all agree.

    A location without a symbol, or one that is never executed, is a disagreement: it would prove nothing.
    """
    found: list[str] = []
    for expectation in expectations:
        found.extend(f"line {expectation.line}: {text}" for text in _check(truth, expectation))
    return tuple(found)


def _check(truth: Truth, expectation: Expectation) -> Iterable[str]:
    trace, where = truth.trace, expectation.location
    pc = _address(trace, where)
    if pc is None:
        return [f"{where}: no symbol of that name"]
    visits = np.flatnonzero(trace.pc == np.uint64(pc)).tolist()
    if expectation.visit is not None:
        visits = visits[expectation.visit - 1 : expectation.visit]
        where += f"#{expectation.visit}"
    if not visits:
        return [f"{where} is never executed"]
    wrong: dict[tuple[str, ...], int] = {}
    for step in visits:
        names = frame_names(truth, step)
        if not _agree(names, expectation.frames):
            wrong.setdefault(names, step)
    declared = ", ".join(expectation.frames)
    return [f"{where} (step {step}): declared {declared}; watched {', '.join(names)}" for names, step in wrong.items()]


def _agree(watched: tuple[str, ...], declared: tuple[str, ...]) -> bool:
    """A compiler may name what it made of ``f`` ``f.isra.0``: who declares ``f`` means that too."""
    same = (one == other or _CLONE.sub("", one) == other for one, other in zip(watched, declared, strict=False))
    return len(watched) == len(declared) and all(same)


def _address(trace: Trace, location: str) -> int | None:
    name, _, offset = location.partition("+")
    for loaded in trace.images:
        symbol = loaded.image.symbol_named(name)
        if symbol is not None:
            return trace.arch.code_address(symbol.address) + loaded.bias + int(offset or "0", 0)
    return None


def frame_names(truth: Truth, step: int) -> tuple[str, ...]:
    """The functions of the watched stack, innermost first; a caller is looked up inside its call instruction."""
    return tuple(_function(truth.trace, frame.lookup_pc) for frame in truth.stack(step).frames)


def _function(trace: Trace, pc: int) -> str:
    loaded = image_covering(trace.images, pc)
    symbol = symbol_for(loaded.image, pc - loaded.bias) if loaded else None
    return symbol.name if symbol else describe(trace.images, pc)
