"""The facts of `testbed.truth.evidence` and `testbed.truth.hands`, natively."""

from __future__ import annotations

from typing import Any

from numpy import uint64 as u64

from testbed.native.compiled import compiled
from testbed.truth.native.columns import (
    CERTAIN,
    CFA,
    ENTRY,
    GOES_ON,
    JUMP_PC,
    JUMP_SITE,
    JUMPED,
    LANDED,
    LAST_LEFT,
    LEFT_CFA,
    LEFT_HELD,
    LEFT_RETURN,
    LEFT_SHOWN,
    LEFT_SWITCHED,
    NOT_OVER,
    PARENT,
    RETURN,
    RETURNED,
    TARGET,
    WAY_HELD,
    WAY_PC,
    WAY_SITE,
    WAY_SP,
    WAY_THERE,
)
from testbed.truth.native.near import ANY as ALL_REGISTERS
from testbed.truth.native.near import NEAR as NEAR_BYTES

NEAR, ANY = u64(NEAR_BYTES), u64(ALL_REGISTERS)


@compiled()
def between(row: Any, low: Any, high: Any, setting: Any) -> Any:
    """The registers, as a set of bits, that held an address from ``low`` to ``high`` before the jump to a row."""
    found = u64(0)
    for i in range(len(setting.columns)):
        value = setting.registers[row - 1, setting.columns[i]] & setting.mask
        if low <= value <= high:
            found |= u64(1) << u64(i)
    return found


@compiled()
def _by_hand(events: Any, e: Any, setting: Any) -> Any:
    pc = events.pc[e]
    return events.sp[e] > events.before[e] or between(events.rows[e], pc, pc, setting) != u64(0)


@compiled(inline=True)
def is_link(row: Any, address: Any, setting: Any) -> Any:
    """Did the link register hold an address before the jump to a row?"""
    return setting.link >= 0 and setting.registers[row - 1, setting.link] & setting.mask == address


@compiled(inline=True)
def _is_near(events: Any, e: Any, returns: Any, cfa: Any) -> Any:
    return events.sp[e] == cfa and returns < events.pc[e] <= returns + NEAR


