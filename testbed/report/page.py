"""Self-contained pages from the templates, styles and scripts in ``pages/``."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from numpy.typing import NDArray


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


def gradient(parts: Iterable[tuple[str, int]], nothing: str) -> str:
    """Parts, each a colour's name and its number, as stops of a CSS gradient, each as wide as its share of all."""
    some = [(name, number) for name, number in parts if number]
    ends = [*accumulate(number for _, number in some)]
    stops = (
        f"var(--{name}) {100 * (end - number) / ends[-1]:.2f}% {100 * end / ends[-1]:.2f}%"
        for (name, number), end in zip(some, ends, strict=True)
    )
    return ",".join(stops) or f"var(--{nothing}) 0% 100%"


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


# Columns in a page: one compressed block that the page's script reads without copying.
#
# Layout, little-endian, then compressed (RFC 1950) and in base64::
#
#     4 bytes    length of the JSON text, in bytes
#     JSON       {"facts": ..., "columns": {name: [type, offset from the first column, entries]}}
#     padding    to a multiple of 8
#     columns    each padded to a multiple of 8

TYPES = {
    "u1": "Uint8",
    "u2": "Uint16",
    "u4": "Uint32",
    "i2": "Int16",
    "i4": "Int32",
    "f8": "Float64",
    "u8": "BigUint64",
}


def packed(facts: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> str:
    """Facts and columns as the text of a page's data element. An address must be below 2**53 to be a Float64."""
    places: dict[str, list[Any]] = {}
    blocks: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        kind = column.dtype.str.lstrip("<|")
        block = np.ascontiguousarray(column).tobytes()
        places[name] = [TYPES[kind], offset, len(column)]
        blocks.append(block + bytes(-len(block) % 8))
        offset += len(blocks[-1])
    text = json.dumps({"facts": facts, "columns": places}, separators=(",", ":")).encode("utf-8")
    head = len(text).to_bytes(4, "little") + text
    whole = head + bytes(-len(head) % 8) + b"".join(blocks)
    return base64.b64encode(zlib.compress(whole, 6)).decode("ascii")


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The inverse of ``packed``: what the page's script does."""
    whole = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(whole[:4], "little")
    head = json.loads(whole[4 : 4 + size])
    start = 4 + size + (-(4 + size) % 8)
    kinds = {value: key for key, value in TYPES.items()}
    columns = {
        name: np.frombuffer(whole, "<" + kinds[kind], count, start + offset)
        for name, (kind, offset, count) in head["columns"].items()
    }
    return head["facts"], columns
