"""Where a link to a caller does not lead to a node, why: numbers that compiled code knows, too."""

from __future__ import annotations

ROOT, STOPPED, SPECIFICATION = -1, -2, -3
