"""Rows applied: one to a frame, and frame after frame."""
