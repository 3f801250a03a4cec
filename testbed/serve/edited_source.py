"""What the editor sends, checked: a source under a plain name, and how it is built."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from testbed.words.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_WORD = re.compile(r"[A-Za-z0-9_.*-]{1,60}")


@dataclass(frozen=True, slots=True)
class EditedSource:
    """A source to be judged: the program's name and suffix (``.arm64.S``, ``.c``), its text, architecture, recipe.

    An empty recipe is the first one that can build it.
    """

    program: str
    suffix: str
    text: str
    arch: str
    recipe: str


def read_edit(body: bytes) -> EditedSource:
    """The edit in a request's body. Raises UsageError where it is none."""
    try:
        sent: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError("the body is not JSON") from error
    if not isinstance(sent, dict):
        raise UsageError("the body is no JSON object")
    fields = {name: sent.get(name, "") for name in ("program", "suffix", "text", "arch", "recipe")}
    for name, value in fields.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} is no string")
    edit = EditedSource(**fields)
    if not _NAME.fullmatch(edit.program):
        raise UsageError("program: a name of letters, digits and _")
    if not re.fullmatch(r"(\.[a-z0-9_]{1,12})?\.(S|c|cc)", edit.suffix):
        raise UsageError("suffix: .ISA.S, .c or .cc")
    if not _WORD.fullmatch(edit.arch) or (edit.recipe and not _WORD.fullmatch(edit.recipe)):
        raise UsageError("arch and recipe: names of `testbed list arches` and `testbed list recipes`")
    return edit
