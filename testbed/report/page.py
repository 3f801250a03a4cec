"""Self-contained pages from the templates, styles and scripts in ``pages/``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("testbed", "report/pages"),
        autoescape=True,
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
