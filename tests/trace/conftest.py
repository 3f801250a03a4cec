"""What tests of trace files share."""

from pathlib import Path

import pytest

from testbed.runs.files import load_run, save_run
from tests.corpus import ran


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "whole"
    save_run(ran("leaf_call", "x86_64", "clang-asm"), path)
    load_run(path)
    return path
