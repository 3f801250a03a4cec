"""A run of mutants that is killed leaves no test behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.mutation.rooms import ROOT

_TRIED = "import sys; from pathlib import Path; from tests.mutation.trial import _tests; "
_STAGE = "_tests((sys.argv[1],), Path(sys.argv[2]), most=600.0, in_python=False)"
_SLEEPS = "import os, time\n\ndef test_it():\n    open('pid', 'w').write(f'{os.getpid()} ')\n    time.sleep(600)\n"


def test_tests_of_a_mutant_end_with_who_tried_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_SLEEPS)
    runner = subprocess.Popen([sys.executable, "-c", _TRIED + _STAGE, "test_it.py", str(tmp_path)], cwd=ROOT)
    try:
        told = tmp_path / "pid"
        while not (told.exists() and told.read_text().endswith(" ")):
            assert runner.poll() is None, "nothing was tried"
            time.sleep(0.05)
        pid = int(told.read_text())
        assert _lives(pid)
    finally:
        runner.kill()
        runner.wait()
    end = time.monotonic() + 60
    while _lives(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
