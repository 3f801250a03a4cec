"""Starting costs what was asked for: which files are opened and which modules are loaded, in a process of its own."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click
import pytest

import testbed
from programs import PROGRAMS
from testbed.cli import COMMANDS
from testbed.contract.unwinder import Unwinder
from testbed.native.machine_code import VARIABLE
from testbed.referee import REFEREE_OF, REFEREES

ROOT = Path(__file__).parents[2]
_WATCHED = """
import json, sys
opened, modules = [], lambda: sorted(sys.modules)
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
from testbed.cli import main
if len(sys.argv) > 1:
    try:
        main()
    except SystemExit as done:
        if done.code:
            raise
print(json.dumps([opened, modules()]), file=sys.stderr)
"""


@dataclass(frozen=True)
class Started:
    """What one process opened below the corpus, by name, and every module that it loaded."""

    sources: frozenset[str]
    modules: frozenset[str]

    def of(self, *packages: str) -> set[str]:
        """The modules of some packages."""
        return {module for module in self.modules for each in packages if f"{module}.".startswith(f"{each}.")}


def started(*arguments: str) -> Started:
    """The command in a fresh process; without arguments the command line is imported, and no more."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    opened, modules = json.loads(done.stderr.splitlines()[-1])
    paths = [Path(name) for name in opened]
    return Started(
        frozenset(path.name for path in paths if path.parent.name == "programs" and path.suffix in (".c", ".cc", ".S")),
        frozenset(modules),
    )


LIBRARIES = ("numpy", "unicorn", "capstone", "keystone", "elftools", "numba", "jinja2", "zstandard", "pydemumble")
OURS = ("testbed.generate", "testbed.referee", "testbed.build", "testbed.machine", "testbed.image", "unwinders")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)], ids=" ".join)
def test_the_command_line_itself_loads_nothing(arguments: tuple[str, ...]) -> None:
    process = started(*arguments)
    assert process.sources == set()
    assert process.of(*LIBRARIES, *OURS, "rich", "programs", "testbed.arch", "importlib.metadata") == set()


def test_a_list_loads_what_it_lists() -> None:
    arches = started("list", "arches")
    assert arches.sources == set()
    assert arches.of(*LIBRARIES, "programs", *OURS) == set()
    unwinders = started("list", "unwinders")
    assert unwinders.sources == set()
    assert unwinders.of("testbed.generate", "testbed.referee", "testbed.machine", "programs") == set()


def test_a_run_reads_one_program_and_asks_no_referee() -> None:
    process = started("run", "leaf_call", "--arch", "arm64")
    assert process.sources == {path.path.name for path in PROGRAMS["leaf_call"].sources.values()}
    generators = process.of("testbed.generate") - {"testbed.generate", "testbed.generate.names"}
    assert generators == set()
    assert process.of(*(f"testbed.referee.{room}" for room in ("process", *FOLDERS))) == set()
    assert process.of("numba", "numpy.ma", "jinja2", "multiprocessing") == set()
    assert process.of("testbed.report.matrix_html", "testbed.image.macho", "testbed.image.debug.lines") == set()


def test_a_check_of_one_function_waits_for_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise SystemError('the compiler was loaded')")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", VARIABLE: str(tmp_path)}
    command = [sys.executable, "-m", "testbed.cli", "check", str(ROOT / "docs/examples/sum.S"), "--arch", "arm64"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1 and "sum+0x10" in done.stdout, done.stderr


FOLDERS = sorted(path.parent.name for path in (ROOT / "testbed/referee").glob("*/strategy.py"))


def test_a_strategy_is_loaded_alone() -> None:
    process = started("run", "leaf_call", "--arch", "arm64", "-u", "fp_chain")
    assert process.of("unwinders.chains") == {"unwinders.chains", "unwinders.chains.fp_chain"}
    assert process.of("unwinders.tables", "unwinders.analysis", "unwinders.scans") == set()


def test_one_real_unwinder_is_looked_for_alone() -> None:
    if REFEREES["libdw"].find() is None:
        pytest.skip("libdw is not installed: apt-get install libdw1")
    process = started("run", "leaf_call", "--arch", "arm64", "-u", "libdw")
    assert process.of("testbed.referee.libdw")
    assert process.of(*(f"testbed.referee.{folder}" for folder in FOLDERS if folder != "libdw")) == set()


# What the tables say beside the code is what the code says.


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_each_command_by_its_own_first_sentence(name: str) -> None:
    command = import_module(f"testbed.cli.{name}").command
    assert isinstance(command, click.Command)
    for width in (20, 45, 80, 1000):
        assert click.Command(name, help=COMMANDS[name]).get_short_help_str(width) == command.get_short_help_str(width)


def test_the_catalogue_of_referees_knows_their_strategies() -> None:
    assert all(name == referee.name for name, referee in REFEREES.items())
    there = {unwinder.name: name for name, referee in REFEREES.items() for unwinder in referee.unwinders}
    assert there == dict(REFEREE_OF)
    assert list(there) == list(REFEREE_OF), "in the same order"


def test_the_programs_are_called_as_the_catalogue_says() -> None:
    assert all(name == program.name for name, program in PROGRAMS.items())


def test_the_front_door_gives_what_it_declares() -> None:
    """Type checkers read imports, Python a table: both name the same values."""
    tree = ast.parse(Path(testbed.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    declared = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for name in testbed.__all__:
        value = getattr(testbed, name)
        if name in declared:
            assert value is getattr(import_module(str(declared[name])), name)
        assert name in dir(testbed)
    assert testbed.Unwinder is Unwinder
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        assert testbed.nothing  # type: ignore[attr-defined]
