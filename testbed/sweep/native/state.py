"""What is known before an instruction: what each register holds, and each word of the frame that matters.

A state is a row of numbers: a value a register (`codes`), then what stands below, then the words that are followed,
each as its place and its value. A word is followed once a caller's register, or an address in the frame, was stored
there.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.sweep.native.codes import (
    BASES,
    CALLERS,
    CFA_BASE,
    KIND,
    MAYBE,
    MEETING_BASE,
    MIXED,
    OTHER,
    PLACE,
    ROUNDED_BASE,
    X86_RETURN,
    low,
    place,
)

# Behind 40 registers: whether a word that is not followed was never stored to since the function was entered; whether
# the state came by a way that a row contradicts; the registers that were stored to where nobody follows; how far the
# state is assumed; how many words are followed.
REGISTER_COUNT = 40
# In IS_ASSUMED: control comes so; it does if a row is right that was believed where nothing was known; perhaps never;
# nothing could lead there, and no row that begins there shows that it is code.
SHOWN, BELIEVED, DOUBTED, UNREACHED = range(4)
IS_WHOLE, IS_BAD, LOST, IS_ASSUMED, WORDS = range(REGISTER_COUNT, REGISTER_COUNT + 5)
FIRST_WORD = WORDS + 1
MOST_WORDS = 48
STATE_SIZE = FIRST_WORD + 2 * MOST_WORDS
_PLACE_ONLY = (1 << KIND) - 1


@compiled(inline=True)
def copy_state(to: Any, source: Any) -> None:
    """Overwrite a state with another one: registers, then the words of the stack that are known."""
    for k in range(FIRST_WORD + 2 * source[WORDS]):
        to[k] = source[k]


@compiled(inline=True)
def word_index(state: Any, where: Any) -> Any:
    """Which of the followed words lies at a place, or -1."""
    for k in range(state[WORDS]):
        if state[FIRST_WORD + 2 * k] == where & _PLACE_ONLY:
            return k
    return -1


@compiled(inline=True)
def not_followed(state: Any) -> Any:
    """The value of a word that is not followed."""
    return MAYBE << KIND if state[IS_WHOLE] == 0 or state[LOST] != 0 else OTHER << KIND


@compiled(inline=True)
def word_at(state: Any, where: Any) -> Any:
    """What lies in the word at a place.

    One that is not followed may be a followed one by another base; and from the CFA on it is the caller's, who may have
    stored there what the registers hold at the entry.
    """
    k, base = word_index(state, where), where >> 48 & 0xFF
    if k < 0 and (base >= ROUNDED_BASE or (base == CFA_BASE and low(where) >= 0)):
        return MAYBE << KIND
    return state[FIRST_WORD + 2 * k + 1] if k >= 0 else not_followed(state)


@compiled(inline=True)
def follow(state: Any, where: Any, value: Any) -> None:
    """Have a word followed from here on. Where there is no room, nothing is known of the words that are not."""
    k = word_index(state, where)
    if k < 0:
        k = state[WORDS]
        if k >= MOST_WORDS:
            state[IS_WHOLE] = 0
            return
        state[WORDS] = k + 1
    state[FIRST_WORD + 2 * k] = where & _PLACE_ONLY
    state[FIRST_WORD + 2 * k + 1] = value


@compiled()
def store_word(state: Any, where: Any, size: Any, value: Any, word: Any) -> Any:
    """Store to a place; whether a word, of ``word`` bytes, that was followed changed, or a new one is."""
    base, distance, touched = where >> 48 & 0xFF, low(where), False
    for k in range(state[WORDS]):
        other = state[FIRST_WORD + 2 * k]
        gap = low(other) - distance
        if other >> 48 == base and -word < gap < size:
            exact, at = gap == 0 and size == word, FIRST_WORD + 2 * k + 1
            lost, own = value if exact else OTHER << KIND, state[at] & 0xFF
            if state[at] >> KIND == CALLERS and own != X86_RETURN and state[own] != state[at]:
                lost = MAYBE << KIND  # who overwrites what it must give back never gets there
            state[at] = lost
            touched = True
            if exact:
                return True
    kind = value >> KIND
    if size == word and (kind in (CALLERS, PLACE, MAYBE)):
        follow(state, where, value)
        return True
    return touched


@compiled()
def forget_below(state: Any, where: Any) -> None:
    """What lies below a place in the same stretch of stack is anybody's."""
    base, distance = where >> 48 & 0xFF, low(where)
    for k in range(state[WORDS]):
        other = state[FIRST_WORD + 2 * k]
        if other >> 48 == base and low(other) < distance:
            state[FIRST_WORD + 2 * k + 1] = OTHER << KIND


