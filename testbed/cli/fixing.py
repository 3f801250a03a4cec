"""``testbed check --diff`` and ``--fix``: corrections of assembly sources, printed as a patch or written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from testbed.checks.fixing import Checked, Fixed, fixed
from testbed.checks.model import FileCheck, Severity
from testbed.checks.options import CheckOptions
from testbed.checks.own_sources import line_end
from testbed.cli.options import given_bytes, try_writing
from testbed.cli.terminal import long_work
from testbed.report.check_report import WEIGHTS
from testbed.report.check_words import near, place
from testbed.report.phrases import count
from testbed.words.errors import TestbedError, UsageError
from testbed.words.printable import printable

Amendment = Callable[[Path, str, FileCheck, Checked], Fixed]
_ASSEMBLY = (".S", ".s")


def fix_and_tell(
    paths: Sequence[Path], options: CheckOptions, weight: Severity | None, *, writes: bool, base: Path | None
) -> int:
    """Correct sources, and write them or print the patch; the exit status.

    0: nothing is wrong (any more), 1: something is, at least of some ``weight``, 2: a file could not be checked.
    """
    status = 0
    for path in paths:
        try:
            if writes:
                try_writing(path)
            found = tried_source(path, options, fixed, "correcting")
        except TestbedError as error:
            click.echo(f"error: {error}", err=True)
            status = 2
            continue
        left = [finding for finding, _ in found.left]
        if not writes:
            click.echo(found.diff(near(str(path), base).lstrip("/")), nl=False)
            left += found.corrected
        elif found.new != found.old:
            path.write_bytes(found.new.encode("utf-8", "surrogateescape"))
        for line in _told(found, base, written=writes):
            click.echo(line, err=not writes)
        status = 2 if found.failures else status
        if weight and any(WEIGHTS.index(each.severity) <= WEIGHTS.index(weight) for each in left):
            status = status or 1
    return status


def tried_source(path: Path, options: CheckOptions, change: Amendment, doing: str) -> Fixed:
    """What a change makes of one assembly source. Raises UsageError for what is none."""
    from testbed.checks.check_file import check_file
    from testbed.cli.table_readers import READERS

    if path.suffix not in _ASSEMBLY:
        raise UsageError(f"{path} is no assembly source ({', '.join(_ASSEMBLY)}): only in these directives are written")
    text = given_bytes(path).decode("utf-8", "surrogateescape")
    with long_work(f"{doing} {path.name}", "checks") as work:
        done = 0

        def checked(new: str, functions: Sequence[str]) -> FileCheck:
            nonlocal done
            found = check_file(
                path, replace(options, functions=tuple(functions) or options.functions), READERS, text=new
            )
            work.at(done := done + 1)
            return found

        ending = line_end(text)
        plain = text.replace(ending, "\n")
        is_open = not plain.endswith("\n")  # what is added behind the last line has an end of its own
        plain += "\n" * is_open
        found = change(path, plain, checked(plain, ()), checked)
        new = found.new.removesuffix("\n" * is_open).replace("\n", ending)
        return replace(found, old=text, new=new if found.new != plain else text)


def _told(found: Fixed, base: Path | None, *, written: bool) -> Iterator[str]:
    """What was corrected, and what was not and why, the answer last."""
    name = printable(near(str(found.path), base))
    for function, why in found.failures.items():
        yield printable(f"{name}: error: {function} could not be checked: {why}")
    for finding, why in found.left:
        yield printable(f"{place(finding, base)}: {finding.severity.value}: no patch: {why} ({finding.where})")
    number = len({each.repair.edits if each.repair else () for each in found.corrected})
    done = f"{count(number, 'finding')} {'corrected' if written else 'that the patch corrects'}"
    if found.later:
        done += f", and {len(found.later):,} that showed by that"
    if not found.corrected and not found.left:
        yield f"{name}: there is nothing{' else' if found.failures else ''} to correct."
    elif not found.left:
        yield f"{name}: {done}; a second check finds nothing wrong."
    elif not found.corrected:
        yield f"{name}: {'nothing is written' if written else 'no patch'}: {count(len(found.left), 'finding')} left."
    else:
        yield f"{name}: {done}; a second check finds nothing else wrong; {len(found.left):,} left."
