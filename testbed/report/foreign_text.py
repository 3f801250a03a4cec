"""Backtraces of a foreign snapshot, for people and as data. Nobody watched this stack: nothing is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from testbed.contract.frames import Backtrace
from testbed.foreign.read import Foreign
from testbed.image import LoadedImage
from testbed.naming.symbolize import symbolize
from testbed.report import JSON_VERSION
from testbed.report.styles import frames_data, gdb, shown

NOTE = "nobody watched this stack: these are claims, not judged"


def foreign_text(of: Foreign, said: Mapping[str, Backtrace]) -> Iterator[str]:
    """The dump, then every strategy's backtrace as gdb prints one; strategies that say the same stand together."""
    yield f"{of.dump.path}: {of.dump.kind}, {of.dump.arch}, {of.snapshot}"
    if of.dump.threads > 1:
        yield f"one of {of.dump.threads} threads (--thread)"
    for loaded in of.snapshot.images:
        start = min((segment.address for segment in loaded.image.segments), default=0) + loaded.bias
        yield f"  {loaded.image.path} at {start:#x}"
        if loaded.image.debug_file is not None:
            yield f"    debug information from {loaded.image.debug_file}"
        yield from (f"    {note}" for note in loaded.image.notes)
    for name in of.left_out:
        yield f"  {name}: left out, its file was not found"
    yield NOTE
    for names, backtrace in _grouped(said):
        yield ""
        yield f"{', '.join(names)}:"
        one = shown(of.snapshot, backtrace, symbolize(of.snapshot.images, backtrace))
        yield from (f"  {line}" for line in gdb(one))
        if backtrace.stopped is None:
            yield "  (says that this is the outermost frame)"


def foreign_data(of: Foreign, said: Mapping[str, Backtrace]) -> dict[str, Any]:
    """The same as values of JSON: ``schema/backtrace.json``."""
    return {
        "schema": JSON_VERSION,
        "file": str(of.dump.path),
        "kind": of.dump.kind,
        "arch": of.dump.arch.name,
        "threads": of.dump.threads,
        "judged": False,
        "images": [_image(loaded) for loaded in of.snapshot.images],
        "left_out": list(of.left_out),
        "backtraces": {
            name: {
                **frames_data(shown(of.snapshot, backtrace, symbolize(of.snapshot.images, backtrace))),
                "root_claimed": backtrace.stopped is None,
            }
            for name, backtrace in said.items()
        },
    }


def _image(loaded: LoadedImage) -> dict[str, Any]:
    image = loaded.image
    said: dict[str, Any] = {"path": str(image.path), "bias": hex(loaded.bias)}
    if image.debug_file is not None:
        said["debug_file"] = str(image.debug_file)
    return {**said, "notes": list(image.notes)} if image.notes else said


def _grouped(said: Mapping[str, Backtrace]) -> list[tuple[list[str], Backtrace]]:
    groups: dict[tuple[object, ...], tuple[list[str], Backtrace]] = {}
    for name, backtrace in said.items():
        stopped = backtrace.stopped and (backtrace.stopped.reason, str(backtrace.stopped))
        key = (*((frame.pc, frame.kind) for frame in backtrace.frames), stopped)
        groups.setdefault(key, ([], backtrace))[0].append(name)
    return list(groups.values())
