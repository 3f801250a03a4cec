"""A child may die, hang, flood, fork, or lose its parent: each is told, and nothing of it is left."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from testbed.words.child import LONGEST, Child, forked, packed, started, started_beside, unpacked
from testbed.words.errors import BrokenAnswer, ToolCrashed, ToolHung
from tests.words.acting import act
from tests.words.alive import are_gone, is_running

PYTHON = [sys.executable, str(Path(__file__).with_name("acting.py"))]
SOON, LATE = 0.2, 60.0


def beside() -> Child:
    return started_beside(lambda i, o: [*PYTHON, str(i), str(o)], environment=os.environ, confine=lambda: None)


KINDS: dict[str, Callable[[], Child]] = {
    "started": lambda: started([*PYTHON, "0", "1"]),
    "started_beside": beside,
    "forked": lambda: forked(act),
}


@pytest.fixture(params=KINDS)
def child(request: pytest.FixtureRequest) -> Iterator[Child]:
    with closing(KINDS[request.param]()) as made:
        yield made


def ask(child: Child, *words: str, seconds: float = LATE) -> str:
    until = time.monotonic() + seconds
    child.send("; ".join(words).encode() + b"\n", until)
    return child.line(until).decode()


def test_answers_come_one_by_one_however_long_and_apart_from_what_is_printed(child: Child) -> None:
    assert ask(child, "import os", "os.write(2, b'noise')", "say(os.getpid())") == str(child.pid) != str(os.getpid())
    assert ask(child, "say('x' * 300_000)", "say(2)") == "x" * 300_000
    assert child.line(time.monotonic() + LATE) == b"2" and child.unread == b""
    assert ask(child, f"say(len('{'x' * 200_000}'))") == "200000", "a request that no pipe holds"


def test_who_prints_more_than_a_pipe_holds_is_read_away(child: Child) -> None:
    assert ask(child, "import os", "[os.write(2, b'-' * 5000) for _ in range(100)]", "say(1)") == "1"
    assert 0 < len(child.last_words()) <= 300


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("os._exit(3)", r"^ended with exit status 3; it printed: a word last words$"),
        ("os._exit(0)", r"^ended with exit status 0, and owes an answer; it printed: a word last words$"),
        ("os.kill(os.getpid(), 11)", r"^was killed by SIGSEGV; it printed: a word last words$"),
    ],
)
def test_who_dies_is_told_by_its_end_and_its_last_words(child: Child, how: str, told: str) -> None:
    with pytest.raises(ToolCrashed, match=told):
        ask(child, "import os", "os.write(2, b'a word\\n last words')", how)
    with pytest.raises(ToolCrashed):
        ask(child, "say(1)")


def test_who_says_nothing_or_does_not_read_hangs_and_is_gone_when_it_is_closed(child: Child) -> None:
    with pytest.raises(ToolHung, match=r"gave no answer \(an answer\)"):
        ask(child, "import time", "time.sleep(600)", seconds=SOON)
    with pytest.raises(ToolHung, match="did not read what it was sent"):
        child.send(b"#" * (1 << 20), time.monotonic() + SOON)
    assert is_running(child.pid)
    child.close()
    child.close()  # twice is once
    assert not Path(f"/proc/{child.pid}").exists()


def test_who_floods_is_stopped(child: Child) -> None:
    with pytest.raises(BrokenAnswer, match=f"more than {LONGEST >> 20} MiB"):
        ask(child, "[answers.write(b'x' * 4096) for _ in iter(int, 1)]")


def test_what_it_forked_goes_with_it(child: Child) -> None:
    left = int(ask(child, "import os, time", "n = os.fork()", "say(n) if n else time.sleep(600)"))
    assert is_running(left)
    child.close()
    assert are_gone([left])


def test_who_ended_and_left_a_child_with_its_output_crashed() -> None:
    with closing(started(["sh", "-c", "sleep 60 & exit 3"])) as child:
        assert child.ended(LATE) == 3
        with pytest.raises(ToolCrashed, match=r"^ended with exit status 3$"):
            child.line(time.monotonic() + SOON)


def test_who_left_the_answer_to_a_child_is_waited_for() -> None:
    with closing(started(["sh", "-c", "exec 3<&0; (read line <&3; echo $line) & exit 0"])) as child:
        child.ended(LATE)
        child.send(b"an answer\n", time.monotonic() + LATE)
        assert child.line(time.monotonic() + LATE) == b"an answer"


def test_who_is_told_that_nothing_more_comes_ends(child: Child) -> None:
    assert ask(child, "say(1)") == "1" and child.ended(SOON) is None
    child.close_input()
    assert child.ended(LATE) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_descriptor_is_left_behind(kind: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    KINDS[kind]().close()
    with closing(KINDS[kind]()) as child, pytest.raises(ToolCrashed):
        ask(child, "import os", "os._exit(0)")
    with pytest.raises(FileNotFoundError):
        started(["no-such-program"])
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_fork_of_who_asks_leaves_the_child_alone(child: Child) -> None:
    assert child.ours
    other = os.fork()
    if other == 0:
        child.close()
        os._exit(child.ours)
    assert os.waitpid(other, 0)[1] == 0
    assert ask(child, "say(1)") == "1"


_PARENT = """
import os, signal, time
from tests.words.test_child import KINDS, ask
kept = [make() for make in KINDS.values()] + [make() for make in KINDS.values()]
print(*(ask(child, "import os", "say(os.getpid())") for child in kept), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_children_end_with_a_parent_that_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", _PARENT], capture_output=True, text=True, timeout=LATE, check=False)
    children = [int(number) for number in done.stdout.split()]
    assert len(set(children)) == 6, done.stderr
    assert are_gone(children)


def test_any_value_is_a_line() -> None:
    value = {"bytes": b"\n\0", "number": 1 << 300, "set": {1}}
    assert packed(value).count(b"\n") == 1 and unpacked(packed(value)[:-1]) == value
