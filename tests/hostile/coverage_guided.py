"""The same targets, guided by what an input reaches: atheris (libFuzzer) keeps those that reach something new.

Each target is a process: the modules that it reads with are instrumented as they are imported, so nothing of ours may
be imported before. The engine's own mutations alternate with ours, which know the structure and mend checksums.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from testbed.words.errors import UsageError
from tests.hostile.bounds import try_input
from tests.hostile.target import Target, numbered_input
from tests.hostile.targets import TARGETS
from tests.hostile.trying import Tally

_CHILD = """
import sys
import atheris
name, seed, first, count, folder = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
with atheris.instrument_imports(include=["testbed", "unwinders"]):
    from tests.hostile.coverage_guided import explore
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


# What runs inside a process of `tests.hostile.coverage_guided`.


_MEMORY = 4096  # MB that libFuzzer allows the process
_WRITE_EVERY = 256  # inputs


def explore(engine: Any, name: str, seed: int, first: int, count: int, folder: str) -> None:
    """``count`` inputs that the engine chooses; it does not come back. What came of them is written now and then:
    libFuzzer ends the process by itself."""
    target, tally, said = TARGETS[name], Tally(name), Path(folder) / "said"
    seeds = target.seeds()
    corpus = Path(folder) / "corpus"
    corpus.mkdir()
    for number, content in enumerate(seeds):
        (corpus / str(number)).write_bytes(content)
    for number in range(first, first + 64):
        (corpus / f"damaged-{number}").write_bytes(numbered_input(target, seeds, seed, number))

    def write() -> None:
        aside = said.with_suffix(".new")
        aside.write_bytes(pickle.dumps(tally))
        os.replace(aside, said)

    def mutate(content: bytes, most: int, number: int) -> bytes:
        dice = Random(number)
        changed = engine.Mutate(content, most) if dice.randrange(3) == 0 else target.damage(content, dice, seeds)
        return target.mend(changed)[:most]

    def take(content: bytes) -> None:
        tally.take(-1, try_input(target, content), content)
        if tally.inputs >= count or tally.inputs % _WRITE_EVERY == 0:
            write()
        if tally.inputs >= count:
            os._exit(0)

    write()
    options = [f"-seed={seed}", f"-rss_limit_mb={_MEMORY}", "-timeout=60", "-max_len=1048576", "-verbosity=0"]
    engine.Setup(["testbed", *options, f"-artifact_prefix={folder}/", str(corpus)], take, custom_mutator=mutate)
    engine.Fuzz()
