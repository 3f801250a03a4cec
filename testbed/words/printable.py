"""Texts of files and programs that others made, for terminals, pages and reports: nothing in them moves a cursor."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line: what cannot be printed is written as Python writes it, ``\\x1b`` or ``\\n``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable_lines(text: str) -> str:
    """The same of several lines, which stay lines."""
    return "\n".join(printable(line) for line in text.split("\n"))
