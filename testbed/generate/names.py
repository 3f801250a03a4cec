"""The names of generated programs: what a user types, and what the program is called.

::

    name = ("gen" | "genc") ":" (SEED | DIRECTOR) {"," FLAG}

as in ``gen:12``, ``genc:f64c1+f`` and ``genc:12,-fno-plt,-mno-red-zone``: flags are for the compiler of a C program.
"""

from __future__ import annotations

import re

from testbed.program.model import Language

_NO_LETTER = re.compile(r"\W")

PREFIXES = {"gen": Language.ASSEMBLY, "genc": Language.C}


def is_generated(name: str) -> bool:
    """True for ``gen:...`` and ``genc:...``."""
    prefix, colon, _ = name.partition(":")
    return bool(colon) and prefix in PREFIXES


def parts_of(name: str) -> tuple[str, str, tuple[str, ...]]:
    """The prefix, the seed or director string, and the flags of a name."""
    prefix, _, rest = name.partition(":")
    shape, *flags = rest.split(",")
    return prefix, shape, tuple(flags)


def named(prefix: str, shape: object, flags: tuple[str, ...] = ()) -> str:
    """The name of a shape, or a seed, with flags."""
    return ",".join((f"{prefix}:{shape}", *flags))


def called(name: str) -> str:
    """The name of the program that ``gen:SEED`` or ``gen:DIRECTOR`` stands for: ``gen_SEED``, a file's name."""
    return _NO_LETTER.sub("_", name)
