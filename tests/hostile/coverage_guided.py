"""The same targets, guided by what an input reaches: atheris (libFuzzer) keeps those that reach something new.

Each target is a process: the modules that it reads with are instrumented as they are imported, so nothing of ours may
be imported before. The engine's own mutations alternate with ours, which know the structure and mend checksums.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from testbed.words.errors import UsageError
from tests.hostile.target import Target
from tests.hostile.trying import Tally

_CHILD = """
import sys
import atheris
name, seed, first, count, folder = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
with atheris.instrument_imports(include=["testbed", "unwinders"]):
    from tests.hostile.exploring import explore
explore(atheris, name, seed, first, count, folder)
"""


def explored(target: Target, seed: int, first: int, count: int) -> Tally:
    """``count`` inputs of a target that coverage led to. Raises UsageError where atheris is not installed."""
    if find_spec("atheris") is None:
        raise UsageError("--coverage needs atheris: pip install 'unwind-testbed[hostile]', or atheris>=3.0")
    with tempfile.TemporaryDirectory(prefix="testbed-hostile-") as folder:
        command = [sys.executable, "-c", _CHILD, target.name, str(seed), str(first), str(count), folder]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        said = Path(folder) / "said"
        if not said.exists():
            raise UsageError(f"atheris did not begin with {target.name}:\n{done.stderr[-2000:]}")
        tally: Tally = pickle.loads(said.read_bytes())
    return tally
