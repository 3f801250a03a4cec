"""On which stack activations are, and who is further out: `testbed.truth.living`, natively."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.truth.native.columns import ALIVE, BOTTOM, CFA, ENTRY, PARENT, REGION


@compiled()
def region_of(sp: Any, setting: Any) -> int:
    """The mapped region that a push at ``sp`` writes to, or -1."""
    for i in range(len(setting.starts)):
        if setting.starts[i] < sp <= setting.ends[i]:
            return i
    return -1


@compiled()
def mark_callers(marked: Any, parent: Any) -> None:
    """Mark all callers of those that are marked; a caller comes before what it called."""
    for index in range(len(marked) - 1, -1, -1):
        if marked[index] and parent[index] >= 0:
            marked[parent[index]] = True


@compiled(inline=True)
def is_in(sp: Any, region: Any, setting: Any) -> Any:
    return region >= 0 and setting.starts[region] < sp <= setting.ends[region]


@compiled(inline=True)
def same_chain(links: Any, index: Any, target: Any) -> bool:
    while index >= 0:
        if index == target:
            return True
        index = links[index, PARENT]
    return False


@compiled(inline=True)
def region_near(sp: Any, region: Any, setting: Any) -> Any:
    """`region_of`, where a region is the likely answer."""
    return region if is_in(sp, region, setting) else region_of(sp, setting)


@compiled(inline=True)
def is_elsewhere(sp: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 5: ``sp`` is on no stack of this chain, or above its bottom."""
    links, addresses = tree.links, tree.addresses
    region = links[top, REGION]
    if is_in(sp, region, setting):
        low = links[top, BOTTOM]
        return links[low, REGION] == region and sp > addresses[low, ENTRY] > addresses[top, ENTRY]
    if region_of(sp, setting) < 0:
        return False
    index = top
    while index >= 0:
        if is_in(sp, links[index, REGION], setting):
            return False
        index = links[index, PARENT]
    return True


@compiled(inline=True)
def _chain_lives(tree: Any, index: Any) -> bool:
    while index >= 0:
        if not tree.marks[index, ALIVE]:
            return False
        index = tree.links[index, PARENT]
    return True


@compiled()
def is_left(index: Any, sp: Any, tree: Any, setting: Any, top: Any) -> bool:
    """Was it left, with all its callers, on another stack, on which SP is at its own entry or below?"""
    links = tree.links
    if sp > tree.addresses[index, ENTRY] or not is_in(sp, links[index, REGION], setting):
        return False
    return _chain_lives(tree, index) and not same_chain(links, top, index)


@compiled()
def resumed(sp: Any, tree: Any, setting: Any, used: Any, top: Any) -> Any:
    """Who was left where SP is, or -1: the innermost there, or, of several with its CFA, the outermost."""
    links, addresses = tree.links, tree.addresses
    for index in range(used - 1, -1, -1):
        if links[index, PARENT] >= 0 and is_left(index, sp, tree, setting, top):
            found, outer = index, links[index, PARENT]
            while outer >= 0:
                if links[outer, PARENT] >= 0 and addresses[outer, CFA] == addresses[index, CFA]:
                    found = outer
                outer = links[outer, PARENT]
            return found
    return -1


@compiled(inline=True)
def landing(sp: Any, tree: Any, setting: Any, top: Any) -> Any:
    """Rule 6: the activation that a landing pad belongs to: the first on the chain that is not below ``sp``."""
    links, addresses = tree.links, tree.addresses
    equal = not setting.pushes
    index = top
    while index >= 0:
        here = is_in(sp, links[index, REGION], setting)
        if links[index, PARENT] < 0 or (here and addresses[index, ENTRY] > sp):
            break
        if here and addresses[index, ENTRY] == sp:
            if not equal:
                break
            equal = False
        index = links[index, PARENT]
    return index
