"""What a pass over the trace shows of the steps before it: calls, landings and returns that looked like another thing.

A rule of `testbed.truth.follow` decides at a step by what that step did. Sometimes two things have the same effect when
they happen, and only where control goes on tells them apart. Then hindsight decides: a pass notes what shows it, and
the trace is followed again, until nothing new is found.

* **A call that was none.** ``bl`` used as a jump has every effect of a call, and so has ``adr lr, table; ldr pc, [lr]``
  where ``table`` follows. Nothing that the call site opened ever came back, and something it opened was thrown away by
  its own parent's ordinary return. Where calls push, only a call to the next address is asked, and one in two
  instructions: a word that a call has left on the stack would spoil the parent's return.
* **A call that comes back elsewhere.** A callee that takes data from behind the call, or a table of a switch, returns
  behind them; one that makes room on its caller's stack returns to its address with SP below the CFA. The callee jumped
  there *by hand* (below), and later its parent returned ordinarily over it, or the run ended with it still open.
* **A landing that was none.** A function that moves its return address further up the stack and goes there with SP
  finds itself above its entry SP, like a landing pad in its caller. But then it returns: control arrives, by hand, at
  the return address of the activation that was thought gone, in the very activation that was thought to go on.

Control goes somewhere *by hand* if the address was in a register, or came off the stack with the jump. A direct jump
has its address from nowhere: that is how a jump to what happens to stand behind a call is no return.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Learned:
    """What passes have shown: places in the code, so it does not grow with the length of a run.

    ``no_calls`` and ``elsewhere`` are the pcs of call instructions, ``no_landings`` jumps (pc of the jump, target).
    """

    no_calls: frozenset[int] = frozenset()
    elsewhere: frozenset[int] = frozenset()
    no_landings: frozenset[tuple[int, int]] = frozenset()

    def __or__(self, other: Learned) -> Learned:
        return Learned(
            self.no_calls | other.no_calls, self.elsewhere | other.elsewhere, self.no_landings | other.no_landings
        )
