"""The mutation command itself: which places it finds, that it draws the same ones, and that it can tell both fates."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mutation import __main__, mutants
from tests.mutation.mutants import (
    FILE,
    Fate,
    KeptTrials,
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


@pytest.mark.parametrize(
    ("check", "fate"),
    [
        (lambda code: "assert code.larger(2, 1) and not code.larger(1, 1)", Fate.KILLED),
        (lambda code: "assert code.larger(2, 1)", Fate.SURVIVED),
        (lambda code: "while not code.larger(2, 1) or code.larger(1, 1): pass", Fate.TIMEOUT),
        (lambda code: "while code.larger(1, 1): __import__('time').sleep(1)", Fate.TIMEOUT),
    ],
    ids=["a test that looks", "a test that does not", "a hang", "one that waits"],
)
def test_a_mutant_meets_its_fate(
    tree: Path, monkeypatch: pytest.MonkeyPatch, check: Callable[[str], str], fate: Fate
) -> None:
    (tree / "test_code.py").write_text(f"import code_under_test as code\ndef test() -> None:\n    {check(CODE)}\n")
    (tree / "code.py").rename(tree / "code_under_test.py")
    room = MutatedRoom("small", ("*.py",), (("test_code.py",),), 1)
    monkeypatch.setattr(mutants, "ROOMS", {"small": room})
    monkeypatch.setattr(mutants, "_SPARE", 3.0)
    monkeypatch.setattr(mutants, "_WAITS", 2)
    monkeypatch.setattr(mutants, "_seconds", {})
    monkeypatch.setattr(mutants, "_noticed", {})
    monkeypatch.setattr(mutants, "_copy", type("Here", (), {"name": str(tree)}))
    (equal,) = (m for m in all_mutants([Path("code_under_test.py")]) if m.after.endswith("a >= b"))
    found = mutants._try("small", equal)
    assert found.fate is fate
    assert (
        found.seconds is not None and 0.05 < found.seconds < 60
    )  # of the processor, whatever the machine does besides
    assert (tree / "code_under_test.py").read_text() == CODE


def test_what_noticed_other_mutants_of_a_module_is_asked_first(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = ("test_a.py",), ("test_b.py",), ("test_c.py",)
    monkeypatch.setattr(mutants, "ROOMS", {"small": MutatedRoom("small", ("*.py",), stages, 1)})
    for name in ("_seconds", "_noticed"):
        monkeypatch.setattr(mutants, name, {})
    monkeypatch.setattr(mutants, "_copy", type("Here", (), {"name": str(tree)}))
    asked: list[str] = []

    def tests(stage: tuple[str, ...], root: Path, *, most: float, in_python: bool) -> tuple[int, float]:
        asked.append(stage[0])
        changed = (root / "code.py").read_text() != CODE
        return int(changed and stage == notices), 1.5

    monkeypatch.setattr(mutants, "_tests", tests)
    first, second, third = list(all_mutants([Path("code.py")]))[:3]
    notices: tuple[str, ...] = ("test_c.py",)
    found = mutants._try("small", first)
    assert (found.stage, found.seconds) == (2, 4.5)  # what the unchanged code took is no part of it
    asked.clear()
    found = mutants._try("small", second)
    assert (found.stage, found.seconds, asked) == (2, 1.5, ["test_c.py"])
    asked.clear()
    notices = ()
    assert mutants._try("small", third).fate is Fate.SURVIVED
    assert asked == ["test_c.py", "test_a.py", "test_b.py"]


def test_seconds_of_the_clock_that_were_kept_are_not_taken_for_the_processors(tmp_path: Path) -> None:
    change, kept = Mutant("a.py", "f", 3, "core/NumberReplacer", 0, "x = 1", "x = 2"), tmp_path / "kept"
    KeptTrials(kept).add(Trial("truth", change, Fate.KILLED, 0, 30.0))
    assert (again := KeptTrials(kept).last("truth", change)) and again.seconds == 30.0
    kept.write_text(kept.read_text().replace("cpu_seconds", "seconds"))
    assert (again := KeptTrials(kept).last("truth", change)) and again.seconds is None


def test_tests_that_fail_without_any_mutant_tell_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "test_code.py").write_text("def test() -> None:\n    assert False\n")
    monkeypatch.setattr(mutants, "ROOMS", {"small": MutatedRoom("small", ("*.py",), (("test_code.py",),), 1)})
    monkeypatch.setattr(mutants, "_seconds", {})
    monkeypatch.setattr(mutants, "_copy", type("Here", (), {"name": str(tree)}))
    with pytest.raises(RuntimeError, match=r"small: test_code\.py does not pass on the unchanged code: status 1"):
        mutants._try("small", next(all_mutants([Path("code.py")])))


def test_every_room_has_modules_and_tests_that_exist() -> None:
    for room in ROOMS.values():
        assert all(any(ROOT.glob(pattern)) for pattern in room.modules) and room.files()
        for stage in room.stages:
            assert all((ROOT / word).exists() for word in stage if word.startswith("tests/")), stage
    assert sum(room.sample for room in ROOMS.values()) == 400


@pytest.mark.parametrize(("module", "said"), [("code.py", "1"), ("native.py", "0"), ("native/code.py", "0")])
def test_where_a_kernel_is_changed_it_runs_as_it_stands(
    module: str, said: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is compiled all the same, for C, is kept in the tree."""
    (tree / module).parent.mkdir(exist_ok=True)
    (tree / "code.py").rename(tree / module)
    own = str(tree / "native" if said == "0" else tree / "kept")
    (tree / "test_code.py").write_text(
        "import os\ndef test() -> None:\n"
        f"    assert (os.environ['TESTBED_JIT'], os.environ['TESTBED_NATIVE_CACHE']) == {(said, own)}\n"
    )
    monkeypatch.setenv("TESTBED_JIT", "1")
    monkeypatch.setenv("TESTBED_NATIVE_CACHE", str(tree / "kept"))
    monkeypatch.setattr(mutants, "ROOMS", {"small": MutatedRoom("small", ("*.py",), (("test_code.py",),), 1)})
    for name in ("_seconds", "_noticed"):
        monkeypatch.setattr(mutants, name, {})
    monkeypatch.setattr(mutants, "_copy", type("Here", (), {"name": str(tree)}))
    assert mutants._try("small", next(all_mutants([Path(module)]))).fate is Fate.SURVIVED


