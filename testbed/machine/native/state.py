"""What the hooks work on: one record of words, which the host writes and reads by the same names."""

from __future__ import annotations

import ctypes

import numpy as np


class RunState(ctypes.Structure):
    """Steps, journal, machine, C functions, code, halts and detours of one run. Words hold numbers or addresses."""

    # Columns of steps: rows of ``count`` words, and sizes of a byte. ``capacity`` have room, ``budget`` are allowed.
    steps: int
    capacity: int
    budget: int
    rows: int
    sizes: int
    ended: int  # nothing is recorded any more
    over: int  # for the budget is used up, before the instruction at ``over_pc``
    over_pc: int
    # Columns of the journal.
    writes: int
    write_capacity: int
    write_steps: int
    write_addresses: int
    write_sizes: int
    write_values: int
    # The machine: Unicorn's numbers of the registers, cells that they are read to, and columns of some of them.
    count: int
    ids: int
    cells: int
    pointers: int  # to the cells
    pc: int
    flags: int
    isa_flag: int  # a bit of the flags, where the machine ``has_isas``
    has_isas: int
    block_state: int  # the bits of the flags that a store in a Thumb IT block leaves behind
    word: int  # a cell for one register
    # C functions: Unicorn's, then two of the host.
    read: int
    read_batch: int
    write_register: int
    stop: int
    grow: int  # makes room in the columns of steps, or, called with 1, in those of the journal
    learn: int  # fills in what is known of an instruction that was not seen yet: (address, size, instruction set)
    # Code: ``range_count`` ranges, those that the program may write to first; and the one that was executed last.
    ranges: int
    range_count: int
    writable_count: int
    code: int
    code_size: int
    table: int
    written: int  # the entry of the instruction that executed last, as it was then
    entry: int  # and where it is; 0: in no table
    # Halts: a byte per byte of code from ``halt_code`` on; the machine stops before an instruction whose byte is not 0.
    halts: int
    halt_code: int
    halt_size: int
    halted: int  # it did
    # Detours: see `testbed.machine.native.detours`.
    answer: int
    result: int
    results: int
    own_result: int
    answered: int
    answers: int
    forced: int
    forces: int
    force_count: int


FIELDS = tuple(RunState.__annotations__)
RunState._fields_ = [(name, ctypes.c_int64) for name in FIELDS]
RUN = np.dtype([(name, np.int64) for name in FIELDS])
