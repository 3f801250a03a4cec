"""The tables that `testbed check` compares, and who reads them."""

from __future__ import annotations

import unwinders
from testbed.checks.options import TABLES
from testbed.checks.readers import Readers

READERS = Readers(
    f"{unwinders.__name__}:UNWINDERS",
    TABLES,
    "testbed.cli.expressions:evaluate_rule",
    "unwinders.analysis.function_rows:row_at",
)