@compiled()
def forget_objects(state: Any, nearest: Any) -> None:
    """Addresses of the frame's own objects, kept in words of it: who is called may have changed them.

    Those that are the CFA's or the entry's, ``nearest`` and above, are what functions find their frame again by.
    """
    for k in range(state[WORDS]):
        at = FIRST_WORD + 2 * k + 1
        value = state[at]
        if value >> KIND == PLACE and (value >> 48 & 0xFF != CFA_BASE or low(value) < nearest):
            state[at] = MAYBE << KIND


@compiled(inline=True)
def met(one: Any, other: Any) -> Any:
    """What is known of a value that is one of two."""
    if one == other:
        return one
    first, second = one >> KIND, other >> KIND
    if first == MAYBE or second == MAYBE:
        return MIXED if MIXED in (one, other) else MAYBE << KIND
    if first in (CALLERS, PLACE) or second in (CALLERS, PLACE):
        return MIXED
    return OTHER << KIND


@compiled()
def new_stretch(state: Any, base: Any) -> Any:
    """A base: an address on the stack that lies nobody knows how far from others, and nothing is known of it."""
    for k in range(state[WORDS]):
        if state[FIRST_WORD + 2 * k] >> 48 == base:
            state[FIRST_WORD + 2 * k + 1] = MAYBE << KIND
    for k in range(REGISTER_COUNT):
        if state[k] >> KIND == PLACE and state[k] >> 48 & 0xFF == base:
            state[k] = MAYBE << KIND
    return place(base, 0)


@compiled()
def merge(into: Any, other: Any, stack: Any, name: Any) -> Any:
    """Keep of a state what another one says, too; whether it changed. Where SP differs, the stack begins anew."""
    changed = False
    if into[stack] != other[stack] and into[stack] >> KIND == PLACE and other[stack] >> KIND == PLACE:
        before = into[stack]
        into[stack] = new_stretch(into, MEETING_BASE + name % (BASES - MEETING_BASE))
        changed = into[stack] != before
    for k in range(REGISTER_COUNT):
        value = (
            into[k] if k == stack and into[k] >> KIND == PLACE and other[k] >> KIND == PLACE else met(into[k], other[k])
        )
        if value != into[k]:
            into[k], changed = value, True
    before, there = not_followed(into), not_followed(other)
    for k in range(into[WORDS]):
        at = FIRST_WORD + 2 * k
        found = word_index(other, into[at])
        value = met(into[at + 1], other[FIRST_WORD + 2 * found + 1] if found >= 0 else there)
        if value != into[at + 1]:
            into[at + 1], changed = value, True
    for k in range(other[WORDS]):
        at = FIRST_WORD + 2 * k
        value = met(before, other[at + 1])
        if value != before and word_index(into, other[at]) < 0:
            follow(into, other[at], value)
            changed = True
    if into[IS_WHOLE] and not other[IS_WHOLE]:
        into[IS_WHOLE], changed = 0, True
    if other[LOST] & ~into[LOST]:
        into[LOST], changed = into[LOST] | other[LOST], True
    return changed


@compiled(inline=True)
def is_frame(value: Any) -> Any:
    """Whether a value is an address that counts from the CFA."""
    return value >> KIND == PLACE and value >> 48 & 0xFF == CFA_BASE
