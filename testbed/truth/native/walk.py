"""The rules of `testbed.truth.follow`, natively, for traces of millions of steps.

The readable rules stay in `follow`; this is the same state machine over columns, and a test holds it to them. A
table of places to come back to needs no dictionary here: every (return address, CFA) that some call promises gets a
number beforehand, and a transfer carries the number of the place that it reaches, or -1.

Compiled once and kept on disk; nothing imports this module before a trace is long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.native.compiled import compiled
from testbed.truth.native.columns import (
    ALIVE,
    ASTRAY,
    BOTTOM,
    CFA,
    ELSEWHERE,
    ENTRY,
    GOES_ON,
    JUMPED,
    LAST_LEFT,
    LED,
    PARENT,
    PUSHED,
    REGION,
    RETURN,
    RETURNED,
    SITE,
    THROWN,
)
from testbed.truth.native.evidence import jumps_back, lands, leads_back, leads_back_from_above, look_back

NOTHING, LEFT, FRESH = range(3)  # what a transfer that is no ordinary return does besides: a jump; one to a fresh stack


@compiled()
def region_of(sp: Any, setting: Any) -> int:
    """The mapped region that a push at ``sp`` writes to, or -1."""
    for i in range(len(setting.starts)):
        if setting.starts[i] < sp <= setting.ends[i]:
            return i
    return -1


@compiled(inline=True)
def _is_in(sp: Any, region: Any, setting: Any) -> Any:
    return region >= 0 and setting.starts[region] < sp <= setting.ends[region]


@compiled(inline=True)
def _same_chain(links: Any, index: Any, target: Any) -> bool:
    while index >= 0:
        if index == target:
            return True
        index = links[index, PARENT]
    return False


@compiled()
def walk(events: Any, places: Any, tree: Any, setting: Any, log: Any, used: Any, top: Any, first: Any) -> Any:
    """One pass over the events from step ``first`` on, at which ``top`` is the innermost activation.

    ``places`` are those of the events. ``tree`` holds ``used`` activations and has room for one more per event; it is
    filled in, and so is ``log``, with room for one change more than there are events. Returns how many activations
    there are then, the innermost one, and how many changes and jumps.
    """
    steps = events.steps
    log.change_steps[0], log.change_nodes[0] = first, top
    changes, jumps = 1, 0
    for e in range(len(steps)):
        step = steps[e]
        if events.call[e]:
            _open(events, e, tree, setting, used, top)
            tree.latest[places[e]] = used
            top = used
            used += 1
        elif not events.transfer[e]:
            continue
        else:
            new_top, more = _come_back(events, e, places[e], tree, setting, top)
            if more != NOTHING:
                log.jump_steps[jumps], log.jump_nodes[jumps] = step, top
                jumps += 1
            elif new_top == top:
                continue
            if more == FRESH:
                _open_bottom(step, events.sp[e], tree, setting, used, top)
                new_top = used
                used += 1
            top = new_top
        if log.change_steps[changes - 1] == step:
            changes -= 1
        log.change_steps[changes], log.change_nodes[changes] = step, top
        changes += 1
    return used, top, changes, jumps


@compiled(inline=True)
def _open(events: Any, e: Any, tree: Any, setting: Any, new: Any, top: Any) -> None:
    """Rule 1: event ``e`` has the effect of a call."""
    sp = events.sp[e]
    tree.links[new, PARENT], tree.links[new, BOTTOM] = top, tree.links[top, BOTTOM]
    tree.links[new, REGION] = _region_near(sp, tree.links[top, REGION], setting)
    tree.addresses[new, RETURN], tree.addresses[new, ENTRY] = events.fall[e], sp
    tree.addresses[new, CFA], tree.addresses[new, SITE] = sp + setting.entry_cfa, events.site[e]
    tree.opened[new] = events.steps[e]
    _begin(tree, new)
    tree.marks[new, PUSHED] = setting.pushes and events.transfer[e] and events.before[e] != sp
    tree.marks[new, ELSEWHERE] = events.elsewhere[e]


@compiled(inline=True)
def _begin(tree: Any, new: Any) -> None:
    """What every activation has at its first step."""
    tree.addresses[new, GOES_ON], tree.links[new, LAST_LEFT] = 0, -1
    tree.marks[new, :] = False
    tree.marks[new, ALIVE] = True


@compiled(inline=True)
def _open_bottom(step: Any, sp: Any, tree: Any, setting: Any, new: Any, top: Any) -> None:
    """Rule 5: control came, from ``top``, to a fresh stack."""
    tree.links[new, PARENT], tree.links[new, BOTTOM] = -1, new
    tree.links[new, REGION] = _region_near(sp, tree.links[top, REGION], setting)
    tree.addresses[new, RETURN], tree.addresses[new, ENTRY] = 0, sp
    tree.addresses[new, CFA], tree.addresses[new, SITE] = 0, 0
    tree.opened[new] = step
    _begin(tree, new)


@compiled(inline=True)
def _region_near(sp: Any, region: Any, setting: Any) -> Any:
    """`region_of`, where a region is the likely answer."""
    return region if _is_in(sp, region, setting) else region_of(sp, setting)


@compiled(inline=True)
def _come_back(events: Any, e: Any, place: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rules 2 to 7: the innermost activation after a transfer, and LEFT or FRESH where it was a jump."""
    links, addresses, marks = tree.links, tree.addresses, tree.marks
    pc, sp = events.pc[e], events.sp[e]
    inner = links[top, PARENT] >= 0
    if inner and pc == addresses[top, RETURN] and sp == addresses[top, CFA]:
        marks[top, RETURNED], marks[top, ALIVE] = True, False
        return links[top, PARENT], NOTHING
    came = tree.latest[place] if place >= 0 else np.int64(-1)
    target = links[came, PARENT] if came >= 0 else np.int64(-1)
    lives = target >= 0 and marks[target, ALIVE]
    if lives and target != top:
        marks[came, RETURNED] = True
        _leave_for(pc, sp, target, tree, setting, top)
        return target, LEFT
    if links[top, LAST_LEFT] >= 0:  # asked here: a call of a function takes longer than the question
        look_back(events, e, tree, setting, top)
    if lives:
        return top, NOTHING
    if inner and _comes_back_elsewhere(events, e, tree, setting, top):
        return _over(pc, tree, top), NOTHING
    if inner and _is_elsewhere(sp, tree, setting, top):
        return top, FRESH
    if inner and sp > addresses[top, ENTRY]:
        return _go_up(events, e, target, tree, setting, top)
    near = inner and (pc == addresses[top, RETURN] or sp == addresses[top, CFA])
    if near and leads_back(events, e, tree, setting, top):
        jumps_back(events, e, tree, setting, top)
    return top, NOTHING


