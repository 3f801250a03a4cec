"""notebooks/*.ipynb executed, with outputs that show where no script runs: text, tables, drawings, no widgets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = ("text/plain", "text/html", "image/svg+xml", "image/png")
SECONDS = 300


def execute(path: Path) -> Any:
    """A notebook run top to bottom in a fresh kernel, with its outputs."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    where = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources=where, coalesce_streams=True).execute()
    return notebook


def without_scripts(notebook: Any) -> Any:
    """Outputs in the forms that every front-end shows; nothing that a widget's script or a clock has left."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            output.get("metadata", {}).clear()
            for kind in [kind for kind in output.get("data", ()) if kind not in KEPT]:
                del output["data"][kind]
    return notebook


def write_all() -> None:
    """Execute every notebook and keep it with its outputs."""
    import nbformat

    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        nbformat.write(without_scripts(execute(path)), path)
