"""What the truth reads of a trace, at addresses that few programs use, and by which of two ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.image import LoadedImage
from testbed.machine import record
from testbed.runs.run import run_program
from testbed.truth import observe, scanned, sites, transfers
from testbed.truth import truth as truth_module
from testbed.truth.departures import NO_FUNCTION, find_departures
from testbed.truth.native import follow
from testbed.truth.regions import StackRegions
from testbed.truth.sites import is_targets
from testbed.truth.transfers import history_of
from tests.machine.snippets import image_of

BYTES = """
fn main
    sub rsp, 24
    movabs rax, 0x0807060504030201
    mov [rsp], rax
    mov [rsp + 8], rax
    mov byte ptr [rsp + 8], 0x99
    mov word ptr [rsp + 15], 0x7777
    mov eax, 42
    add rsp, 24
    ret
"""


def test_memory_at_a_word_is_what_it_is_however_it_lies() -> None:
    """Single bytes were stored at its end as well, in the next word as memory is counted."""
    trace = record(image_of("x86_64", BYTES), budget=100)
    step = len(trace) - 1
    low = min(int(address) for address in trace.writes.address)
    for address in range(low - 8, low + 32):
        history = history_of(trace, np.array([address], np.uint64))
        assert history.read(address, 8, step) == trace.memory(step).read(address, 8), hex(address - low)


def test_a_frame_pointer_at_the_lowest_word_of_the_frame_further_out_is_its_own() -> None:
    trace = record(image_of("arm64", "fn main\n    mov x0, #42\n    ret\n"), budget=100)
    regions, entry = StackRegions(trace), int(trace.sp[0]) - 64
    assert is_targets(regions, entry, entry, entry)
    assert is_targets(regions, entry + 8, entry, entry)
    assert not is_targets(regions, entry - 8, entry - 16, entry), "it still points into the frame that is left"


def test_functions_are_told_by_where_they_were_loaded() -> None:
    run = run_program(PROGRAMS["tail_call"], ARCHES["x86_64"], "keystone")
    bias = 0x10_0000
    column = run.arch.index[run.arch.pc]
    registers = np.asarray(run.trace.registers).copy()
    registers[:, column] += np.uint64(bias)
    moved = replace(
        run.trace, images=tuple(LoadedImage(each.image, bias) for each in run.trace.images), registers=registers
    )
    here = [int(entry) for entry in find_departures(observe(run.trace)).entry]
    assert NO_FUNCTION not in here and len(set(here)) > 3
    assert [int(entry) for entry in find_departures(observe(moved)).entry] == [entry + bias for entry in here]


def test_code_is_as_long_as_its_segment_wherever_that_begins() -> None:
    run = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone")
    (loaded,) = run.trace.images
    (segment,) = (each for each in loaded.image.segments if each.executable)
    longer = replace(segment, address=0x1000, data=bytes(0x1800), size=0x1800)
    watched = replace(
        run.watched, trace=replace(run.trace, images=(LoadedImage(replace(loaded.image, segments=(longer,))),))
    )
    assert watched.code == ((0x1000, 0x2800),)


def test_a_long_trace_is_read_natively_and_a_short_one_readably(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find the same, a hundred times as fast the one, and without compiling anything the other."""
    run = run_program(PROGRAMS["leaf_call"], ARCHES["arm64"], "keystone")
    called: list[str] = []

    def noting(module: object, name: str) -> None:
        ordinary = getattr(module, name)

        def noted(*given: object, **named: object) -> object:
            called.append(name)
            return ordinary(*given, **named)

        monkeypatch.setattr(module, name, noted)

    for module, name in (
        *((truth_module, "find_transfers"), (truth_module, "follow_readably"), (sites, "_by_activation")),
        *((scanned, "find_transfers_natively"), (follow, "follow_natively"), (scanned, "distances_natively")),
        *((sites, "_frames_natively"), (transfers, "find_transfers")),
    ):
        noting(module, name)
    readably = ["find_transfers", "follow_readably", "_by_activation"]
    natively = ["find_transfers_natively", "follow_natively", "distances_natively", "_frames_natively"]
    for module in (truth_module, sites):
        monkeypatch.setattr(module, "NATIVE_FROM", len(run.trace) + 1)
    for wanted, expected in ((None, readably), (True, natively), (False, readably)):
        called.clear()
        observe(run.trace, natively=wanted)
        assert called == expected
    for module in (truth_module, sites):
        monkeypatch.setattr(module, "NATIVE_FROM", len(run.trace))
    called.clear()
    observe(run.trace)
    assert called == natively
