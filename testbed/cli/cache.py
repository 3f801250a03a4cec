"""``testbed cache``: built files, kept results and checks, compiled functions, versions of real unwinders."""

from __future__ import annotations

import click


@click.command("cache")
@click.option(
    "--clear", is_flag=True, help="Remove every built file, kept result, kept check, compiled function and version."
)
def command(clear: bool) -> None:
    """Where built files, results, checks, compiled functions and versions of real unwinders are kept, and how much.

    The folder is the one for caches of this user, or the one that the environment variable TESTBED_CACHE names. It need
    not exist yet. All in it is made again when it is missing.
    """
    from testbed.build.cache import BUILT
    from testbed.campaign.kept_answers import ANSWERS
    from testbed.campaign.kept_results import RESULTS
    from testbed.checks.kept import CHECKS, GROUPS
    from testbed.native.machine_code import CODE
    from testbed.referee.versions import brought_already, forget_brought
    from testbed.words.files import cache_folder
    from testbed.words.own_files import distrusted

    counted = ((BUILT, "files"), (RESULTS, "results"), (CHECKS, "checks"), (CODE, "compiled functions"))
    if clear:
        GROUPS.clear()
        removed = [f"{store.clear()} {what}" for store, what in counted]
        removed.append(f"{forget_brought()} versions of real unwinders")
        click.echo(f"removed {', '.join(removed[:-1])} and {removed[-1]} from {cache_folder()}")
    else:
        held = [f"{count} {what}, {size / 1e6:.1f} MB" for store, what in counted for count, size in [store.usage()]]
        brought = [file.lstat().st_size for folder in brought_already() for file in folder.rglob("*") if file.is_file()]
        held.append(f"{len(list(brought_already()))} versions of real unwinders, {sum(brought) / 1e6:.1f} MB")
        click.echo(f"{cache_folder()}: {'; '.join(held)} (--clear removes them)")
        folders = [store.folder for store in (BUILT, RESULTS, CHECKS, ANSWERS, CODE)]
        for why in filter(None, map(distrusted, folders)):
            click.echo(why, err=True)
