"""Cells that are known to fail today: cell -> date, reason and link. Strict: a cell that passes must be removed.

A limit of a technique does not belong here; it stands in the unwinder's own file.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN_FAILURES: Mapping[str, str] = {}
