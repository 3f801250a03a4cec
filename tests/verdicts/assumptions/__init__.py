"""Assumptions of techniques, held against what the techniques say."""
