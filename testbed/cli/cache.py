"""``testbed cache``: built files, kept results and compiled functions."""

from __future__ import annotations

import click


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove every built file, every kept result and every compiled function.")
def command(clear: bool) -> None:
    """Where built files, results and compiled functions are kept, and how much there is."""
    from testbed.build import cache
    from testbed.campaign import kept_results as results
    from testbed.native import machine_code
    from testbed.words.files import cache_folder

    if clear:
        removed = f"{cache.clear()} files, {results.clear()} results and {machine_code.clear()} compiled functions"
        click.echo(f"removed {removed} from {cache_folder()}")
    else:
        kept = ((cache, "files"), (results, "results"), (machine_code, "compiled functions"))
        held = [f"{count} {what}, {size / 1e6:.1f} MB" for each, what in kept for count, size in [each.usage()]]
        click.echo(f"{cache_folder()}: {'; '.join(held)} (--clear removes them)")
