"""Hard times of the machine: a full disk, folders that cannot be written, killed processes, a wrong clock.

Each is tried on a command in a process of its own: nothing is lost, or one typed error says what to do; and the next
run, on a sound machine, is right.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.native import machine_code

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
def test_a_full_disk_loses_nothing(tmp_path: Path, right: str) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    full = f"mount -t tmpfs -o size=4k none {cache}; head -c 4096 /dev/zero > {cache}/full"
    done = told(cache, before=full)
    assert done.stdout == right, done.stderr
    assert told(cache).stdout == right


@mounts
def test_a_cache_that_is_read_only_loses_nothing(tmp_path: Path, right: str) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    done = told(cache, before=f"mount -t tmpfs -o ro none {cache}")
    assert done.stdout == right, done.stderr


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
