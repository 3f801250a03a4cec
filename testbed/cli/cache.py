"""``testbed cache``: built files and kept results."""

from __future__ import annotations

import click


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove every built file and every kept result.")
def command(clear: bool) -> None:
    """Where built files and results are kept, and how much there is."""
    from testbed.build import cache
    from testbed.campaign import kept_results as results

    if clear:
        click.echo(f"removed {cache.clear()} files and {results.clear()} results from {cache.folder()}")
    else:
        (files, size), (kept, more) = cache.usage(), results.usage()
        held = f"{files} files, {size / 1e6:.1f} MB; {kept} results, {more / 1e6:.1f} MB"
        click.echo(f"{cache.folder()}: {held} (--clear removes them)")
