"""Code that nobody calls, as a part of what a file is made of.

It is counted with the file's code, whatever was tried of it: a check says nothing of more than it knows. What is
judged of it, `testbed.checks.jumped_to` says: steps in the activation of a function that jumped there.
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.checks.groups import FileAtWork, PieceCounts, counts_of, fits
from testbed.micro.code import piece_code
from testbed.micro.function_parts import parts_of_file
from testbed.micro.functions import CodePiece


def codes_of_parts(this: FileAtWork, chosen: Sequence[CodePiece], patterns: Sequence[str]) -> tuple[PieceCounts, ...]:
    """The instructions of code that is not called; of a file of which some functions were ``chosen``, of theirs."""
    parts = parts_of_file(this.image, this.pieces)
    if patterns:
        led_to = {part for piece in chosen for part in this.explorer.parts.of(piece)}
        parts = tuple(part for part in parts if part in led_to or fits(part, patterns))
    return tuple(counts_of(part, piece_code(this.image, part)) for part in parts)
