"""`python -m tests.process.equal FOLDER`: docs/processes-equal.md, output and exit status of every program and build.

Programs of this folder, Lua and zlib's minigzip from Debian's sources, and bash, busybox, Lua and SQLite as Debian
packages have them; built by GCC and clang (of ziglang), static and dynamic glibc and static musl, with and without
frame pointers; run in the testbed, and natively (x86_64) or by qemu-user. Too long for the test suite, and it downloads
sources and packages (nothing is installed). Every row is kept in the folder, and the page written after it: this may be
stopped, or asked for parts: the page shows all rows that are kept. `--again` runs those that are there. Exit status 1
where something differs that no sentence names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.process import run_process
from testbed.words.errors import TestbedError
from tests.process.equal_builds import BUILDS, TARGETS, RunnableProgram, here, there, wanted

PAGE = Path(__file__).parents[2] / "docs" / "processes-equal.md"
BUDGET = 20_000_000
NAMED = {  # what is known to differ, and why the testbed is right
    "vforked": "qemu-user makes a fork of vfork, so that the child's writes are lost; Linux shares the memory",
}


@dataclass(frozen=True, slots=True)
class EqualRow:
    """One program of one build: what it did in the testbed, and what differs elsewhere; "" for nothing."""

    name: str
    target: str
    build: str
    emulated: bool
    steps: int
    threads: int
    ending: str
    differs: str
    seconds: float

    @property
    def word(self) -> str:
        if not self.differs:
            return "yes"
        return "named" if self.emulated and self.name in NAMED else f"**no**: {self.differs}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.process.equal", description=__doc__)
    parser.add_argument("folder", type=Path, help="where sources and packages are kept")
    parser.add_argument("--program", action="append", help="only this one; repeatable")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; repeatable")
    parser.add_argument("--build", action="append", choices=(*BUILDS, "Debian"), help="only this one; repeatable")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--again", action="store_true", help="run also what is kept")
    given = parser.parse_args()
    kept = given.folder / "rows.json"
    rows: dict[str, EqualRow] = _read(kept)
    missing: list[str] = []
    for program, why in wanted(given.folder.resolve(), given.program, given.target, given.build):
        if why:
            missing.append(f"{program}: {why}")
        elif str(program) not in rows or given.again:
            assert isinstance(program, RunnableProgram)
            row = rows[str(program)] = _row(program)
            kept.write_text(json.dumps([asdict(each) for each in rows.values()], indent=0))
            print(f"{program}: {row.word}, {row.seconds:.0f} s", file=sys.stderr, flush=True)
        given.page.write_text("\n".join(_page(_sorted(rows), missing)) + "\n", encoding="utf-8")
    return int(any(row.word.startswith("**") for row in rows.values()))


def _read(kept: Path) -> dict[str, EqualRow]:
    listed = json.loads(kept.read_text()) if kept.exists() else []
    found = [EqualRow(**each) for each in listed]
    return {f"{row.name} {row.target} {row.build}": row for row in found}


def _sorted(rows: dict[str, EqualRow]) -> list[EqualRow]:
    builds = ("Debian", *BUILDS)
    return sorted(rows.values(), key=lambda row: (builds.index(row.build), TARGETS.index(row.target)))


def _row(program: RunnableProgram) -> EqualRow:
    start, what = time.monotonic(), (program.name, program.target, program.build, program.emulated)
    try:
        run = run_process(program.path, program.arguments, budget=BUDGET, **here(program))
    except TestbedError as error:
        return EqualRow(*what, 0, 0, str(error), str(error), time.monotonic() - start)
    seconds = time.monotonic() - start
    stdout, status = there(program)
    own = run.status if run.status is not None else -run.signal
    differs = "" if run.stdout == stdout else "its output"
    if own != status:
        differs = f"status {own}, {status} there ({run.ending})"
    return EqualRow(*what, run.steps, len(run.tracks), run.ending, differs, seconds)


def _page(rows: list[EqualRow], missing: list[str]) -> Iterator[str]:
    equal = sum(row.word == "yes" for row in rows)
    yield "# The output of real programs\n"
    yield "Made by `python -m tests.process.equal FOLDER`. Each program is run in the testbed, and natively (x86_64)"
    yield "or by qemu-user (arm64, A32, Thumb). *Equal*: the same standard output and exit status. GCC is Debian's 12,"
    yield "clang is that of ziglang, which also makes musl; *fp*: with frame pointers; all with -O2. *Debian*: as its"
    yield "packages have it. ziglang brings no static glibc, so clang's programs with glibc are dynamic.\n"
    yield f"{equal} of {len(rows)} are equal, {sum(row.word == 'named' for row in rows)} differ as is named below."
    for name, why in NAMED.items():
        if any(row.word == "named" and row.name == name for row in rows):
            yield f"*Named*, {name}: {why}."
    if missing:
        yield "\nNot run:\n"
        yield from (f"- {each}" for each in missing)
    yield "\n| program | target | build | steps | threads | ended by | equal |"
    yield "|---|---|---|---:|---:|---|---|"
    for row in rows:
        what = f"{row.name} | {row.target} | {row.build} | {row.steps:,} | {row.threads}"
        yield f"| {what} | {row.ending} | {row.word} |"


if __name__ == "__main__":
    sys.exit(main())
