"""Outputs as a whole, a file each in ``outputs``: ``--update-golden`` writes those of the tests that run."""

from pathlib import Path

import pytest


def golden(name: str, text: str, request: pytest.FixtureRequest) -> None:
    """What is told now is what the file says."""
    path = Path(__file__).with_name("outputs") / name
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"if that is right: pytest --update-golden -k '{name}'"
