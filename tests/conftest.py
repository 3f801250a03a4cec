"""Options of the test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden/ from this run instead of comparing with it"
    )
    parser.addoption(
        "--every-site", action="store_true", help="compare the native walk with the readable one on the whole corpus"
    )
