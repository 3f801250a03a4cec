"""``testbed score``: how an unwinder fares, beside all that are known."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch, arch_named
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, units
from testbed.campaign.matrix import DIED, judge_units, native_for
from testbed.campaign.score_card import (
    KnownScores,
    ScoreCard,
    ScoredUnit,
    known_scores,
    sample_units,
    score_unit,
    traps_of,
    write_known,
)
from testbed.cli.options import (
    FILE,
    Outputs,
    arches_option,
    jobs_option,
    json_option,
    outputs_option,
    refuse_others,
    takes,
    unwinder_cmd,
    unwinders_option,
    write_text,
)
from testbed.cli.terminal import console_for_reports, in_order
from testbed.cli.unwinders import unwinders_named, words_for
from testbed.contract.unwinder import Unwinder
from testbed.words.errors import UsageError

VERSION_SITES = 8  # instructions of a unit that every version is asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """What was typed; each option's help says what it is."""

    names: Annotated[tuple[str, ...], unwinders_option]
    commands: Annotated[tuple[str, ...], unwinder_cmd]
    arches: Annotated[tuple[str, ...], arches_option]
    everything: Annotated[
        bool, click.option("--everything", is_flag=True, help="Every unit of the matrix, not a sample: some minutes.")
    ]
    versions: Annotated[
        str | None,
        click.option(
            "--versions",
            metavar="NAME",
            help="Every version of a real unwinder's unwinder on the same sites, and what changed between neighbours.",
        ),
    ]
    jobs: Annotated[int, jobs_option]
    as_json: Annotated[bool, json_option]
    outputs: Annotated[
        Outputs, outputs_option(html="the card as a page", svg="a badge", markdown="the ranking as tables")
    ]
    known: Annotated[
        Path | None,
        click.option(
            "--write-known", "known", type=FILE, help="Judge, and put the counts into this file of known scores."
        ),
    ]


@click.command("score")
@takes(ScoreOptions)
def command(options: ScoreOptions) -> None:
    """How an unwinder fares, by architecture, phase and trap, and its place beside all that are known.

    Without -u and --unwinder-cmd: those that are known alone. Their scores were counted before and come with the
    package, so only what is asked for is judged. docs/your-unwinder.md says what a phase is, what the points are,
    and how the known scores are made anew.
    """
    chosen = [arch_named(name) for name in options.arches] or list(ARCHES.values())
    if options.versions is not None:
        _versions(options.versions, chosen, options)
        return
    asked = unwinders_named(options.names, options.commands) if options.names or options.commands else []
    if options.known is not None:
        _write_known(chosen, asked or unwinders_named(()), options)
        return
    known = known_scores()
    planned = every_unit(chosen) if options.everything else sample_of(known, chosen)
    if not asked:
        results = [ScoredUnit(unit, known.sites[unit]) for unit in planned if unit in known.sites]
    else:
        results = _judged(planned, asked, options.jobs)
    traps = {name: frozenset(traps_of(program)) for name, program in PROGRAMS.items()}
    card = ScoreCard(tuple(results), tuple(unwinder.name for unwinder in asked), known, traps)
    if not card.judged:
        why = "; ".join(dict.fromkeys(r.skipped or r.failed for r in results if r.skipped or r.failed))
        raise UsageError(f"nothing to compare: {why or 'no unit is as it was when the known were judged'}")
    told = {unwinder.name: f"-u {unwinder.name}" for unwinder in asked}
    _show(card, {**told, **words_for(asked, options.names, options.commands)}, options)
    if any(result.failed for result in results):
        sys.exit(1)


