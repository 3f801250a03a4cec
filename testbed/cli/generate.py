"""``testbed generate``: the source of a call shape."""

from __future__ import annotations

from pathlib import Path

import click

from testbed.arch import ARCHES, Isa, arch_named
from testbed.generate.program import shape_named, source_of
from testbed.words.errors import UsageError


@click.command("generate")
@click.argument("shape", metavar="SEED|DIRECTOR")
@click.option("--arch", "-a", metavar="ARCH", help="x86_64, arm64, arm32, or thumb (default: x86_64; assembly only).")
@click.option(
    "--language", "-l", type=click.Choice(["c", "asm"]), default="asm", show_default=True, help="What to write."
)
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
def command(shape: str, arch: str | None, language: str, output: Path | None) -> None:
    """Write the program of a call shape: functions with frames of a given make, and who calls whom.

    SEED is a number. DIRECTOR spells the shape: f64r2c1t2+f0e+f is a function with a frame of 64 bytes and 2 saved
    registers that calls function 1 and then jumps to function 2, one with a way out before its frame, and an empty one.
    `testbed/generate/program.py` has the grammar.

    The source says in its header which exit status it must end with. `testbed run gen:SEED` (or genc:SEED, in C) builds
    and judges it without a file.
    """
    chosen = shape_named(shape)
    if language == "c" and arch:
        raise UsageError("--arch is for assembly: C is one source for all of them")
    text = source_of(chosen, None if language == "c" else _isa(arch or next(iter(ARCHES)))).text
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}") from error


def _isa(name: str) -> Isa:
    """The instruction set of that name, or an architecture's first."""
    isas = {isa.name: isa for arch in ARCHES.values() for isa in arch.isas}
    return isas.get(name) or arch_named(name).isas[0]
