"""The command line in this process."""

from __future__ import annotations

import sys

import pytest

from testbed.cli import main
from tests.cli.command import Said, Testbed


@pytest.fixture
def testbed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Testbed:
    """Run the command as `testbed ARGUMENTS` does, whatever the width that these tests are run in."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["testbed", *arguments])
        monkeypatch.setenv("NO_COLOR", "1")
        status: object = 0
        try:
            main()
        except SystemExit as done:
            status = done.code or 0
        printed = capsys.readouterr()
        assert isinstance(status, int)
        return Said(status, printed.out, printed.err)

    return run
