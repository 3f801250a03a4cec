"""Standard output in an encoding that lacks what reports draw with: ASCII, Latin-1. Each sign becomes one of ASCII."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

_HANDLER = "testbed.drawn"
_DRAWN = {
    **dict.fromkeys("│┃║▌▏▕", "|"),
    **dict.fromkeys("─━═–—", "-"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
    **dict.fromkeys("·…", "."),
    **dict.fromkeys("→▶", ">"),
    "←": "<",
    "↑": "^",
    "↓": "v",
    "↩": "<",
    "×": "x",
    "≠": "!",
    "▁": "_",
    "▣": "#",
    "□": "o",
    "§": "s",
    "█": "#",
    "“": '"',
    "”": '"',
}


def draw_in_any_encoding() -> None:
    """From now on no sign is an error of standard output: what its encoding lacks is written as a similar one, or ?."""
    out = sys.stdout
    if isinstance(out, TextIOWrapper) and codecs.lookup(out.encoding).name != "utf-8":
        codecs.register_error(_HANDLER, _similar)
        out.reconfigure(errors=_HANDLER)


def _similar(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_DRAWN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end
