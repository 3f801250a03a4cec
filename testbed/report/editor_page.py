"""The editor's page: a source, and beside it the stepper of what became of it (`testbed.serve`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from testbed.report.page import page_text, render_page


def editor_html(programs: Mapping[str, Sequence[str]], program: str, arch: str) -> str:
    """The page; ``programs`` are those that it offers, each with its architectures, and the first one shown."""
    facts = json.dumps({"programs": {name: list(arches) for name, arches in programs.items()}})
    return render_page(
        "editor.html",
        css=page_text("page.css") + page_text("editor.css"),
        script=page_text("page.js") + page_text("editor.js"),
        facts=Markup(facts.replace("<", "\\u003c")),
        programs=list(programs),
        first=program,
        arch=arch,
    )
