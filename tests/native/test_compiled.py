"""Machine code is that of the sources as they are now, whatever lies on the disk.

In a copy of the project every native module with compiled functions gets a constant and a compiled function that
returns it; a native module that such modules import gets the constant. A probe for each, a compiled function in a
module of its own, sees the constant. Then each module is changed alone, and a process that starts afterwards has to see
the change, though the probe's own file is as it was; and no probe that does not reach the module is compiled again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from testbed.native.machine_code import VARIABLE
from testbed.native.sources import IN_EVERY_KERNEL, reached

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
