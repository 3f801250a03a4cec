"""What a stranger's command answers to test vectors, as the checker that lies beside them reads it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import testbed.vectors
from testbed.vectors.collect import collect
from testbed.vectors.write import write_file
from tests.hostile import real
from tests.hostile.damage import damaged_lines_of_json
from tests.hostile.folder import folder
from tests.hostile.target import Target
from unwinders import UNWINDERS


@cache
def _checker() -> ModuleType:
    """The script, which is no module of the package."""
    path = Path(testbed.vectors.__file__).parent / "kit" / "check_vectors.py"
    spec = importlib.util.spec_from_file_location("check_vectors", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _vectors() -> dict[str, Any]:
    """The vectors of one small program."""
    place = folder() / "vectors"
    (place / "x86_64").mkdir(parents=True, exist_ok=True)
    entry = write_file(collect("leaf_call", real.runs()[0], [UNWINDERS["fp_chain"]]), place)
    file: dict[str, Any] = json.loads((place / entry["file"]).read_text())
    return file


@cache
def _seeds() -> Sequence[bytes]:
    """Right answers to some of them: whole stacks, with registers, and one that stops."""
    file, lines = _vectors(), []
    for vector in file["vectors"][:6]:
        pc = {**file["registers"], **vector["registers"]}["rip"]
        frames = [{"pc": pc, "cfa": vector.get("cfa"), "interrupted": True}]
        frames += [file["callers"][index] for index in vector["callers"]]
        lines.append({"id": vector["id"], "frames": frames, "root": True})
    lines.append({"id": file["vectors"][6]["id"], "frames": lines[0]["frames"][:1], "stopped": "no more"})
    return [b"\n".join(json.dumps(line).encode() for line in some) for some in (lines, lines[:2], lines[-1:])]


def _read(content: bytes) -> None:
    checker, file = _checker(), _vectors()
    told = checker.answers_in(content.splitlines())
    for vector in file["vectors"]:
        checker.result(file, vector, told.get(vector["id"]), ["fp_chain"])


TARGETS = (
    Target(
        "vector_answers",
        "answers to test vectors, as their checker reads them",
        _seeds,
        _read,
        damaged_lines_of_json,
        weight=0.5,
    ),
)