@compiled(inline=True)
def _over(pc: Any, tree: Any, top: Any) -> Any:
    """The innermost activation is over: control is back in its parent."""
    tree.marks[top, RETURNED], tree.marks[top, ALIVE] = True, False
    if pc != tree.addresses[top, RETURN]:
        tree.addresses[top, GOES_ON] = pc
    return tree.links[top, PARENT]


@compiled(inline=True)
def _comes_back_elsewhere(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 4."""
    if setting.pushes and events.before[e] == tree.addresses[top, ENTRY] and events.sp[e] == tree.addresses[top, CFA]:
        return True
    if tree.marks[top, ASTRAY]:
        return leads_back_from_above(events, e, tree, setting, top)
    return tree.marks[top, ELSEWHERE] and leads_back(events, e, tree, setting, top)


@compiled()
def _go_up(events: Any, e: Any, target: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 6."""
    pc, sp = events.pc[e], events.sp[e]
    parent = tree.links[target, PARENT] if target >= 0 else np.int64(-1)
    if parent >= 0 and tree.marks[parent, ALIVE]:
        _leave_for(pc, sp, parent, tree, setting, top)
        tree.marks[target, ALIVE] = True
        return target, LEFT
    if pc == tree.addresses[top, RETURN]:
        return _over(pc, tree, top), NOTHING
    if events.stays[e]:
        tree.marks[top, ASTRAY] = True
        return top, NOTHING
    outer = _landing(sp, tree, setting, top)
    if outer == top:
        return top, NOTHING
    _throw(pc, sp, outer, tree, setting, top)
    lands(events, e, tree, setting, top, outer)
    return outer, LEFT


@compiled(inline=True)
def _is_elsewhere(sp: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 5: ``sp`` is on no stack of this chain, or above its bottom."""
    links, addresses = tree.links, tree.addresses
    region = links[top, REGION]
    if _is_in(sp, region, setting):
        low = links[top, BOTTOM]
        return links[low, REGION] == region and sp > addresses[low, ENTRY] > addresses[top, ENTRY]
    if region_of(sp, setting) < 0:
        return False
    index = top
    while index >= 0:
        if _is_in(sp, links[index, REGION], setting):
            return False
        index = links[index, PARENT]
    return True


@compiled(inline=True)
def _leave_for(pc: Any, sp: Any, target: Any, tree: Any, setting: Any, top: Any) -> None:
    """Rule 3: drop to ``target``, or switch to its stack and leave this one as it is."""
    if _same_chain(tree.links, top, target):
        _throw(pc, sp, target, tree, setting, top)


@compiled(inline=True)
def _throw(pc: Any, sp: Any, outer: Any, tree: Any, setting: Any, top: Any) -> None:
    """The activations from ``top`` up to, not including, ``outer`` are over without a return of their own.

    Those inside the one that returns ordinarily may have come back elsewhere, as far as all of them jumped so.
    """
    links, addresses, marks = tree.links, tree.addresses, tree.marks
    index = top
    led = top  # the innermost of those that have all jumped so, up to here
    while index != outer and index >= 0:
        marks[index, ALIVE] = False
        parent = links[index, PARENT]
        if not marks[index, JUMPED]:
            led = parent
        if parent >= 0:
            ordinary = links[parent, PARENT] >= 0 and pc == addresses[parent, RETURN] and sp == addresses[parent, CFA]
            if ordinary and not marks[index, PUSHED]:
                marks[index, THROWN] = True
            if ordinary:
                while led != parent:
                    marks[led, LED] = True
                    led = links[led, PARENT]
        index = parent


@compiled(inline=True)
def _landing(sp: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 6: the activation that a landing pad belongs to: the first on the chain that is not below ``sp``."""
    links, addresses = tree.links, tree.addresses
    equal = not setting.pushes
    index = top
    while index >= 0:
        here = _is_in(sp, links[index, REGION], setting)
        if links[index, PARENT] < 0 or (here and addresses[index, ENTRY] > sp):
            break
        if here and addresses[index, ENTRY] == sp:
            if not equal:
                break
            equal = False
        index = links[index, PARENT]
    return index
