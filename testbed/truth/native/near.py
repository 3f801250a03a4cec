"""Numbers that the readable rules and their compiled twins share: compiled code sees native modules only."""

from __future__ import annotations

# A return is "behind" its call up to so many bytes, where nothing but the distance speaks for it.
NEAR = 256
# All registers, as a set of bits.
ANY = (1 << 64) - 1
