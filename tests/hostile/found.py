"""Failing inputs as files, made as small as they get while they fail: the folder of a run, the corpus of the suite."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.hostile.damage import packed, unpacked
from tests.hostile.target import Target, numbered_input
from tests.hostile.trying import Failure, Fate, Tally, try_input

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
    content = numbered_input(target, target.seeds(), seed, failure.number)
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


# What came of every batch, kept as lines of JSON, and the page: what was tried of each target, what the worst cost.


_NUMBERS = ("seconds", "worst_seconds", "worst_memory")


class KeptBatches:
    """The batches of a file, and those of this run, which are added to it as soon as they are known."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.inputs_now = 0
        self.totals: dict[str, Tally] = {}
        self.seeds: defaultdict[str, set[int]] = defaultdict(set)
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                said = json.loads(line)
                counts = Counter({Fate(fate): count for fate, count in said["counts"].items()})
                failures = [Failure(-1, kind, "") for kind in said["failures"]]
                self._sum(Tally(said["target"], counts, failures, *(said[name] for name in _NUMBERS)), said["seed"])

    def add(self, tally: Tally, seed: int, first: int) -> None:
        said = {
            "target": tally.target,
            "seed": seed,
            "first": first,
            "counts": {fate.value: tally.counts[fate] for fate in Fate},
            "failures": [failure.kind for failure in tally.failures],
            **{name: round(getattr(tally, name), 4) for name in _NUMBERS},
        }
        self.inputs_now += tally.inputs
        self._sum(tally, seed)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(said) + "\n")

    def _sum(self, tally: Tally, seed: int) -> None:
        self.totals.setdefault(tally.target, Tally(tally.target)).add(tally)
        self.seeds[tally.target].add(seed)


# The page of hostile input: what was tried of every target, and what the worst input cost.


_INTRODUCTION = Path(__file__).parents[2] / "docs" / "results" / "fuzzing.intro.md"
_HEAD = (
    "| target | what is read | inputs | read | refused | failed | CPU s | worst CPU ms | worst MB |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
)


def told(tally: Tally) -> str:
    """One batch in one line."""
    counts = ", ".join(f"{tally.counts[fate]:,} {fate.value}" for fate in Fate if tally.counts[fate])
    each = 1000 * tally.seconds / max(tally.inputs, 1)
    return f"{tally.target}: {counts or 'nothing tried'}; {each:.2f} ms each, at most {tally.worst_seconds:.2f} s"


def page(book: KeptBatches, targets: Sequence[Target]) -> str:
    """The page: the introduction with the table of all kept batches in it."""
    kept = [target for target in targets if target.name in book.totals]
    rows = [_row(target.name, target.what, book.totals[target.name]) for target in kept]
    total = Tally("")
    for target in kept:
        total.add(book.totals[target.name])
    rows.append(_row("**all**", "", total))
    return _INTRODUCTION.read_text(encoding="utf-8").format(
        table=_HEAD + "\n".join(rows),
        inputs=f"{total.inputs:,}",
        targets=len(kept),
        minutes=f"{total.seconds / 60:.0f}",
        seeds=", ".join(map(str, sorted({seed for target in kept for seed in book.seeds[target.name]}))),
        failed=f"{total.counts[Fate.FAILED]:,}",
    )


def _row(name: str, what: str, total: Tally) -> str:
    shown = name if name.startswith("*") else f"`{name}`"
    counts = " | ".join(f"{total.counts[fate]:,}" for fate in Fate)
    memory = f"{total.worst_memory >> 20}" if total.worst_memory else "< 48"
    return (
        f"| {shown} | {what} | {total.inputs:,} | {counts} | {total.seconds:,.0f} | {1000 * total.worst_seconds:,.0f} "
        f"| {memory} |"
    )
