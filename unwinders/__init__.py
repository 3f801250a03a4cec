"""The catalogue of strategies, in report order. One more strategy: one file, and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.contract.unwinder import Unwinder
from unwinders.analysis.strategy import PROLOGUE_ANALYSIS
from unwinders.chains.bs_backtrace import BS_BACKTRACE
from unwinders.chains.builtin_return_address import BUILTIN_RETURN_ADDRESS
from unwinders.chains.fp_chain import FP_CHAIN
from unwinders.chains.fp_chain_entry import FP_CHAIN_ENTRY
from unwinders.chains.glibc_backtrace_fp import GLIBC_BACKTRACE_FP
from unwinders.chains.lr_leaf import LR_LEAF
from unwinders.chains.qi_stack_frame import QI_STACK_FRAME
from unwinders.chains.shadow_call_stack import SHADOW_CALL_STACK
from unwinders.scans.stack_scan import STACK_SCAN
from unwinders.scans.stack_scan_breakpad import STACK_SCAN_BREAKPAD
from unwinders.scans.stack_scan_strict import STACK_SCAN_STRICT
from unwinders.tables.compact_unwind import COMPACT_UNWIND
from unwinders.tables.debug_frame import DEBUG_FRAME
from unwinders.tables.eh_frame import EH_FRAME
from unwinders.tables.eh_frame_hdr import EH_FRAME_HDR
from unwinders.tables.ehabi import EHABI
from unwinders.tables.orc import ORC
from unwinders.tables.sframe import SFRAME

UNWINDERS: Mapping[str, Unwinder] = MappingProxyType(
    {
        unwinder.name: unwinder
        for unwinder in (
            FP_CHAIN,
            FP_CHAIN_ENTRY,
            LR_LEAF,
            BS_BACKTRACE,
            QI_STACK_FRAME,
            BUILTIN_RETURN_ADDRESS,
            GLIBC_BACKTRACE_FP,
            EH_FRAME,
            EH_FRAME_HDR,
            DEBUG_FRAME,
            EHABI,
            ORC,
            SFRAME,
            COMPACT_UNWIND,
            SHADOW_CALL_STACK,
            PROLOGUE_ANALYSIS,
            STACK_SCAN,
            STACK_SCAN_STRICT,
            STACK_SCAN_BREAKPAD,
        )
    }
)