def _versions(name: str, arches: Sequence[Arch], options: ScoreOptions) -> None:
    """Print how each version of an unwinder fares, and the sites that neighbours answer differently."""
    from testbed.campaign.version_history import VersionedUnit, VersionHistory, versioned
    from testbed.report.score_text import history_page

    refuse_others("--versions", "versions", "arches", "everything", "jobs")
    asked = unwinders_named([f"{name}@*"])
    planned = every_unit(arches) if options.everything else sample_of(known_scores(), arches)
    work = partial(versioned, programs=PROGRAMS, unwinders=asked, most=VERSION_SITES)
    jobs = min(options.jobs, len(planned))
    found = judge_units(planned, work, jobs=jobs, died=lambda unit: VersionedUnit(unit, problem=DIED))
    history = VersionHistory(tuple(each.name for each in asked), tuple(in_order("asking about", planned, found)))
    console = console_for_reports()
    console.print(history_page(history, width=console.width))


def _write_known(arches: Sequence[Arch], asked: Sequence[Unwinder], options: ScoreOptions) -> None:
    """Judge, and write the counts into a file of known scores; without --everything, of a sample chosen anew."""
    path = options.known
    assert path is not None
    before = known_scores(path) if path.exists() else None
    planned = every_unit(arches) if options.everything else sample_units(PROGRAMS, arches)
    results = _judged(planned, asked, options.jobs)
    if failed := [f"{result.unit}: {result.failed}" for result in results if result.failed]:
        raise UsageError(f"nothing is written, since {len(failed)} units failed: {failed[0]}")
    names = {arch.name for arch in arches}
    others = [unit for unit in before.sample if unit.arch not in names] if before else []
    write_known(results, asked, path, before, None if options.everything else [*others, *planned])
    skipped = sum(1 for result in results if result.skipped)
    click.echo(f"{path}: {len(asked)} unwinders on {len(results) - skipped} units, {skipped} skipped")


def every_unit(arches: Sequence[Arch]) -> Sequence[Unit]:
    """All units of the corpus on these architectures."""
    return units(PROGRAMS.values(), arches, RECIPES.values())


def sample_of(known: KnownScores, arches: Sequence[Arch]) -> Sequence[Unit]:
    """The units of the sample that are still there."""
    names = {arch.name for arch in arches}
    return [unit for unit in known.sample if unit.arch in names and unit.program in PROGRAMS]


def _judged(planned: Sequence[Unit], asked: Sequence[Unwinder], jobs: int) -> list[ScoredUnit]:
    """The units on which somebody of those asked exists, judged, in the order in which they were planned."""
    there = [unit for unit in planned if any(u.arches is None or unit.arch in u.arches for u in asked)]
    if not there:
        raise UsageError(f"{', '.join(u.name for u in asked)}: not for any of these architectures")
    work = partial(_score, unwinders=asked, natively=native_for(len(there), jobs))
    found = judge_units(there, work, jobs=min(jobs, len(there)), died=lambda unit: ScoredUnit(unit, failed=DIED))
    return in_order("judging", there, found)


def _score(unit: Unit, *, unwinders: Sequence[Unwinder], natively: bool | None) -> ScoredUnit:
    """One unit in a worker process."""
    there = [unwinder for unwinder in unwinders if unwinder.arches is None or unit.arch in unwinder.arches]
    return score_unit(unit, PROGRAMS, there, natively=natively)


def _show(card: ScoreCard, told: dict[str, str], options: ScoreOptions) -> None:
    """Print the card, and write it in every way that was asked for."""
    if options.as_json:
        from testbed.report.score_text import score_data
        from testbed.store.codec import json_text

        click.echo(json_text(score_data(card, told, everything=options.everything)), nl=False)
    else:
        from testbed.report.score_text import score_page

        console = console_for_reports()
        console.print(score_page(card, told, everything=options.everything, width=console.width))
    from testbed.report import score_text

    if options.outputs.html:
        write_text(options.outputs.html, score_text.score_html(card, told, everything=options.everything))
    if options.outputs.markdown:
        write_text(options.outputs.markdown, score_text.score_markdown(card))
    if options.outputs.svg:
        if len(card.names) != 1:
            raise UsageError("a badge is of one unwinder: name one")
        write_text(options.outputs.svg, score_text.badge(card.overall(card.names[0])))
