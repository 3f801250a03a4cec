"""Coverage of one function: the paths through it, and which of its instructions they executed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from testbed.micro.calling import CallTape
from testbed.micro.code import PieceCode
from testbed.micro.functions import CodePiece


@dataclass(frozen=True, eq=False)
class TakenPath:
    """The tape of a path that counts; ``forced``: it did not go by itself, or its callees were answered.

    ``strays`` are the steps at which it was sent to code of ``piece`` that no branch leads to.
    ``turned`` are those at which a branch was made to go the other way.
    """

    tape: CallTape = field(repr=False)
    forced: bool
    piece: CodePiece
    strays: tuple[int, ...] = ()
    turned: tuple[int, ...] = ()


@dataclass(eq=False)
class Exploration:
    """Coverage of one piece by its paths: instructions by link-time address. ``dropped``: paths that no run takes.
    ``whole`` is its code with that of the parts that it jumps to.

    ``thorough``: what is not executed is not tried at all, so more is done for it: where a path was gone with its
    callees only it is gone alone too, switches are entered from paths that went astray, large functions have more runs.
    ``wanted`` are sides of branches, (branch, where to), that no path took yet and some path is to take.
    """

    piece: CodePiece
    code: PieceCode
    whole: PieceCode
    thorough: bool = False
    natural: set[int] = field(default_factory=set)
    forced: set[int] = field(default_factory=set)
    wanted: set[tuple[int, int]] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)  # executed on some path on which callees were answered
    lacked: set[int] = field(default_factory=set)  # passed over, since the machine lacks them
    dropped: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    returned: int = 0
    to_answers: set[int] = field(default_factory=set)  # `return_to_answer`, if every natural path ended so

    @property
    def missing(self) -> int:
        """How many instructions were not executed, and wanted sides not taken."""
        return sum(pc not in self.natural and pc not in self.forced for pc in self.whole.sizes) + len(self.wanted)
