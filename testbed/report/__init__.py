"""Presentation only: text, JSON, HTML and JUnit. Values come in, nothing is decided here."""