@compiled()
def leads_back(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> Any:
    """A jump by hand: to the return address with another SP, or with the right SP to an address made of it."""
    pc, sp, row = events.pc[e], events.sp[e], events.rows[e]
    returns, cfa = tree.addresses[top, RETURN], tree.addresses[top, CFA]
    if pc == returns:
        return sp != cfa and _by_hand(events, e, setting)
    if sp != cfa:
        return False
    if sp > events.before[e] or is_link(row, pc, setting):
        return True
    if not (is_link(row, returns, setting) and _is_near(events, e, returns, cfa)):
        return False
    if _by_hand(events, e, setting):
        return True
    site, entry, end = events.site[e], tree.addresses[top, TARGET], returns + NEAR
    computed = setting.jump_size != u64(0) and events.fall[e] - site == setting.jump_size
    return computed and not (returns <= site <= end) and not (returns <= entry <= end)


@compiled()
def leads_back_from_above(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> Any:
    """The same of a function that has gone up with its return address."""
    returns, cfa = tree.addresses[top, RETURN], tree.addresses[top, CFA]
    there = events.pc[e] == returns or _is_near(events, e, returns, cfa)
    return there and _by_hand(events, e, setting)


@compiled()
def jumps_back(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> None:
    """The innermost activation jumps as if it came back elsewhere."""
    pc = events.pc[e]
    tree.marks[top, JUMPED] = True
    if pc != tree.addresses[top, RETURN] and (events.sp[e] > events.before[e] or is_link(events.rows[e], pc, setting)):
        tree.marks[top, CERTAIN] = True


@compiled()
def lands(events: Any, e: Any, tree: Any, setting: Any, top: Any, landed: Any) -> None:
    """The innermost activation is thought gone by a jump to a landing pad in ``landed``."""
    returns = tree.addresses[top, RETURN]
    held = between(events.rows[e], returns, returns + NEAR, setting)
    row = _leaves(events, e, tree, returns, tree.addresses[top, CFA], held, landed)
    index = top
    while index != landed and index >= 0:
        tree.links[index, LANDED] = row
        index = tree.links[index, PARENT]


@compiled(inline=True)
def _leaves(events: Any, e: Any, tree: Any, returns: Any, cfa: Any, held: Any, landed: Any) -> Any:
    """A row of `left`."""
    row = tree.left_used[0]
    tree.left[row, JUMP_SITE], tree.left[row, JUMP_PC] = events.site[e], events.pc[e]
    tree.left[row, LEFT_RETURN], tree.left[row, LEFT_CFA], tree.left[row, LEFT_HELD] = returns, cfa, held
    tree.left[row, LEFT_SHOWN], tree.left[row, LEFT_SWITCHED] = 0, 0
    tree.links[landed, LAST_LEFT] = row
    tree.left_used[0] += 1
    return row


@compiled()
def drops(events: Any, e: Any, tree: Any, setting: Any, top: Any) -> None:
    """A call whose word comes off the stack at once is thought to be none."""
    _leaves(events, e, tree, events.fall[e], events.sp[e] + setting.entry_cfa, ANY, top)


@compiled(inline=True)
def _is_replaced(tree: Any, dead: Any, top: Any) -> Any:
    """Is somebody of this chain where a dead activation was?"""
    index = top
    while index >= 0:
        if tree.addresses[index, ENTRY] == tree.addresses[dead, ENTRY]:
            return True
        index = tree.links[index, PARENT]
    return False


@compiled()
def comes_to(events: Any, e: Any, tree: Any, setting: Any, opened: Any, dead: Any, top: Any) -> None:
    """Control is where activation ``opened`` would come back to, whose caller may be ``dead`` (or is, with -1, not)."""
    if not _by_hand(events, e, setting):
        return
    if tree.addresses[opened, GOES_ON] != 0:
        tree.marks[opened, NOT_OVER] = True
    if dead >= 0:
        tree.marks[opened, RETURNED] = True
        if tree.links[dead, LANDED] >= 0 and not _is_replaced(tree, dead, top):
            tree.left[tree.links[dead, LANDED], LEFT_SWITCHED] = 1


@compiled()
def sets_out(events: Any, e: Any, tree: Any, setting: Any) -> None:
    """A jump to another stack, or up: what `arrives` has to know of it."""
    way, row = tree.way, events.rows[e]
    way[WAY_THERE], way[WAY_SITE], way[WAY_PC], way[WAY_SP] = 1, events.site[e], events.pc[e], events.sp[e]
    for i in range(len(setting.columns)):
        way[WAY_HELD + i] = setting.registers[row - 1, setting.columns[i]] & setting.mask


@compiled()
def arrives(events: Any, e: Any, tree: Any, setting: Any, left: Any) -> None:
    """Control comes, by hand, to where a call of somebody who lives comes back: was the jump on the way?"""
    way, pc = tree.way, events.pc[e]
    if not _by_hand(events, e, setting):
        return
    if not left:
        if way[WAY_SP] != events.sp[e] and way[WAY_SP] != events.before[e]:
            return
        there = events.sp[e] > events.before[e]
        for i in range(len(setting.columns)):
            there = there or way[WAY_HELD + i] == pc
        if not there:
            return
    row = tree.left_used[0]
    tree.left[row, :] = 0
    tree.left[row, JUMP_SITE], tree.left[row, JUMP_PC], tree.left[row, LEFT_SHOWN] = way[WAY_SITE], way[WAY_PC], 1
    tree.left_used[0] += 1


@compiled()
def look_back(events: Any, e: Any, tree: Any, setting: Any, top: Any, known: Any) -> None:
    """Does this jump, to where a call came back already or not, show that a landing was none? There has been one."""
    row = tree.links[top, LAST_LEFT]
    pc, off_stack = events.pc[e], events.sp[e] > events.before[e]
    returns, cfa = tree.left[row, LEFT_RETURN], tree.left[row, LEFT_CFA]
    held = tree.left[row, LEFT_HELD]
    if pc == returns or (known and held == ANY):
        away = events.sp[e] != cfa or held == ANY
        shown = off_stack or (away and between(events.rows[e], pc, pc, setting) != u64(0))
    elif _is_near(events, e, returns, cfa):
        same = held & between(events.rows[e], pc, pc, setting)
        shown = off_stack or same != u64(0)
    else:
        return
    if shown:
        tree.left[row, LEFT_SHOWN] = 1
