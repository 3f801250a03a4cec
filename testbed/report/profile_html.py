"""What a sampling profiler would have seen: in words, for speedscope, and as flame graphs beside the true one.

A page has the true flame graph and, beside it, each unwinder's: of the time in the program's own functions, from the
outermost of them inward. There a frame that only the truth has is drawn as *lost*, at its place, and one that only the
unwinder has as *invented*. Two builds of a program can stand on one page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from testbed.image.demangling import brief, last_part, told_apart
from testbed.process import ProcessRun
from testbed.profiling.result import CodePart, UnwinderShare
from testbed.profiling.samples import Mark, Marked, SampledProfile
from testbed.report.narrow_tables import NumberedRow, NumberedTable, Paragraph
from testbed.report.page import page_text, render_page
from testbed.report.phrases import count, share
from testbed.report.timeline import SPEEDSCOPE
from testbed.words.printable import printable

MOST_FUNCTIONS = 24  # of the program, in a page's table
MOST_ROWS = 128  # frames on top of each other
LEAST = 0.0015  # of a graph's width, that a box has to be drawn


@dataclass(frozen=True, slots=True)
class ProfiledBuild:
    """One program that was sampled: the true profile first, then that of each unwinder; what became of its steps."""

    run: ProcessRun
    profiles: Sequence[SampledProfile] = field(repr=False)
    shares: Sequence[UnwinderShare] = field(repr=False)

    @property
    def own(self) -> int:
        """How many steps are of its own code."""
        return max((each.of(CodePart.OWN).steps for each in self.shares), default=0)


def profile_report(builds: Sequence[ProfiledBuild]) -> Iterator[RenderableType]:
    """How many samples each unwinder's flame graph shows in the wrong place, of one build or of two."""
    true = builds[0].profiles[0]
    yield Text()
    yield Paragraph(
        f"A profiler that looks at every {true.every:,}th step takes {count(true.samples, 'sample')}, "
        f"{true.inner.samples:,} with your functions on the stack. Its flame graph shows"
    )
    yield from (Text(), _misplaced(builds))
    yield Paragraph(MEANT, "dim")
    yield from (Text(), Paragraph(_answer(builds[0]), "bold"))
    for build in builds[1:]:
        beside = f"{_called(build, builds)} beside {_called(builds[0], builds)}"
        yield from (Text(), Paragraph(f"{beside}: {_difference(builds[0], build)}", "bold"))


MEANT = (
    "your samples: with your functions on the stack; in the wrong place: the stack is not the true one; "
    "cut short, a part of these: it is right as far as it goes, and callers are missing"
)


def _misplaced(builds: Sequence[ProfiledBuild]) -> NumberedTable:
    """Of each unwinder, and of each build where there are two."""
    rows: dict[str, list[NumberedRow]] = {}
    for build in builds:
        for each in build.profiles[1:]:
            words = (each.name, _called(build, builds))[: len(builds)]
            row = NumberedRow(words, (_wrong(each.inner), _wrong(each), share(each.cut, each.samples)))
            rows.setdefault(each.name, []).append(row)
    heads = ("in the wrong place:\nyour samples", "in the wrong place:\nall samples", "cut short:\nall samples")
    return NumberedTable(("unwinder", "build")[: len(builds)], heads, tuple(chain(*rows.values())))


def _called(build: ProfiledBuild, builds: Sequence[ProfiledBuild]) -> str:
    """A build by its file's name, or by its path where another one has the same name."""
    names = [each.run.path.name for each in builds]
    return str(build.run.path) if names.count(build.run.path.name) > 1 else build.run.path.name


def _answer(build: ProfiledBuild) -> str:
    """In a sentence: which unwinder shows most samples in the wrong place."""
    inner = [each.inner for each in build.profiles[1:]]
    worst = max(inner, key=lambda each: each.misplaced / max(each.samples, 1), default=None)
    name = f"functions of {build.run.path.name} on the stack"
    if not build.profiles[0].inner.samples:
        every = build.profiles[0].every
        return f"No sample has {name}: nothing is compared. Take one more often than every {every:,} steps."
    if worst is None or not worst.misplaced:
        return f"Every unwinder shows all samples with {name} in the right place."
    return (
        f"Of {count(worst.samples, 'sample')} with {name}, a profiler that unwinds by {worst.name} shows "
        f"{_wrong(worst)} in the wrong place: from the outermost of these functions inward, "
        "its stack is not the true one."
    )


def _difference(one: ProfiledBuild, other: ProfiledBuild) -> str:
    """What another build costs, and which unwinders gain or lose by it."""
    more = 100 * (other.own - one.own) / max(one.own, 1)
    told = [
        f"{one.own:,} → {other.own:,} steps of its own code ({more:+.1f} %)",
        *_moved("your callers found at these steps", _found(one), _found(other)),
        *_moved("samples with your functions in the wrong place, those in libraries too", _lost(one), _lost(other)),
    ]
    return f"{'; '.join(told if len(told) > 1 else [*told, 'no unwinder gains'])}."


