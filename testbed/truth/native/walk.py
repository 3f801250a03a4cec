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
    CALLED_AGAIN,
    CAME_BACK,
    CFA,
    ELSEWHERE,
    ENDED_ROW,
    ENDED_SITE,
    ENTRY,
    GOES_FROM,
    GOES_ON,
    LANDED,
    LAST_LEFT,
    PARENT,
    PROMISED,
    PUSHED,
    REGION,
    RETURN,
    RETURNED,
    SITE,
    TARGET,
    WAY_SP,
    WAY_THERE,
)
from testbed.truth.native.evidence import (
    arrives,
    comes_to,
    drops,
    is_link,
    jumps_back,
    lands,
    leads_back,
    leads_back_from_above,
    look_back,
    sets_out,
)
from testbed.truth.native.living import is_elsewhere, is_left, landing, region_near, resumed
from testbed.truth.native.throwing import leave_for, throw

# What a transfer that is no ordinary return does besides: a jump; one to a landing pad; one to a fresh stack.
NOTHING, LEFT, LANDS, FRESH = range(4)


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
        step, more = steps[e], NOTHING
        if events.call[e]:
            if events.promise[e] and not _is_new(events, e, places[e], tree, setting, top):
                continue
            _open(events, e, tree, setting, used, top)
            _calls_again(tree, tree.latest[places[e]], top)
            tree.latest[places[e]] = used
            top = used
            used += 1
        elif events.drops[e]:
            drops(events, e, tree, setting, top)
            continue
        elif not events.transfer[e]:
            continue
        else:
            new_top, more, left = _come_back(events, e, places[e], tree, setting, top, used)
            if more != NOTHING:
                log.jump_steps[jumps], log.jump_nodes[jumps] = step, left
                jumps += 1
            elif new_top == top:
                continue
            if more == FRESH:
                _open_bottom(step, events.sp[e], tree, setting, used, left)
                new_top = used
                used += 1
            top = new_top
        if log.change_steps[changes - 1] == step:
            changes -= 1
        log.change_steps[changes], log.change_nodes[changes] = step, top
        changes += 1
        tree.way[WAY_THERE] = 0
        if more >= LANDS:
            sets_out(events, e, tree, setting)
    return used, top, changes, jumps


@compiled(inline=True)
def _open(events: Any, e: Any, tree: Any, setting: Any, new: Any, top: Any) -> None:
    """Rule 1: event ``e`` has the effect of a call."""
    sp = events.sp[e]
    tree.links[new, PARENT], tree.links[new, BOTTOM] = top, tree.links[top, BOTTOM]
    tree.links[new, REGION] = region_near(sp, tree.links[top, REGION], setting)
    tree.addresses[new, RETURN], tree.addresses[new, ENTRY] = events.fall[e], sp
    tree.addresses[new, CFA], tree.addresses[new, SITE] = sp + setting.entry_cfa, events.site[e]
    tree.opened[new] = events.steps[e]
    _begin(tree, new)
    tree.marks[new, PUSHED] = setting.pushes and events.transfer[e] and events.before[e] != sp
    tree.marks[new, ELSEWHERE] = events.elsewhere[e]
    tree.marks[new, PROMISED], tree.addresses[new, TARGET] = events.promise[e], events.pc[e]


@compiled(inline=True)
def _calls_again(tree: Any, before: Any, top: Any) -> None:
    """The innermost activation calls from where it called another one that has returned."""
    if before >= 0 and tree.links[before, PARENT] == top and tree.addresses[before, ENDED_SITE] != 0:
        tree.marks[before, CALLED_AGAIN] = True


@compiled(inline=True)
def _is_new(events: Any, e: Any, place: Any, tree: Any, setting: Any, top: Any) -> Any:
    """A promise that is not the innermost activation's own return address, nor one that was kept already."""
    addresses, marks = tree.addresses, tree.marks
    if tree.links[top, PARENT] >= 0:
        own = setting.pushes and events.sp[e] + setting.entry_cfa == addresses[top, CFA]
        if own or events.fall[e] == addresses[top, RETURN]:
            return False
    before = tree.latest[place]
    if before < 0 or marks[before, ALIVE]:
        return before < 0
    return events.handed[e] if marks[before, PROMISED] else setting.pushes


@compiled(inline=True)
def _begin(tree: Any, new: Any) -> None:
    """What every activation has at its first step."""
    tree.addresses[new, GOES_ON], tree.addresses[new, GOES_FROM] = 0, 0
    tree.addresses[new, ENDED_SITE], tree.addresses[new, ENDED_ROW] = 0, 0
    tree.links[new, LAST_LEFT], tree.links[new, LANDED] = -1, -1
    tree.marks[new, :] = False
    tree.marks[new, ALIVE] = True


@compiled(inline=True)
def _open_bottom(step: Any, sp: Any, tree: Any, setting: Any, new: Any, top: Any) -> None:
    """Rule 5: control came, from ``top``, to a fresh stack."""
    tree.links[new, PARENT], tree.links[new, BOTTOM] = -1, new
    tree.links[new, REGION] = region_near(sp, tree.links[top, REGION], setting)
    tree.addresses[new, RETURN], tree.addresses[new, ENTRY] = 0, sp
    tree.addresses[new, CFA], tree.addresses[new, SITE] = 0, 0
    tree.opened[new] = step
    _begin(tree, new)


