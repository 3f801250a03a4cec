"""drgn."""
