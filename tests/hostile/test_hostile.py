"""Inputs that failed once, a few hundred fresh ones for every reader, and that the net has no hole."""

import mmap
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from testbed.native import machine_code
from testbed.words.errors import UsageError
from tests.hostile import trying
from tests.hostile.damage import damaged_bytes
from tests.hostile.found import corpus, minimised, target_of, write_failure
from tests.hostile.target import Target, numbered_input
from tests.hostile.targets import TARGETS
from tests.hostile.trying import Fate, tried, try_input

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
    ends = [try_input(TARGETS[name], seed) for seed in seeds]
    assert [end.told for end in ends if end.fate is Fate.FAILED] == []
    fates = [end.fate for end in ends]
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
        (lambda content: _raise(UsageError("no")), None),
    ],
)
def test_what_is_no_typed_error_is_a_failure(read: Callable[[bytes], object], kind: str | None) -> None:
    tally = tried(target(read), 1, 0, 3)
    assert [failure.kind for failure in tally.failures] == ([kind] if kind else [])
    assert tally.counts[Fate.FAILED if kind else Fate.REFUSED] == 3, "each costs one input and no other"


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

    monkeypatch.setattr(trying, "_GROWTH", -(1 << 40))  # a process that was larger before does not grow, or shrinks
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


# Hard times of the machine: a full disk, folders that cannot be written, killed processes, a wrong clock.


RUN = ("run", "leaf_call", "--arch", "arm64", "-u", "fp_chain", "--json")


def _may_mount() -> bool:
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return done.returncode == 0


mounts = pytest.mark.skipif(
    shutil.which("unshare") is None or not _may_mount(), reason="mounting in a namespace needs root, and util-linux"
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "testbed.cli", *arguments]


def told(cache: Path, *arguments: str, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command says; ``before`` is done first, by a shell in a mount namespace of its own."""
    words = command(*(arguments or RUN))
    if before:
        words = ["unshare", "-m", "sh", "-c", f'set -e; {before}; exec "$@"', "sh", *words]
    settings = {**settings_for(cache), **environment}
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=300, env=settings, cwd=cache.parent
    )


def settings_for(cache: Path) -> dict[str, str]:
    return {**os.environ, "TESTBED_CACHE": str(cache), machine_code.VARIABLE: str(machine_code.CODE.folder)}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the command says on a sound machine."""
    done = told(tmp_path_factory.mktemp("sound") / "cache")
    assert done.returncode in (0, 1) and not done.stderr
    return done.stdout


@mounts
@pytest.mark.parametrize("state", ["-o size=4k none {0}; head -c 4096 /dev/zero > {0}/full", "-o ro none {0}"])
def test_a_full_disk_or_one_that_is_read_only_loses_nothing(tmp_path: Path, right: str, state: str) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    done = told(cache, before="mount -t tmpfs " + state.format(cache))
    assert done.stdout == right, done.stderr
    assert told(cache).stdout == right


@mounts
def test_without_a_place_for_temporary_files_one_error_says_so(tmp_path: Path, right: str) -> None:
    cache = tmp_path / "cache"
    places = [place for place in ("/tmp", "/var/tmp", "/usr/tmp") if Path(place).is_dir()]
    # What is there stays to be read: this Python may be.
    nowhere = "; ".join(f"mount --bind {place} {place}; mount -o remount,bind,ro {place}" for place in places)
    build = ("run", "recursion", "--arch", "arm64", "-u", "fp_chain")
    done = told(cache, *build, before=f"{nowhere}; cd /proc", TMPDIR="/tmp")
    assert done.returncode == 2 and done.stderr.startswith("error: "), done.stderr
    assert "temporary" in done.stderr and "TMPDIR" in done.stderr
    assert told(cache, *build).returncode in (0, 1)


@mounts
def test_a_machine_without_shared_memory_judges_in_processes(tmp_path: Path) -> None:
    matrix = ("matrix", "-p", "leaf_call", "-a", "arm64", "-r", "keystone", "-u", "fp_chain", "-j", "2")
    sound = told(tmp_path / "one", *matrix)
    without = told(tmp_path / "two", *matrix, before="mount -t tmpfs -o ro none /dev/shm")
    assert without.returncode == sound.returncode, without.stderr
    assert "keystone" in without.stdout or without.stdout == sound.stdout


def test_two_processes_on_one_cache_are_both_right(tmp_path: Path, right: str) -> None:
    settings = settings_for(tmp_path / "cache")
    both = [
        subprocess.Popen(command(*RUN), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)
        for _ in range(2)
    ]
    for one in both:
        printed, errors = one.communicate(timeout=300)
        assert printed == right, errors


def test_a_killed_run_leaves_a_cache_that_is_right(tmp_path: Path, right: str) -> None:
    cache = tmp_path / "cache"
    settings = settings_for(cache)
    child = subprocess.Popen(command(*RUN), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=settings)
    until = time.monotonic() + 60
    while not cache.exists() and child.poll() is None and time.monotonic() < until:
        time.sleep(0.005)  # killed in the middle: where the cache is made, something is being written
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert told(cache).stdout == right


def test_damaged_and_misdated_files_of_the_cache_are_made_again(tmp_path: Path, right: str) -> None:
    """A clock that jumped leaves files of the future and of 1970; a disk that failed leaves other bytes."""
    cache = tmp_path / "cache"
    assert told(cache).stdout == right
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert files
    for number, path in enumerate(files):
        os.utime(path, (0, 0) if number % 2 else (4e9, 4e9))
    assert told(cache).stdout == right
    for path in files:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0x55
        path.write_bytes(content)
    assert told(cache).stdout == right