@compiled(inline=True)
def _come_back(events: Any, e: Any, place: Any, tree: Any, setting: Any, top: Any, used: Any) -> Any:
    """Rules 2 to 7: the innermost activation after a transfer; if it was a jump, which kind, and who jumped."""
    links, addresses, marks = tree.links, tree.addresses, tree.marks
    pc, sp = events.pc[e], events.sp[e]
    inner = links[top, PARENT] >= 0
    if inner and pc == addresses[top, RETURN] and sp == addresses[top, CFA]:
        if setting.link >= 0 and sp == events.before[e] and not marks[top, PROMISED]:
            if events.onward[e]:
                return top, NOTHING, top
            addresses[top, ENDED_SITE], addresses[top, ENDED_ROW] = events.site[e], events.rows[e]
        marks[top, RETURNED], marks[top, ALIVE], marks[top, CAME_BACK] = True, False, True
        return links[top, PARENT], NOTHING, top
    came = tree.latest[place] if place >= 0 else np.int64(-1)
    target = links[came, PARENT] if came >= 0 else np.int64(-1)
    lives = target >= 0 and marks[target, ALIVE]
    if came >= 0 and (not lives or addresses[came, GOES_ON] != 0):
        comes_to(events, e, tree, setting, came, np.int64(-1) if lives else target, top)
    if lives and tree.way[WAY_THERE]:
        arrives(events, e, tree, setting, is_left(came, tree.way[WAY_SP], tree, setting, top))
    if lives and target != top:
        marks[came, RETURNED] = True
        leave_for(events, e, target, tree, setting, top)
        return target, LEFT, top
    if links[top, LAST_LEFT] >= 0:  # asked here: a call of a function takes longer than the question
        look_back(events, e, tree, setting, top, lives)
    if lives:
        return top, NOTHING, top
    if inner and _comes_back_elsewhere(events, e, tree, setting, top):
        outer = _over(events, e, tree, top)
        if pc != addresses[top, RETURN] and _goes_away(events, e, tree, setting, outer):
            return _away(events, e, target, tree, setting, outer, used)
        return outer, NOTHING, top
    tree.arrived[e] = setting.pushes and sp > events.before[e]
    if _goes_away(events, e, tree, setting, top):
        return _away(events, e, target, tree, setting, top, used)
    near = inner and (pc == addresses[top, RETURN] or sp == addresses[top, CFA])
    back = near and leads_back(events, e, tree, setting, top)
    if back:
        jumps_back(events, e, tree, setting, top)
    if events.made[e] and not (back and is_link(events.rows[e], pc, setting)):
        tree.arrived[e] = True
    return top, NOTHING, top


@compiled(inline=True)
def _goes_away(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rules 5 and 6: the innermost activation goes to another stack, or up."""
    sp = events.sp[e]
    if events.switches[e]:
        return True
    return tree.links[top, PARENT] >= 0 and (sp > tree.addresses[top, ENTRY] or is_elsewhere(sp, tree, setting, top))


@compiled()
def _away(events: Any, e: Any, target: Any, tree: Any, setting: Any, top: Any, used: Any) -> Any:
    """The innermost activation then; LEFT, LANDS or FRESH, or NOTHING if it returned; and who jumped."""
    elsewhere = is_elsewhere(events.sp[e], tree, setting, top)
    if events.switches[e] or (elsewhere and not events.stays[e]):
        return top, FRESH, top
    if elsewhere:
        found = resumed(events.sp[e], tree, setting, used, top)
        if found < 0:
            return top, NOTHING, top
        leave_for(events, e, found, tree, setting, top)
        return found, LEFT, top
    new_top, more = _go_up(events, e, target, tree, setting, top)
    return new_top, more, top


@compiled(inline=True)
def _over(events: Any, e: Any, tree: Any, top: Any) -> Any:
    """The innermost activation is over: control is back in its parent."""
    tree.marks[top, RETURNED], tree.marks[top, ALIVE], tree.marks[top, CAME_BACK] = True, False, True
    if events.pc[e] != tree.addresses[top, RETURN]:
        tree.addresses[top, GOES_ON], tree.addresses[top, GOES_FROM] = events.pc[e], events.site[e]
    return tree.links[top, PARENT]


@compiled(inline=True)
def _comes_back_elsewhere(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 4."""
    if events.stays[e] and events.pc[e] != tree.addresses[top, RETURN]:
        return False
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
        leave_for(events, e, parent, tree, setting, top)
        tree.marks[target, ALIVE] = True
        return target, LEFT
    if pc == tree.addresses[top, RETURN]:
        return _over(events, e, tree, top), NOTHING
    if events.stays[e]:
        tree.marks[top, ASTRAY] = True
        return top, NOTHING
    outer = landing(sp, tree, setting, top)
    if outer == top:
        return top, NOTHING
    throw(events, e, outer, tree, setting, top)
    lands(events, e, tree, setting, top, outer)
    return outer, LANDS
