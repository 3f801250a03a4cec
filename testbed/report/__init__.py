"""Presentation only: text, JSON, HTML and JUnit. Values come in, nothing is decided here."""

from typing import Literal

JsonVersion = Literal[2]  # of the JSON that commands print, but a run's: raised when readers would be misled
JSON_VERSION: JsonVersion = 2
