"""The instructions of one piece of code: which of them branch, where to, and which nothing leads to.

Only where to send a path next rests on this: it is a disassembler's text, and no truth. Data between the instructions
(literal pools, tables of branch offsets) is left out as far as instructions say where it lies; no-operations that
nothing leads to are filling, and no instructions of the function either.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from testbed.image import Image
from testbed.micro.code_scan import scan
from testbed.micro.functions import CodePiece


@dataclass(frozen=True, eq=False)
class PieceCode:
    """The instructions of one piece, by link-time address.

    ``branches`` are the conditional ones: (target, the next instruction). ``orphans`` are instructions inside of it
    that no direct branch leads to and that do not follow another one: cases of a switch, landing pads. ``blocks`` are
    Thumb's IT instructions and what stands in their blocks, each with the block's end. ``leaves`` are the targets of
    direct jumps outside of it.
    """

    sizes: Mapping[int, int] = field(repr=False)
    branches: Mapping[int, tuple[int, int]] = field(repr=False)
    indirect: frozenset[int] = field(repr=False)
    orphans: tuple[int, ...] = field(repr=False)
    cases: frozenset[int] = field(repr=False)  # of these, what a table behind its jump says
    blocks: Mapping[int, int] = field(repr=False)
    calls: Mapping[int, int] = field(default_factory=dict, repr=False)  # of places in the piece itself
    leaves: frozenset[int] = field(default=frozenset(), repr=False)
    sized: bool = False  # perhaps its frame is as large as an argument says

    def __len__(self) -> int:
        return len(self.sizes)


def piece_code(image: Image, piece: CodePiece) -> PieceCode:
    """Decode one piece of a file's code."""
    found = scan(image, piece.start, piece.end)
    sizes, filling, data, cases = found.sizes, found.filling, found.data, found.cases
    leads = found.jumps | cases
    unused = {a for a in found.behind & filling if a not in leads}
    unused |= _last_filling(piece, sizes, filling, data, leads)
    instructions = {a: n for a, n in sizes.items() if a not in unused and a not in data}
    orphans = tuple(sorted(a for a in (found.behind | cases) & instructions.keys() if a not in found.jumps))
    indirect = frozenset(found.indirect)
    own = {place: to for place, to in found.calls.items() if to is not None and piece.start < to < piece.end}
    leaves = frozenset(a for a in found.jumps if not piece.start <= a < piece.end)
    return PieceCode(
        instructions, found.branches, indirect, orphans, frozenset(cases), found.blocks, own, leaves, bool(found.sized)
    )


def _last_filling(
    piece: CodePiece, sizes: Mapping[int, int], filling: Set[int], data: Set[int], targets: Set[int]
) -> Set[int]:
    """No-operations up to the end of the piece, or up to data: behind a call that never returns."""
    found = set[int]()
    ends = True
    for address in sorted(sizes, reverse=True):
        after = address + sizes[address]
        ends = address != piece.start and address in filling and (after >= piece.end or after in data or ends)
        if ends:
            found.add(address)
            ends = address not in targets
    return found - targets
