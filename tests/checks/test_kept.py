"""Kept checks, and groups of a check that was interrupted: the same content and question give the same again."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from testbed.checks import kept
from testbed.checks.check_file import check_file
from testbed.checks.kept import CHECKS, GROUPS, check_key, keep_check, kept_check, stands_alone
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from tests.report.checked import CHECK, CLEAN
from tests.words.alive import are_gone

ASKED = CheckOptions()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))


def test_what_was_kept_comes_back_whole() -> None:
    assert kept_check(CHECK.path, b"code", ASKED) is None
    for check in (CHECK, CLEAN):
        keep_check(b"code", ASKED, check)
        assert kept_check(check.path, b"code", ASKED) == replace(check, kept=True)


def test_only_what_needs_no_other_file_is_kept() -> None:
    assert stands_alone(b"\x7fELF\x02\x01") and stands_alone(b"!<arch>\n/") and stands_alone(b"\xcf\xfa\xed\xfe")
    assert not any(map(stands_alone, (b'#include "x.h"\n', b"!<thin>\n/", b"")))  # a thin archive names other files


def test_it_is_told_under_the_path_of_today() -> None:
    keep_check(b"code", ASKED, CHECK)
    found = kept_check(Path("/elsewhere/libz.so"), b"code", ASKED)
    assert found is not None and found.path == Path("/elsewhere/libz.so")


OTHERS: dict[str, Any] = {
    "functions": ("f*",),
    "calls": ("f(1)",),
    "arch": "arm64",
    "tables": (".eh_frame",),
    "seed": 2,
    "runs": 3,
    "steps": 4,
    "flags": ("-O1",),
    "conventions": (("*", "go"),),
}


def test_another_content_or_question_is_another_check() -> None:
    keep_check(b"code", ASKED, CHECK)
    assert kept_check(CHECK.path, b"codf", ASKED) is None
    assert OTHERS.keys() | {"jobs", "debug_files"} == {field.name for field in fields(CheckOptions)}
    for name, value in OTHERS.items():
        assert kept_check(CHECK.path, b"code", replace(ASKED, **{name: value})) is None, name
    assert kept_check(CHECK.path, b"code", replace(ASKED, jobs=9)) is not None


@pytest.mark.parametrize(("name", "edited"), [("code_of", "edited"), ("versions_of", ("edited",))])
def test_other_code_is_another_check(monkeypatch: pytest.MonkeyPatch, name: str, edited: object) -> None:
    before = check_key(b"code", ASKED)
    monkeypatch.setattr(kept, name, lambda names: edited)
    assert check_key(b"code", ASKED) != before


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for number in range(5):
        keep_check(bytes([number]), ASKED, CLEAN)
        os.utime(CHECKS.path(f"{check_key(bytes([number]), ASKED)}.checked"), (number, number))
        kept_check(CLEAN.path, bytes([0]), ASKED)  # used each time: never the oldest
    assert [kept_check(CLEAN.path, bytes([n]), ASKED) is not None for n in range(5)] == [True, False, False, True, True]
    assert CHECKS.usage()[0] == 3


# An interrupted check goes on behind what was done, and says what one in a single piece says.


pytest.importorskip("ziglang", reason="needs pip install ziglang")

OPTIONS = CheckOptions(runs=5, steps=60)
BODY = "".join(
    f".globl f{k}\n.type f{k}, @function\nf{k}: .cfi_startproc\n push %rbx\n .zero 2100, 0x90\n pop %rbx\n ret\n"
    f".cfi_endproc\n.size f{k}, .-f{k}\n"
    for k in range(8)
)


class Counting(Executor):
    """Does each job at once; after ``left`` of them it is interrupted."""

    def __init__(self, left: int = 1 << 30) -> None:
        self.left, self.done = left, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.done >= self.left:
            future.set_exception(KeyboardInterrupt())
        else:
            self.done += 1
            future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "many.S"
    path.write_text(".text\n" + BODY, encoding="utf-8")
    return path


def kept_files() -> list[Path]:
    return list(GROUPS.files())


def test_what_was_done_is_not_done_again(source: Path) -> None:
    whole = Counting()
    expected = check_file(source, OPTIONS, READERS, executor=whole)
    assert whole.done > 3 and expected.findings
    assert not kept_files(), "nothing is kept that nobody asked for"
    with pytest.raises(KeyboardInterrupt):
        check_file(source, OPTIONS, READERS, executor=Counting(2), goes_on=True)
    assert len(kept_files()) == 2
    kept_files()[0].write_bytes(b"damaged")
    rest = Counting()
    assert check_file(source, OPTIONS, READERS, executor=rest, goes_on=True) == expected
    assert rest.done == whole.done - 1
    assert not kept_files()


def test_what_was_done_stays_while_findings_are_made(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("testbed.checks.check_file.file_check", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            check_file(source, OPTIONS, READERS, executor=Counting(), goes_on=True)
    assert check_file(source, OPTIONS, READERS, executor=Counting(0), goes_on=True).findings


class RunsWhenRead:
    """As a pickle: whoever reads it makes a folder."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.made),)


