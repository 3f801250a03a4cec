"""Failing inputs as files, made as small as they get while they fail: the folder of a run, the corpus of the suite."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from tests.hostile.bounds import Fate, try_input
from tests.hostile.damage import packed, unpacked
from tests.hostile.target import Target, numbered_input
from tests.hostile.trying import Failure

_MOST_TRIES = 2000


def minimised(target: Target, content: bytes, failure: str, *, tries: int = _MOST_TRIES) -> bytes:
    """The smallest input found that fails as this one does; each try is mended as the inputs of the target are."""
    left = tries

    def fails(candidate: bytes) -> bool:
        nonlocal left
        left -= 1
        tried = try_input(target, target.mend(candidate))
        return tried.fate is Fate.FAILED and tried.failure == failure

    parts = unpacked(content)
    if parts is not None and packed(parts) == content:
        for i in range(len(parts)):

            def with_part(piece: bytes, i: int = i) -> bytes:
                return packed([*parts[:i], piece, *parts[i + 1 :]])

            parts[i] = _shortened(parts[i], lambda piece: fails(with_part(piece)), lambda: left > 0)
        return packed(parts)
    return target.mend(_shortened(content, fails, lambda: left > 0))


def _shortened(content: bytes, fails: Callable[[bytes], bool], may_go_on: Callable[[], bool]) -> bytes:
    """Pieces left out, large ones first, as long as it still fails."""
    size = len(content) // 2
    while size and may_go_on():
        at = 0
        while at < len(content) and may_go_on():
            without = content[:at] + content[at + size :]
            if fails(without):
                content = without
            else:
                at += size
        size //= 2
    return content


# Failing inputs as files: the folder of a run, and the corpus that the suite tries.
#
# A file is called ``<target>-<what it shows>``; its bytes are the input. Beside one that a run wrote lies ``.txt``:
# what was said, and the command that makes the input again.


CORPUS = Path(__file__).with_name("corpus")
_COSTLY = ("crash", "hang", "time", "memory")  # kinds that are not made small here: each try would cost as much


def write_failure(target: Target, seed: int, failure: Failure, folder: Path) -> Path:
    """Write a failing input, made as small as it gets, and beside it what was said."""
    again = f"python -m tests.hostile -t {target.name} -n 1 --seed {seed} --first {failure.number}"
    if failure.content is None:
        content = numbered_input(target, target.seeds(), seed, failure.number)
    else:
        content, again = failure.content, f"python -m tests.hostile -t {target.name} --coverage --seed {seed}"
    if not failure.kind.startswith(_COSTLY) and _fails_alone(target, content, failure.kind):
        content = minimised(target, content, failure.kind)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.name}-{hashlib.sha256(content).hexdigest()[:8]}"
    path.write_bytes(content)
    path.with_name(path.name + ".txt").write_text(f"{failure.kind}\n{again}\n\n{failure.told}\n", encoding="utf-8")
    return path


def _fails_alone(target: Target, content: bytes, kind: str) -> bool:
    tried = try_input(target, content)
    return tried.fate is Fate.FAILED and tried.failure == kind


def corpus() -> list[Path]:
    """The inputs that failed once."""
    return sorted(path for path in CORPUS.iterdir() if not path.name.startswith(".") and path.suffix != ".py")


def target_of(path: Path) -> str:
    """The target of an input of the corpus."""
    return path.name.partition("-")[0]
