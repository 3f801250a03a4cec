"""Runs in files: a trace file, with what the judge must know of the program beside its trace.

That is the source with its header, whose traits and frames count, and the recipe's name. The program file itself is in
the trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from testbed.build import Built
from testbed.build.recipes import PREBUILT, RECIPES
from testbed.errors import ProgramError, TraceFileError
from testbed.program import Header, Language, Program, Source, parse_header
from testbed.run import Run
from testbed.trace.file import load_trace_and_notes, save_trace
from testbed.truth import observe


def save_run(run: Run, path: Path | str) -> None:
    """Write a run to one file that stands alone. Raises TraceFileError where it cannot be written."""
    source = run.built.source
    notes = {
        "program": run.program.name,
        "recipe": run.recipe.name,
        "isa": run.built.isa.name,
        "source": source.path.name,
        "source_isa": source.isa or "",
        "language": source.language.name,
        "text": source.text,
        "summary": source.header.summary,
        "exit": "" if source.header.exit is None else str(source.header.exit),
    }
    save_trace(run.trace, path, notes=notes)


def load_run(path: Path | str) -> Run:
    """The run in a file, watched anew. Raises TraceFileError as `load_trace` does, and for a bare trace."""
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
            traits=source.header.traits | recipe.traits,
        )
    except (KeyError, IndexError, ValueError, ProgramError) as error:
        raise TraceFileError(
            path, 0, f"it does not say which program ran, or this version does not know it ({error}): record it again"
        ) from error
    if len(trace) == 0:
        raise TraceFileError(path, 0, "it has no steps")
    return Run(built, trace, observe(trace))


def _source(notes: Mapping[str, str]) -> Source:
    path, text, language = Path(notes["source"]), notes["text"], Language[notes["language"]]
    if text.startswith("// summary:"):
        header = parse_header(path, text)
    else:
        header = Header(summary=notes["summary"], exit=int(notes["exit"]) if notes["exit"] else None)
    return Source(path, language, notes["source_isa"] or None, text, header)