@pytest.mark.parametrize("forged", [b"no pickle", b"", None])
def test_what_others_may_have_kept_is_not_read(source: Path, tmp_path: Path, forged: bytes | None) -> None:
    """A checksum is no proof: who writes a file there can write that too."""
    with pytest.raises(KeyboardInterrupt):
        check_file(source, OPTIONS, READERS, executor=Counting(1), goes_on=True)
    content = pickle.dumps(RunsWhenRead(tmp_path / "made")) if forged is None else forged
    GROUPS.keep(kept_files()[0].name, content)
    if forged is None:
        GROUPS.folder.chmod(0o777)
    assert check_file(source, OPTIONS, READERS, executor=Counting(), goes_on=True).findings
    assert not (tmp_path / "made").exists(), "a file that others may have written was run"


def test_a_fresh_check_does_all_anew_and_another_question_too(source: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        check_file(source, OPTIONS, READERS, executor=Counting(2), goes_on=True)
    other, fresh = Counting(), Counting()
    check_file(source, CheckOptions(runs=6, steps=60), READERS, executor=other, goes_on=True)
    assert len(kept_files()) == 2, "those of the first question"
    check_file(source, OPTIONS, READERS, executor=fresh, goes_on=False)
    assert other.done == fresh.done
    with pytest.raises(KeyboardInterrupt):
        check_file(source, OPTIONS, READERS, executor=Counting(1), goes_on=True)
    GROUPS.clear()
    assert not kept_files()


# The processes of a check end with it, also where it is killed.


STARTS = """
import time
from testbed.checks.workers import worker_pool
if __name__ == "__main__":
    with worker_pool(2) as pool:
        futures = [pool.submit(time.sleep, 60) for _ in range(2)]
        while len(pool._processes) < 2:
            time.sleep(0.01)
        time.sleep(0.5)
        print(*pool._processes, flush=True)
        time.sleep(60)
"""


INTERRUPTED = """
import random, signal, sys, time
from testbed.campaign.matrix import judge_units
def work(job):
    time.sleep(0.0005)
    return job
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
list(judge_units(range(4), work, jobs=2))  # an interrupt amid an import may be lost: Python ignores it there
signal.setitimer(signal.ITIMER_REAL, random.Random(int(sys.argv[1])).uniform(0.1, 0.4))
try:
    for _ in judge_units(range(4000), work, jobs=2): pass
    print("all")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_at_any_time_ends_the_work() -> None:
    """It may come while the command waits for any of thousands of results; a lock left behind would end nothing."""
    for seed in range(8):
        command = [sys.executable, "-c", INTERRUPTED, str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.stdout == "interrupted\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
def test_workers_end_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert len(workers) == 2 and are_gone(workers)
