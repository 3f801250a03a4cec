"""Test vectors: sites of recorded runs as files, for unwinders in any language to be tested without this package."""