def test_the_tests_named_after_a_module_are_asked_first() -> None:
    first = ROOMS["formats"].stages_for("unwinders/formats/cfi_rows.py")[0]
    assert first[:2] == ("tests/unwinders/formats/test_cfi_rows.py", "-k")
    first = ROOMS["formats"].stages_for("unwinders/formats/compact_unwind.py")[0]
    assert first[:2] == ("tests/unwinders/formats/test_compact_unwind.py", "-k")
    first = ROOMS["formats"].stages_for("unwinders/formats/compact_pages.py")[0]  # none is named after this one
    assert first == ("tests/unwinders/formats/test_compact_unwind.py", *ROOMS["formats"].stages[0][1:])
    stages = ROOMS["rows"].stages_for("unwinders/rows/native/sweep.py")
    assert stages[0][0] == "tests/unwinders/rows/native/test_walk.py"
    assert set(stages) == set(ROOMS["rows"].stages)


def test_the_page_leaves_equivalent_mutants_out_of_the_score() -> None:
    change = Mutant("a.py", "f", 3, "core/NumberReplacer", 0, "x = 1", "x = 2")
    fates = (Fate.KILLED, Fate.KILLED, Fate.TIMEOUT, Fate.SURVIVED)
    trials = [Trial("truth", change, fate, 0, 30.0) for fate in fates]
    known = {change.key: SurvivorVerdict(True, "x is not used")}
    told = page(trials, {"truth": 10}, known, command="python -m tests.mutation", date="2026-01-01")
    assert "| truth | 10 | 4 | 3 | 1 | 1 | 0 | 100.0 % | 2 | 2026-01-01 |" in told and "x is not used" in told
    told = page(trials, {"truth": 10}, {}, command="python -m tests.mutation", date="2026-01-01")
    assert "| truth | 10 | 4 | 3 | 1 | 0 | 1 | 75.0 % | 2 | 2026-01-01 |" in told and "no verdict yet" in told


