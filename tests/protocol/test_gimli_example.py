"""The unwinder of docs/examples, by gimli in Rust: built from Debian's crates as its head says, and scored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.protocol.example import EXAMPLES, write_example

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "gimli_unwinder"
CRATES = Path("/usr/share/cargo/registry")
PATH = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / ".cargo" / "bin")])


@pytest.fixture(scope="module")
def gimli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built program."""
    cargo = shutil.which("cargo", path=PATH)
    if cargo is None:
        pytest.skip("cargo is not installed: apt install cargo")
    for crate, package in [("gimli-0.27*", "librust-gimli-dev"), ("object-0.30*", "librust-object-dev")]:
        if not list(CRATES.glob(crate)):
            pytest.skip(f"{CRATES} has no {crate}: apt install {package} (of Debian 12)")
    folder = tmp_path_factory.mktemp("gimli")
    write_example(EXAMPLES["rust"], folder)
    for path in FOLDER.iterdir():
        shutil.copy(path, folder)
    debian = ["source.crates-io.replace-with='debian'", f"source.debian.directory='{CRATES}'"]
    words = [cargo, "build", "--offline", *(word for each in debian for word in ("--config", each))]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": PATH})
    assert done.returncode == 0, done.stderr
    assert "warning: unused" not in done.stderr
    return folder / "target" / "debug" / "gimli_unwinder"


@pytest.mark.everything
def test_it_is_scored_by_one_command(gimli: Path) -> None:
    """Right nearly everywhere; where it is not, each by what it is: `.eh_frame` and, without it, frame records."""
    words = [sys.executable, "-m", "testbed.cli", "score", "--unwinder-cmd", str(gimli), "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (mine,) = json.loads(done.stdout)["unwinders"]
    assert mine["name"] == "gimli"
    assert mine["crashes_and_hangs"] == 0
    assert set(mine["arches"]) == {"x86_64", "arm64"}
    assert mine["overall"]["exact"] > 0.97 * mine["overall"]["sites"], "as when it was written, 97.6 %"
    assert mine["overall"]["lying"] > 0, "it believes tables that are wrong, and frame pointers where there is none"
