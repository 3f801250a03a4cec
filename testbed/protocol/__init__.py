"""Unwinders that others wrote, in any language: programs that are asked over their standard streams.

`docs/protocol.md` is for whoever writes one.
"""
