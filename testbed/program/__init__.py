"""A program of the corpus: the grammar of its header, and its sources."""