def _moved(what: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    moved = [f"{name} {before[name]} → {now}" for name, now in after.items() if before.get(name, now) != now]
    if moved:
        yield f"{what}: {', '.join(moved)}"


def _found(build: ProfiledBuild) -> dict[str, str]:
    """By unwinder at which share of its own code's steps all callers in its own code are found."""
    own = {each.name: each.of(CodePart.OWN) for each in build.shares}
    return {name: share(each.within, each.called) for name, each in own.items()}


def _lost(build: ProfiledBuild) -> dict[str, str]:
    return {each.name: _wrong(each.inner) for each in build.profiles[1:]}


def _wrong(profile: SampledProfile) -> str:
    return share(profile.misplaced, profile.samples)


# Sampled profiles of a process for speedscope: the true one and each unwinder's, one profile each.
#
# The format is speedscope's "sampled" one: frames by name, and per sample the indexes of its frames, outermost first.


def profile_data(title: str, profiles: Sequence[SampledProfile]) -> dict[str, Any]:
    """The profiles as JSON data, in the order of time; a stack weighs as many steps as lie between its samples."""
    frames: dict[str, int] = {}
    made = []
    for each in profiles:
        stacks = [(said, len(list(same))) for said, same in groupby(said for _, said in each.seen)]
        weights = [count * each.every for _, count in stacks]
        samples = [[frames.setdefault(name, len(frames)) for name in stack] for stack, _ in stacks]
        made.append(
            {
                "type": "sampled",
                "name": each.name,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    return {
        "$schema": SPEEDSCOPE,
        "name": title,
        "exporter": "testbed",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": made,
    }


def write_profile(title: str, profiles: Sequence[SampledProfile], path: Path) -> None:
    """Write them to ``path``."""
    path.write_text(json.dumps(profile_data(title, profiles), separators=(",", ":")) + "\n", encoding="utf-8")


# The page.


@dataclass(slots=True)
class _FlameFrame:
    """A frame of a flame graph: how many samples are under it."""

    count: int = 0
    inside: dict[tuple[str, Mark], _FlameFrame] = field(default_factory=dict)

    def add(self, stack: Marked, more: int) -> None:
        node = self
        node.count += more
        for frame in stack[:MOST_ROWS]:
            node = node.inside.setdefault(frame, _FlameFrame())
            node.count += more

    def reaches(self, own: frozenset[str]) -> bool:
        """Whether a function of the program lies on it or above."""
        return any(name in own or node.reaches(own) for (name, _), node in self.inside.items())


def _boxes(node: _FlameFrame, own: frozenset[str], whole: int, left: int = 0, row: int = 0) -> Iterator[dict[str, Any]]:
    """Boxes of all frames that are wide enough, the program's own first."""

    def place(item: tuple[tuple[str, Mark], _FlameFrame]) -> tuple[bool, str, str]:
        (name, mark), inner = item
        return not (name in own or inner.reaches(own)), name, mark.value

    for (name, mark), inner in sorted(node.inside.items(), key=place):
        if inner.count >= LEAST * whole:
            kinds = ("own" if name in own else "", mark.value)
            yield {
                "left": f"{100 * left / whole:.3f}",
                "width": f"{100 * inner.count / whole:.3f}",
                "row": row,
                "name": printable(last_part(name)),
                "brief": printable(brief(name)),
                "whole": printable(name),
                "kinds": " ".join(filter(None, kinds)),
                "title": f"{printable(name)}: {share(inner.count, whole)}{f', {mark.value}' if mark.value else ''}",
            }
            yield from _boxes(inner, own, whole, left, row + 1)
        left += inner.count


def _graph(profile: SampledProfile, *, is_true: bool) -> dict[str, Any]:
    """From the program's outermost function inward."""
    root, inner = _FlameFrame(), profile.inner
    for stack, many in inner.marked().items():
        root.add(stack, many)
    boxes = list(_boxes(root, profile.own, max(root.count, 1)))
    said = f"{_wrong(inner)} of your {count(inner.samples, 'sample')} in the wrong place"
    if is_true:
        said = f"{count(inner.samples, 'sample')} with your functions on the stack, of {profile.samples:,}"
    rows = 1 + max((box["row"] for box in boxes), default=0)
    return {"name": profile.name, "said": said, "boxes": boxes, "rows": rows}


def _functions(profiles: Sequence[SampledProfile]) -> Iterator[tuple[str, str, list[str]]]:
    """The program's functions, those that are on most true stacks first: each profile's share of samples with them."""
    seen: Counter[str] = Counter()
    for profile in profiles:
        for stack, many in profile.stacks.items():
            seen.update({name: many for name in set(stack) & profile.own} if profile is profiles[0] else {})
            seen.update({name: 0 for name in set(stack) & profile.own})
    most = sorted(seen, key=lambda name: (-seen[name], name))[:MOST_FUNCTIONS]
    for name, said in told_apart(most).items():
        yield printable(said), printable(name), [share(each.under(name), each.samples) for each in profiles]


def _told(build: ProfiledBuild) -> Mapping[str, Any]:
    steps = f"{count(build.run.steps, 'step')}, {build.own:,} of its own code"
    return {
        "head": f"{steps}; one sample every {build.profiles[0].every:,} steps",
        "heads": [each.name for each in build.profiles],
        "functions": list(_functions([each.inner for each in build.profiles])),
    }


def profile_html(builds: Sequence[ProfiledBuild]) -> str:
    """The page of one program, or of two builds of it: each graph of the one beside that of the other."""
    by_name: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for build in builds:
        for i, each in enumerate(build.profiles):
            graph = (printable(_called(build, builds)), _graph(each, is_true=not i))
            by_name.setdefault(each.name, []).append(graph)
    return render_page(
        "profile.html",
        css=page_text("page.css") + page_text("profile.css"),
        script=page_text("profile.js"),
        title=printable(builds[0].run.path.name),
        arch=builds[0].run.arch,
        answer=printable(_answer(builds[0])),
        cost=printable(_difference(*builds)) if len(builds) == 2 else "",
        meant=MEANT,
        table=_misplaced(builds),
        graphs=[graph for each in by_name.values() for graph in each],
        builds=[{**_told(build), "name": printable(_called(build, builds))} for build in builds],
    )
