"""What a pass notes for hindsight: see `testbed.truth.hindsight` for what it shows.

Facts about one transfer are functions here; what has to be remembered until something shows it is in `Evidence`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from testbed.truth.hands import Hands, popped
from testbed.truth.hindsight import Learned
from testbed.truth.model import Activation
from testbed.truth.native.near import ANY, NEAR
from testbed.truth.transfers import Event


def is_near(event: Event, return_address: int, cfa: int | None) -> bool:
    """Is control a little behind a return address, with SP as it was before the call?"""
    return event.sp == cfa and return_address < event.pc <= return_address + NEAR


def leads_back(hands: Hands, event: Event, top: Activation, entry: int) -> bool:
    """A jump by hand: to the return address with another SP, or with the right SP to an address made of it.

    It was made of it if the jump took it off the stack, or from the link register; or if the link register still has
    the return address, and the jump goes to a little behind that, with a register, or by an instruction that may
    compute it. The latter could be a direct jump: it has to come from elsewhere, as has the call, to ``entry``.
    """
    if top.return_address is None:
        return False
    if event.pc == top.return_address:
        return event.sp != top.cfa and (popped(event) or hands.held(event) != 0)
    if event.sp != top.cfa:
        return False
    link = hands.link(event)
    if popped(event) or event.pc == link:
        return True
    if link != top.return_address or not is_near(event, top.return_address, top.cfa):
        return False
    inside = range(top.return_address, top.return_address + NEAR + 1)
    return hands.held(event) != 0 or (hands.may_compute(event) and event.site not in inside and entry not in inside)


def leads_back_from_above(hands: Hands, event: Event, top: Activation) -> bool:
    """The same of a function that has gone up with its return address."""
    if top.return_address is None or not (popped(event) or hands.held(event)):
        return False
    return event.pc == top.return_address or is_near(event, top.return_address, top.cfa)


class _Left(NamedTuple):
    """The jump after which an activation was thought gone, where that one would return to, its CFA, and the registers
    (a set of bits) that may have held an address to return to when it left; ANY of a call that was thought none."""

    jump: tuple[int, int]
    return_address: int
    cfa: int
    held: int


class Evidence:
    """What one pass has seen. Call sites are those of the activations that it is told of."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self.returned: set[int] = set()  # call sites of what came back
        self.thrown_away: dict[int, int] = {}  # call sites of what went as its parent returned, and where it came back
        self.elsewhere: set[int] = set()  # call sites of those among them that jumped as if they came back elsewhere
        self._jumped: dict[int, bool] = {}  # activation that jumped so -> is the jump alone enough?
        self._left: dict[int, _Left] = {}  # activation -> who was thought to have landed in it last
        self._ended: dict[int, tuple[int, int]] = {}  # activation -> the jump that ended it elsewhere
        self._landed: dict[int, tuple[int, int]] = {}  # activation -> the landing that ended it
        self._no_landings: set[tuple[int, int]] = set()  # the jumps of those that returned after it
        self._switches: set[tuple[int, int]] = set()  # landings after which who was gone goes on
        self.arrived: set[int] = set()  # where a return went that belongs to no call
        self.promised: set[int] = set()  # the pcs of jumps that made a promise
        self.handed: set[tuple[int, int]] = set()  # and, with their targets, of those that were kept
        self.way: Event | None = None  # the jump to another stack, or up, behind which nothing was called or over yet

    def jumps_back(self, event: Event, top: Activation) -> None:
        """The innermost activation jumps as if it came back elsewhere."""
        certain = event.pc != top.return_address and (popped(event) or event.pc == self._hands.link(event))
        self._jumped[top.index] = self._jumped.get(top.index, False) or certain

    def thrown(self, index: int, site: Event, ordinary: Event | None, inside: bool, pushes: bool) -> bool:
        """An activation is over without a return of its own; ``ordinary``: its parent returns by this.

        Then it may have been none, or have come back elsewhere; and if it has, so may the one ``inside`` it, which was
        opened by the same parent then. Returns whether it has. A jump through another register than the link register
        may be a `longjmp` to right behind the parent's call: that shows of no call that it was none.
        """
        pushed = pushes and site.transfer and site.before != site.sp
        at_next = site.pc == site.fall  # `bl next`, which asks for the pc
        if ordinary and not pushed and (pushes or at_next or self._returns(ordinary)):
            self.thrown_away[site.site] = site.fall
        led = (ordinary is not None or inside) and index in self._jumped
        if led:
            self.elsewhere.add(site.site)
        return led

    def _returns(self, event: Event) -> bool:
        return popped(event) or self._hands.link(event) == event.pc

    def lands(self, event: Event, top: Activation, landed: int, gone: Iterable[int]) -> None:
        """The innermost activation, with others, is thought gone by a jump to a landing pad in ``landed``."""
        jump = (event.site, event.pc)
        self._landed.update(dict.fromkeys(gone, jump))
        if top.return_address is not None and top.cfa is not None:
            held = self._hands.between(event, top.return_address, top.return_address + NEAR)
            self._left[landed] = _Left(jump, top.return_address, top.cfa, held)

    def drops(self, event: Event, top: int, cfa: int) -> None:
        """A call whose word comes off the stack at once is thought to be none."""
        self._left[top] = _Left((event.site, event.pc), event.fall, cfa, ANY)

    def goes_elsewhere(self, event: Event, index: int) -> None:
        """An activation is thought over by a jump to another address than its return address."""
        self._ended[index] = (event.site, event.pc)

    def comes_to(self, event: Event, opened: int, site: int, dead: int | None, replaced: bool) -> None:
        """Control is where activation ``opened`` would come back to, whose caller may be ``dead``.

        By hand: then it had been a call; it had not been over when it went elsewhere; and its caller was not gone,
        unless its place was ``replaced``: a landing pad may stand right behind a call.
        """
        if (opened in self._ended or dead is not None) and (popped(event) or self._hands.held(event)):
            if opened in self._ended:
                self._no_landings.add(self._ended[opened])
            if dead is not None:
                self.returned.add(site)
            if dead in self._landed and not replaced:
                self._switches.add(self._landed[dead])

    def arrives(self, event: Event, way: Event, left: bool) -> None:
        """Control comes, by hand, to where a call of somebody who lives comes back. Was the last jump on the ``way``?

        If who was called there had been ``left`` on that stack; or if SP and the address were there at that jump.
        """
        held = self._hands.held(event)
        if left:
            shown = popped(event) or held != 0
        else:
            there = popped(event) or (held and self._hands.between(way, event.pc, event.pc))
            shown = way.sp in (event.before, event.sp) and bool(there)
        if shown:
            self._no_landings.add((way.site, way.pc))

    def look_back(self, event: Event, top: int, known: bool) -> None:
        """Does this jump show that a landing in the innermost activation was none?

        It may go to where a call of that one came back already (``known``): who went there had been called, too, since
        `longjmp` takes its word off the stack at once.
        """
        left = self._left.get(top)
        if left is None:
            return
        if event.pc == left.return_address or (known and left.held == ANY):
            held = (event.sp != left.cfa or left.held == ANY) and self._hands.held(event) != 0
            by_hand = popped(event) or held
        else:
            same = left.held & self._hands.held(event)
            by_hand = is_near(event, left.return_address, left.cfa) and (popped(event) or same != 0)
        if by_hand:
            self._no_landings.add(left.jump)

    def shown(self, learned: Learned, still_open: Iterable[tuple[int, int]], kept: Collection[int]) -> Learned:
        """What this pass has shown. ``still_open`` are the activations at its end, with their call sites; ``kept`` the
        return addresses that were stored."""
        certain = {site for index, site in still_open if self._jumped.get(index)} - self.returned
        elsewhere = self.elsewhere | certain
        thrown = {site for site, fall in self.thrown_away.items() if fall not in kept}
        no_calls = ((thrown - elsewhere - learned.elsewhere) | self.promised) - self.returned
        return Learned(
            frozenset(no_calls),
            frozenset(elsewhere),
            frozenset(self._no_landings),
            frozenset(self._switches),
            frozenset(self.arrived),
            frozenset(self.handed),
        )
