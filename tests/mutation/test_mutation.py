"""The mutation command itself: which places it finds, that it draws the same ones, and that it can tell both fates."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutation import mutants
from tests.mutation.mutants import (
    FILE,
    Fate,
    Mutant,
    SurvivorVerdict,
    Trial,
    all_mutants,
    known_verdicts,
    places_of,
    sampled_mutants,
)
from tests.mutation.report import page
from tests.mutation.rooms import ROOMS, ROOT, MutatedRoom
from tests.words.alive import are_gone, is_running

CODE = '''"""A number, 1."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WORD: int | None = 4


@cache
def larger(a: int | None, b: int) -> bool:
    """More than 1."""
    return a is not None and a > b
'''


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code.py").write_text(CODE)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return tmp_path


def test_places_are_those_that_something_follows_from(tree: Path) -> None:
    lines = {place.start[0] for place in places_of(Path("code.py"))}
    assert lines == {9, 15}
    made = [str(mutant) for mutant in all_mutants([Path("code.py")])]
    assert any("a <= b" in text for text in made) and any("a is not None or a > b" in text for text in made)
    assert not any("int & None" in text for text in made)


def test_a_sample_is_the_same_every_time_and_another_with_another_seed(tree: Path) -> None:
    drawn = [[m.key for m in sampled_mutants([Path("code.py")], 4, seed)] for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == 4


def test_another_line_draws_no_other_mutants(tree: Path) -> None:
    """Nor does a larger sample: it goes on where the smaller one ended."""
    few, more = ([m.key for m in sampled_mutants([Path("code.py")], count, "1")] for count in (2, 4))
    assert more[:2] == few
    (tree / "code.py").write_text(CODE + "\n\ndef zero() -> bool:\n    return False\n")
    assert [key for key in (m.key for m in sampled_mutants([Path("code.py")], 9, "1")) if key in more] == more


def test_equal_lines_have_keys_of_their_own(tree: Path) -> None:
    twice = "    if a:\n        return 1\n    return 1\n"
    (tree / "code.py").write_text(f"def one(a: int) -> int:\n{twice}\n\ndef two(a: int) -> int:\n{twice}")
    made = list(all_mutants([Path("code.py")]))
    assert {m.within for m in made} == {"one", "one 2", "two", "two 2"}
    assert len({m.key for m in made}) == len(made)


def test_a_key_stays_while_the_line_stays(tree: Path) -> None:
    before = {m.after: m.key for m in all_mutants([Path("code.py")])}
    (tree / "code.py").write_text(CODE.replace("WORD", "# one line more\nWORD"))
    assert {m.after: m.key for m in all_mutants([Path("code.py")])} == before


@pytest.fixture
def copy(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], mutants._Copy]]:
    """The copy that a worker has, of a tree with this file of tests for ``code_under_test``."""
    (tree / "code.py").rename(tree / "code_under_test.py")
    (tree / "tests").mkdir()
    for name in ("__init__.py", "costs.py", "sampling.py", "long.txt"):
        shutil.copy(ROOT / "tests" / name, tree / "tests")
    room = MutatedRoom("small", ("code_under_test.py",), ("test_*.py",), 1)
    monkeypatch.setattr(mutants, "ROOMS", {"small": room})
    monkeypatch.setenv("TESTBED_CACHE", str(tree / "cache"))
    with ExitStack() as ending:

        def made(tests: str) -> mutants._Copy:
            (tree / "tests/test_code.py").write_text(f"import code_under_test as code\n\n\n{tests}")
            made = mutants._Copy(tree)
            ending.callback(made.end)
            monkeypatch.setattr(mutants, "_copy", made)
            return made

        yield made


def _equal() -> Mutant:
    return next(m for m in all_mutants([Path("code_under_test.py")]) if m.after.endswith("a >= b"))


@pytest.mark.parametrize(
    ("check", "fate"),
    [
        ("assert code.larger(2, 1) and not code.larger(1, 1)", Fate.KILLED),
        ("assert code.larger(2, 1)", Fate.SURVIVED),
        ("while not code.larger(2, 1) or code.larger(1, 1): pass", Fate.TIMEOUT),
        ("assert not code.larger(1, 1) or __import__('time').sleep(600)", Fate.TIMEOUT),
    ],
    ids=["a test that looks", "a test that does not", "a hang", "one that waits"],
)
def test_a_mutant_meets_its_fate(
    tree: Path, copy: Callable[[str], mutants._Copy], monkeypatch: pytest.MonkeyPatch, check: str, fate: Fate
) -> None:
    monkeypatch.setattr(mutants, "_WAITS", 10)
    copy(f"def test() -> None:\n    {check}\n")
    found = mutants._try("small", _equal())
    assert found.fate is fate
    assert found.test == ("tests/test_code.py::test" if fate is Fate.KILLED else "")
    assert 0 < found.seconds < 60  # of the processor, whatever the machine does besides
    assert (tree / "code_under_test.py").read_text() == CODE


def test_a_mutant_meets_the_tests_that_execute_its_line(copy: Callable[[str], mutants._Copy]) -> None:
    """The quickest first, and none that does not pass on the unchanged code or that nobody has time for."""
    tests = (
        "def test_slow() -> None:\n    [code.larger(i, 2) for i in range(200_000)]\n\n\n"
        "def test_quick() -> None:\n    assert code.larger(2, 1)\n\n\n"
        "def test_wrong() -> None:\n    assert code.larger(1, 2)\n\n\n"
        "def test_elsewhere() -> None:\n    assert code.WORD == 4\n"
    )
    reached = copy(tests).reached("small")
    names = [f"tests/test_code.py::test_{name}" for name in ("quick", "slow")]
    assert list(reached.asked(_equal())) == names  # the answer is cached: who asks first executes it
    assert set(reached.seconds) == {*names, "tests/test_code.py::test_elsewhere"}
    late = replace(reached, seconds={name: 100.0 for name in reached.seconds})
    assert list(late.asked(_equal())) == names[:1]  # one at least
    cases = {**{f"{names[0]}[{i}]": 0.5 for i in range(30)}, names[1]: 10.2, "too_long": 30.0}
    found = list(replace(reached, seconds=cases, lines={}).asked(_equal()))
    assert (len(found), found.index(names[1])) == (31, 20)
    at_import = next(m for m in all_mutants([Path("code_under_test.py")]) if "WORD" in m.before)
    assert set(reached.asked(at_import)) == set(names)
    assert set(reached.asked(replace(at_import, module="another.py"))) == set(reached.seconds)


def test_what_runs_at_import_is_not_only_the_first_importers(copy: Callable[[str], mutants._Copy]) -> None:
    one = "\n\n\ndef test_{}() -> None:\n    from code_under_test import larger\n    assert larger({}, 1)\n"
    late = "import sys\n\ndel sys.modules['code_under_test']" + one.format("first", 2) + one.format("second", 3)
    at_import = next(m for m in all_mutants([Path("code_under_test.py")]) if "WORD" in m.before)
    names = {test.partition("::")[2] for test in copy(late).reached("small").asked(at_import)}
    assert names == {"test_first", "test_second"}


def test_what_tests_reach_is_found_once(copy: Callable[[str], mutants._Copy], monkeypatch: pytest.MonkeyPatch) -> None:
    first = copy(tests := "def test() -> None:\n    assert code.larger(2, 1)\n").reached("small")
    monkeypatch.setattr(mutants._Copy, "ask", lambda *asked, **how: pytest.fail("it was asked again"))
    assert copy(tests).reached("small") == first


def test_where_no_test_passes_a_mutant_tells_nothing(copy: Callable[[str], mutants._Copy]) -> None:
    copy("def test() -> None:\n    assert False\n")
    with pytest.raises(RuntimeError, match=r"small: no test passes on the unchanged code"):
        mutants._try("small", _equal())


def test_kernels_run_as_they_stand(tree: Path, copy: Callable[[str], mutants._Copy]) -> None:
    """And what is compiled all the same, for C, is kept in the tree."""
    told = f"(os.environ['TESTBED_JIT'], os.environ['TESTBED_NATIVE_CACHE']) == {('0', str(tree / 'native'))}"
    copy(f"import os\ndef test() -> None:\n    assert code.larger(2, 1) and {told}\n")
    assert mutants._try("small", _equal()).fate is Fate.SURVIVED


def test_every_room_has_modules_and_tests_that_exist() -> None:
    for room in ROOMS.values():
        assert all(any(ROOT.glob(pattern)) for pattern in room.modules) and room.files()
        assert all(any((ROOT / "tests").glob(pattern)) for pattern in room.tests), room.name
    assert sum(room.sample for room in ROOMS.values()) == 500


def test_the_page_leaves_equivalent_mutants_out_of_the_score() -> None:
    change = Mutant("a.py", "f", 3, "core/NumberReplacer", 0, "x = 1", "x = 2")
    fates = (Fate.KILLED, Fate.KILLED, Fate.TIMEOUT, Fate.SURVIVED)
    trials = [Trial("truth", change, fate, "", 30.0) for fate in fates]
    known = {change.key: SurvivorVerdict(True, "x is not used")}
    told = page(trials, {"truth": 10}, known, command="python -m tests.mutation", date="2026-01-01")
    assert "| truth | 10 | 4 | 3 | 1 | 1 | 0 | 100.0 % | 2 |" in told and "x is not used" in told
    told = page(trials, {"truth": 10}, {}, command="python -m tests.mutation", date="2026-01-01")
    assert "| truth | 10 | 4 | 3 | 1 | 0 | 1 | 75.0 % | 2 |" in told and "no verdict yet" in told


def test_verdicts_are_of_lines_that_are_there_and_say_why() -> None:
    assert all(len(key) == 12 and verdict.why for key, verdict in known_verdicts().items())
    for told in json.loads(FILE.read_text(encoding="utf-8")).values():
        module, _, change = told["mutant"].partition(": `")
        line = change.partition("` -> `")[0]
        assert line.split() and " ".join(line.split()) in " ".join((ROOT / module).read_text("utf-8").split()), told


def test_the_command_explains_itself() -> None:
    command = [sys.executable, "-m", "tests.mutation", "--help"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--everything" in told.stdout


# A run of mutants that is killed leaves no test behind.


def test_tests_of_a_mutant_end_with_who_tried_it(tree: Path, copy: Callable[[str], mutants._Copy]) -> None:
    tests = (
        "import os, time\n\n\ndef test() -> None:\n"
        "    if code.larger(1, 1):\n"
        "        open('pid', 'w').write(f'{os.getpid()} ')\n        time.sleep(600)\n"
    )
    trying = copy(tests)
    told = tree / "pid"
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(mutants._try, "small", _equal())
        while not (told.exists() and told.read_text().endswith(" ")):
            assert not trial.done(), "nothing was tried"
            time.sleep(0.05)
        pid = int(told.read_text())
        assert is_running(pid)
        trying.end()
        assert are_gone([pid])
        assert trial.exception() is not None
