"""Which sites of a run are alike: of each shape the first one becomes a vector.

Two sites of a built program have the same shape if these agree:

* the instruction (its address), and whether a signal arrives instead of it,
* ``CFA - SP``,
* ``CFA - FP``, where FP points into the stack above SP; else that it does not,
* which callee-saved registers have another value than at the activation's first step,
* for each caller, innermost first: its return address, and how far its CFA is from its callee's; callers that are equal
  in both, as recursion makes them, count once,
* what is expected of each technique, and why.

Steps in transition, at which no single answer is right, are no sites.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache

from testbed.runs.run import Run

ReturnChain = tuple[tuple[int, int], ...]


def shapes(run: Run, expected: Callable[[int], Hashable]) -> Mapping[int, int]:
    """The first step of each shape, and how many steps have it; in the order of steps."""
    truth, trace = run.watched, run.trace
    activations, kept = truth.activations, [trace.arch.index[name] for name in trace.arch.preserved]

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
