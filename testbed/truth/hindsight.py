"""What a pass over the trace shows of the steps before it: calls, landings and returns that looked like another thing.

A rule of `testbed.truth.follow` decides at a step by what that step did. Sometimes two things have the same effect when
they happen, and only where control goes on tells them apart. Then hindsight decides: a pass notes what shows it, and
the trace is followed again, until nothing new is found.

* **A call that was none.** ``bl`` used as a jump has every effect of a call, and so has ``adr lr, table; ldr pc, [lr]``
  where ``table`` follows. Nothing that the call site opened ever came back, and something it opened was thrown away by
  its own parent's ordinary return. Where calls push, only a call to the next address is asked, and one in two
  instructions: a word that a call has left on the stack would spoil the parent's return. A link register whose value
  was stored is kept for a return: who then leaves by an SP that was kept at entry has been called. And a call whose
  word comes off the stack at once is none, unless control comes, by hand, to its return address.
* **A call that comes back elsewhere.** A callee that takes data from behind the call, or a table of a switch, returns
  behind them; one that makes room on its caller's stack returns to its address with SP below the CFA. The callee jumped
  there *by hand* (below), and later its parent returned ordinarily over it, or the run ended with it still open.
* **A landing that was none.** A function that moves its return address further up the stack and goes there with SP
  finds itself above its entry SP, like a landing pad in its caller. But then it returns: control arrives, by hand, at
  the return address of the activation that was thought gone, in the very activation that was thought to go on.

* **An end that was none.** A return address that was replaced leads elsewhere; on x86 that ends the activation. But if
  control comes, by hand, to the very return address with SP as it was before the call, the activation had gone on: a
  return probe's trampoline, routines that exchange their return addresses.
* **A jump on the way.** Code that has taken another SP already, to leave for where that belongs, may jump before it
  is there. At that jump it seems to land, or to begin a new stack. But then control comes, by hand, to where a call of
  somebody who lives comes back, with that SP, by an address that was in a register at that jump already, and nothing
  was called between. If who was called there was left and lives, it goes on at that jump: a stub of ``swapcontext``.
* **A stack inside a frame.** A coroutine that runs on an array of its caller's locals looks like a landing pad. But
  then control comes, by hand, to where a call of somebody comes back who was thought gone: the jump was a switch.
  That shows nothing where somebody else has the place of who was thought gone: a landing pad may stand right behind a
  call that never returns, and recursion comes there, in another activation, with the same SP.
* **A return that was none.** A jump to the function that stands right behind a call which never returns:
  `testbed.truth.straight`.
* **A promise.** A jump with an address at the return place that no call put there: `testbed.truth.promises`.

Control goes somewhere *by hand* if the address was in a register, or came off the stack with the jump. A direct jump
has its address from nowhere: that is how a jump to what happens to stand behind a call is no return.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Learned:
    """What passes have shown: places in the code, so it does not grow with the length of a run.

    ``no_calls`` and ``elsewhere`` are the pcs of call instructions. Jumps (pc of the jump, target): ``no_landings``,
    which land nowhere and end nothing, ``switches`` to a stack inside a frame, those that have ``handed`` over an
    address that was come back to, and ``no_returns``, which go to the function right behind a call. ``arrived`` are the
    addresses at which control came back without a call.
    """

    no_calls: frozenset[int] = frozenset()
    elsewhere: frozenset[int] = frozenset()
    no_landings: frozenset[tuple[int, int]] = frozenset()
    switches: frozenset[tuple[int, int]] = frozenset()
    arrived: frozenset[int] = frozenset()
    handed: frozenset[tuple[int, int]] = frozenset()
    no_returns: frozenset[tuple[int, int]] = frozenset()

    def __or__(self, other: Learned) -> Learned:
        return Learned(
            self.no_calls | other.no_calls,
            self.elsewhere | other.elsewhere,
            self.no_landings | other.no_landings,
            self.switches | other.switches,
            self.arrived | other.arrived,
            self.handed | other.handed,
            self.no_returns | other.no_returns,
        )
