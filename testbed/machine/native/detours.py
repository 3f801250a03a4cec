"""Where a machine goes on elsewhere than its code says, without a stop: calls that are answered, forced branches.

An *answered* call leads to code whose byte in ``halts`` is `ANSWER_0` or `ANSWER_VALUE`: the function is not executed.
The register ``result`` becomes ``own_result``, which is the path's, or ``results``, and control goes on at ``answer``.
Step and callee are noted in ``answers``, ``answered`` of them. Left to the host, which is told by a stop as at any
other such byte, are what is reached by no jump, what comes when the steps are used up, and `STUCK` answers one after
the other.

A *forced* branch goes on at an address before a given step. ``forces`` has ``force_count`` such pairs, ``forced`` of
them done. An address has no bit for the instruction set: the one in force stays.
"""

from __future__ import annotations

from typing import Any

from testbed.native.compiled import compiled
from testbed.native.memory import call, load, load_byte, load_id, store

HALT, ANSWER_0, ANSWER_VALUE = 1, 2, 3  # bytes of ``halts``
STUCK = 4  # calls answered one after the other, with nothing executed between them


@compiled(inline=True)
def goes_elsewhere(engine: Any, address: Any, step: Any, run: Any) -> Any:
    """Send the machine elsewhere if it is to go there; whether it does."""
    if run.ended != 0 or step >= run.capacity:
        return False
    if run.forced < run.force_count and load(run.forces + 16 * run.forced) == step:
        return _is_forced(engine, step, run)
    kind = stop_byte_at(address, run)
    if kind <= HALT or _is_stuck(step, run) or _follows(address, step, run):
        return False
    pair = run.answers + 16 * run.answered
    store(pair, step - 1)
    store(pair + 8, address)
    run.answered += 1
    store(run.word, run.results if kind == ANSWER_VALUE else run.own_result)
    call(run.write_register, engine, run.result, run.word, 0)
    _go_to(engine, run.answer, run)
    return True


@compiled(inline=True)
def stop_byte_at(address: Any, run: Any) -> Any:
    """The byte of an instruction in ``halts``; 0 where it has none."""
    offset = address - run.halt_code
    return load_byte(run.halts + offset) if run.halts != 0 and 0 <= offset < run.halt_size else 0


@compiled(inline=True)
def _is_forced(engine: Any, step: Any, run: Any) -> Any:
    """Do the forced branch that is next; false where the path is stuck, which ends it."""
    if _is_stuck(step, run):
        run.halted = 1
        run.ended = 1
        return False
    to = load(run.forces + 16 * run.forced + 8)
    run.forced += 1
    _go_to(engine, to | _isa(engine, run), run)
    return True


@compiled(inline=True)
def _go_to(engine: Any, address: Any, run: Any) -> None:
    """Execute from an address on; all registers are read for the next row."""
    store(run.word, address)
    call(run.write_register, engine, load_id(run.ids + 4 * run.pc), run.word, 0)
    run.written = 0
    run.entry = 0


@compiled(inline=True)
def _isa(engine: Any, run: Any) -> Any:
    """The bit of the instruction set in force."""
    if run.has_isas == 0:
        return 0
    store(run.word, 0)
    call(run.read, engine, load_id(run.ids + 4 * run.flags), run.word, 0)
    return (load(run.word) >> run.isa_flag) & 1


@compiled(inline=True)
def _is_stuck(step: Any, run: Any) -> Any:
    return run.answered >= STUCK and load(run.answers + 16 * (run.answered - STUCK)) + STUCK + 1 > step


@compiled(inline=True)
def _follows(address: Any, step: Any, run: Any) -> Any:
    """Whether an instruction is the next one in memory behind the last one that was executed."""
    if step == 0:
        return True
    last = load(run.rows + 8 * ((step - 1) * run.count + run.pc))
    return last + load_byte(run.sizes + step - 1) == address
