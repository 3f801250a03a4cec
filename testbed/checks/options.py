"""What a check is asked for, as data: which functions, how they are called, how long, and for which tables."""

from __future__ import annotations

from dataclasses import dataclass

MOST_STEPS = (1 << 16) - 1  # of one call: what there is room for where it is run, which a test compares with this


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """What decides a check's outcome, beside the file itself. Only ``jobs`` does not: it says how fast it comes.

    ``functions`` and ``tables`` are patterns (empty: all); ``calls`` are plans of the user's own, as typed:
    ``f(buf:64, 3, "text")``. ``arch`` is needed for sources only: any other file says its own. ``runs`` is how often a
    function is called at most, ``steps`` how many instructions one run has. ``flags`` go to the compiler of a source.
    ``conventions`` are patterns of functions and the calling conventions that they follow.
    ``debug_files``: names and lines of a stripped file come from its separate debug file, where gdb would find it.
    """

    functions: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    arch: str | None = None
    tables: tuple[str, ...] = ()
    seed: int = 1
    runs: int = 600
    steps: int = 600
    jobs: int = 1
    flags: tuple[str, ...] = ()
    conventions: tuple[tuple[str, str], ...] = ()
    debug_files: bool = True
