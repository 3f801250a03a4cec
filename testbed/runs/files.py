"""Runs in files: a trace file, with what the judge must know of the program beside its trace.

That is the source with its header, whose traits and frames count, and the recipe's name. The program file itself is in
the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from testbed.build import Built
from testbed.build.recipes import PREBUILT, RECIPES
from testbed.program.fragments import Fragment
from testbed.program.model import Header, Language, Program, Source, parse_header
from testbed.runs.run import Run
from testbed.trace import Trace
from testbed.trace.file import load_trace_and_notes, save_chunks, save_trace
from testbed.trace.saved_trace import SavedTrace
from testbed.trace.trace import Chunk
from testbed.truth import observe
from testbed.words.errors import ProgramError, TraceFileError

_FRAGMENT = "fragment "  # the note that holds a file which the source includes: this, then its name


def save_run(run: Run, path: Path | str) -> None:
    """Write a run to one file that stands alone. Raises TraceFileError where it cannot be written."""
    save_trace(run.trace, path, notes=_notes(run.built))


def save_pieces(
    built: Built, chunks: Iterable[Chunk], path: Path | str, progress: Callable[[int], None] = lambda step: None
) -> tuple[int, Trace]:
    """Write a run that comes in pieces; how many steps it has, and the last piece.

    Raises TraceFileError where it cannot be written.
    """
    steps = 0

    def passing() -> Iterator[Chunk]:
        nonlocal steps
        for chunk in chunks:
            yield chunk
            steps = chunk.first + len(chunk)
            progress(steps)

    last = save_chunks(passing(), path, notes=_notes(built))
    return steps, last


def _notes(built: Built) -> Mapping[str, str]:
    source = built.source
    return {
        "program": built.program.name,
        "recipe": built.recipe.name,
        "isa": built.isa.name,
        "source": source.path.name,
        "source_isa": source.isa or "",
        "language": source.language.name,
        "text": source.text,
        **{f"{_FRAGMENT}{fragment.name}": fragment.text for fragment in source.fragments},
        "summary": source.header.summary,
        "exit": "" if source.header.exit is None else str(source.header.exit),
    }


def load_run(path: Path | str) -> Run:
    """The run in a file, watched anew. Raises TraceFileError as `load_trace` does, and for a bare trace."""
    trace, built = open_run(path)
    return Run(built, trace, observe(trace))


def open_run(path: Path | str) -> tuple[SavedTrace, Built]:
    """The trace in a file, and what ran; nothing is watched yet. Raises TraceFileError as `load_run` does."""
    path = Path(path)
    trace, notes = load_trace_and_notes(path)
    try:
        source = _source(notes)
        recipe = PREBUILT if notes["recipe"] == PREBUILT.name else RECIPES[notes["recipe"]]
        isa = trace.arch.isa_named(notes["isa"])
        if isa is None:
            raise KeyError(notes["isa"])
        built = Built(
            program=Program(notes["program"], MappingProxyType({source.isa or source.path.suffix[1:]: source})),
            arch=trace.arch,
            recipe=recipe,
            isa=isa,
            source=source,
            path=trace.images[0].image.path,
            image=trace.images[0].image,
        )
    except (KeyError, IndexError, ValueError, ProgramError) as error:
        raise TraceFileError(
            path, 0, f"it does not say which program ran, or this version does not know it ({error}): record it again"
        ) from error
    if len(trace) == 0:
        raise TraceFileError(path, 0, "it has no steps")
    return trace, built


def _source(notes: Mapping[str, str]) -> Source:
    path, text, language = Path(notes["source"]), notes["text"], Language[notes["language"]]
    exit = int(notes["exit"]) if notes["exit"] else None
    try:
        header = replace(parse_header(path, text, own=True), summary=notes["summary"], exit=exit)
    except ProgramError:  # a snippet that begins with a comment of another kind
        if text.startswith("// summary:"):
            raise
        header = Header(summary=notes["summary"], exit=exit)
    fragments = tuple(Fragment(k.removeprefix(_FRAGMENT), note) for k, note in notes.items() if k.startswith(_FRAGMENT))
    return Source(path, language, notes["source_isa"] or None, text, header, fragments)
