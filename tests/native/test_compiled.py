"""Machine code is that of the sources as they are now, whatever lies on the disk.

In a copy of the project every native module with compiled functions gets a constant and a compiled function that
returns it; a native module that such modules import gets the constant. A probe for each, a compiled function in a
module of its own, sees the constant. Then each module is changed alone, and a process that starts afterwards has to see
the change, though the probe's own file is as it was; and no probe that does not reach the module is compiled again.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed.native import claims
from testbed.native.claims import claim, release
from testbed.native.machine_code import VARIABLE
from testbed.native.sources import IN_EVERY_KERNEL, is_native, made_from, reached

ROOT = Path(__file__).parents[2]
SOURCES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path.read_text(encoding="utf-8")
    for package in ("testbed", "unwinders")
    for path in sorted((ROOT / package).rglob("*.py"))
}
COMPILED = [name for name, text in SOURCES.items() if re.search("^@(compiled|intrinsic)", text, re.MULTILINE)]
MODULES = [name for name in SOURCES if name in COMPILED or any(f"from {name} import" in SOURCES[c] for c in COMPILED)]
MODULES = [name for name in MODULES if not name.startswith("testbed.native.")]  # of those all code is made
FUNCTION = """
from testbed.native.compiled import compiled as _compiled
@_compiled(inline=True)
def _marked():
    return MARK
"""
PROBE = """
from {module} import {name}
from testbed.native.compiled import compiled
@compiled()
def probe():
    return {name}{call}
"""


class Copy:
    """A copy of the project with a probe for each of some modules."""

    def __init__(self, folder: Path, modules: list[str]) -> None:
        self.folder = folder
        unneeded = shutil.ignore_patterns("__pycache__")
        for package in ("testbed", "unwinders"):
            shutil.copytree(ROOT / package, folder / package, ignore=unneeded)
        self._file("testbed.__init__").write_text("", encoding="utf-8")  # it imports all the rest
        self._sources = {module: SOURCES[module] for module in modules}
        for number, module in enumerate(modules):
            has_functions = module in COMPILED
            self._sources[module] += "\nMARK = 1\n" + (FUNCTION if has_functions else "")
            self._file(module).write_text(self._sources[module], encoding="utf-8")
            name, call = ("_marked", "()") if has_functions else ("MARK", "")
            probe = PROBE.format(module=module, name=name, call=call)
            self._file(f"testbed.native.probe{number}").write_text(probe, encoding="utf-8")
        self.probes = {module: f"testbed.native.probe{number}" for number, module in enumerate(modules)}

    def mark(self, module: str, mark: int) -> None:
        text = self._sources[module].replace("\nMARK = 1\n", f"\nMARK = {mark}\n")
        self._file(module).write_text(text, encoding="utf-8")

    def remark(self, module: str) -> None:
        """Change a module, and nothing that it says."""
        self._file(module).write_text(SOURCES[module] + "# changed\n", encoding="utf-8")

    def _file(self, module: str) -> Path:
        return self.folder / (module.replace(".", "/") + ".py")

    @contextmanager
    def answers(self) -> Iterator[Answers]:
        command = [sys.executable, str(ROOT / "tests" / "native" / "probing.py"), str(self.folder)]
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", VARIABLE)}
        environment |= {"TESTBED_CACHE": str(self.folder / "cache")}
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=environment, text=True, bufsize=1, stdin=pipe, stdout=pipe) as process:
            yield Answers(self, process)
            assert process.stdin
            process.stdin.close()


class Answers(NamedTuple):
    """Of one process after the other, each of which loads the copy as it is then."""

    copy: Copy
    process: subprocess.Popen[str]

    def of(self, module: str) -> tuple[int, int]:
        """What a module's probe returns, and how often its code came from the disk."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(self.copy.probes[module] + "\n")
        line = self.process.stdout.readline()
        value, _, hits = line.strip().partition(" ")
        assert value.isdigit(), line
        return int(value), int(hits)


