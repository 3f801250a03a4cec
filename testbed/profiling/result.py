"""What became of a judged process, as values: threads, unwinders, and the places at which each goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from testbed.process import ProcessRun
from testbed.profiling.whose_code import CodePart, CodeShare, ProcessCode, code_of_steps, own_reach
from testbed.truth import Truth
from testbed.verdicts.verdict import Counts


@dataclass(frozen=True, eq=False)
class WatchedThread:
    """A thread, or a part of it, and the truth about it.

    Its steps are the rows of the trace from ``begins`` on, before ``ends`` if that is given; the first of them is step
    ``first`` of the thread. Rows before are those of the parent on whose stack it goes on, or of an earlier part.
    """

    number: int
    watched: Truth = field(repr=False)
    begins: int
    ends: int | None = None
    first: int = 0

    @property
    def stop(self) -> int:
        return len(self.watched.trace) if self.ends is None else self.ends

    @property
    def steps(self) -> int:
        return self.stop - self.begins

    @cached_property
    def code(self) -> tuple[tuple[ProcessCode, ...], NDArray[np.int64]]:
        """The code that its steps are of, and which of it each is."""
        return code_of_steps(self.watched.trace, self.begins, self.stop)

    @cached_property
    def reach(self) -> NDArray[np.int64]:
        """Of each activation how many frames further out the outermost one of the program's own code is."""
        return own_reach(self.watched)

    @property
    def transition(self) -> int:
        """How many steps have no single right answer."""
        return int(self.watched.transition[self.begins : self.stop].sum()) - self.undecided

    @property
    def undecided(self) -> int:
        """Of how many steps no effect tells whose they are."""
        return int(self.watched.undecided[self.begins : self.stop].sum())

    @property
    def activations(self) -> int:
        """How many were opened at these steps."""
        opened = self.watched.activations.opened
        return int(((opened >= self.begins) & (opened < self.stop)).sum())


@dataclass(frozen=True, eq=False)
class WatchedProcess:
    """A process that ran, with the truth about each of its threads: an interrupt leaves no step of it out."""

    run: ProcessRun
    threads: tuple[WatchedThread, ...]
    left: ClassVar[int] = 0

    @property
    def steps(self) -> int:
        return sum(thread.steps for thread in self.threads)


@dataclass(frozen=True, slots=True)
class CountedThread:
    """What is left of a thread that was watched in pieces."""

    number: int
    steps: int
    activations: int
    transition: int
    undecided: int


@dataclass(frozen=True, eq=False)
class CountedProcess:
    """A process that was watched in pieces, of which no step is held.

    ``pieces`` is how many there were of a thread, ``left`` how many steps an interrupt left out.
    """

    run: ProcessRun
    threads: tuple[CountedThread, ...]
    pieces: int
    left: int = 0

    @property
    def steps(self) -> int:
        return sum(thread.steps for thread in self.threads)


@dataclass(frozen=True, slots=True)
class WrongReason:
    """Why an unwinder goes wrong, and at how many steps."""

    because: str
    steps: int


@dataclass(frozen=True, slots=True)
class WrongPlace:
    """A function at whose frames an unwinder goes wrong, and why.

    ``because`` is the reason at most of the steps, and ``also`` are the others, with their steps. It is "" where an
    assumption foretells something else; ``unforeseen`` says then what was said at the first such step, and what was
    foretold. Where no assumption is stated, it is what is wrong there, or the reason to stop. ``first`` is the first
    step with that reason, of the thread ``thread``, ``where`` the instruction that was executed there; ``lies`` of the
    ``steps`` claim something false, and at ``whole`` of them every caller is found, and no root is claimed. ``file`` is
    the program or library, None where no file has this code. ``known`` is what `testbed check` calls the function: its
    symbol's name, or where its entry in the table begins; "" where there is neither.
    """

    function: str
    library: str
    because: str
    steps: int
    lies: int
    first: int
    thread: int
    where: str
    file: Path | None = None
    known: str = ""
    part: CodePart = CodePart.OWN
    whole: int = 0
    unforeseen: str = field(default="", compare=False)
    also: tuple[WrongReason, ...] = ()

    @property
    def explained(self) -> bool:
        return bool(self.because)

    @property
    def not_right(self) -> int:
        """At how many steps a caller is missing or false."""
        return self.steps - self.whole

    @property
    def command(self) -> str:
        """What holds this function's table against its code, without this run; "" where no command can."""
        return f"testbed check {self.file} --function {self.known}" if self.file and self.known else ""

    def __str__(self) -> str:
        return f"{self.function} in {self.library}"


@dataclass(frozen=True, kw_only=True)
class UnwinderShare(Counts):
    """One unwinder over all threads; a site is explained by a place of it, or by none.

    ``done_by`` is as in `Unwinder`. ``sampled``: only so many steps were chosen, by the seed, of all. ``code`` has the
    judged steps by whose code they are, the program's own by function.
    """

    name: str
    sampled: bool
    done_by: str = ""
    places: tuple[WrongPlace, ...] = field(default=(), repr=False)
    code: tuple[CodeShare, ...] = field(default=(), repr=False)

    def of(self, part: CodePart) -> CodeShare:
        """The steps of one part, added up."""
        return sum((each for each in self.code if each.code.part is part), CodeShare(ProcessCode(part), 0, 0, 0, 0, 0))

    @property
    def stops(self) -> int:
        """Honest stops before the last true caller, with crashes and hangs."""
        return self.stopped - self.whole


def reaches_own_code(shares: Sequence[UnwinderShare]) -> bool:
    """False where unwinders were asked at every step, and no step is of the program's own code: it never began."""
    whole = [each for each in shares if not each.sampled]
    return not whole or any(each.of(CodePart.OWN).steps for each in whole)
