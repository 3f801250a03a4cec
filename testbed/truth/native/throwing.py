"""Activations that are over without a return of their own, natively."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.truth.native.columns import ALIVE, CFA, JUMPED, LED, PARENT, PUSHED, RETURN, TARGET, THROWN
from testbed.truth.native.evidence import is_link
from testbed.truth.native.living import same_chain


@compiled(inline=True)
def leave_for(events: Any, e: Any, target: Any, tree: Any, setting: Any, top: Any) -> None:
    """Rule 3: drop to ``target``, or switch to its stack and leave this one as it is."""
    if same_chain(tree.links, top, target):
        throw(events, e, target, tree, setting, top)


@compiled(inline=True)
def throw(events: Any, e: Any, outer: Any, tree: Any, setting: Any, top: Any) -> None:
    """The activations from ``top`` up to, not including, ``outer`` are over without a return of their own.

    Those inside the one that returns ordinarily may have come back elsewhere, as far as all of them jumped so.
    """
    links, addresses, marks = tree.links, tree.addresses, tree.marks
    pc, sp = events.pc[e], events.sp[e]
    returns = setting.pushes or sp > events.before[e] or is_link(events.rows[e], pc, setting)
    index = top
    led = top  # the innermost of those that have all jumped so, up to here
    while index != outer and index >= 0:
        marks[index, ALIVE] = False
        parent = links[index, PARENT]
        if not marks[index, JUMPED]:
            led = parent
        if parent >= 0:
            ordinary = links[parent, PARENT] >= 0 and pc == addresses[parent, RETURN] and sp == addresses[parent, CFA]
            at_next = addresses[index, TARGET] == addresses[index, RETURN]  # `bl next`, which asks for the pc
            if ordinary and (returns or at_next) and not marks[index, PUSHED]:
                marks[index, THROWN] = True
            if ordinary:
                while led != parent:
                    marks[led, LED] = True
                    led = links[led, PARENT]
        index = parent
