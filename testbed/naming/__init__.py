"""Frames to the calls of the source."""
