"""Packages of Debian, drawn by seed from all that need libc: what `docs/results/sweep.md` sweeps.

::

    testbed sweep $(python -m tests.sweep.draw 1500 --seed 20261128) --out amd64.db
    testbed sweep $(python -m tests.sweep.draw 750 --seed 20261128 --arch arm64) --out arm64.db
"""

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click

from testbed.sweep.debian import Apt, own_architecture
from testbed.words.files import cache_folder


def packages_with_code(apt: Apt) -> Iterator[str]:
    """The names of an architecture's packages that depend on libc, without debug symbols and installers."""
    apt.make_ready()
    targets = apt.run("indextargets", "--format", "$(FILENAME)", "Created-By: Packages", where=apt.folder)
    for name in targets.split():
        text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", name], capture_output=True, text=True, check=True)
        for stanza in text.stdout.split("\n\n"):
            fields = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", stanza, re.MULTILINE))
            if re.search(r"\blibc6\b", fields.get("Depends", "")) and fields["Architecture"] == apt.arch:
                yield fields["Package"]


@click.command()
@click.argument("count", type=int)
@click.option("--seed", type=int, default=1)
@click.option("--arch", default="")
def main(count: int, seed: int, arch: str) -> None:
    """Print ``count`` packages as `testbed sweep` takes them."""
    arch = arch or own_architecture()
    names = sorted(set(packages_with_code(Apt(Path(cache_folder(), "apt", arch), arch))))
    for name in sorted(random.Random(seed).sample(names, min(count, len(names)))):
        click.echo(f"deb:{name}:{arch}")


if __name__ == "__main__":
    main()
