"""The unwinders that a user names: ours, those of real unwinders that are installed, and what the user brings.

A referee is loaded, and looked for, only where a name or pattern asks for one of its unwinders.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from testbed.contract.unwinder import Unwinder
from testbed.image import Image
from testbed.referee import REFEREE_OF, REFEREES, present
from testbed.words.catalogue import joined, matches, matching
from testbed.words.errors import UsageError
from testbed.words.table_formats import TABLE_FORMATS
from unwinders import UNWINDERS

# What is shown of a run when nothing is asked for: the first six of these that apply to its file, then others.
_TABLES = [each for each in TABLE_FORMATS.values() if not each.finds_rows_of]
TELLING = (
    *("fp_chain", *(each.name for each in _TABLES if each.usual), "prologue_analysis", "stack_scan", "lr_leaf"),
    *(*(each.name for each in _TABLES if not each.usual), "fp_chain_entry"),
)
MOST_TELLING = 6
MANY = 10_000  # steps


def telling(image: Image, steps: int) -> list[Unwinder]:
    """The unwinders that a run is shown with by default, in the catalogue's order.

    Of a run of many steps those that are soon judged: the others take a second per thousand or two.
    """
    ordered = sorted(UNWINDERS, key=lambda name: TELLING.index(name) if name in TELLING else len(TELLING))
    fast = [name for name in ordered if steps < MANY or UNWINDERS[name].soon_judged]
    some = [name for name in fast if UNWINDERS[name].applies_to(image)][:MOST_TELLING]
    return [unwinder for name, unwinder in UNWINDERS.items() if name in some]


def applicable_of(image: Image, steps: int, named: Sequence[Unwinder]) -> list[Unwinder]:
    """The unwinders for a run of so many steps: those that were named, or those that are shown by default."""
    return [unwinder for unwinder in named or telling(image, steps) if unwinder.applies_to(image)]


def telling_of_process(images: Iterable[Image]) -> list[Unwinder]:
    """The same of a process: what applies to one of its files, but for what needs a symbol for every function.

    No number of steps leaves one out that does not judge whole traces: it is asked at a sample.
    """
    there = list(images)
    usable = [name for name in TELLING if name not in NEEDS_SYMBOLS]
    some = [name for name in usable if any(UNWINDERS[name].applies_to(image) for image in there)][:MOST_TELLING]
    return [unwinder for name, unwinder in UNWINDERS.items() if name in some]


# They begin at functions' symbols, and libraries are stripped; the first one also takes minutes for a C library.
NEEDS_SYMBOLS = frozenset({"prologue_analysis", "lr_leaf", "fp_chain_entry"})


def unwinders_named(patterns: Iterable[str], commands: Iterable[str] = ()) -> list[Unwinder]:
    """The unwinders that patterns choose, then those of ``package.module:NAME`` and of commands.

    Where nothing is asked for, ours. Raises UsageError where a pattern matches nothing, and for what is no unwinder.
    """
    patterns = list(patterns)
    globs = [pattern for pattern in patterns if not is_spec(pattern)]
    outside = unwinders_from_outside([pattern for pattern in patterns if is_spec(pattern)], commands)
    return outside if outside and not globs else [*_in_catalogues(globs), *outside]


def words_for(chosen: Sequence[Unwinder], patterns: Iterable[str], commands: Iterable[str]) -> Mapping[str, str]:
    """How a command asks for each of the chosen unwinders that came from outside, by their names here."""
    outside = [f"-u {shlex.quote(pattern)}" for pattern in patterns if is_spec(pattern)]
    outside += [f"--unwinder-cmd {shlex.quote(command)}" for command in commands]
    return dict(zip((unwinder.name for unwinder in chosen[len(chosen) - len(outside) :]), outside, strict=True))


def unwinders_from_outside(specs: Iterable[str], commands: Iterable[str]) -> list[Unwinder]:
    """Those at ``package.module:NAME`` and the programs that commands start, by names that nothing else here has.

    Raises UsageError where one cannot be loaded or does not start.
    """
    found: dict[str, Unwinder] = {}
    for unwinder in _from_outside(specs, commands):
        name, number = unwinder.name, 1
        while name in found or name in UNWINDERS or name in REFEREE_OF:
            number += 1
            name = f"{unwinder.name}_{number}"
        found[name] = replace(unwinder, name=name)
    return list(found.values())


def _from_outside(specs: Iterable[str], commands: Iterable[str]) -> Iterator[Unwinder]:
    for spec in specs:
        from testbed.cli.plugins import unwinder_at

        yield unwinder_at(spec)
    for command in commands:
        from testbed.protocol.foreign_unwinder import foreign_unwinder

        yield foreign_unwinder(command)


def _in_catalogues(patterns: Sequence[str]) -> list[Unwinder]:
    if not patterns:
        return list(UNWINDERS.values())
    if of_versions := [pattern for pattern in patterns if "@" in pattern]:
        others = [pattern for pattern in patterns if pattern not in of_versions]
        return [*(_in_catalogues(others) if others else ()), *_of_versions(of_versions)]
    for pattern in patterns:
        _say_if_missing(pattern)
    known: Mapping[str, Unwinder] = joined(UNWINDERS, present(patterns))
    if any(pattern not in known for pattern in patterns):
        known = _with_installed(known)
    try:
        return matching(known, patterns, "unwinder")
    except UsageError:
        return _of_everybody(patterns)


def _of_versions(patterns: Sequence[str]) -> Sequence[Unwinder]:
    """Of real unwinders, versions that are named; what is not here yet is brought, which is said before."""
    from testbed.referee.versions import unwinders_of_versions

    return unwinders_of_versions(patterns, partial(click.echo, err=True))


def _of_everybody(patterns: Sequence[str]) -> list[Unwinder]:
    """Those that match, of all there are. Raises UsageError, which says what there is, and how a file is asked for."""
    try:
        return matching(all_unwinders(), patterns, "unwinder")
    except UsageError as error:
        for name in (each for each in REFEREE_OF for pattern in patterns if matches(each, [pattern, f"{pattern}*"])):
            _say_if_missing(name)
        modules = [pattern.removesuffix(".py") for pattern in patterns]
        here = next((name for name in modules if name.isidentifier() and Path(f"{name}.py").is_file()), None)
        if here is None:
            raise
        raise UsageError(f"{error}; a function in {here}.py is asked for by -u {here}:NAME") from None


def all_unwinders() -> Mapping[str, Unwinder]:
    """Every unwinder of ours, of a real unwinder that is installed, and of an installed package."""
    return _with_installed(joined(UNWINDERS, present()))


def _with_installed(known: Mapping[str, Unwinder]) -> Mapping[str, Unwinder]:
    from testbed.cli.plugins import with_installed

    return with_installed(known)


def is_spec(name: str) -> bool:
    """True for ``package.module:NAME``."""
    return ":" in name


def _say_if_missing(name: str) -> None:
    if name in REFEREE_OF and (referee := REFEREES[REFEREE_OF[name]]).find() is None:
        raise UsageError(f"{name} needs {referee.name}, which is not installed: {referee.package}")