def test_the_page_keeps_what_it_said_of_rooms_that_were_left_out() -> None:
    def made(room: str, module: str, date: str, before: str) -> str:
        change = Mutant(module, "f", 3, "core/NumberReplacer", 0, "x = 1", "x = 2")
        trials = [Trial(room, change, Fate.SURVIVED, 1, 60.0), Trial(room, change, Fate.KILLED, 0, 60.0)]
        return page(trials, {room: 10}, {}, command="python -m tests.mutation", date=date, before=before)

    first = made("rows", "unwinders/rows/walk.py", "2026-01-01", "")
    both = made("truth", "testbed/truth/follow.py", "2026-01-02", first)
    assert "| rows | 10 | 2 | 1 | 1 | 0 | 1 | 50.0 % | 2 | 2026-01-01 |" in both
    assert "| truth | 10 | 2 | 1 | 1 | 0 | 1 | 50.0 % | 2 | 2026-01-02 |" in both
    assert "| **all** | 20 | 4 | 2 | 2 | 0 | 2 | 50.0 % | 4 |  |" in both
    assert "* unwinders/rows/walk.py:3: " in both and "* testbed/truth/follow.py:3: " in both
    again = made("rows", "unwinders/rows/apply.py", "2026-01-03", both)
    assert "2026-01-01" not in again and "walk.py" not in again and "follow.py:3: " in again
    undated = first.replace(" | 2026-01-01 |", " |")
    assert made("truth", "testbed/truth/follow.py", "2026-01-02", undated) == both


def test_what_is_settled_is_kept_and_a_survivor_is_tried_again(tree: Path, tmp_path: Path) -> None:
    first, second, *_ = all_mutants([Path("code.py")])
    file = tmp_path / "kept.jsonl"
    for mutant, fate in ((first, Fate.KILLED), (second, Fate.SURVIVED)):
        KeptTrials(file).add(Trial("truth", mutant, fate, 1, 2.5))
    kept = KeptTrials(file)
    assert kept.settled("truth", first, equivalent=False) == Trial("truth", first, Fate.KILLED, 1, 2.5)
    assert kept.settled("truth", second, equivalent=False) is kept.settled("rows", first, equivalent=False) is None
    assert kept.settled("truth", second, equivalent=True) == Trial("truth", second, Fate.SURVIVED, 1, 2.5)
    (tree / "code.py").write_text(CODE.replace("a > b", "b < a"))
    changed = [mutant for mutant in all_mutants([Path("code.py")]) if "b" in mutant.after]
    assert all(kept.settled("truth", mutant, equivalent=True) is None for mutant in changed)


def test_without_processes_there_is_what_is_kept_whatever_became_of_it(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list(all_mutants([Path("code.py")]))[:3]
    kept = KeptTrials(tmp_path / "kept.jsonl")
    for mutant, fate in zip(drawn, (Fate.KILLED, Fate.SURVIVED), strict=False):
        kept.add(Trial("truth", mutant, fate, 1, 2.5))
    kept = KeptTrials(tmp_path / "kept.jsonl")
    monkeypatch.setattr(__main__, "chosen", lambda room, **how: drawn)
    monkeypatch.setattr(__main__, "tried", lambda room, left, *, jobs: pytest.fail("a mutant was tried"))
    found = list(__main__.judged(("truth",), kept, everything=False, sample=None, seed=1, jobs=0))
    assert [(each.mutant, each.fate) for each in found] == list(zip(drawn, (Fate.KILLED, Fate.SURVIVED), strict=False))


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


_TRIED = "import sys; from pathlib import Path; from tests.mutation.mutants import _tests; "
_STAGE = "_tests((sys.argv[1],), Path(sys.argv[2]), most=600.0, in_python=False)"
_SLEEPS = "import os, time\n\ndef test_it():\n    open('pid', 'w').write(f'{os.getpid()} ')\n    time.sleep(600)\n"


def test_tests_of_a_mutant_end_with_who_tried_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_SLEEPS)
    runner = subprocess.Popen([sys.executable, "-c", _TRIED + _STAGE, "test_it.py", str(tmp_path)], cwd=ROOT)
    try:
        told = tmp_path / "pid"
        while not (told.exists() and told.read_text().endswith(" ")):
            assert runner.poll() is None, "nothing was tried"
            time.sleep(0.05)
        pid = int(told.read_text())
        assert is_running(pid)
    finally:
        runner.kill()
        runner.wait()
    assert are_gone([pid])
