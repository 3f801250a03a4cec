"""The reason why a technique goes wrong: the clause that fails, with its evidence, as one sentence for people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from testbed.contract.assumption import ADDRESS, BEHIND, BOUNDS, END, ENTRY, FIRST, KIND, LEADS, LINK, NO_LIST, ZERO
from testbed.image import LoadedImage, describe, image_covering
from testbed.truth import Truth
from testbed.truth.frame_sites import frame_site
from testbed.truth.frame_traits import linked
from testbed.verdicts.assumptions.along import Failed, ForetoldEnd, FoundCaller

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
    at = failed.foretold.at if isinstance(failed.foretold, FoundCaller) else None
    if watched is not None and is_code and isinstance(found, int) and (whose := _whose(watched, step, found, at)):
        words["found"] += f" ({whose})"
    here = _function(images, failed)
    said = failed.clause.fails.format_map(words | {"here": here})
    state = "" if watched is None else _record(watched, step, failed)
    return Reason(said, f"{here} {state}" if state else "")


def because(failed: Failed, images: tuple[LoadedImage, ...], watched: Truth, step: int) -> str:
    """The reason as one sentence, with its place: ``at middle x29 leads to _start+0xc, and the caller ...``."""
    said, record = reason(failed, images, watched, step)
    return f"at {place(failed, images)} {said}" + (f": {record}" if record else "")


def expected(failed: Failed | None, images: tuple[LoadedImage, ...], why: str) -> str:
    """What an unforetold answer is held to; ``why`` is the reason that the assumption fails, if it does."""
    return f"foretold are {_foretold(failed, images)}" + (f", for {why}" if why else "")


def _foretold(failed: Failed | None, images: tuple[LoadedImage, ...]) -> str:
    """What an answer must be by an assumption: ``the true callers as far as middle, then _start+0xc``."""
    if failed is None:
        return "the true callers, to the root"
    match failed.foretold:
        case None:
            then = "what nothing foretells"
        case ForetoldEnd(stops=stops):
            then = "a stop" if stops else "the claim of the root"
        case FoundCaller() as caller:
            then = _said(images, failed, "found", caller.pc)
            then += "" if caller.cfa is None else f" and the CFA {caller.cfa:#x}"
    return f"the true callers as far as {place(failed, images)}, then {then}"


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


def _whose(watched: Truth, step: int, address: int, at: int | None) -> str:
    """Whose return address this is: of an activation on the stack, further out than the one meant, or of one that is
    over; "" where it is nobody's. Of a word of the stack, at ``at``, the journal of writes tells who wrote it."""
    activations, images = watched.activations, watched.trace.images
    alive, node = set[int](), int(watched.node[step])
    while node >= 0:
        alive.add(node)
        node = int(activations.parent[node])
    theirs = np.flatnonzero((activations.return_address == np.uint64(address)) & (activations.opened <= step)).tolist()

    def function(step: int) -> str:
        return describe(images, int(watched.trace.pc[step])).partition("+0x")[0]

    written = None if at is None else _writer(watched, step, at)
    kept = [each for each in theirs if written is not None and _keeps(watched, each, written)]
    living = [each for each in kept or theirs if each in alive]
    for each in (living or kept or theirs)[-1:]:
        name = function(activations.opened[each])
        whose = f"{name}'s return address" if living else f"an earlier call of {name} returned there"
        if written is None or kept:
            return whose
        return f"{whose}, in a copy that {function(written)} wrote"
    return ""


def _writer(watched: Truth, step: int, at: int) -> int | None:
    """The step before ``step`` that last wrote a word; None where it is as the program began."""
    writes, size = watched.trace.writes, watched.trace.arch.word
    end = int(np.searchsorted(writes.step, step))
    start = writes.address[:end].astype(np.int64)
    rows = np.flatnonzero((start < at + size) & (start + writes.size[:end] > at))
    return int(writes.step[rows[-1]]) if len(rows) else None


def _keeps(watched: Truth, activation: int, written: int) -> bool:
    """Whether a step wrote the return address of an activation where that keeps it: its call, or its first save."""
    opened = int(watched.activations.opened[activation])
    trace, arch = watched.trace, watched.trace.arch
    if arch.link is None:
        return written == opened - 1
    first, end = np.searchsorted(trace.writes.step, (opened, written + 1)).tolist()
    mask, true = np.uint64(arch.code_mask & ~arch.signature), watched.activations.return_address[activation]
    own = watched.node[trace.writes.step[first:end]] == activation
    saves = np.flatnonzero(own & (trace.writes.value[first:end] & mask == true & mask))
    return len(saves) > 0 and int(trace.writes.step[first + saves[0]]) == written


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
