"""Where a return address is kept signed is seen from the link register, and the rest of the truth takes no notice."""

from __future__ import annotations

import numpy as np

from testbed.machine import record
from testbed.trace import Exited
from testbed.truth import Truth, observe
from testbed.words.traits import Trait
from tests.machine.snippets import image_of
from tests.truth.watched import agree, labels_where

RECURSIVE = """
.arch armv8.3-a
fn main
    paciasp
main_signed:
    stp x29, x30, [sp, #-16]!
    mov w0, #2
    bl count
    mov w0, #42
    ldp x29, x30, [sp], #16
    autiasp
main_plain:
    ret
fn count
    cbz w0, count_base
    pacibsp
count_signed:
    stp x29, x30, [sp, #-16]!
    sub w0, w0, #1
    bl count
count_back:
    nop
    ldp x29, x30, [sp], #16
    retab
count_base:
    ret
"""


def watched(body: str, cpu: str | None = "signing") -> Truth:
    trace = record(image_of("arm64", body), cpu=cpu)
    assert trace.end == Exited(42), trace.end
    agree(trace)
    return observe(trace)


def test_an_address_is_signed_from_its_signing_to_its_authentication() -> None:
    truth = watched(RECURSIVE)
    names = labels_where(truth, truth.signed)
    assert {"main_signed", "main_signed+0xc", "main_signed+0x14", "count_signed"} <= names
    assert not names & {"_start", "main", "main_plain", "count", "count+0x4", "count_base"}


def test_a_stale_link_register_that_holds_the_same_address_takes_no_signature_off() -> None:
    """The second activation comes back to where the first one will: the register holds that address unsigned."""
    truth = watched(RECURSIVE)
    assert {"count_back", "count_back+0x4"} <= labels_where(truth, truth.signed)
    assert "count_back" not in labels_where(truth, ~truth.signed)


def test_the_word_holds_for_all_frames_above() -> None:
    truth = watched(RECURSIVE)
    steps = np.arange(len(truth.trace))
    here = [Trait.SIGNED in truth.traits(step) for step in steps.tolist()]
    assert "count_base" in labels_where(truth, np.array(here)), "main and two others below it are signed"
    assert labels_where(truth, ~np.array(here)) == {
        *("_start", "_start+0x4", "_start+0x8", "_start+0xc", "_start+0x10"),
        *("main", "main_plain"),
    }


def test_on_the_usual_core_nothing_is_signed_and_the_frames_are_the_same() -> None:
    body = RECURSIVE.replace("retab", "autibsp\n    ret")
    signed, plain = watched(body), watched(body, cpu=None)
    assert not plain.signed.any()
    assert [signed.stack(step).pcs for step in range(len(signed.trace))] == [
        plain.stack(step).pcs for step in range(len(plain.trace))
    ]


def test_a_signed_link_register_is_live() -> None:
    truth = watched(RECURSIVE)
    step = int(np.flatnonzero(truth.signed)[0])
    assert Trait.LINK_LIVE in truth.traits(step)
    assert Trait.LINK_STALE not in truth.traits(step)
