"""How an unwinder's backtrace compares with the truth at one site.

*An unwinder may say "unknown"; it may not lie.* So an outcome is either exact, or an honest stop, or a lie,
and the three are always counted apart.
"""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """One verdict; ``meaning`` is the sentence that reports show as their legend."""

    EXACT = "exact"
    REFUSED = "refused"
    STOPPED = "stopped"
    ENDED_EARLY = "ended_early"
    SKIPPED = "skipped"
    PHANTOM = "phantom"
    WRONG_REGISTER = "wrong_register"
    WRONG = "wrong"
    CRASHED = "crashed"
    HUNG = "hung"

    __hash__ = object.__hash__  # a member is equal to itself alone; the hash of its name is made anew at each look-up

    @property
    def meaning(self) -> str:
        return _MEANING[self]

    @property
    def words(self) -> str:
        """In a sentence: ``ended early``."""
        return self.value.replace("_", " ")

    @property
    def label(self) -> str:
        """At most eight letters for a table; capitals say that it is a lie, so colour is not needed."""
        word = _LABEL.get(self, self.value)
        return word.upper() if self.lying else word

    @property
    def short(self) -> str:
        """At most five letters, for narrow columns; capitals say that it is a lie."""
        word = _SHORT.get(self, self.value)
        return word.upper() if self.lying else word

    @property
    def mark(self) -> str:
        """One letter for strips and narrow columns, readable without colour."""
        return _MARK[self]

    @property
    def honest(self) -> bool:
        """True where everything that was claimed is true: nothing was, by a tool that crashed or hung."""
        return self.family != "a lie"

    @property
    def family(self) -> str:
        """What it is among the four that summaries count: ``right``, ``an honest stop``, ``no answer``, ``a lie``."""
        return _FAMILY.get(self, "a lie")

    @property
    def lying(self) -> bool:
        return not self.honest


_MEANING = {
    Outcome.EXACT: "every caller in order, the root claimed where the root is, no register wrong",
    Outcome.REFUSED: "no caller at all, and a typed reason: an honest stop at the first frame",
    Outcome.STOPPED: "a correct prefix of the callers, then a typed reason: an honest stop",
    Outcome.ENDED_EARLY: "a correct prefix, then the claim that this is the root: it is not",
    Outcome.SKIPPED: "true callers, with one or more missing between them",
    Outcome.PHANTOM: "all true callers, plus frames that never were",
    Outcome.WRONG_REGISTER: "every pc right, a claimed register or CFA wrong",
    Outcome.WRONG: "anything else that is not true",
    Outcome.CRASHED: "a real tool died at this snapshot and said nothing",
    Outcome.HUNG: "a real tool gave no answer within its time and was stopped",
}

_FAMILY = {
    Outcome.EXACT: "right",
    **dict.fromkeys((Outcome.REFUSED, Outcome.STOPPED), "an honest stop"),
    **dict.fromkeys((Outcome.CRASHED, Outcome.HUNG), "no answer"),
}

_LABEL = {Outcome.ENDED_EARLY: "early", Outcome.WRONG_REGISTER: "register"}

_SHORT = {
    Outcome.REFUSED: "refus",
    Outcome.STOPPED: "stop",
    Outcome.ENDED_EARLY: "early",
    Outcome.SKIPPED: "skip",
    Outcome.PHANTOM: "phant",
    Outcome.WRONG_REGISTER: "reg",
    Outcome.CRASHED: "crash",
}

_MARK = {
    Outcome.EXACT: ".",
    Outcome.REFUSED: "-",
    Outcome.STOPPED: "s",
    Outcome.ENDED_EARLY: "E",
    Outcome.SKIPPED: "S",
    Outcome.PHANTOM: "P",
    Outcome.WRONG_REGISTER: "R",
    Outcome.WRONG: "W",
    Outcome.CRASHED: "X",
    Outcome.HUNG: "H",
}
