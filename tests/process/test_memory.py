"""What a process costs in memory: what its threads have written, not what they have mapped."""

from __future__ import annotations

import subprocess
import sys

from testbed.process import run_process
from tests.process.builds import built

MEASURED = """
import re, sys
from pathlib import Path
from testbed.process import run_process
from testbed.profiling.judge import judge_process, watch_process
from unwinders import UNWINDERS
run = run_process(sys.argv[1], ["60"])
assert run.stdout == b"60 threads, 1770\\n", run
assert sum(len(region.data) for region in run.tracks[-1].trace.initial) > 60 * (8 << 20)
share = judge_process(watch_process(run), UNWINDERS["fp_chain"])
assert not share.unexplained
print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text()).group(1))
"""


def test_stacks_that_threads_do_not_use_take_no_memory() -> None:
    """60 threads have 480 MB of stack, and 61 tracks began with all that is mapped then."""
    program = built("many_threads", "x86_64", "static")
    done = subprocess.run([sys.executable, "-c", MEASURED, program], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert int(done.stdout) < 700_000, "kB"  # 420 MB; with copies of all that is mapped 2.5 GB


def test_two_hundred_threads_at_once() -> None:
    run = run_process(built("many_threads", "x86_64", "static"), ["200"])
    assert (run.stdout, run.status, len(run.tracks)) == (b"200 threads, 19900\n", 0, 201)
