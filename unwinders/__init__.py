"""The catalogue of unwinders, in report order. One more unwinder: one file, and one line here.

A line is the unwinder's module; the module's name is that of the unwinder, and its value is that name in capitals. It
is imported when the unwinder is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from testbed.contract.unwinder import Unwinder
from testbed.words.catalogue import Catalogue, value_of

_MODULES = (
    "chains.fp_chain",
    "chains.fp_chain_entry",
    "chains.lr_leaf",
    "chains.bs_backtrace",
    "chains.qi_stack_frame",
    "chains.builtin_return_address",
    "chains.glibc_backtrace_fp",
    "tables.eh_frame",
    "tables.eh_frame_hdr",
    "tables.debug_frame",
    "tables.ehabi",
    "tables.orc",
    "tables.sframe",
    "tables.compact_unwind",
    "tables.gopclntab",
    "chains.shadow_call_stack",
    "analysis.prologue_analysis",
    "scans.stack_scan",
    "scans.stack_scan_strict",
    "scans.stack_scan_breakpad",
)


def _unwinders() -> Mapping[str, Unwinder]:
    names = {module.rpartition(".")[2]: module for module in _MODULES}
    return Catalogue({n: partial(value_of, f"unwinders.{module}", n.upper()) for n, module in names.items()})


UNWINDERS: Mapping[str, Unwinder] = _unwinders()
