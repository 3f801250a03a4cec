"""Inputs that failed once, a few hundred fresh ones for every reader, and that the net has no hole."""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from testbed.words.errors import UsageError
from tests.hostile import bounds
from tests.hostile.bounds import Fate, try_input
from tests.hostile.damage import damaged_bytes
from tests.hostile.found import corpus, minimised, target_of, write_failure
from tests.hostile.target import Target, numbered_input
from tests.hostile.targets import TARGETS
from tests.hostile.trying import tried

SHORT = 120  # inputs of each target, times its weight: some 20 s of processor time for all


def target(read: Callable[[bytes], object]) -> Target:
    return Target("made_up", "", lambda: [b"abcdefgh" * 4], read, damaged_bytes)


@pytest.mark.parametrize("path", corpus(), ids=lambda path: path.name)
def test_what_failed_once_is_read_or_refused(path: Path) -> None:
    tried = try_input(TARGETS[target_of(path)], path.read_bytes())
    assert tried.fate is not Fate.FAILED, tried.told


@pytest.mark.parametrize("name", TARGETS)
def test_real_input_is_read(name: str) -> None:
    """Damage to something that is refused anyway would try nothing."""
    seeds = TARGETS[name].seeds()
    fates = [try_input(TARGETS[name], seed).fate for seed in seeds]
    assert Fate.FAILED not in fates
    assert fates.count(Fate.READ) > len(fates) // 2


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused(name: str) -> None:
    chosen = TARGETS[name]
    seeds = chosen.seeds()
    for number in range(max(4, int(SHORT * chosen.weight))):
        tried = try_input(chosen, numbered_input(chosen, seeds, 0, number))
        again = f"python -m tests.hostile -t {name} -n 1 --seed 0 --first {number}"
        assert tried.fate is not Fate.FAILED, f"{again}\n{tried.told}"


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (lambda content: _raise(KeyError("x")), "KeyError outside"),
        (lambda content: _raise(RecursionError()), "RecursionError outside"),
        (lambda content: _raise(SystemExit(1)), "SystemExit outside"),
        (lambda content: os.kill(os.getpid(), signal.SIGSEGV), "crash: SIGSEGV"),
        (lambda content: os._exit(3), "crash: exit status 3"),
    ],
)
def test_what_is_no_typed_error_is_a_failure(read: Callable[[bytes], object], kind: str) -> None:
    tally = tried(target(read), 1, 0, 3)
    assert [failure.kind for failure in tally.failures] == [kind]
    assert tally.counts[Fate.FAILED] == 3, "each costs one input and no other"


def test_a_typed_error_is_none() -> None:
    tally = tried(target(lambda content: _raise(UsageError("no"))), 1, 0, 5)
    assert not tally.failures and tally.counts[Fate.REFUSED] == 5


def test_time_without_end_is_a_failure() -> None:
    def endless(content: bytes) -> None:
        while True:
            try:
                time.sleep(0) if content else None
            except Exception:  # a reader that swallows what it should not
                continue

    tried = try_input(target(endless), b"x", seconds=0.3)
    assert tried.fate is Fate.FAILED and tried.failure.startswith("time") and tried.seconds < 5


def test_memory_without_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def takes(megabytes: int) -> Callable[[bytes], object]:
        def read(content: bytes) -> None:
            with mmap.mmap(
                -1, megabytes << 20
            ) as taken:  # from the system: what is free in this process does not count
                taken[:: mmap.PAGESIZE] = b"\1" * len(range(0, megabytes << 20, mmap.PAGESIZE))

        return read

    monkeypatch.setattr(bounds, "_GROWTH", -(1 << 40))  # a process that was larger before does not grow, or shrinks
    tried = try_input(target(takes(400)), b"x")
    assert tried.fate is Fate.FAILED and tried.failure == "memory" and tried.memory > 390 << 20
    tried = try_input(target(takes(100)), b"x")
    assert tried.fate is Fate.READ and 90 << 20 < tried.memory < 130 << 20


def test_a_failing_input_is_made_small(tmp_path: Path) -> None:
    def read(content: bytes) -> None:
        if b"!" in content:
            raise ValueError("!")

    noise = bytes(Random(1).choices(b"abc", k=300))
    assert minimised(target(read), noise + b"!" + noise, "ValueError outside") == b"!"
    chosen = target(lambda content: _raise(KeyError("x")))
    path = write_failure(chosen, 7, tried(chosen, 7, 0, 1).failures[0], tmp_path / "new")
    assert (
        path.read_bytes() == b""
        and "-t made_up -n 1 --seed 7 --first 0" in path.with_name(path.name + ".txt").read_text()
    )


def test_an_input_is_the_same_each_time() -> None:
    for name in ("core", "trace", "header", "gdb_packets"):
        seeds = TARGETS[name].seeds()
        some = [numbered_input(TARGETS[name], seeds, 3, number) for number in range(20)]
        assert some == [numbered_input(TARGETS[name], seeds, 3, number) for number in range(20)]
        assert len(set(some)) > 15
