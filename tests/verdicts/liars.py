"""Answers made wrong on purpose, out of right ones."""

from dataclasses import replace

from testbed.contract.unwinder import Backtrace
from testbed.words.errors import NoUnwindInfo


def always_root(b: Backtrace) -> Backtrace:
    return replace(b, frames=b.frames[:1], stopped=None)


def skips_every_other(b: Backtrace) -> Backtrace:
    return replace(b, frames=b.frames[::2])


def invents_a_frame(b: Backtrace) -> Backtrace:
    ghost = replace(b.frames[1], pc=b.frames[1].pc + 4, registers={})
    return replace(b, frames=(*b.frames[:2], ghost, *b.frames[2:]))


def repeats_a_frame(b: Backtrace) -> Backtrace:
    return replace(b, frames=(*b.frames[:2], b.frames[1], *b.frames[2:]))


def off_by_one_word(b: Backtrace) -> Backtrace:
    return replace(b, frames=tuple(replace(f, pc=f.pc + 8) if i else f for i, f in enumerate(b.frames)))


def wrong_cfa(b: Backtrace) -> Backtrace:
    return replace(b, frames=tuple(replace(f, cfa=(f.cfa or 0) + 16) for f in b.frames))


def forgets_the_root(b: Backtrace) -> Backtrace:
    return replace(b, frames=b.frames[:-1], stopped=None)


def stops_short(b: Backtrace) -> Backtrace:
    return Backtrace(b.frames[:-1], NoUnwindInfo("no row"))


def refuses(b: Backtrace) -> Backtrace:
    return Backtrace(b.frames[:1], NoUnwindInfo("no row"))


def says_nothing(b: Backtrace) -> Backtrace:
    return replace(b, frames=())


def skips_a_caller(b: Backtrace) -> Backtrace:
    return replace(b, frames=(b.frames[0], *b.frames[2:]))


def goes_on_behind_the_root(b: Backtrace) -> Backtrace:
    return replace(b, frames=(*b.frames, replace(b.frames[-1], pc=b.frames[-1].pc + 4, registers={}, cfa=None)))
