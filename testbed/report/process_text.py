"""A judged process on the terminal: files, threads, every strategy's shares, where each goes wrong, one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.image import describe
from testbed.profiling.result import CountedProcess, StrategyShare, WatchedProcess, WrongPlace
from testbed.profiling.samples import SampledProfile
from testbed.report.narrow_tables import NumberedRow, NumberedTable
from testbed.report.phrases import besides, count, share
from testbed.report.timeline import SPEEDSCOPE

MOST_PLACES = 10


def process_page(process: WatchedProcess | CountedProcess, shares: Sequence[StrategyShare]) -> RenderableType:
    """All that is said of a process."""
    parts: list[RenderableType] = [_title(process), *_files(process), *_threads(process)]
    if shares:
        parts.append(_summary(shares))
    for each in shares:
        parts += _places(each)
    return Group(*parts, process_answer(process, shares))


def _title(process: WatchedProcess | CountedProcess) -> Text:
    run = process.run
    text = Text()
    text.append(f"{run.path.name} · {run.arch} · a process", style="bold")
    text.append(f"   {count(process.steps, 'step')}, {count(len(process.threads), 'thread')}, {run.ending}\n")
    return text


def _files(process: WatchedProcess | CountedProcess) -> Iterator[Text]:
    for loaded in process.run.images:
        yield Text(f"file    {loaded.image.path}", "dim")


def _threads(process: WatchedProcess | CountedProcess) -> Iterator[Text]:
    for thread in process.threads:
        said = f"thread  {thread.number}: {count(thread.steps, 'step')}, {count(thread.activations, 'activation')}"
        said += (
            f", {count(thread.transition, 'step')} not judged: in transition, or undecided" if thread.transition else ""
        )
        yield Text(said)
    calls = process.run.calls
    most = ", ".join(f"{name} {n}" for name, n in sorted(calls.items(), key=lambda item: (-item[1], item[0]))[:8])
    made = count(sum(calls.values()), "system call") + (f": {most}" if calls else "")
    yield Text(f"calls   {made}" + (", ..." if len(calls) > 8 else ""))
    for refused in process.run.refused:
        where = describe(process.run.images, refused.pc)
        yield Text(f"refused {refused.name} at {where}, step {refused.step}: {refused.error}", "yellow")
    for note in process.run.notes:
        yield Text(f"note    {note}", "yellow")
    if isinstance(process, CountedProcess):
        yield Text(f"pieces  {process.pieces}: watched and judged one after the other, and none is held")
    if process.run.status is None:
        yield Text(f"ended   {process.run.why}; what ran until then is judged", "bold yellow")


def _summary(shares: Sequence[StrategyShare]) -> RenderableType:
    any_dead = any(each.dead for each in shares)
    unanswered = ("no answer",) if any_dead else ()
    beside = besides(shares)
    heads = ("exact", "all callers, no root", "honest stops", *unanswered, "lies", *beside, "steps")
    rows = []
    for each in shares:
        stops = (each.stops - each.dead, each.dead) if any_dead else (each.stops,)
        parts = [share(n, each.judged) for n in (each.exact, each.whole, *stops, each.lying)]
        steps = f"{each.judged:,}" + (" sampled" if each.sampled else "")
        numbers = (*parts, *(f"{getattr(each, name):,}" for name in beside), steps)
        rows.append(NumberedRow((each.name,), numbers, "bold red" if each.unexplained else ""))
    return Group(Text(), NumberedTable(("strategy",), heads, tuple(rows)))


def _places(each: StrategyShare) -> Iterator[RenderableType]:
    if not each.places:
        return
    more = len(each.places) - MOST_PLACES
    yield Text.assemble((f"\n{each.name}", "bold"), " is not exact at frames of:")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", min_width=11)
    for place in each.places[:MOST_PLACES]:
        table.add_row(f"{place.steps:,}", _place(place))
    yield table
    if more > 0:
        rest = sum(place.steps for place in each.places[MOST_PLACES:])
        yield Text(f"  and {count(more, 'other place')}, {count(rest, 'step')}", "dim")


def _place(place: WrongPlace) -> Text:
    text = Text(f"{place}: ")
    text.append(place.because or f"UNEXPLAINED: {place.unforeseen}", "" if place.explained else "bold red")
    lies = "lies" if place.lies == place.steps else f"{place.lies:,} lies"
    text.append(f"\nfirst at step {place.first} of thread {place.thread}, {place.where}", "dim")
    return text.append(f"; {lies}" if place.lies else "", "dim")


def process_answer(process: WatchedProcess | CountedProcess, shares: Sequence[StrategyShare]) -> Text:
    """The process in one sentence: who is right everywhere, who lies most and where, what nothing explains."""
    if not shares:
        return Text("\nNo strategy was asked: nothing is judged.", "bold")
    right = sum(each.exact == each.judged for each in shares)
    noun = "strategy" if len(shares) == 1 else "strategies"
    said = f"{right} of {len(shares)} {noun} exact at {_asked(process, shares)}"
    unexplained = [each for each in shares if each.unexplained]
    if unexplained:
        first = next((place for place in unexplained[0].places if not place.explained), None)
        most = f", most at {first}" if first else ""
        names = ", ".join(each.name for each in unexplained)
        return Text(f"\n{said}; UNEXPLAINED: {names}{most}.", "bold red")
    liars = [each for each in shares if each.lying]
    if not liars and any(each.dead for each in shares):
        dead = ", ".join(f"{each.name} gives no answer at {each.dead:,}" for each in shares if each.dead)
        return Text(f"\n{said}; nobody lies, and {dead}.", "bold")
    if not liars:
        return Text(f"\n{said}" + ("." if right == len(shares) else "; the others stop honestly: nobody lies."), "bold")
    least = min(liars, key=lambda each: each.lying / max(each.judged, 1))
    place = max(least.places, key=lambda place: place.lies)
    lies = share(least.lying, least.judged)
    return Text(f"\n{said}; {least.name} lies at {lies}, most for {place}: {place.because}.", "bold")


def _asked(process: WatchedProcess | CountedProcess, shares: Sequence[StrategyShare]) -> str:
    """At how many steps they were judged."""
    everywhere = f"all {count(process.steps, 'step')}"
    sampled = sorted({each.sites for each in shares if each.sampled})
    some = " or ".join(f"{number:,}" for number in sampled)
    if all(each.sampled for each in shares):
        return f"the {some} sampled of {count(process.steps, 'step')}"
    asked = ", ".join(each.name for each in shares if each.sampled)
    return f"{everywhere} ({asked}: at {some} of them)" if sampled else everywhere


def profile_lines(profiles: Sequence[SampledProfile]) -> Iterator[Text]:
    """How many samples each strategy's flame graph shows in the wrong place."""
    if not profiles:
        return
    samples, every = profiles[0].samples, profiles[0].every
    yield Text(
        f"\nA profiler that looks at every {every:,}th step takes {count(samples, 'sample')}. In the wrong place:"
    )
    for each in profiles[1:]:
        cut = f", {share(each.cut, samples)} under missing callers" if each.cut else ""
        yield Text(f"  {each.name}: {share(each.misplaced, samples)}{cut}")


# Sampled profiles of a process for speedscope: the true one and each strategy's, one profile each.
#
# The format is speedscope's "sampled" one: frames by name, and per sample the indexes of its frames, outermost first.


def profile_data(title: str, profiles: Sequence[SampledProfile]) -> dict[str, Any]:
    """The profiles as JSON data; a sample weighs as many steps as lie between two."""
    frames: dict[str, int] = {}
    made = []
    for each in profiles:
        stacks = sorted(each.stacks.items())
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
