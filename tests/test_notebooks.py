"""The notebooks run top to bottom in a fresh kernel, each quickly; they are kept with outputs that need no script."""

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs pip install 'unwind-testbed[notebooks]'")
nbclient = pytest.importorskip("nbclient", reason="needs pip install 'unwind-testbed[notebooks]'")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 30
REGENERATE = "python docs/regenerate.py --notebooks"

# What a reader of each must meet in its outputs.
SAYS = {
    "a_process": ("eh_frame: right   519", "fp_chain: right     0, lies   120", "push rbp", "return to main"),
    "cfi_directives": ("register", "c-32", "exact"),
    "leaf_caller": ("fp_chain", "'skipped'", "eh_frame", "'exact'"),
    "prologue": ("SKIP", "return to middle+0x10", "mov x29, sp", "leaf has not linked its record yet"),
    "reading_a_matrix": ("exact %", ">ENDED_EARLY<", "n_skipped"),
    "tail_calls_and_inlining": ("jumps from", "leaf < caller < main < _start", "unsigned first = leaf(x + 1);"),
    "your_own_unwinder": ("6 foretold, 0 unexplained", "Frame 1: _start+0xc, not main+0x10.", "found by"),
}


def outputs(notebook: Any) -> str:
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            parts.append(output.get("text", ""))
            parts += [text for kind, text in output.get("data", {}).items() if kind.startswith("text/")]
    return "\n".join(parts)


def test_every_notebook_is_known() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SAYS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_outputs_that_show_without_scripts(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    said = outputs(notebook)
    assert not [words for words in SAYS[path.stem] if words not in said], REGENERATE
    kinds = set().union(*forms(notebook).values())
    assert "text/html" in kinds and kinds <= {"stream", "text/plain", "text/html", "image/svg+xml", "image/png"}
    assert not re.search(r"<script|<iframe|javascript:|\son\w+=|src=.http", said)
    assert not re.search(r"/(root|home|work|usr|tmp)/", said), "no place of the machine it was run on"
    assert path.stat().st_size < 200_000


def forms(notebook: Any) -> dict[int, set[str]]:
    """In which forms each cell shows something; widgets aside."""
    return {
        number: {kind for output in cell.outputs for kind in output.get("data", {"stream": ""}) if "widget" not in kind}
        for number, cell in enumerate(notebook.cells)
        if cell.get("outputs")
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_a_fresh_kernel(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel", reason="needs pip install 'unwind-testbed[notebooks]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    started = time.monotonic()
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    took = time.monotonic() - started
    said = outputs(notebook)
    missing = [words for words in SAYS[path.stem] if words not in said]
    assert not missing, said[-3000:]
    assert forms(notebook) == forms(nbformat.read(path, as_version=4)), REGENERATE
    assert took < SECONDS * 2, f"{took:.0f} s: alone each takes less than {SECONDS} s"
