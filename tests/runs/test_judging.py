"""How a run is judged: natively as soon as that is faster, given what was compiled before."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.native import machine_code
from testbed.native.sources import made_from
from testbed.runs.judging import LOADED_FROM, NATIVE_FROM, is_soon_native
from testbed.verdicts.native import judge_steps


def test_a_run_is_judged_natively_earlier_where_that_was_compiled_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(machine_code.VARIABLE, str(tmp_path))
    lengths = (LOADED_FROM - 1, LOADED_FROM, NATIVE_FROM - 1, NATIVE_FROM)
    assert [is_soon_native(steps) for steps in lengths] == [False, False, False, True]
    sources = made_from(judge_steps.__module__)
    assert sources is not None
    machine_code.keep(machine_code.file_of(sources, machine_code.name_of(judge_steps), "0" * 64), b"code")
    assert [is_soon_native(steps) for steps in lengths] == [False, True, True, True]
