"""Numbers that rules of several rooms share: a kernel sees native modules only."""

from __future__ import annotations

# A return is "behind" its call up to so many bytes, where nothing but the distance speaks for it.
NEAR = 256
