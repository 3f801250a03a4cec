"""``testbed annotate``: hand-written assembly in, the same with the directives that its functions lack out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from testbed.arch import arch_named
from testbed.checks.fixing import Fixed, annotated
from testbed.checks.options import CheckOptions
from testbed.cli.check import FLAGS, BeforeTheCompiler
from testbed.cli.fixing import tried_source
from testbed.cli.options import FILE, arch_option, functions_option, jobs_option
from testbed.report.check_words import near
from testbed.report.phrases import count
from testbed.words.printable import printable


@click.command("annotate", cls=BeforeTheCompiler)
@click.argument("file", type=FILE, metavar="FILE [-- COMPILER ARGUMENTS]")
@functions_option
@arch_option
@click.option("--diff", is_flag=True, help="Print a patch, and not the whole source.")
@click.option("--output", "-o", type=FILE, help="Write to this file; FILE itself may be it.")
@jobs_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: Path,
    functions: tuple[str, ...],
    arch: str | None,
    diff: bool,
    output: Path | None,
    jobs: int,
) -> None:
    """Write the unwind directives that the functions of an assembly source lack.

    A function without any row gets `.cfi_` directives (arm32: `.fnstart`, `.save`, `.pad`) wherever it needs one. They
    are tried: the source is assembled with them, every function is called, and each row is held against what
    happens. A function of which an instruction cannot be tried is left as it is, and named.

    \b
    testbed annotate memcpy.S -- -Iinclude             the whole source, on standard output
    testbed annotate memcpy.S --diff | git apply       what is new, as a patch
    testbed annotate memcpy.S -o memcpy.S              written in place

    Exit status: 0 each function has rows, 1 some were left, 2 the source cannot be checked.
    """
    named = arch_named(arch).name if arch else None
    options = CheckOptions(functions=functions, arch=named, jobs=jobs, flags=ctx.meta[FLAGS])
    found = tried_source(file, options, annotated, "annotating")
    new = (found.diff(near(str(file)).lstrip("/")) if diff else found.new).encode("utf-8", "surrogateescape")
    if output is not None:
        output.write_bytes(new)
    else:
        click.echo(new, nl=False)
    for line in _told(found):
        click.echo(line, err=True)
    sys.exit(1 if found.left else 0)


def _told(found: Fixed) -> Iterator[str]:
    """The functions that were left, and the answer."""
    for finding, why in found.left:
        yield printable(f"{finding.function} is left as it is: {why}")
    name, done = printable(found.path.name), count(len(found.corrected), "function")
    if not found.corrected and not found.left:
        yield f"{name}: every function has rows, or cannot be called."
    elif not found.corrected:
        yield f"{name}: {count(len(found.left), 'function')} left, and none annotated."
    else:
        left = f"; {count(len(found.left), 'function')} left" if found.left else ""
        of = "it" if len(found.corrected) == 1 else "them"
        yield f"{name}: {done} annotated; every instruction of {of} was tried or read, and every row is right{left}."
