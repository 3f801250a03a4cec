"""Unwinders that look for return addresses on the stack."""
