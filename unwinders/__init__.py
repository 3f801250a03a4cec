"""The catalogue of strategies, in report order. One more strategy: one file, and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from testbed.unwinder import Unwinder
from unwinders.debug_frame import DEBUG_FRAME
from unwinders.eh_frame import EH_FRAME
from unwinders.eh_frame_hdr import EH_FRAME_HDR
from unwinders.ehabi import EHABI
from unwinders.fp_chain import FP_CHAIN
from unwinders.fp_chain_entry import FP_CHAIN_ENTRY
from unwinders.orc import ORC
from unwinders.sframe import SFRAME

UNWINDERS: Mapping[str, Unwinder] = MappingProxyType(
    {
        unwinder.name: unwinder
        for unwinder in (
            FP_CHAIN,
            FP_CHAIN_ENTRY,
            EH_FRAME,
            EH_FRAME_HDR,
            DEBUG_FRAME,
            EHABI,
            ORC,
            SFRAME,
        )
    }
)