def test_a_change_of_any_native_module_is_seen_by_the_next_process(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", MODULES)
    with copy.answers() as answers:
        assert {module: answers.of(module) for module in MODULES} == dict.fromkeys(MODULES, (1, 0))
        assert {module: answers.of(module) for module in MODULES} == dict.fromkeys(MODULES, (1, 1)), "nothing was kept"
        seen, unreached = {}, {}
        for module in MODULES:
            copy.mark(module, 2)
            seen[module] = answers.of(module)
            other = next(each for each in MODULES if module not in reached(each))
            unreached[module] = answers.of(other)
            copy.mark(module, 1)
        assert seen == dict.fromkeys(MODULES, (2, 0))
        assert unreached == dict.fromkeys(MODULES, (1, 1)), "it was compiled again for a file that it does not reach"
        assert answers.of(MODULES[0]) == (1, 1)  # the code of the first sources is still there


def test_a_change_of_what_is_in_every_kernel_makes_new_code(tmp_path: Path) -> None:
    module = MODULES[0]
    copy = Copy(tmp_path / "copy", [module])
    with copy.answers() as answers:
        assert (answers.of(module), answers.of(module)) == ((1, 0), (1, 1))
        for name in IN_EVERY_KERNEL:
            copy.remark(f"testbed.native.{name}")
            assert (name, answers.of(module), answers.of(module)) == (name, (1, 0), (1, 1))
        copy.remark("testbed.native.claims")
        assert answers.of(module) == (1, 1), "no code is made of how it is kept"


# Two processes that need the same machine code: one makes it, the other waits, and nobody waits for ever.


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


def test_nobody_loses_patience_with_who_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder" / "one.code"
    monkeypatch.setattr(claims, "PATIENCE", 1.0)
    monkeypatch.setattr(claims, "_waited", [0.0])
    with started(HOLDS.replace("sys.stdin.readline()", "while time.process_time() < 3: pass"), str(path)) as process:
        assert process.stdout is not None and process.stdout.readline() == "claimed\n"
        claim(path)
    assert path in claims._claims and path.read_text() == "made"
    release(path)


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


@pytest.mark.usefixtures("own_cache")
def test_two_processes_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESTBED_NATIVE_CACHE", raising=False)
    with started(COMPILES) as one, started(COMPILES) as two:
        for each in (one, two):
            each.stdin.write("now\n")
            each.stdin.flush()
        said = sorted(each.communicate(timeout=300)[0] for each in (one, two))
    assert said == ["3 0\n", "3 1\n"]


# The files that machine code is made from: a module, and the native modules that it imports.


def test_a_native_module_is_told_by_its_name() -> None:
    assert all(map(is_native, ("testbed.trace.native", "unwinders.rows.native.row", "mine.native")))
    assert not any(map(is_native, ("testbed.trace.rolling", "testbed.nativeness", "unwinders.rows.walk")))


READ_MODULES = {
    "first": "from own.native import second as other\nfrom own.plain import x\nimport own.native.third, os\n",
    "second": "from own.native.fourth import (  # a comment\n    X,\n    Y,\n)\n",
    "third": "",
    "fourth": "from own.native.first import Z\n",
    "aside": "from own.native.third import X\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "own" / "native"
    folder.mkdir(parents=True)
    for path in (folder / "__init__.py", folder.parent / "__init__.py", folder.parent / "plain.py"):
        path.write_text("")
    for name, text in READ_MODULES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("own")
    yield folder
    del sys.modules["own"]


def test_a_module_reaches_what_it_imports_and_that_in_turn(package: Path) -> None:
    names = {name.rpartition(".")[2] for name in reached("own.native.first")} - {"native"}
    assert names == {"first", "second", "third", "fourth"}
    assert set(reached("own.native.third")) == {"own.native.third"}


@pytest.mark.parametrize(("changed", "same"), [("fourth", False), ("third", False), ("aside", True)])
def test_code_is_that_of_the_files_that_it_reaches(package: Path, changed: str, same: bool) -> None:
    made_from.cache_clear()
    before = made_from("own.native.first")
    (package / f"{changed}.py").write_text(READ_MODULES[changed] + "#")
    made_from.cache_clear()
    assert (made_from("own.native.first") == before) is same


def test_of_a_file_that_cannot_be_read_nothing_is_said(package: Path) -> None:
    made_from.cache_clear()
    (package / "third.py").unlink()
    (package / "third.py").symlink_to(package)
    assert made_from("own.native.third") is None and made_from("not_imported.native") is None
