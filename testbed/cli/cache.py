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
    from testbed.build.cache import BUILT
    from testbed.campaign.kept_answers import ANSWERS
    from testbed.campaign.kept_results import RESULTS
    from testbed.checks.kept import CHECKS, GROUPS
    from testbed.native.machine_code import CODE
    from testbed.words.files import cache_folder
    from testbed.words.own_files import distrusted

    counted = ((BUILT, "files"), (RESULTS, "results"), (CHECKS, "checks"), (CODE, "compiled functions"))
    if clear:
        GROUPS.clear()
        removed = [f"{store.clear()} {what}" for store, what in counted]
        click.echo(f"removed {', '.join(removed[:-1])} and {removed[-1]} from {cache_folder()}")
    else:
        held = [f"{count} {what}, {size / 1e6:.1f} MB" for store, what in counted for count, size in [store.usage()]]
        click.echo(f"{cache_folder()}: {'; '.join(held)} (--clear removes them)")
        folders = [store.folder for store in (BUILT, RESULTS, CHECKS, ANSWERS, CODE)]
        for why in filter(None, map(distrusted, folders)):
            click.echo(why, err=True)
