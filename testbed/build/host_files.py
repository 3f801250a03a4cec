"""Files that a source names and that are not its own: refused with the line, before any tool sees it.

A source reads what lies in its own folder and what its header names. Text is searched for names that lead elsewhere: an
absolute path, or ``..``. What a macro or the preprocessor puts together is not found here; that it opens nothing is the
affair of `testbed.build.confined`.
"""

from __future__ import annotations

import re
from pathlib import Path

from testbed.program.model import Source
from testbed.words.errors import BuildError

_NAMING = re.compile(
    r"(?P<what>\.\s*incbin|\.\s*include|#\s*(?:include|include_next|import|embed))\b[^\"<\n]{0,40}[\"<](?P<name>[^\"<>\n]*)"
)


def refuse_host_files(source: Source) -> None:
    """Raises BuildError for the first name in a source that leads out of its folder."""
    here = source.path.parent
    for text, path in ((source.text, source.path), *((f.text, here / f.name) for f in source.fragments)):
        for match in _NAMING.finditer(text):
            name = Path(match["name"].removesuffix("\\"))
            if name.is_absolute() or ".." in name.parts:
                line = text.count("\n", 0, match.start()) + 1
                raise BuildError(
                    f"{path}:{line}: {match['what']} {match['name']!r}: a source reads files of its own folder only, "
                    "those that its header names"
                )
