"""Self-contained pages from the templates, styles and scripts in ``pages/``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("testbed", "report/pages"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = breakable
    return made


def breakable(name: str) -> Markup:
    """A long name that may be broken behind its underscores."""
    return Markup(escape(name)).replace("_", Markup("_<wbr>"))


def page_text(name: str) -> Markup:
    """A style or script of ours, to be put into a page as it is."""
    return Markup(files("testbed.report").joinpath("pages", name).read_text(encoding="utf-8"))


def render_page(template: str, **values: Any) -> str:
    """A template with its values, escaped unless they are Markup."""
    return _environment().get_template(template).render(**values)


# The editor's page: a source, and beside it the stepper of what became of it (`testbed.serve`).


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
