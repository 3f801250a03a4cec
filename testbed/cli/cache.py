"""``testbed cache``: built files, kept results and checks, compiled functions."""

from __future__ import annotations

import click


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove every built file, kept result, kept check and compiled function.")
def command(clear: bool) -> None:
    """Where built files, results, checks and compiled functions are kept, and how much there is.

    The folder is the one for caches of this user, or the one that the environment variable TESTBED_CACHE names. It need
    not exist yet. All in it is made again when it is missing.
    """
    from testbed.build import cache
    from testbed.campaign import kept_answers as answers
    from testbed.campaign import kept_results as results
    from testbed.checks import kept as checks
    from testbed.native import machine_code
    from testbed.words.files import cache_folder
    from testbed.words.own_files import distrusted

    if clear:
        removed = f"{cache.clear()} files, {results.clear()} results, {checks.clear()} checks"
        click.echo(f"removed {removed} and {machine_code.clear()} compiled functions from {cache_folder()}")
    else:
        kept = ((cache, "files"), (results, "results"), (checks, "checks"), (machine_code, "compiled functions"))
        held = [f"{count} {what}, {size / 1e6:.1f} MB" for each, what in kept for count, size in [each.usage()]]
        click.echo(f"{cache_folder()}: {'; '.join(held)} (--clear removes them)")
        folders = (cache_folder(), results.folder(), checks.folder(), answers.folder(), machine_code.folder())
        for why in filter(None, map(distrusted, folders)):
            click.echo(why, err=True)
