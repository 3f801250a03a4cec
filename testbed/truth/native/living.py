"""On which stack activations are, and who is further out: `testbed.truth.living`, natively."""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.truth.native.columns import BOTTOM, ENTRY, PARENT, REGION


@compiled()
def region_of(sp: Any, setting: Any) -> int:
    """The mapped region that a push at ``sp`` writes to, or -1."""
    for i in range(len(setting.starts)):
        if setting.starts[i] < sp <= setting.ends[i]:
            return i
    return -1


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
