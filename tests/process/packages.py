"""`python -m tests.process.packages FOLDER`: programs of Debian's packages, run natively and in the testbed.

Prints a table: steps, steps per second, peak memory, and whether output and exit status are the same. Too long for the
test suite, and it downloads packages (`apt-get download`, nothing is installed). Exit status 1 where something differs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from testbed.process import run_process

BUDGET = 12_000_000
PACKAGES = (
    *("bash-static", "busybox-static", "lua5.4", "sqlite3"),
    *("libsqlite3-0", "libreadline8", "libtinfo6", "zlib1g"),
)
SCRIPT = """x=0; for i in 1 2 3 4 5 6 7 8 9 10; do x=$((x+i)); done; echo $x
f() { echo "f $1"; }; f a; case abc in a*) echo yes;; esac
"""
LUA = """
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {} for i = 1, 200 do t[#t+1] = tostring(i*7 % 101) end table.sort(t)
local ok = pcall(function() error("x") end)
local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i) end end)
print(fib(12), table.concat(t, ","):len(), ok, co(), co(), string.format("%.3f", math.sin(1)))
"""
SQL = """create table t(a integer, b text);
with recursive c(x) as (select 1 union all select x+1 from c where x < 300)
insert into t select x, 'v'||(x % 13) from c;
create index i on t(b); select b, count(*), sum(a) from t group by b order by 2 desc, 1 limit 3;"""


@dataclass(frozen=True, slots=True)
class PackagedProgram:
    """A program of a package and its arguments, in which ``{data}`` is the folder of scripts."""

    name: str
    path: str
    arguments: tuple[str, ...]


CASES = (
    PackagedProgram("bash-static, a script", "bin/bash-static", ("{data}/script",)),
    PackagedProgram("busybox-static sh, a script", "bin/busybox", ("sh", "{data}/script")),
    PackagedProgram("busybox-static awk", "bin/busybox", ("awk", "BEGIN{for(i=0;i<200;i++)s+=i*i; print s}")),
    PackagedProgram("busybox-static sha256sum", "bin/busybox", ("sha256sum", "{data}/script.lua")),
    PackagedProgram("lua5.4, dynamic", "usr/bin/lua5.4", ("{data}/script.lua",)),
    PackagedProgram("sqlite3, dynamic", "usr/bin/sqlite3", (":memory:", SQL)),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One program's run: ``equal``: output and exit status are those of a native run."""

    steps: int
    seconds: float
    peak: int  # bytes
    equal: bool
    ending: str


def unpacked(folder: Path) -> Path:
    """The packages' files, downloaded if they are not there."""
    root = folder / "root"
    if not root.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/script").write_text(SCRIPT)
    (folder / "data/script.lua").write_text(LUA)
    return root


def measured(case: PackagedProgram, folder: Path) -> Measured:
    """Run a program in both ways; in a process of its own, whose peak is this run's."""
    root, data = unpacked(folder), str(folder / "data")
    libraries = [f"{root}/usr/lib/x86_64-linux-gnu", f"{root}/lib/x86_64-linux-gnu"]
    environment = {"PATH": "/bin", "LANG": "C", "HOME": "/nowhere", "LD_LIBRARY_PATH": ":".join(libraries)}
    arguments = [argument.replace("{data}", data) for argument in case.arguments]
    native = subprocess.run(
        [root / case.path, *arguments], capture_output=True, env=environment, stdin=subprocess.DEVNULL
    )
    shown: dict[str, Path | str] = {data: data, **{path: path for path in libraries if os.path.isdir(path)}}
    start = time.monotonic()
    run = run_process(root / case.path, arguments, environment=environment, folders=shown, budget=BUDGET)
    seconds = time.monotonic() - start
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    equal = (run.stdout, run.status) == (native.stdout, native.returncode)
    return Measured(run.steps, seconds, peak, equal, run.ending)


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if {"-h", "--help"} & {*sys.argv[1:]} else 2
    folder = Path(sys.argv[1]).resolve()
    unpacked(folder)
    print("| program | steps | seconds | million steps/s | peak (MB) | output and status |")
    print("|---|---:|---:|---:|---:|---|")
    differs = False
    for case in CASES:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measured, case, folder).result()
        differs |= not found.equal
        said = "as native" if found.equal else f"differ: {found.ending}"
        rate, peak = found.steps / found.seconds / 1e6, found.peak / 1e6
        print(f"| {case.name} | {found.steps:,} | {found.seconds:.1f} | {rate:.2f} | {peak:.0f} | {said} |", flush=True)
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
