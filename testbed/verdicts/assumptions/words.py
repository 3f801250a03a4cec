"""The reason why a technique goes wrong: the clause that fails, with its evidence, as one sentence for people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from testbed.contract.assumption import ADDRESS, BEHIND, BOUNDS, END, ENTRY, FIRST, KIND, LEADS, LINK, NO_LIST, ZERO
from testbed.image import LoadedImage, describe, image_covering
from testbed.truth import Truth
from testbed.truth.frame_sites import frame_site
from testbed.truth.frame_traits import linked
from testbed.verdicts.assumptions.along import Failed

_NEAR = 64  # steps in which a prologue or an epilogue is done
_OF_RECORDS = (ZERO, NO_LIST, BOUNDS, LEADS)
_OF_ADDRESSES = (ADDRESS, BEHIND, END, ENTRY, FIRST, KIND, LEADS, LINK)  # their evidence is in code


class Reason(NamedTuple):
    """The clause that fails, with its evidence; ``record``: where the frame's record is, if that is what is asked."""

    said: str
    record: str


def reason(failed: Failed, images: tuple[LoadedImage, ...], watched: Truth | None = None, step: int = 0) -> Reason:
    """``x29 leads to _start+0xc (main's return address), and the caller goes on at main+0x10``.

    What was watched tells whose a return address is that was found, and where the frame's record is.
    """
    words = {name: _said(images, failed, name, value) for name, value in failed.evidence.items() if name != "here"}
    found = failed.evidence.get("found")
    is_code = failed.clause in _OF_ADDRESSES and found != 0
    if watched is not None and is_code and isinstance(found, int) and (whose := _whose(watched, step, found)):
        words["found"] += f" ({whose})"
    here = _function(images, failed)
    said = failed.clause.fails.format_map(words | {"here": here})
    state = "" if watched is None else _record(watched, step, failed)
    return Reason(said, f"{here} {state}" if state else "")


def place(failed: Failed, images: tuple[LoadedImage, ...]) -> str:
    """``middle+0x4``: where the frame stands at which the assumption fails."""
    return describe(images, _here(failed), caller=failed.frame > 0)


def _here(failed: Failed) -> int:
    pc = failed.evidence["here"]
    assert isinstance(pc, int)
    return pc


def _function(images: tuple[LoadedImage, ...], failed: Failed) -> str:
    return place(failed, images).partition("+0x")[0]


def _said(images: tuple[LoadedImage, ...], failed: Failed, name: str, value: object) -> str:
    """A piece of evidence as text: by name where it is a place in code, else a number."""
    if not isinstance(value, int):
        return str(value)
    returns = failed.clause is not KIND  # else it is the next instruction of who was interrupted
    is_code = failed.clause in _OF_ADDRESSES and name in ("found", "true")
    if not is_code or image_covering(images, value - returns) is None:
        return f"{value:#x}"
    return describe(images, value, caller=returns)


def _whose(watched: Truth, step: int, address: int) -> str:
    """Whose return address this is: of an activation on the stack, further out than the one meant, or of one that is
    over; "" where it is nobody's."""
    activations, images = watched.activations, watched.trace.images
    alive, node = set[int](), int(watched.node[step])
    while node >= 0:
        alive.add(node)
        node = int(activations.parent[node])
    theirs = np.flatnonzero((activations.return_address == np.uint64(address)) & (activations.opened <= step)).tolist()
    living = [each for each in theirs if each in alive]
    for each in (living or theirs)[-1:]:
        name = describe(images, int(watched.trace.pc[activations.opened[each]])).partition("+0x")[0]
        return f"{name}'s return address" if living else f"an earlier call of {name} returned there"
    return ""


def _record(watched: Truth, step: int, failed: Failed) -> str:
    """Where the interrupted activation's record is, when FP does not lead to it; "" where nothing is to be said."""
    how = str(failed.evidence.get("how", "leads to"))
    if failed.frame or failed.clause not in _OF_RECORDS or "leads to" not in how or _is_linked(watched, step):
        return ""
    node = watched.node[step]
    last = min(step + _NEAR, len(watched.node))
    if any(watched.node[k] == node and _is_linked(watched, k) for k in range(max(0, step - _NEAR), step)):
        return "has left its record"
    if any(watched.node[k] == node and _is_linked(watched, k) for k in range(step + 1, last)):
        return "has not linked its record yet"
    return "has no record" if watched.sites.frameless[step] else ""


def _is_linked(watched: Truth, step: int) -> bool:
    return linked(watched, frame_site(watched.trace, watched.activations, watched.node, step, 0))
