"""What minidump-stackwalk was seen to get wrong."""

from __future__ import annotations

from testbed.referee.limits import limit_on
from testbed.referee.minidump_stackwalk.limits import LINK, WITH_SYMBOLS, WITHOUT_SYMBOLS
from testbed.referee.model import Finding, limit_for
from testbed.words.outcome import Outcome
from testbed.words.traits import Trait

FINDINGS = (
    Finding(
        "minidump-stackwalk without symbols skips the caller of an arm64 function whose return address is in x30",
        "minidump_stackwalk_no_symbols",
        "minidump-stackwalk 0.25.0",
        "2026-11-21",
        "leaf_call",
        "arm64",
        "keystone",
        "middle",
        limit_for(WITHOUT_SYMBOLS, Trait.LINKED_FURTHER, Outcome.SKIPPED, "arm64"),
        LINK,
        of_technique=True,
    ),
    Finding(
        "minidump-stackwalk walks an epilogue's code in mid-function by a rule that symbolic did not take back",
        "minidump_stackwalk",
        "minidump-stackwalk 0.25.0, symbolic 13.9.0",
        "2026-11-21",
        "early_return",
        "arm64",
        "keystone",
        "classify+0x30",
        limit_on(WITH_SYMBOLS, Trait.EPILOGUE),
    ),
)
