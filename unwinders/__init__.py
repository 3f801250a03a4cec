"""The catalogue of strategies, in report order. One more strategy: one file, and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.unwinder import Unwinder
from unwinders.bs_backtrace import BS_BACKTRACE
from unwinders.builtin_return_address import BUILTIN_RETURN_ADDRESS
from unwinders.compact_unwind import COMPACT_UNWIND
from unwinders.debug_frame import DEBUG_FRAME
from unwinders.eh_frame import EH_FRAME
from unwinders.eh_frame_hdr import EH_FRAME_HDR
from unwinders.ehabi import EHABI
from unwinders.fp_chain import FP_CHAIN
from unwinders.fp_chain_entry import FP_CHAIN_ENTRY
from unwinders.glibc_backtrace_fp import GLIBC_BACKTRACE_FP
from unwinders.lr_leaf import LR_LEAF
from unwinders.orc import ORC
from unwinders.prologue_analysis import PROLOGUE_ANALYSIS
from unwinders.qi_stack_frame import QI_STACK_FRAME
from unwinders.sframe import SFRAME
from unwinders.shadow_call_stack import SHADOW_CALL_STACK
from unwinders.stack_scan import STACK_SCAN
from unwinders.stack_scan_breakpad import STACK_SCAN_BREAKPAD
from unwinders.stack_scan_strict import STACK_SCAN_STRICT

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
