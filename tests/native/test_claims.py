"""Two processes that need the same machine code: one makes it, the other waits, and nobody waits for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.native import claims
from testbed.native.claims import claim, release

HOLDS = """
import sys, time
from pathlib import Path
from testbed.native.claims import claim, release
path = Path(sys.argv[1])
claim(path)
print("claimed", flush=True)
sys.stdin.readline()
path.write_text("made")
release(path)
"""
COMPILES = """
import sys
from testbed.native.compiled import native
from tests.native.example import Pair, difference
sys.stdin.readline()
difference = native(difference)
print(difference(Pair(5, 2)), sum(difference.stats.cache_hits.values()))
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "folder" / "one.code"
    release(tmp_path / "folder" / "one.code")


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    with started(HOLDS, str(path)) as process:
        assert process.stdout is not None and process.stdout.readline() == "claimed\n"
        yield process
        process.kill()


def test_who_comes_later_waits_until_it_is_made(
    path: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def slept(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            monkeypatch.undo()  # others sleep, too: who waits for a process
            assert not path.exists()
            holder.communicate("go on\n", timeout=60)

    monkeypatch.setattr(claims.time, "sleep", slept)
    claim(path)
    assert path.read_text() == "made" and len(waits) == 3


def test_a_claim_ends_with_the_process(path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    claim(path)
    assert path in claims._claims


def test_nobody_waits_longer_than_for_some_time_in_all(
    path: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "PATIENCE", 0.1)
    monkeypatch.setattr(claims, "_waited", [0.0])
    claim(path)
    assert path not in claims._claims
    monkeypatch.setattr(claims.time, "sleep", lambda seconds: pytest.fail("it waited again"))
    claim(path)
    assert path not in claims._claims


def test_nothing_is_left_of_a_claim(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    claim(path)
    claim(path)
    release(path)
    release(path)
    assert list(path.parent.iterdir()) == [] and len(os.listdir("/proc/self/fd")) == before


def test_a_folder_of_others_is_left_alone(path: Path) -> None:
    path.parent.mkdir(mode=0o777)
    path.parent.chmod(0o777)
    claim(path)
    assert path not in claims._claims and list(path.parent.iterdir()) == []


def test_a_link_in_place_of_the_lock_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.with_suffix(".lock").symlink_to(tmp_path / "elsewhere")
    claim(path)
    assert path not in claims._claims and not (tmp_path / "elsewhere").exists()


def test_two_processes_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.delenv("TESTBED_NATIVE_CACHE", raising=False)
    with started(COMPILES) as one, started(COMPILES) as two:
        for each in (one, two):
            assert each.stdin is not None
            each.stdin.write("now\n")
            each.stdin.flush()
        said = sorted(each.communicate(timeout=300)[0] for each in (one, two))
    assert said == ["3 0\n", "3 1\n"]
